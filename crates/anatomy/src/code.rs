//! Instructions of every processor known here.

use crate::flow::Instruction;
use crate::registers::Registers;
use crate::{Machine, arm, x86};

/// The instruction at the beginning of `bytes`, which lie at `address`, and what it does to the registers. None if
/// it is none, or not of a machine known here.
pub(crate) fn decode(
    machine: Machine,
    bytes: &[u8],
    address: u64,
    registers: &mut Registers,
) -> Option<Instruction> {
    match machine {
        Machine::X86_64 => x86::decode(bytes, address, registers),
        Machine::AARCH64 => arm::decode(bytes, address, registers),
        _ => None,
    }
}

/// The instruction as assemblers write it.
pub(crate) fn text(machine: Machine, bytes: &[u8], address: u64) -> String {
    match machine {
        Machine::X86_64 => x86::text(bytes, address),
        _ => arm::text(bytes),
    }
}

/// The register in which the number of a system call is passed (syscall(2)).
pub(crate) fn number_register(machine: Machine) -> usize {
    if machine == Machine::AARCH64 { 8 } else { x86::RAX }
}

/// The register of its first argument.
pub(crate) fn first_argument(machine: Machine) -> usize {
    if machine == Machine::AARCH64 { 0 } else { x86::RDI }
}
