//! All cells that there are: sent to a worker, and carried out there, a block at a time.

use crate::block::Measurable;
use crate::{clone, copy, ipc, launch, memory, switch};
use serde::{Deserialize, Serialize};
use std::ops::Deref;

/// One thing that is measured in blocks; a block gives one value for each of its figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum AnyProbe {
    /// Bytes from one place in memory to another, and the smallest things a program can ask for.
    Copy(copy::CopyProbe),
    /// A task launched, and joined.
    Launch(launch::LaunchProbe),
    /// A token handed back and forth.
    Switch(switch::SwitchProbe),
    /// What a waiting thread takes, and what malloc does.
    Memory(memory::MemoryProbe),
    /// Bytes from one process to another.
    Ipc(ipc::IpcProbe),
    /// A child that writes into a variable, with and without its parent's memory.
    Clone(clone::CloneProbe),
}

/// What its cell says of it.
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
