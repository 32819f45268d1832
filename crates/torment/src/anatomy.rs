//! `explain fork|vfork|spawn|thread` and `explain binary`: what this machine's C library really does, read from its
//! machine code and observed live; and what a program consists of, without running it.

mod libraries;
mod live;

use crate::args::CommonArgs;
use crate::{CommandError, print_result, usage_error};
use ::anatomy::{Agreement, CreationFunction, Executable, FileDependencies, FunctionReport};
use anyhow::{Context, anyhow};
use libraries::{LibraryPaths, images, libraries_of, locate, read_file};
use runner::exit;
use std::path::Path;
use view::anatomy::{binary_json, binary_lines, call_json, call_lines, script_json, script_lines};

/// The path from a C library function to its system call: read, and observed live. The library is the one that the
/// loader would take for `program`.
pub fn explain_call(
    function: CreationFunction,
    program: &Path,
    common: &CommonArgs,
) -> Result<u8, CommandError> {
    let libraries = libraries_of(program)?;
    let images = images(&libraries)?;
    let paths = ::anatomy::find_syscall_paths(&images, function.name()).with_context(|| {
        let why = if libraries.is_static { " (a static program, perhaps stripped of its names)" } else { "" };
        format!("cannot follow {} of {}{why}", function.name(), libraries.program.display())
    })?;
    let live = live::observe_call(function, &paths, &libraries, &images);
    let verdict = Agreement::of(&paths, &live);
    let report = FunctionReport { function, libraries: &libraries, paths, observation: live, verdict };
    print_result(|| call_lines(&report), || call_json(&report), common)?;
    Ok(match verdict {
        Agreement::Pass => exit::MET,
        Agreement::Differs => exit::ERROR,
        Agreement::NotObserved | Agreement::NoPath => exit::UNDECIDED,
    })
}

/// What a program or library consists of. Neither it nor its loader is ever run.
pub fn explain_binary(file: &Path, common: &CommonArgs) -> Result<u8, CommandError> {
    let path = locate(file);
    let bytes = read_file(&path)?;
    let read = ::anatomy::read_executable(&bytes)
        .map_err(|why| usage_error(anyhow!("'{}' is {why}", path.display())))?;
    match read {
        Executable::Script(script) => {
            print_result(|| script_lines(&path, &script), || script_json(&path, &script), common)?;
        }
        Executable::Elf(binary) => {
            let places = LibraryPaths::read(&binary);
            let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
            let found = binary.needed.iter().map(|name| places.find(name, &real, &binary)).collect();
            let parts = FileDependencies::of(path, *binary, found);
            print_result(|| binary_lines(&parts), || binary_json(&parts), common)?;
        }
    }
    Ok(exit::MET)
}
