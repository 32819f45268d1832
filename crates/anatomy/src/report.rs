//! Reports on a function and on a file: values filled in by callers, who may open files and run programs.

use crate::{Binary, CloneFlags, CreationSyscall, SyscallPaths, UndefinedSymbol};
use std::collections::BTreeSet;
use std::path::PathBuf;

units::named! {
    /// A function of the C library that creates a process or a thread.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum CreationFunction {
        /// A process with a copy of the memory.
        Fork = "fork",
        /// A process that borrows its parent's memory until it executes another program.
        Vfork = "vfork",
        /// Another program directly.
        Spawn = "posix_spawn",
        /// A thread.
        Thread = "pthread_create",
    }
}

/// A program and the libraries its loader would load.
#[derive(Debug)]
pub struct Libraries {
    /// The program, with symbolic links resolved.
    pub program: PathBuf,
    /// It contains its C library.
    pub is_static: bool,
    /// It is itself a library, and the first of them.
    pub is_library: bool,
    /// Its libraries, direct ones first; preceded by the file itself if it is static, or a library.
    pub all: Vec<Library>,
    /// Libraries that were not found.
    pub missing: Vec<String>,
    /// Notes on the search.
    pub notes: Vec<String>,
}

/// A library.
#[derive(Debug)]
pub struct Library {
    /// The name by which it is needed.
    pub soname: String,
    /// Its path, with symbolic links resolved.
    pub path: PathBuf,
    /// Its content.
    pub bytes: Vec<u8>,
    /// Its analysis.
    pub binary: Binary,
    /// A distribution's separate debug file.
    pub names: Option<(PathBuf, Vec<u8>)>,
}

/// The report on one function.
#[derive(Debug)]
pub struct FunctionReport<'a> {
    /// Which.
    pub function: CreationFunction,
    /// The libraries read.
    pub libraries: &'a Libraries,
    /// Its paths to the kernel.
    pub paths: SyscallPaths,
    /// What running programs showed.
    pub observation: LiveObservation,
    /// Whether both agree.
    pub verdict: Agreement,
}

/// Observations of running programs.
#[derive(Debug, Default)]
pub struct LiveObservation {
    /// The call, compared with the paths.
    pub call: Option<LiveCall>,
    /// Programs that did not show it, and why.
    pub others: Vec<(String, String)>,
    /// Why no program can show it here, if so.
    pub unavailable: Option<String>,
}

/// The call as a program made it.
#[derive(Debug)]
pub struct LiveCall {
    /// The command run.
    pub command: String,
    /// The part of it that makes the call.
    pub why: &'static str,
    /// The program that runs there.
    pub program: PathBuf,
    /// ID of the calling process.
    pub process: i32,
    /// System call number.
    pub number: u64,
    /// Which call it is.
    pub creation: CreationSyscall,
    /// Its flags; none for calls without, or if their structure could not be read.
    pub flags: Option<CloneFlags>,
    /// Its address in the library; none if the file has no such place.
    pub address: Option<u64>,
    /// Index of the path that ends there.
    pub path_index: Option<usize>,
    /// The comparisons.
    pub checks: Vec<CallCheck>,
    /// Return addresses of that path found on its stack, of how many.
    pub returns: Option<(usize, usize)>,
}

/// One property compared.
#[derive(Debug)]
pub struct CallCheck {
    /// Which.
    pub item: &'static str,
    /// As read; none if the code does not say.
    pub predicted: Option<String>,
    /// As observed.
    pub observed: String,
    /// They are equal, or there is nothing to compare.
    pub agrees: bool,
}

/// Whether reading and observation agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// Address, number and flags agree.
    Pass,
    /// One of them differs.
    Differs,
    /// Nothing was observed.
    NotObserved,
    /// The machine code shows no path.
    NoPath,
}

impl Agreement {
    /// Compares paths with observation.
    pub fn of(paths: &SyscallPaths, observation: &LiveObservation) -> Self {
        match &observation.call {
            _ if paths.paths.is_empty() => Self::NoPath,
            None => Self::NotObserved,
            Some(seen) if seen.checks.iter().all(|check| check.agrees) => Self::Pass,
            Some(_) => Self::Differs,
        }
    }
}

/// A file and its direct dependencies.
#[derive(Debug)]
pub struct FileDependencies {
    /// The file.
    pub path: PathBuf,
    /// Its analysis.
    pub binary: Binary,
    /// Its libraries, in its order.
    pub needed: Vec<NeededLibrary>,
    /// Symbols that none of its own libraries defines: another library of theirs, the loader, or nobody does.
    pub unresolved: Vec<String>,
}

/// A library that a file needs.
#[derive(Debug)]
pub struct NeededLibrary {
    /// The name used there.
    pub soname: String,
    /// Its path; none if not found.
    pub path: Option<PathBuf>,
    /// The symbols that the file takes from it.
    pub provides: Vec<String>,
}

impl FileDependencies {
    /// For this file, with its libraries in the order in which it needs them, as far as they were found.
    pub fn of(path: PathBuf, binary: Binary, libraries: Vec<Option<Library>>) -> Self {
        let has: Vec<BTreeSet<&str>> = libraries
            .iter()
            .map(|library| library.iter().flat_map(|l| &l.binary.exported).map(String::as_str).collect())
            .collect();
        // The version names the library; without one it is the first that defines the symbol.
        let provider = |wanted: &UndefinedSymbol| {
            let library = wanted.library.as_ref();
            let named = library.and_then(|name| binary.needed.iter().position(|needed| needed == name));
            named.or_else(|| has.iter().position(|exported| exported.contains(wanted.name.as_str())))
        };
        let mut provided: Vec<Vec<String>> = vec![Vec::new(); binary.needed.len()];
        let mut unresolved = Vec::new();
        for wanted in binary.undefined.iter().flatten() {
            match provider(wanted).and_then(|n| provided.get_mut(n)) {
                Some(list) => list.push(wanted.name.clone()),
                None if !wanted.weak => unresolved.push(wanted.name.clone()),
                None => {}
            }
        }
        let paths = libraries.into_iter().map(|library| library.map(|l| l.path));
        let needed = binary.needed.iter().cloned().zip(paths).zip(provided);
        let needed =
            needed.map(|((soname, path), gives)| NeededLibrary { soname, path, provides: gives }).collect();
        Self { path, binary, needed, unresolved }
    }
}
