//! The process that has the threads, from its own side: it makes them while it may, and says what stops it.

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

/// Where it finds how many threads it may have, in a file that it shares with torment; at its beginning it says how many
/// it has, so that this is known also when it is killed.
pub const CEILING: u64 = 8;
/// A thread that fails is tried again so often,
const TRIES: u32 = 3;
/// after this time: another process may only just be ending.
const PAUSE: Duration = Duration::from_millis(20);
/// Between two looks whether all have gone.
const LEAVING: Duration = Duration::from_millis(5);
/// Heap that is there already when there is no more to be had.
const HEAP: usize = 100 << 10;

/// What threads it is to have.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CrowdRequest {
    pub stack: Bytes,
    pub touch: Bytes,
    pub raw: bool,
    pub maps: u64,
}

/// What torment says, a line of JSON each, after a [`CrowdRequest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CrowdCommand {
    /// Make as many as the ceiling allows; answered by [`CrowdReport::Reached`] or [`CrowdReport::Failed`].
    Go,
    /// Let all of them end, then end.
    Release,
}

/// What it says, a line of JSON each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CrowdReport {
    /// It is ready.
    Here,
    /// There are as many as may be.
    Reached,
    /// There cannot be more.
    Failed(ThreadFailure),
    /// It cannot be made as it is asked for.
    Refused(String),
}

/// The hidden command `crowd`: not to be started by hand. Its standard input is a socket, its standard output a file.
///
/// # Errors
/// If it was started by hand, or nobody hears it.
pub fn run_crowd() -> io::Result<()> {
    let mut talk = JsonSocket::from_stdin()?;
    let shared = rustix::stdio::stdout().try_clone_to_owned()?;
    let Some(ask): Option<CrowdRequest> = talk.receive_next()? else { return Ok(()) };
    // Where memory ends, this process is to be killed, and no other. It may always ask for that.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    if let Err(why) = occupy_maps(ask.maps) {
        return talk.send(&CrowdReport::Refused(format!("{} mappings cannot be made: {why}", ask.maps)));
    }
    drop(black_box(vec![0_u8; HEAP]));
    let mut crowd = IdleThreads::new(ask.stack, ask.touch);
    talk.send(&CrowdReport::Here)?;
    while let Some(order) = talk.receive_next()? {
        match order {
            CrowdCommand::Go => talk.send(&grow(&mut crowd, &shared, ask.raw, ask.stack)?)?,
            CrowdCommand::Release => break,
        }
    }
    crowd.release();
    while fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| number_field(&status, "Threads") > Some(1))
    {
        sleep(LEAVING);
    }
    Ok(())
}

/// The number at this place of the shared file.
pub fn read_number(file: &OwnedFd, at: u64) -> io::Result<u64> {
    let mut bytes = [0; 8];
    match pread(file, &mut bytes[..], at)? {
        8 => Ok(u64::from_ne_bytes(bytes)),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Changes it.
pub fn write_number(file: &OwnedFd, at: u64, number: u64) -> io::Result<()> {
    pwrite(file, &number.to_ne_bytes(), at)?;
    Ok(())
}

/// One after the other, until there are as many as may be or one cannot be made.
fn grow(crowd: &mut IdleThreads, file: &OwnedFd, raw: bool, stack: Bytes) -> io::Result<CrowdReport> {
    let mut tries = 0;
    while crowd.made() < read_number(file, CEILING)? {
        match if raw { crowd.add_stackless() } else { crowd.add_thread() } {
            Ok(()) => write_number(file, 0, crowd.made())?,
            Err(_) if tries < TRIES => {
                tries += 1;
                sleep(PAUSE);
            }
            Err(why) => return Ok(CrowdReport::Failed(repeat(crowd, raw, stack, &why))),
        }
    }
    Ok(CrowdReport::Reached)
}

/// The steps of the failed call, one by one: pthread_create(3) says EAGAIN whichever of them failed.
fn repeat(crowd: &mut IdleThreads, raw: bool, stack: Bytes, why: &io::Error) -> ThreadFailure {
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
    let clone = number(crowd.add_stackless());
    let (map, protect) = try_map_stack(stack);
    ThreadFailure {
        call: "pthread_create".to_owned(),
        error,
        clone,
        map: number(map),
        protect: protect.and_then(number),
    }
}
