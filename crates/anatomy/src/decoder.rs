//! Instructions of every processor known here.

use crate::flow::Instruction;
use crate::registers::Registers;
use crate::{Architecture, arm, x86};

/// The instruction at the beginning of `bytes`, which lie at `address`, and what it does to the registers. None if
/// it is none, or not of a machine known here.
pub(crate) fn decode(
    machine: Architecture,
    bytes: &[u8],
    address: u64,
    registers: &mut Registers,
) -> Option<Instruction> {
    match machine {
        Architecture::X86_64 => x86::decode(bytes, address, registers),
        Architecture::AARCH64 => arm::decode(bytes, address, registers),
        _ => None,
    }
}

/// The instruction as assemblers write it.
pub(crate) fn disassemble(machine: Architecture, bytes: &[u8], address: u64) -> String {
    match machine {
        Architecture::X86_64 => x86::disassemble(bytes, address),
        _ => arm::disassemble(bytes),
    }
}

/// The register in which the number of a system call is passed (syscall(2)).
pub(crate) fn syscall_number_register(machine: Architecture) -> usize {
    if machine == Architecture::AARCH64 { 8 } else { x86::RAX }
}

/// The register of its first argument.
pub(crate) fn first_argument(machine: Architecture) -> usize {
    if machine == Architecture::AARCH64 { 0 } else { x86::RDI }
}
