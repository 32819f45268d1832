//! The same call, made by a running program.

use super::libraries::locate;
use ::anatomy::{
    CallCheck, CallPath, CloneKind, CreationFunction, Image, Libraries, LiveCall, LiveObservation,
    SyscallPaths,
};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::{File, canonicalize};
use std::io::{Seek, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use trace::{CreationCall, TraceLimits, trace_creations};

/// A program that makes the call, if installed and built that way; its arguments; and which part of it makes the call,
/// unless obvious.
type Candidate = (&'static str, &'static [&'static str], &'static str);

/// Programs that make the call, the most common first. All they start is `env true`.
fn candidates(call: CreationFunction) -> &'static [Candidate] {
    match call {
        CreationFunction::Fork => &[
            ("sh", &["-c", ": & wait"], "a job in the background"),
            ("bash", &["-c", ": & wait"], "a job in the background"),
            ("python3", &["-c", "import os; os.fork()"], ""),
        ],
        CreationFunction::Vfork => &[
            ("sh", &["-c", "env true; :"], "a command of a shell"),
            ("dash", &["-c", "env true; :"], "a command of a shell"),
            ("gcc", &["-E", "-x", "c", "/dev/null", "-o", "/dev/null"], "its preprocessor"),
            ("python3", &["-c", "import subprocess; subprocess.run(['env', 'true'])"], "subprocess"),
        ],
        CreationFunction::Spawn => &[
            ("make", &["-s", "-f", "/dev/null", "--eval", "all: ; @env true", "all"], "a recipe"),
            ("sed", &["-n", "1e env true", "/proc/version"], "popen, which is posix_spawn within"),
            ("gawk", &["BEGIN { system(\"env true\") }"], "system, which is posix_spawn within"),
            ("python3", &["-c", "import os; os.posix_spawnp('env', ['env', 'true'], {})"], ""),
            ("gcc", &["-E", "-x", "c", "/dev/null", "-o", "/dev/null"], "its preprocessor"),
        ],
        CreationFunction::Thread => &[
            ("sort", &["--parallel=2", "-S", "32M"], "262,144 lines, by two threads"),
            ("xz", &["-T2", "--block-size=65536", "-c"], "two threads"),
            ("zstd", &["-T2", "-q", "-c"], "two threads"),
            ("python3", &["-c", "import threading; threading.Thread(target=int).start()"], ""),
        ],
    }
}

/// Programs that start threads only for much work.
const FED_PROGRAMS: [&str; 3] = ["sort", "xz", "zstd"];
/// Limits per candidate: each needs some 1,000 stops and a tenth of a second.
const LIMITS: TraceLimits = TraceLimits { time: Duration::from_secs(10), stops: 400_000 };
/// Below 131,072 lines, sort takes one thread.
const INPUT_LINES: usize = 1 << 18;

/// Runs one candidate after another until one makes the call from this very C library.
pub fn observe_call(
    call: CreationFunction,
    paths: &SyscallPaths,
    libraries: &Libraries,
    images: &[Image<'_>],
) -> LiveObservation {
    let mut live = LiveObservation::default();
    if paths.machine != ::anatomy::Architecture::native().unwrap_or(::anatomy::Architecture(0)) {
        live.unavailable = Some(format!("code for {} cannot run here", paths.machine));
        return live;
    }
    for candidate in candidates(call) {
        match run(candidate, call, libraries) {
            Ok((creation_call, library)) => {
                live.call = Some(compare(candidate, creation_call, library, paths, images));
                return live;
            }
            Err(why) => live.others.push((candidate.0.to_owned(), why)),
        }
    }
    live
}

fn command_of((program, arguments, _): &Candidate) -> Result<Command, String> {
    let path = locate(Path::new(program));
    if !path.is_file() {
        return Err("not installed".to_owned());
    }
    let mut command = Command::new(path);
    command.args(*arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // No other library may replace the one that was read.
    command.env("LC_ALL", "C").env_remove("LD_PRELOAD").env_remove("LD_AUDIT").env_remove("MAKEFLAGS");
    if FED_PROGRAMS.contains(program) {
        command.stdin(lines().map_err(|why| format!("no memory for its input: {why}"))?);
    }
    Ok(command)
}

fn lines() -> std::io::Result<File> {
    let mut file = File::from(memfd_create("lines", MemfdFlags::CLOEXEC)?);
    file.write_all(&b"b\na\n".repeat(INPUT_LINES / 2))?;
    file.rewind()?;
    Ok(file)
}

/// The call and the library it came from; or why this program did not show it.
fn run(
    candidate: &Candidate,
    call: CreationFunction,
    libraries: &Libraries,
) -> Result<(CreationCall, usize), String> {
    let command = command_of(candidate)?;
    let wanted = match call {
        CreationFunction::Fork => CloneKind::Fork,
        CreationFunction::Vfork | CreationFunction::Spawn => CloneKind::Vfork,
        CreationFunction::Thread => CloneKind::Thread,
    };
    let (mut found, mut otherwise) = (None, None);
    let followed = trace_creations(command, LIMITS, |creation_call| {
        let at = creation_call.mapping.as_ref().and_then(|mapping| {
            let path = canonicalize(&mapping.path).ok()?;
            libraries.all.iter().position(|library| library.path == path && !mapping.deleted)
        });
        let why = match (at, &creation_call.mapping) {
            (Some(library), _)
                if creation_call.clone_kind() == Some(wanted) && is_meant(call, creation_call) =>
            {
                found = Some((creation_call.clone(), library));
                return ControlFlow::Break(());
            }
            (Some(_), _) => {
                let flags = creation_call.flags.map(|flags| format!(" with {}", flags.names()));
                format!("calls {}{} instead", creation_call.creation.name(), flags.unwrap_or_default())
            }
            (None, Some(mapping)) if mapping.deleted => {
                format!("has {} of before it was replaced", mapping.path.display())
            }
            (None, Some(mapping)) => format!("takes the call from {}", mapping.path.display()),
            (None, None) => "makes the call from no file".to_owned(),
        };
        otherwise.get_or_insert(why);
        ControlFlow::Continue(())
    });
    match (found, followed) {
        (Some(found), _) => Ok(found),
        (None, Err(why)) => Err(why.to_string()),
        (None, Ok(_)) => Err(otherwise.unwrap_or_else(|| "does not make the call".to_owned())),
    }
}

/// vfork and posix_spawn pass the same flags; only the latter's child gets a stack of its own.
fn is_meant(call: CreationFunction, creation_call: &CreationCall) -> bool {
    match call {
        CreationFunction::Vfork => !creation_call.new_stack,
        CreationFunction::Spawn => creation_call.new_stack,
        CreationFunction::Fork | CreationFunction::Thread => true,
    }
}

fn compare(
    candidate: &Candidate,
    creation_call: CreationCall,
    library: usize,
    paths: &SyscallPaths,
    images: &[Image<'_>],
) -> LiveCall {
    let offset = creation_call.mapping.as_ref().map(|mapping| mapping.offset);
    let after = offset.and_then(|offset| images.get(library)?.address_of(offset));
    let ends_here = |chain: &CallPath| {
        let last = chain.steps.last().map(|step| step.library);
        last == Some(library) && Some(chain.site.next_address) == after
    };
    let chain = paths.paths.iter().position(ends_here);
    // If it matches none, it is compared with the first.
    let read = paths.paths.get(chain.unwrap_or(0));
    let length = read.map_or(0, |chain| chain.site.next_address - chain.site.address);
    let address = after.map(|after| after.saturating_sub(length));
    let mut checks = Vec::new();
    if let Some(chain) = read {
        let hexadecimal = |address: u64| format!("{address:#x}");
        checks.push(CallCheck {
            item: "address",
            predicted: Some(hexadecimal(chain.site.address)),
            observed: address.map_or_else(|| "outside of the file".to_owned(), hexadecimal),
            agrees: address == Some(chain.site.address),
        });
        let number =
            |number: u64, creation: ::anatomy::CreationSyscall| format!("{number} ({})", creation.name());
        checks.push(CallCheck {
            item: "number",
            predicted: Some(number(chain.site.number, chain.site.creation)),
            observed: number(creation_call.number, creation_call.creation),
            agrees: creation_call.number == chain.site.number,
        });
        if let Some(flags) = creation_call.flags {
            checks.push(CallCheck {
                item: "flags",
                predicted: chain.site.flags.map(|flags| hexadecimal(flags.bits | flags.signal)),
                observed: hexadecimal(flags.bits | flags.signal),
                agrees: chain.site.flags.is_none_or(|read| read == flags),
            });
        }
    }
    let returns = read.filter(|_| chain.is_some()).and_then(|chain| returns(chain, &creation_call));
    let (program, arguments, why) = *candidate;
    let shown = std::iter::once(program).chain(arguments.iter().copied());
    let quoted = |word: &str| {
        let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=,:".contains(c));
        if plain { word.to_owned() } else { format!("'{word}'") }
    };
    LiveCall {
        command: shown.map(quoted).collect::<Vec<_>>().join(" "),
        why,
        program: creation_call.program.unwrap_or_else(|| program.into()),
        process: creation_call.pid.as_raw_nonzero().get(),
        number: creation_call.number,
        creation: creation_call.creation,
        flags: creation_call.flags,
        address,
        path_index: chain,
        checks,
        returns,
    }
}

/// Return addresses found on the stack, of all functions on the path. Those outside the system call's library are left
/// out: its location in memory is not read.
fn returns(chain: &CallPath, creation_call: &CreationCall) -> Option<(usize, usize)> {
    let library = chain.steps.last()?.library;
    let base = creation_call.instruction.checked_sub(chain.site.next_address)?;
    let there = |step: &::anatomy::PathStep| {
        let mut addresses = step.calls.iter().filter_map(|call| call.returns);
        addresses
            .any(|address| address.checked_add(base).is_some_and(|address| creation_call.returns_to(address)))
    };
    let calling = chain.steps.iter().filter(|step| step.library == library);
    let calling: Vec<_> =
        calling.filter(|step| step.calls.iter().any(|call| call.returns.is_some())).collect();
    (!calling.is_empty()).then(|| (calling.iter().filter(|step| there(step)).count(), calling.len()))
}
