//! How code goes on: what is known of an instruction, whatever processor it is for.

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
