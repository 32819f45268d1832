//! Control flow of an instruction, for any architecture.

/// Where a jump or call goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// To this address.
    Address(u64),
    /// To what the loader puts into the slot at this address.
    Slot(u64),
    /// Known only at run time.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// To the next instruction.
    Next,
    Jump(Target),
    /// To the next instruction, or to this address.
    Branch(u64),
    /// To the next instruction, after the called function.
    Call(Target),
    /// To the next instruction, after the kernel.
    System,
    /// Nowhere within this function.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub length: u8,
    pub flow: Flow,
}
