use crate::{Architecture, CloneFlags, CreationSyscall};

/// What a function of the C library comes down to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyscallPaths {
    /// The function asked about.
    pub symbol: String,
    /// Whose code it is.
    pub machine: Architecture,
    /// The ways found, the shortest first, and of two that are as long the one whose call comes first in the code.
    /// The others are what the library does where the kernel refuses the first.
    pub chains: Vec<CallPath>,
    /// How many functions and instructions were read for it.
    pub functions: usize,
    /// See there.
    pub instructions: usize,
    /// How many calls deep it was read.
    pub depth: usize,
    /// Calls whose aim is known at run time only, and which were not followed.
    pub unknown_calls: usize,
    /// Why it was not read to its end, if it was not.
    pub cut_short: Option<&'static str>,
    /// Functions exported under the name of the system call that are not on the way.
    pub beside: Vec<String>,
}

/// One way from the function to the system call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPath {
    /// The functions on it, the one asked about first.
    pub steps: Vec<PathStep>,
    /// Where it ends, in the last of them.
    pub site: SyscallSite,
}

/// A function on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathStep {
    /// Which of the libraries given it is in.
    pub library: usize,
    /// Its address there.
    pub address: u64,
    /// All its names, that which programs see first; none if it has none.
    pub names: Vec<SymbolName>,
    /// The calls in it of the next function on the way; none in the last.
    pub calls: Vec<CallSite>,
}

/// A name of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolName {
    /// As in C.
    pub symbol: String,
    /// The version of the interface, as `GLIBC_2.2.5`.
    pub version: Option<String>,
    /// Programs linked today get this version.
    pub default: bool,
    /// Another library may take its place.
    pub weak: bool,
    /// Programs see it.
    pub exported: bool,
}

impl std::fmt::Display for SymbolName {
    /// As linkers write it: `fork@@GLIBC_2.2.5`, with one `@` for an older version.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.symbol)?;
        match &self.version {
            Some(version) => write!(f, "{}{version}", if self.default { "@@" } else { "@" }),
            None => Ok(()),
        }
    }
}

/// A call, or a jump that takes the place of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSite {
    /// The instruction.
    pub line: DisassembledLine,
    /// Where the code goes on after it; a jump leaves nothing behind to go on with.
    pub returns: Option<u64>,
}

/// An instruction, to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisassembledLine {
    /// Where it lies in its library.
    pub address: u64,
    /// The machine code.
    pub bytes: Vec<u8>,
    /// As assemblers write it; empty if it is not known.
    pub text: String,
}

/// The system call instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyscallSite {
    /// Where it lies in its library.
    pub address: u64,
    /// The instruction after it: what a tracer sees when the call is made.
    pub after: u64,
    /// The straight piece of code that leads to it, itself last.
    pub lines: Vec<DisassembledLine>,
    /// The system call's number.
    pub number: u64,
    /// What that means.
    pub creation: CreationSyscall,
    /// What clone is asked for, where the code says so right there. clone3 takes it from memory, and a function
    /// that clones for others from its caller.
    pub flags: Option<CloneFlags>,
}
