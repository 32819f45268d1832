//! Analyses programs and libraries without running them: what a file is and needs ([`read_executable`]), where a loader
//! would look for its libraries ([`library_candidates`], [`LoaderCache`]), and the path from a function of the C library to its system
//! call ([`find_syscall_paths`]). The caller opens files, runs programs, and combines the results into a [`FunctionReport`] or
//! [`FileDependencies`].
//!
//! Bytes in, values out. No input is trusted: whatever the bytes are, the answer is a value or an [`Error`].
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
