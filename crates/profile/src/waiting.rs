//! Where threads wait: one look at the stacks of those off-CPU. The kernel gives a thread's system call and
//! stack pointer; the stack is read from memory. Nothing is stopped or asked.

use crate::Error;
use crate::collector::{StackCollector, with_descendants};
use crate::memory::{ForeignMemory, ProcessMemory};
use crate::perf_record::StackSample;
use crate::perf_rings::thread_ids;
use crate::runtimes::namespace_tid;
use crate::symbolize::symbolize;
use record::Profile;
use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::time::Instant;
use units::Nanos;

/// Maximum threads looked at.
const MAX_THREADS: usize = 2_000;
/// Maximum bytes read of a stack; all in one go, as nothing says where the stack ends.
const STACK_BYTES: usize = 64 << 10;
const PAGE_BYTES: usize = 4 << 10;
/// Attempts at a thread that moves on while its stack is read.
const TRIES: u32 = 3;
/// Stands for the call of a thread that waits in the kernel without one.
const FAULT: &str = "page fault";
/// futex(2): the operation without its flags; and the holder's TID in a lock word.
const COMMAND: u64 = 0x7F;
const WAIT: u64 = 0;
const WAIT_BITSET: u64 = 9;
const FUTEX_LOCK_PI: [u64; 2] = [6, 13];
const FUTEX_WAITERS: u32 = 1 << 31;
const FUTEX_TID_MASK: u32 = (1 << 30) - 1;
/// The word of a contended lock; glibc's mutexes have four more after it: depth, owner TID, number of
/// users, and kind, of a few bits.
const CONTENDED: u32 = 2;
const MAX_KIND: i32 = 0x1FF;

/// The threads of these processes and all their descendants that wait now, as a profile with one sample per
/// thread. The innermost function of each is its system call, or a page fault, followed by the holder of
/// its lock, if known ([`HOLDER`](crate::HOLDER)).
///
/// # Errors
/// If none of the processes exists, or it may not be read where they wait.
pub fn sample_waiting(pids: &[u32]) -> Result<Profile, Error> {
    let first_pid = pids.first().copied().unwrap_or(0);
    let pids = with_descendants(pids);
    if pids.is_empty() {
        return Err(Error::Gone(first_pid));
    }
    let (at_unix_ms, began) = (sys::now().unix_ms(), Instant::now());
    let mut collector = StackCollector::of(&pids);
    let threads = pids.iter().flat_map(|pid| thread_ids(*pid).into_iter().map(|tid| (*pid, tid)));
    let (mut refused, mut holders) = (None, HashMap::new());
    for (pid, tid) in threads.take(MAX_THREADS) {
        match WaitingThread::of(pid, tid) {
            Ok(Some(WaitingThread { call, instruction, pointer, stack, held_by })) => {
                let sample = StackSample::waiting(pid, tid, instruction, pointer, &stack);
                let name =
                    |number| holders.entry((pid, number)).or_insert_with(|| thread_name(pid, number)).clone();
                collector.count_waiting(&sample, &call, held_by.and_then(name));
            }
            Ok(None) => {}
            Err(why) if why.kind() == ErrorKind::PermissionDenied => refused = Some((pid, why)),
            // It has ended.
            Err(_) => {}
        }
    }
    match refused {
        Some((pid, why)) if collector.samples == 0 => Err(Error::Hidden { pid, why }),
        _ => {
            let length = Nanos::from(began.elapsed());
            Ok(symbolize(collector, Profile { at_unix_ms, length, ..Profile::default() }))
        }
    }
}

struct WaitingThread {
    call: String,
    instruction: u64,
    pointer: u64,
    stack: Vec<u8>,
    /// TID of the holder of what it waits for, in the process's namespace.
    held_by: Option<u32>,
}

impl WaitingThread {
    /// None if it is running, runnable, or moves while being looked at.
    fn of(pid: u32, tid: u32) -> io::Result<Option<Self>> {
        let path = format!("/proc/{pid}/task/{tid}/syscall");
        let mut text = std::fs::read_to_string(&path)?;
        for _ in 0..TRIES {
            let Some((call, pointer, instruction)) = parse_syscall(&text) else { return Ok(None) };
            let stack = copy_stack(ProcessMemory(pid), pointer);
            let held_by = lock_holder(&ProcessMemory(pid), &text);
            let again = std::fs::read_to_string(&path)?;
            if again == text {
                return Ok(Some(Self { call, instruction, pointer, stack, held_by }));
            }
            text = again;
        }
        Ok(None)
    }
}

/// Parses `/proc/PID/task/TID/syscall` into call, stack pointer and instruction pointer; none for a thread
/// that does not wait.
fn parse_syscall(text: &str) -> Option<(String, u64, u64)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (number, [.., pointer, instruction]) = (words.first()?, &words[..]) else { return None };
    let number: i64 = number.parse().ok()?;
    let address = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let call = match number {
        -1 => FAULT.to_owned(),
        _ => sys::syscall_name(number).map_or_else(|| format!("system call {number}"), str::to_owned),
    };
    Some((call, address(pointer)?, address(instruction)?))
}

/// TID, in the process's namespace, of the holder of the lock that a thread waits for in this call; none if
/// it waits for something else, or the lock does not say. Other waits may look like a lock: the caller
/// checks that the thread exists.
fn lock_holder(memory: &impl ForeignMemory, text: &str) -> Option<u32> {
    let mut words = text.split_whitespace();
    (words.next()?.parse() == Ok(sys::syscall_number("futex")?)).then_some(())?;
    let mut argument = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let (address, operation, expected) = (argument()?, argument()? & COMMAND, argument()? as u32);
    let word = memory.int(address)?.cast_unsigned();
    let number = match operation {
        operation if FUTEX_LOCK_PI.contains(&operation) => word & FUTEX_TID_MASK,
        WAIT | WAIT_BITSET if expected != word => return None,
        WAIT | WAIT_BITSET if word & FUTEX_WAITERS != 0 => word & FUTEX_TID_MASK,
        WAIT | WAIT_BITSET if word == CONTENDED => {
            let behind = |words: u64| memory.int(address.checked_add(4 * words)?);
            let is_lock = behind(3)? > 0 && (0..=MAX_KIND).contains(&behind(4)?);
            behind(2).filter(|_| is_lock)?.cast_unsigned()
        }
        _ => return None,
    };
    Some(number).filter(|number| *number > 0)
}

/// The name and TID of the thread with this TID in the process's namespace, if any.
fn thread_name(pid: u32, number: u32) -> Option<String> {
    let tid = thread_ids(pid).into_iter().find(|tid| namespace_tid(pid, *tid) == Some(number))?;
    let name = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).ok()?;
    Some(format!("{} (thread {tid})", name.trim()))
}

/// Copies a stack as far as it can be read.
fn copy_stack(memory: ProcessMemory, pointer: u64) -> Vec<u8> {
    let mut stack = Vec::with_capacity(STACK_BYTES);
    let mut length = PAGE_BYTES - pointer as usize % PAGE_BYTES;
    while stack.len() < STACK_BYTES {
        let Some(piece) = memory.bytes(pointer.wrapping_add(stack.len() as u64), length) else { break };
        stack.extend(piece);
        length = PAGE_BYTES;
    }
    stack
}

/// A thread that waits anywhere, with arbitrary stack contents.
#[cfg(any(test, feature = "fuzzing"))]
pub fn fuzz(bytes: &[u8]) {
    use crate::runtime_names::RuntimeNames;
    use crate::unwind::{CodeChecks, UnwindCache, Unwinder};
    let text = String::from_utf8_lossy(bytes);
    lock_holder(&crate::memory::RepeatingMemory(bytes), &text);
    let parsed = parse_syscall(&text);
    let (pointer, instruction) =
        parsed.map_or((0x7000, 9), |(_, pointer, instruction)| (pointer, instruction));
    let sample = StackSample::waiting(1, 1, instruction, pointer, bytes);
    let (unwinder, mut rules, mut names) =
        (Unwinder::default(), UnwindCache::default(), RuntimeNames::default());
    let mut stack = unwinder.unwind(&sample, &mut rules, None, &mut names);
    let checks = CodeChecks { is_code: &|at| at % 2 == 0, call_target: &|at| at.checked_sub(at % 3) };
    unwinder.complete(&mut stack, &sample, &mut rules, None, &mut names, &checks);
    assert!(stack.frames.len() <= crate::unwind::MAX_FRAMES);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_has_a_stack() {
        let futex = sys::syscall_number("futex").expect("every machine has it");
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
            let found = parse_syscall(&text);
            let found = found.as_ref().map(|(call, pointer, at)| (call.as_str(), *pointer, *at));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_lock_says_who_holds_it() {
        let futex = sys::syscall_number("futex").expect("every machine has it");
        let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        let glibc = bytes(&[2, 0, 4711, 1, 0, 0, 0, 0]);
        let others = bytes(&[2, 0, 4711, 1, 9_999, 0, 0, 0]);
        let own = bytes(&[FUTEX_WAITERS | 4711, 0, 8, 1]);
        for (lock, call, expected) in [
            (&glibc, format!("{futex} 0x100 0x80 0x2 0x0 0x0 0x0 0x7f00 0x7f20"), Some(4711)),
            (&glibc, format!("{futex} 0x100 0x189 0x2 0x0 0x0 0x0 0x7f00 0x7f20"), Some(4711)),
            (&glibc, format!("{futex} 0x100 0x80 0x1 0x0 0x0 0x0 0x7f00 0x7f20"), None),
            (&glibc, format!("{futex} 0x104 0x80 0x0 0x0 0x0 0x0 0x7f00 0x7f20"), None),
            (&glibc, "999 0x100 0x80 0x2".to_owned(), None),
            (&others, format!("{futex} 0x100 0x80 0x2"), None),
            (&own, format!("{futex} 0x100 0x86 0x0"), Some(4711)),
            (&own, format!("{futex} 0x100 0x80 0x80001267"), Some(4711)),
            (&own, format!("{futex} 0x100 0x81 0x80001267"), None),
            (&own, format!("{futex} 0x100"), None),
        ] {
            assert_eq!(lock_holder(&crate::memory::RepeatingMemory(lock), &call), expected, "{call}");
        }
    }
}
