//! Programs and libraries, read without running them: what a file is and what it needs ([`read`]), where a loader
//! would look for its libraries ([`search`], [`Cache`]), and the way from a function of the C library to the system
//! call in which it ends ([`walk`]). Whoever opens the files and runs the programs puts it together as a [`Report`], or as
//! the [`Parts`] of a file.
//!
//! Bytes in, values out. Nothing read here is trusted: whatever the bytes are, the answer is a value or an [`Error`].
//! This crate opens no file and starts no program.

mod architecture;
mod arm;
mod binary;
mod call_path;
mod decoder;
mod dynamic_reason;
mod elf;
mod error;
mod flags;
mod flow;
mod image;
mod library_search;
mod loader_cache;
mod path_search;
mod registers;
mod report;
mod unwind_table;
mod version;
mod x86;

pub use architecture::{Architecture, CreationSyscall};
pub use binary::{Binary, Executable, Linkage, Script, UndefinedSymbol, read_executable};
pub use call_path::{CallPath, CallSite, DisassembledLine, PathStep, SymbolName, SyscallPaths, SyscallSite};
pub use dynamic_reason::{DynamicReason, dynamic_reasons};
pub use error::Error;
pub use flags::{CloneFlag, CloneFlags, CloneKind};
pub use image::Image;
pub use library_search::{LibrarySearch, library_candidates};
pub use loader_cache::LoaderCache;
pub use path_search::find_syscall_paths;
pub use report::{
    Agreement, CallCheck, CreationFunction, FileDependencies, FunctionReport, Libraries, Library, LiveCall,
    LiveObservation, NeededLibrary,
};
pub use version::libc_version;
