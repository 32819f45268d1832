//! `explain fork|vfork|spawn|thread` and `explain binary`: what this machine's C library really does, read from its
//! machine code and seen live; and what a program is made of, without running it.

mod libraries;
mod live;

use crate::args::Common;
use crate::{Failure, result, wrong};
use ::anatomy::{Function, Parts, Read, Report, Verdict};
use anyhow::{Context, anyhow};
use libraries::{Places, content, images, libraries_of, locate};
use runner::exit;
use std::path::Path;
use view::anatomy::{binary_json, binary_lines, call_json, call_lines, script_json, script_lines};

/// The way from a function of the C library to its system call: read, and seen live. The library is the one that the loader
/// would take for `program`.
pub fn explain_call(function: Function, program: &Path, common: &Common) -> Result<u8, Failure> {
    let libraries = libraries_of(program)?;
    let images = images(&libraries)?;
    let walk = ::anatomy::walk(&images, function.name()).with_context(|| {
        let why = if libraries.is_static { " (a static program, perhaps stripped of its names)" } else { "" };
        format!("cannot follow {} of {}{why}", function.name(), libraries.program.display())
    })?;
    let live = live::look(function, &walk, &libraries, &images);
    let verdict = Verdict::of(&walk, &live);
    let report = Report { function, libraries: &libraries, walk, live, verdict };
    result(|| call_lines(&report), || call_json(&report), common)?;
    Ok(match verdict {
        Verdict::Pass => exit::MET,
        Verdict::Differs => exit::ERROR,
        Verdict::NotSeen | Verdict::NotRead => exit::UNDECIDED,
    })
}

/// What a program or library is made of. It is read and never run, nor is its loader.
pub fn explain_binary(file: &Path, common: &Common) -> Result<u8, Failure> {
    let path = locate(file);
    let bytes = content(&path)?;
    let read = ::anatomy::read(&bytes).map_err(|why| wrong(anyhow!("'{}' is {why}", path.display())))?;
    match read {
        Read::Script(script) => {
            result(|| script_lines(&path, &script), || script_json(&path, &script), common)?;
        }
        Read::Elf(binary) => {
            let places = Places::read(&binary);
            let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
            let found = binary.needed.iter().map(|name| places.find(name, &real, &binary)).collect();
            let parts = Parts::of(path, *binary, found);
            result(|| binary_lines(&parts), || binary_json(&parts), common)?;
        }
    }
    Ok(exit::MET)
}
