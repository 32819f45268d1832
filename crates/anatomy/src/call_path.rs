use crate::{Architecture, CloneFlags, CreationSyscall};

/// How a function of the C library reaches its system calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyscallPaths {
    /// The function.
    pub symbol: String,
    /// Architecture of the code.
    pub machine: Architecture,
    /// The paths found, shortest first, then by address of the system call.
    /// All but the first are fallbacks for a kernel that refuses it.
    pub paths: Vec<CallPath>,
    /// Functions read.
    pub functions: usize,
    /// Instructions read.
    pub instructions: usize,
    /// Depth reached, in calls.
    pub depth: usize,
    /// Calls with a target known only at run time, which were not followed.
    pub unknown_calls: usize,
    /// Why the search ended early, if it did.
    pub cut_short: Option<&'static str>,
    /// Functions exported under the name of the system call that are not on the path.
    pub bypassed: Vec<String>,
}

/// One path from the function to the system call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPath {
    /// The functions on it, starting with the one asked about.
    pub steps: Vec<PathStep>,
    /// The system call, in the last of them.
    pub site: SyscallSite,
}

/// A function on the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathStep {
    /// Index of its library among those given.
    pub library: usize,
    /// Its address there.
    pub address: u64,
    /// All its names, the exported one first; empty if it has none.
    pub names: Vec<SymbolName>,
    /// Its calls of the next function on the path; empty in the last.
    pub calls: Vec<CallSite>,
}

/// A name of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolName {
    /// As in C.
    pub symbol: String,
    /// Symbol version, such as `GLIBC_2.2.5`.
    pub version: Option<String>,
    /// Programs linked today get this version.
    pub default: bool,
    /// Another library may override it.
    pub weak: bool,
    /// Visible to programs.
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

/// A call or tail call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSite {
    /// The instruction.
    pub line: DisassembledLine,
    /// Return address; none for a jump.
    pub returns: Option<u64>,
}

/// An instruction, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisassembledLine {
    /// Address in its library.
    pub address: u64,
    /// Machine code.
    pub bytes: Vec<u8>,
    /// Assembly text; empty if unknown.
    pub text: String,
}

/// The system call instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyscallSite {
    /// Address in its library.
    pub address: u64,
    /// Address of the next instruction: what a tracer sees when the call is made.
    pub next_address: u64,
    /// The straight-line code that leads to it, inclusive.
    pub lines: Vec<DisassembledLine>,
    /// System call number.
    pub number: u64,
    /// Its meaning.
    pub creation: CreationSyscall,
    /// The flags of clone, if the code sets them right there. clone3 takes them from memory, and a function
    /// that clones for others from its caller.
    pub flags: Option<CloneFlags>,
}
