//! All probes: sent to a prober process, which runs them a block at a time.

use crate::block::Measurable;
use crate::{clone, copy, ipc, launch, memory, switch};
use serde::{Deserialize, Serialize};
use std::ops::Deref;

/// Any probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AnyProbe {
    /// Copies within memory, and the cheapest operations a program can ask for.
    Copy(copy::CopyProbe),
    /// Launching and joining a task.
    Launch(launch::LaunchProbe),
    /// Handing a token back and forth.
    Switch(switch::SwitchProbe),
    /// Memory of a waiting thread, and what malloc does.
    Memory(memory::MemoryProbe),
    /// Bytes from one process to another.
    Ipc(ipc::IpcProbe),
    /// A child that writes to a variable, with and without its parent's memory.
    Clone(clone::CloneProbe),
}

impl Deref for AnyProbe {
    type Target = dyn Measurable;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Copy(cell) => cell,
            Self::Launch(cell) => cell,
            Self::Switch(cell) => cell,
            Self::Memory(cell) => cell,
            Self::Ipc(cell) => cell,
            Self::Clone(cell) => cell,
        }
    }
}
