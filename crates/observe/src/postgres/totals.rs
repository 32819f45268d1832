//! Sums up samples for a window.

use super::connection::Activity;
use super::queries::COUNTERS;
use record::watch::{PostgresWindow, SessionCount};
use std::collections::BTreeMap;

/// Results since the last cut.
#[derive(Default)]
pub(super) struct WindowTotals {
    looks: u32,
    failed: u32,
    error: Option<String>,
    /// Sessions summed over samples, by state, wait type and wait event.
    sessions: BTreeMap<(String, Option<String>, Option<String>), u64>,
    oldest_transaction_s: f64,
    /// In the last sample; kept across cuts.
    connections: u32,
    grown: [Option<f64>; COUNTERS],
}

impl WindowTotals {
    pub fn add_activity(&mut self, activity: Activity) {
        self.looks += 1;
        for d in activity.sessions {
            *self.sessions.entry((d.state, d.wait_type, d.wait_event)).or_default() += d.count;
        }
        self.oldest_transaction_s = self.oldest_transaction_s.max(activity.oldest_transaction_s);
        self.connections = activity.connections;
    }

    pub fn add_failure(&mut self, why: String) {
        self.failed += 1;
        self.error = Some(why);
    }

    pub fn add_growth(&mut self, by: [Option<f64>; COUNTERS]) {
        for (sum, by) in self.grown.iter_mut().zip(by) {
            *sum = by.map(|by| sum.unwrap_or(0.0) + by).or(*sum);
        }
    }

    /// Returns the window's part and resets.
    pub fn cut(&mut self) -> PostgresWindow {
        let Self { looks, failed, error, sessions, oldest_transaction_s, connections, grown } =
            std::mem::replace(self, Self { connections: self.connections, ..Self::default() });
        let mut sessions: Vec<SessionCount> = sessions
            .into_iter()
            .map(|((state, wait_type, wait_event), count)| {
                let count = count as f64 / f64::from(looks.max(1));
                SessionCount { state, wait_type, wait_event, count }
            })
            .collect();
        sessions.sort_by(|a, b| b.count.total_cmp(&a.count));
        // Counts below 2^53, which a float holds exactly.
        let whole = |counter: Option<f64>| counter.map(|c| c as u64);
        let [commits, rollbacks, read, hit, temporary, deadlocks, grown @ ..] = grown;
        let [active_ms, idle_in_transaction_ms, wal_bytes, wal_syncs, wal_sync_ms, checkpoints @ ..] = grown;
        let [timed, requested, write_ms, sync_ms, backend_syncs] = checkpoints;
        PostgresWindow {
            looks,
            failed,
            error,
            sessions,
            oldest_transaction_s,
            connections,
            commits: whole(commits).unwrap_or_default(),
            rollbacks: whole(rollbacks).unwrap_or_default(),
            blocks_read: whole(read).unwrap_or_default(),
            blocks_hit: whole(hit).unwrap_or_default(),
            temporary_bytes: whole(temporary).unwrap_or_default(),
            deadlocks: whole(deadlocks).unwrap_or_default(),
            active_ms,
            idle_in_transaction_ms,
            wal_bytes: whole(wal_bytes),
            wal_syncs: whole(wal_syncs),
            wal_sync_ms,
            checkpoints_timed: whole(timed).unwrap_or_default(),
            checkpoints_requested: whole(requested).unwrap_or_default(),
            checkpoint_write_ms: write_ms.unwrap_or_default(),
            checkpoint_sync_ms: sync_ms.unwrap_or_default(),
            backend_syncs: whole(backend_syncs).unwrap_or_default(),
        }
    }
}

/// Differences of counters; one that fell was reset, and has grown from zero.
pub(super) fn growth(
    before: &[Option<f64>; COUNTERS],
    now: &[Option<f64>; COUNTERS],
) -> [Option<f64>; COUNTERS] {
    std::array::from_fn(|i| {
        let (before, now) = (before[i]?, now[i]?);
        Some(if now < before { now } else { now - before })
    })
}

#[cfg(test)]
mod tests {
    use super::super::connection::SessionGroup;
    use super::*;

    #[test]
    fn sessions_are_averages_over_looks_and_counters_are_summed() {
        let doing = |state: &str, count| SessionGroup {
            state: state.to_owned(),
            wait_type: None,
            wait_event: None,
            count,
        };
        let look = |doing, oldest_transaction_s, connections| Activity {
            sessions: doing,
            oldest_transaction_s,
            connections,
        };
        let mut tally = WindowTotals::default();
        tally.add_activity(look(vec![doing("active", 4), doing("idle", 1)], 0.5, 9));
        tally.add_activity(look(vec![doing("idle", 5)], 2.5, 8));
        tally.add_failure("57014: canceled".to_owned());
        let mut by = [None; COUNTERS];
        (by[0], by[6]) = (Some(3.0), Some(1.5));
        tally.add_growth(by);
        tally.add_growth(by);
        let cut = tally.cut();
        let sessions: Vec<_> = cut.sessions.iter().map(|s| (s.state.as_str(), s.count)).collect();
        assert_eq!(sessions, [("idle", 3.0), ("active", 2.0)]);
        assert_eq!((cut.looks, cut.failed, cut.error.as_deref()), (2, 1, Some("57014: canceled")));
        assert_eq!((cut.oldest_transaction_s, cut.connections), (2.5, 8));
        assert_eq!((cut.commits, cut.active_ms, cut.wal_bytes), (6, Some(3.0), None));
        assert_eq!(tally.cut(), PostgresWindow { connections: 8, ..PostgresWindow::default() });
    }

    #[test]
    fn a_counter_that_was_reset_has_grown_from_nothing() {
        let (mut before, mut now) = ([None; COUNTERS], [None; COUNTERS]);
        (before[0], now[0]) = (Some(10.0), Some(12.0));
        (before[1], now[1]) = (Some(10.0), Some(4.0));
        now[2] = Some(1.0);
        assert_eq!(growth(&before, &now)[..4], [Some(2.0), Some(4.0), None, None]);
    }
}
