use crate::registers::Registers;
use crate::{Machine, arm, x86};

/// Where a jump or a call goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// To this address.
    Address(u64),
    /// To what the loader has put into the slot at this address.
    Slot(u64),
    /// Known at run time only.
    Unknown,
}

/// How the code goes on after an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// With the next one.
    Next,
    /// Elsewhere.
    Jump(Target),
    /// With the next one, or here.
    Branch(u64),
    /// With the next one, once the function called is done.
    Call(Target),
    /// With the next one, once the kernel is done.
    System,
    /// Nowhere within this function.
    End,
}

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub length: u8,
    pub flow: Flow,
}

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
