//! Where threads wait: one look at those that are on no processor, with their stacks. The kernel tells in which call a thread is, and
//! where its stack lies; what is on it is read from memory. Nothing is stopped, and nobody is asked.

use crate::Error;
use crate::gather::{Gathering, family};
use crate::memory::{ForeignMemory as _, ProcessMemory};
use crate::open::tasks;
use crate::sample::StackSample;
use record::Profile;
use std::io::{self, ErrorKind};
use std::time::Instant;
use units::Nanos;

/// Threads that are looked at, at most.
const MOST_THREADS: usize = 2_000;
/// Bytes of a stack that are read, at most; and at once, for where the stack ends nobody says.
const STACK_BYTES: usize = 64 << 10;
const PAGE_BYTES: usize = 4 << 10;
/// Looks at a thread that moves on while its stack is read.
const TRIES: u32 = 3;
/// What a thread is in that waits in the kernel without having called it.
const FAULT: &str = "page fault";

/// Threads of these processes, and of whatever they have begun, that wait at this moment: a profile in which a sample is a thread. The
/// innermost function of each is the kernel's call that it is in, or a page fault.
///
/// # Errors
/// If none of the processes is there, or where they wait may not be read.
pub fn waiting(pids: &[u32]) -> Result<Profile, Error> {
    let asked = pids.first().copied().unwrap_or(0);
    let pids = family(pids);
    if pids.is_empty() {
        return Err(Error::Gone(asked));
    }
    let (at_unix_ms, began) = (sys::now().unix_ms(), Instant::now());
    let mut gather = Gathering::of(&pids);
    let threads = pids.iter().flat_map(|pid| tasks(*pid).into_iter().map(|tid| (*pid, tid)));
    let mut refused = None;
    for (pid, tid) in threads.take(MOST_THREADS) {
        match Parked::of(pid, tid) {
            Ok(Some(Parked { call, instruction, pointer, stack })) => {
                let sample = StackSample::waiting(pid, tid, instruction, pointer, &stack);
                gather.count_waiting(&sample, &call);
            }
            Ok(None) => {}
            Err(why) if why.kind() == ErrorKind::PermissionDenied => refused = Some((pid, why)),
            // It has ended.
            Err(_) => {}
        }
    }
    match refused {
        Some((pid, why)) if gather.samples == 0 => Err(Error::Hidden { pid, why }),
        _ => Ok(Profile { at_unix_ms, length: Nanos::from(began.elapsed()), ..crate::finish::named(gather) }),
    }
}

/// A thread that waits.
struct Parked {
    call: String,
    instruction: u64,
    pointer: u64,
    stack: Vec<u8>,
}

impl Parked {
    /// None if it is on a processor, wants one, or does not keep still while it is looked at.
    fn of(pid: u32, tid: u32) -> io::Result<Option<Self>> {
        let path = format!("/proc/{pid}/task/{tid}/syscall");
        let mut text = std::fs::read_to_string(&path)?;
        for _ in 0..TRIES {
            let Some((call, pointer, instruction)) = parked(&text) else { return Ok(None) };
            let stack = copied(ProcessMemory(pid), pointer);
            let again = std::fs::read_to_string(&path)?;
            if again == text {
                return Ok(Some(Self { call, instruction, pointer, stack }));
            }
            text = again;
        }
        Ok(None)
    }
}

/// Call, stack pointer and where it goes on, as `/proc/PID/task/TID/syscall` has them; none of a thread that does not wait.
fn parked(text: &str) -> Option<(String, u64, u64)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (number, [.., pointer, instruction]) = (words.first()?, &words[..]) else { return None };
    let number: i64 = number.parse().ok()?;
    let address = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let call = match number {
        -1 => FAULT.to_owned(),
        _ => sys::call_name(number).map_or_else(|| format!("system call {number}"), str::to_owned),
    };
    Some((call, address(pointer)?, address(instruction)?))
}

/// What lies on a stack, as far as it can be read.
fn copied(memory: ProcessMemory, pointer: u64) -> Vec<u8> {
    let mut stack = Vec::with_capacity(STACK_BYTES);
    let mut length = PAGE_BYTES - pointer as usize % PAGE_BYTES;
    while stack.len() < STACK_BYTES {
        let Some(piece) = memory.bytes(pointer.wrapping_add(stack.len() as u64), length) else { break };
        stack.extend(piece);
        length = PAGE_BYTES;
    }
    stack
}

/// A thread that waits anywhere, with anything on its stack.
#[cfg(any(test, feature = "fuzzing"))]
pub fn hostile(bytes: &[u8]) {
    use crate::made::OwnNames;
    use crate::unwind::{Rules, Unwinder};
    let said = parked(&String::from_utf8_lossy(bytes));
    let (pointer, instruction) = said.map_or((0x7000, 9), |(_, pointer, instruction)| (pointer, instruction));
    let sample = StackSample::waiting(1, 1, instruction, pointer, bytes);
    let (unwinder, mut rules, mut made) = (Unwinder::default(), Rules::default(), OwnNames::default());
    let mut stack = unwinder.unwind(&sample, &mut rules, None, &mut made);
    unwinder.complete(&mut stack, &sample, &mut rules, None, &mut made, &|at| at % 2 == 0);
    assert!(stack.frames.len() <= crate::unwind::MOST_FRAMES);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_has_a_stack() {
        let futex = sys::call_number("futex").expect("every machine has it");
        for (text, expected) in [
            (
                format!("{futex} 0x7f10 0x80 0x0 0x0 0x0 0x0 0x7ffe10 0x7f20\n"),
                Some(("futex", 0x7f_fe10, 0x7f20)),
            ),
            ("-1 0x7ffe10 0x7f20\n".to_owned(), Some((FAULT, 0x7f_fe10, 0x7f20))),
            ("running\n".to_owned(), None),
            ("7\n".to_owned(), None),
            ("7 x 0x1\n".to_owned(), None),
            (String::new(), None),
        ] {
            let found = parked(&text);
            let found = found.as_ref().map(|(call, pointer, at)| (call.as_str(), *pointer, *at));
            assert_eq!(found, expected, "{text}");
        }
    }
}
