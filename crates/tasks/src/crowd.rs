//! The process that holds the threads, from the inside: it creates them up to its ceiling, and reports what stops it.

use crate::binding_limit::ThreadFailure;
use procfs::number_field;
use rustix::io::{pread, pwrite};
use serde::{Deserialize, Serialize};
use service::JsonSocket;
use std::fs;
use std::hint::black_box;
use std::io;
use std::os::fd::OwnedFd;
use std::thread::sleep;
use std::time::Duration;
use sys::{IdleThreads, occupy_maps, try_map_stack};
use units::Bytes;

/// Offset of the ceiling in the file shared with torment; offset 0 holds the current number of threads,
/// which so survives a kill.
pub const CEILING_OFFSET: u64 = 8;
/// A failing thread is retried this often,
const TRIES: u32 = 3;
/// after this time: another process may only just be ending.
const PAUSE: Duration = Duration::from_millis(20);
/// Poll interval until all have ended.
const EXIT_POLL: Duration = Duration::from_millis(5);
/// Heap reserved for when memory has run out.
const HEAP: usize = 100 << 10;

/// The threads wanted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CrowdRequest {
    pub stack: Bytes,
    pub touch: Bytes,
    pub raw: bool,
    pub maps: u64,
}

/// torment's commands, one JSON line each, after a [`CrowdRequest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CrowdCommand {
    /// Create threads up to the ceiling; answered by [`CrowdReport::Reached`] or [`CrowdReport::Failed`].
    Go,
    /// End all threads, then exit.
    Release,
}

/// The process's reports, one JSON line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CrowdReport {
    /// Ready.
    Here,
    /// The ceiling is reached.
    Reached,
    /// No more threads are possible.
    Failed(ThreadFailure),
    /// The request cannot be met.
    Refused(String),
}

/// The hidden command `crowd`: not to be started by hand. Its standard input is a socket, its standard output a file.
///
/// # Errors
/// If it was started by hand, or nobody reads its output.
pub fn run_crowd() -> io::Result<()> {
    let mut socket = JsonSocket::from_stdin()?;
    let shared = rustix::stdio::stdout().try_clone_to_owned()?;
    let Some(request): Option<CrowdRequest> = socket.receive_next()? else { return Ok(()) };
    // When memory runs out, this process is to be killed, and no other. Raising this is always allowed.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    if let Err(why) = occupy_maps(request.maps) {
        return socket
            .send(&CrowdReport::Refused(format!("{} mappings cannot be made: {why}", request.maps)));
    }
    drop(black_box(vec![0_u8; HEAP]));
    let mut threads = IdleThreads::new(request.stack, request.touch);
    socket.send(&CrowdReport::Here)?;
    while let Some(order) = socket.receive_next()? {
        match order {
            CrowdCommand::Go => socket.send(&grow(&mut threads, &shared, request.raw, request.stack)?)?,
            CrowdCommand::Release => break,
        }
    }
    threads.release();
    while fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| number_field(&status, "Threads") > Some(1))
    {
        sleep(EXIT_POLL);
    }
    Ok(())
}

/// Reads the number at this offset of the shared file.
pub fn read_number(file: &OwnedFd, at: u64) -> io::Result<u64> {
    let mut bytes = [0; 8];
    match pread(file, &mut bytes[..], at)? {
        8 => Ok(u64::from_ne_bytes(bytes)),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

pub fn write_number(file: &OwnedFd, at: u64, number: u64) -> io::Result<()> {
    pwrite(file, &number.to_ne_bytes(), at)?;
    Ok(())
}

/// One by one, until the ceiling is reached or one fails.
fn grow(threads: &mut IdleThreads, file: &OwnedFd, raw: bool, stack: Bytes) -> io::Result<CrowdReport> {
    let mut tries = 0;
    while threads.count() < read_number(file, CEILING_OFFSET)? {
        match if raw { threads.add_stackless() } else { threads.add_thread() } {
            Ok(()) => write_number(file, 0, threads.count())?,
            Err(_) if tries < TRIES => {
                tries += 1;
                sleep(PAUSE);
            }
            Err(why) => return Ok(CrowdReport::Failed(diagnose_failure(threads, raw, stack, &why))),
        }
    }
    Ok(CrowdReport::Reached)
}

/// Repeats the steps of the failed call one by one: pthread_create(3) returns EAGAIN whichever of them failed.
fn diagnose_failure(threads: &mut IdleThreads, raw: bool, stack: Bytes, why: &io::Error) -> ThreadFailure {
    let number = |result: io::Result<()>| result.err().map(|why| why.raw_os_error().unwrap_or_default());
    let error = why.raw_os_error().unwrap_or_default();
    if raw {
        return ThreadFailure {
            call: "clone".to_owned(),
            error,
            clone: Some(error),
            map: None,
            protect: None,
        };
    }
    let clone = number(threads.add_stackless());
    let (map, protect) = try_map_stack(stack);
    ThreadFailure {
        call: "pthread_create".to_owned(),
        error,
        clone,
        map: number(map),
        protect: protect.and_then(number),
    }
}
