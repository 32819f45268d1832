//! What is told of a function, and of a file: values that others fill in, who may open files and run programs.

use crate::{Binary, CloneFlags, CreationSyscall, SyscallPaths, UndefinedSymbol};
use std::collections::BTreeSet;
use std::path::PathBuf;

units::named! {
    /// A function of the C library that starts something.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum CreationFunction {
        /// A process with a copy of the memory.
        Fork = "fork",
        /// A process that borrows its parent's memory until it runs another program.
        Vfork = "vfork",
        /// Another program at once.
        Spawn = "posix_spawn",
        /// A thread.
        Thread = "pthread_create",
    }
}

/// A program and what its loader would bring together for it.
#[derive(Debug)]
pub struct Libraries {
    /// The program, without symbolic links.
    pub program: PathBuf,
    /// It carries its C library in itself.
    pub is_static: bool,
    /// It is no program but a library, and the first of them.
    pub is_library: bool,
    /// Its libraries, those it names first; before them the file itself if it is static, or a library.
    pub all: Vec<Library>,
    /// Libraries that are nowhere.
    pub missing: Vec<String>,
    /// What else is to be said about how they were found.
    pub notes: Vec<String>,
}

/// A library.
#[derive(Debug)]
pub struct Library {
    /// The name it is needed by.
    pub soname: String,
    /// Where it is, without symbolic links.
    pub path: PathBuf,
    /// All of it.
    pub bytes: Vec<u8>,
    /// What is known of it.
    pub binary: Binary,
    /// Names for debuggers, which a distribution keeps in a file of their own.
    pub names: Option<(PathBuf, Vec<u8>)>,
}

/// What is known of one function.
#[derive(Debug)]
pub struct FunctionReport<'a> {
    /// Which.
    pub function: CreationFunction,
    /// Where it was read.
    pub libraries: &'a Libraries,
    /// Its ways to the kernel.
    pub walk: SyscallPaths,
    /// What was seen of it.
    pub live: LiveObservation,
    /// Whether both are the same.
    pub verdict: Agreement,
}

/// What was seen of programs that run.
#[derive(Debug, Default)]
pub struct LiveObservation {
    /// The call, held against what was read.
    pub seen: Option<LiveCall>,
    /// Programs that did not show it, and why.
    pub others: Vec<(String, String)>,
    /// No program can show it here, and why.
    pub impossible: Option<String>,
}

/// The call as a program made it.
#[derive(Debug)]
pub struct LiveCall {
    /// What was typed.
    pub command: String,
    /// What of it makes the call.
    pub why: &'static str,
    /// The program that runs there.
    pub program: PathBuf,
    /// The number of the process that made it.
    pub process: i32,
    /// The call's number.
    pub number: u64,
    /// Which it is.
    pub creation: CreationSyscall,
    /// What it asks for; none for calls without flags, or if their structure could not be read.
    pub flags: Option<CloneFlags>,
    /// Its address in the library; none if the file holds no such place.
    pub address: Option<u64>,
    /// Which of the ways that were read ends there.
    pub chain: Option<usize>,
    /// One by one, what was compared.
    pub checks: Vec<CallCheck>,
    /// Addresses to return to of that way, found on its stack, of how many.
    pub returns: Option<(usize, usize)>,
}

/// One thing that was read and seen.
#[derive(Debug)]
pub struct CallCheck {
    /// What.
    pub of: &'static str,
    /// As it was read; none if the code does not say.
    pub read: Option<String>,
    /// As it was seen.
    pub seen: String,
    /// They are the same, or there is nothing to differ from.
    pub agrees: bool,
}

/// Whether what was read and what was seen are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// Address, number and flags agree.
    Pass,
    /// One of them does not.
    Differs,
    /// There was nothing to compare with.
    NotSeen,
    /// The way was not found in the machine code.
    NotRead,
}

impl Agreement {
    /// Of what was read and what was seen.
    pub fn of(walk: &SyscallPaths, live: &LiveObservation) -> Self {
        match &live.seen {
            _ if walk.chains.is_empty() => Self::NotRead,
            None => Self::NotSeen,
            Some(seen) if seen.checks.iter().all(|check| check.agrees) => Self::Pass,
            Some(_) => Self::Differs,
        }
    }
}

/// A file and the libraries it needs itself.
#[derive(Debug)]
pub struct FileDependencies {
    /// The file.
    pub path: PathBuf,
    /// What is known of it.
    pub binary: Binary,
    /// Its libraries, in its order.
    pub needed: Vec<NeededLibrary>,
    /// What it asks for that none of its own libraries has: another library of theirs, the loader, or nobody.
    pub elsewhere: Vec<String>,
}

/// A library that a file needs.
#[derive(Debug)]
pub struct NeededLibrary {
    /// Its name there.
    pub soname: String,
    /// Where it is; none if it was not found.
    pub path: Option<PathBuf>,
    /// What the file asks of it.
    pub gives: Vec<String>,
}

impl FileDependencies {
    /// Of this file, with its libraries in the order in which it needs them, as far as they were found.
    pub fn of(path: PathBuf, binary: Binary, libraries: Vec<Option<Library>>) -> Self {
        let has: Vec<BTreeSet<&str>> = libraries
            .iter()
            .map(|library| library.iter().flat_map(|l| &l.binary.exported).map(String::as_str).collect())
            .collect();
        // Who is asked is said with the version; without one it is the first that has it.
        let giver = |wanted: &UndefinedSymbol| {
            let said = wanted.library.as_ref();
            let named = said.and_then(|name| binary.needed.iter().position(|needed| needed == name));
            named.or_else(|| has.iter().position(|exported| exported.contains(wanted.name.as_str())))
        };
        let mut gives: Vec<Vec<String>> = vec![Vec::new(); binary.needed.len()];
        let mut elsewhere = Vec::new();
        for wanted in binary.undefined.iter().flatten() {
            match giver(wanted).and_then(|n| gives.get_mut(n)) {
                Some(list) => list.push(wanted.name.clone()),
                None if !wanted.weak => elsewhere.push(wanted.name.clone()),
                None => {}
            }
        }
        let paths = libraries.into_iter().map(|library| library.map(|l| l.path));
        let needed = binary.needed.iter().cloned().zip(paths).zip(gives);
        let needed = needed.map(|((soname, path), gives)| NeededLibrary { soname, path, gives }).collect();
        Self { path, binary, needed, elsewhere }
    }
}
