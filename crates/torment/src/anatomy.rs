//! `explain fork|vfork|spawn|thread` and `explain binary`: what this machine's C library really does, read from its
//! machine code and seen live; and what a program is made of, without running it.

mod binary;
mod json;
mod libraries;
mod lines;
mod live;

pub use binary::explain_binary;

use crate::args::{Call, Common};
use crate::{Failure, result};
use ::anatomy::Walk;
use anyhow::Context;
use libraries::Libraries;
use live::Live;
use runner::exit;
use std::path::Path;

/// What is known of one function.
struct Report<'a> {
    call: Call,
    libraries: &'a Libraries,
    walk: Walk,
    live: Live,
    verdict: Verdict,
}

/// Whether what was read and what was seen are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// Address, number and flags agree.
    Pass,
    /// One of them does not.
    Differs,
    /// There was nothing to compare with.
    NotSeen,
    /// The way was not found in the machine code.
    NotRead,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Differs => "differs",
            Self::NotSeen => "not_seen",
            Self::NotRead => "not_read",
        }
    }

    fn exit_code(self) -> u8 {
        match self {
            Self::Pass => exit::MET,
            Self::Differs => exit::ERROR,
            Self::NotSeen | Self::NotRead => exit::UNDECIDED,
        }
    }
}

/// The way from a function of the C library to its system call: read, and seen live. The library is the one that the loader
/// would take for `program`.
pub fn explain_call(call: Call, program: &Path, common: &Common) -> Result<u8, Failure> {
    let libraries = Libraries::of(program)?;
    let images = libraries.images()?;
    let walk = ::anatomy::walk(&images, call.symbol()).with_context(|| {
        let why = if libraries.is_static { " (a static program, perhaps stripped of its names)" } else { "" };
        format!("cannot follow {} of {}{why}", call.symbol(), libraries.program.display())
    })?;
    let live = live::look(call, &walk, &libraries, &images);
    let verdict = verdict(&walk, &live);
    let report = Report { call, libraries: &libraries, walk, live, verdict };
    result(|| lines::report(&report), || json::report(&report), common)?;
    Ok(verdict.exit_code())
}

fn verdict(walk: &Walk, live: &Live) -> Verdict {
    let Some(seen) = &live.seen else {
        return if walk.chains.is_empty() { Verdict::NotRead } else { Verdict::NotSeen };
    };
    match walk.chains.is_empty() {
        true => Verdict::NotRead,
        false if seen.checks.iter().all(|check| check.agrees) => Verdict::Pass,
        false => Verdict::Differs,
    }
}
