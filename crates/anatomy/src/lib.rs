//! Programs and libraries, read without running them: what a file is and what it needs ([`read`]), where a loader
//! would look for its libraries ([`search`], [`Cache`]), and the way from a function of the C library to the system
//! call in which it ends ([`walk`]). Whoever opens the files and runs the programs puts it together as a [`Report`], or as
//! the [`Parts`] of a file.
//!
//! Bytes in, values out. Nothing read here is trusted: whatever the bytes are, the answer is a value or an [`Error`].
//! This crate opens no file and starts no program.

mod arm;
mod binary;
mod cache;
mod chain;
mod code;
mod elf;
mod error;
mod flags;
mod flow;
mod frames;
mod image;
mod machine;
mod reason;
mod registers;
mod report;
mod search;
mod version;
mod walk;
mod x86;

pub use binary::{Binary, Kind, Read, Script, Undefined, read};
pub use cache::Cache;
pub use chain::{Call, Chain, Line, Name, Site, Step, Walk};
pub use error::Error;
pub use flags::{CloneKind, Flag, Flags};
pub use image::Image;
pub use machine::{Creation, Machine};
pub use reason::{Reason, reasons};
pub use report::{Check, Function, Libraries, Library, Live, LiveCall, Needed, Parts, Report, Verdict};
pub use search::{Search, search};
pub use version::libc_version;
pub use walk::walk;
