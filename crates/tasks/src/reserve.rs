//! The reserve left to others, and the size of the next step. Pure.

use crate::ThreadsWanted;
use crate::limits::{ThreadCost, limits};
use crate::readings::LimitReadings;

/// One in this many of what all users share is left,
const RESERVE_DIVISOR: u64 = 10;
/// and at least this many task numbers.
const TASKS: u64 = 1000;
/// Threads of the first step.
const FIRST_STEP: u64 = 64;
/// With no more room than this the next step goes to the limit.
const FEW_LEFT: u64 = 512;

/// How many more threads the reserve allows: none means any number.
pub fn threads_allowed(
    before: &LimitReadings,
    now: &LimitReadings,
    threads_wanted: &ThreadsWanted,
) -> Option<u64> {
    if threads_wanted.until_failure {
        return None;
    }
    let shared = ["kernel.threads-max", "kernel.pid_max"];
    let limits = limits(now, threads_wanted);
    let tasks = limits.iter().filter(|room| shared.contains(&room.name.as_str())).filter_map(|room| {
        let kept = (room.limit? / RESERVE_DIVISOR).max(TASKS);
        Some(room.threads?.saturating_sub(kept))
    });
    let kept = before.available.unwrap_or_default() / RESERVE_DIVISOR;
    let memory =
        now.available.map(|left| left.saturating_sub(kept) / ThreadCost::of(now, threads_wanted).memory);
    tasks.chain(memory).min()
}

/// Whether too little memory is available for more threads.
pub fn is_memory_short(before: &LimitReadings, available: u64, threads_wanted: &ThreadsWanted) -> bool {
    !threads_wanted.until_failure
        && before.available.is_some_and(|before| available < before / RESERVE_DIVISOR)
}

/// Threads of the next step: as many as there are, at most half of the room, and all of it where it is small.
pub fn next_step(made: u64, threads_left: Option<u64>) -> u64 {
    let double = made.max(FIRST_STEP);
    match threads_left {
        Some(room) if room <= FEW_LEFT => room.max(FIRST_STEP),
        Some(room) => double.min(room / 2),
        None => double,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings() -> LimitReadings {
        LimitReadings {
            threads_max: Some(100_000),
            tasks: Some(100),
            pid_max: Some(32_768),
            visible_tasks: 100,
            pids_in_use: 68,
            last_pid: Some(5000),
            available: Some(10 << 30),
            ..LimitReadings::default()
        }
    }

    #[test]
    fn a_tenth_is_left() {
        let before = readings();
        let asked = ThreadsWanted::default();
        assert_eq!(threads_allowed(&before, &before, &asked), Some(32_768 - 300 - 68 - 3276));
        let small = LimitReadings { pid_max: Some(5000), ..readings() };
        assert_eq!(threads_allowed(&small, &small, &asked), Some(5000 - 300 - 68 - 1000), "at least 1,000");
        let tiny = LimitReadings { pid_max: Some(500), ..readings() };
        assert_eq!(threads_allowed(&tiny, &tiny, &asked), Some(0));
        let lifted = ThreadsWanted { until_failure: true, ..ThreadsWanted::default() };
        assert_eq!(threads_allowed(&tiny, &tiny, &lifted), None);
        let touching =
            ThreadsWanted { touch: units::Bytes((1 << 20) - (35 << 10)), ..ThreadsWanted::default() };
        assert_eq!(threads_allowed(&before, &before, &touching), Some(9 << 10), "nine of ten GiB");
        let used = LimitReadings { available: Some(1 << 30), ..readings() };
        assert_eq!(threads_allowed(&before, &used, &touching), Some(0));
        assert!(is_memory_short(&before, 1 << 29, &asked) && !is_memory_short(&before, 1 << 29, &lifted));
        assert!(!is_memory_short(&before, 2 << 30, &asked));
    }

    #[test]
    fn steps_double_then_halve_the_room() {
        for (made, room, wanted) in [
            (0, None, 64),
            (0, Some(30_000), 64),
            (4096, Some(28_000), 4096),
            (20_000, Some(10_000), 5000),
            (29_600, Some(400), 400),
            (30_000, Some(0), 64),
        ] {
            assert_eq!(next_step(made, room), wanted, "{made} {room:?}");
        }
    }
}
