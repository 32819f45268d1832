//! Counts answers of which the server's kernel seems to hold back the last piece.
//!
//! Nagle's algorithm (RFC 9293 §3.7.4) holds back a small piece until the one before is acknowledged, and Linux
//! delays that acknowledgement by 40 ms (`TCP_DELACK_MIN`) unless a request carries it earlier.

use record::MemberFigures;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use units::Nanos;

/// From an answer's first bytes to its last if the latter waited for a delayed acknowledgement: the timer's tick
/// (1 to 10 ms, `CONFIG_HZ`) makes it longer. With ticks of 4 ms, 40.0 to 48.0 ms were measured.
const DELAY: RangeInclusive<u64> = 38_000_000..=50_000_000;

/// One loop's count in the current or last trial.
#[derive(Default)]
pub(crate) struct PieceCounts {
    held_back: AtomicU64,
    held_back_ns: AtomicU64,
}

impl PieceCounts {
    pub fn clear(&self) {
        for count in [&self.held_back, &self.held_back_ns] {
            count.store(0, Ordering::Relaxed);
        }
    }

    /// The first and the last bytes of an answer arrived at these moments.
    pub fn note(&self, first_ns: u64, last_ns: u64) {
        let pause = last_ns.saturating_sub(first_ns);
        if DELAY.contains(&pause) {
            self.held_back.fetch_add(1, Ordering::Relaxed);
            self.held_back_ns.fetch_add(pause, Ordering::Relaxed);
        }
    }

    pub fn add_to(&self, figures: &mut MemberFigures) {
        figures.held_back += self.held_back.load(Ordering::Relaxed);
        figures.held_back_time += Nanos(self.held_back_ns.load(Ordering::Relaxed));
    }
}

/// Delayed acknowledgements sent so far in this process's network namespace; `None` if unreadable. Those on idle
/// connections count, too.
pub(crate) fn delayed_acks() -> Option<u64> {
    let netstat = std::fs::read_to_string("/proc/self/net/netstat").ok()?;
    procfs::parse_named(&netstat, "TcpExt", "DelayedACKs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_loops_counted_in_this_trial_adds_up() {
        let ms = |count: u64| count * 1_000_000;
        let loops = [PieceCounts::default(), PieceCounts::default()];
        loops[0].note(ms(10), ms(54));
        loops[0].clear();
        loops[0].note(ms(10), ms(54));
        loops[0].note(ms(10), ms(11));
        loops[0].note(ms(10), ms(9));
        loops[1].note(ms(10), ms(50));
        loops[1].note(ms(10), ms(100));
        let mut figures = MemberFigures::default();
        loops.iter().for_each(|counts| counts.add_to(&mut figures));
        assert_eq!((figures.held_back, figures.held_back_time), (2, Nanos(ms(44 + 40))));
    }

    #[test]
    fn the_kernel_counts_them() {
        assert!(delayed_acks().is_some());
    }
}
