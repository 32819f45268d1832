//! Instruction decoding for every supported architecture.

use crate::flow::Instruction;
use crate::registers::Registers;
use crate::{Architecture, arm, x86};

/// Decodes the instruction at the beginning of `bytes`, which lie at `address`, and applies it to the registers. None if
/// it is invalid, or the architecture is unsupported.
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

/// The instruction in assembly.
pub(crate) fn disassemble(machine: Architecture, bytes: &[u8], address: u64) -> String {
    match machine {
        Architecture::X86_64 => x86::disassemble(bytes, address),
        _ => arm::disassemble(bytes),
    }
}

/// The register that holds a system call's number (syscall(2)).
pub(crate) fn syscall_number_register(machine: Architecture) -> usize {
    if machine == Architecture::AARCH64 { 8 } else { x86::RAX }
}

/// The register of its first argument.
pub(crate) fn first_argument(machine: Architecture) -> usize {
    if machine == Architecture::AARCH64 { 0 } else { x86::RDI }
}
