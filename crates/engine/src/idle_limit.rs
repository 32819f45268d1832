//! Learns how long a server keeps idle connections, to avoid those that it is about to close.

use units::Nanos;

/// Nobody sets a lower limit: what closes sooner after an answer has another reason, such as a number of
/// requests.
const MIN_IDLE: Nanos = Nanos::from_millis(500);
/// Connections closed within this time of each other were closed by one event, such as a worker's restart.
const MIN_APART: Nanos = Nanos::from_secs(1);

/// What a server's closing of idle connections has shown. Most do not announce their limit: two connections
/// closed at different times, but after about the same idle time, indicate a timer. Some servers check their
/// connections only now and then, gunicorn once a second.
#[derive(Default)]
pub(crate) struct IdleLimit {
    /// The idle time of the last one that counts, and when it was closed, on the monotonic clock.
    last: Option<(Nanos, u64)>,
    learned: Option<Nanos>,
}

impl IdleLimit {
    /// The server has closed a connection that was idle for this long.
    pub fn note_closed(&mut self, idle: Nanos, now_ns: u64) {
        let since = |at: u64| Nanos(now_ns.saturating_sub(at));
        if idle < MIN_IDLE || self.last.is_some_and(|(_, at)| since(at) < MIN_APART) {
            return;
        }
        if let Some((previous, _)) = self.last.replace((idle, now_ns)) {
            let (shorter, longer) = (idle.min(previous), idle.max(previous));
            if longer - shorter <= shorter / 2 {
                self.learned = Some(self.learned.map_or(shorter, |known| known.min(shorter)));
            }
        }
    }

    /// The idle time after which the server closes, if learned.
    pub fn learned(&self) -> Option<Nanos> {
        self.learned
    }

    /// A connection is open although idle for this long: there may be no such limit.
    pub fn note_outlived(&mut self, idle: Nanos) {
        if self.learned.is_some_and(|limit| idle > limit + limit / 2 + MIN_APART) {
            *self = Self::default();
        }
    }
}

/// Whether a connection that is closed after `limit` should be avoided: a tenth is left for the request's way,
/// and for a busy server.
pub(crate) fn is_near(idle: Nanos, limit: Nanos) -> bool {
    idle >= limit - limit / 10
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = Nanos::from_millis(1);

    /// What is learned from connections closed at these times, each after this idle time, in ms.
    fn learned(closed: &[(u64, u64)]) -> Option<Nanos> {
        let mut limit = IdleLimit::default();
        for (at, idle) in closed {
            limit.note_closed(MS * *idle, (MS * *at).0);
        }
        limit.learned()
    }

    #[test]
    fn a_limit_is_what_several_have_shown() {
        for (closed, expected) in [
            // One alone may have any reason.
            (&[(9000, 5000)][..], None),
            (&[(9000, 5000), (20_000, 5001)], Some(5000)),
            (&[(9000, 5003), (10_001, 5001), (12_000, 5002)], Some(5001)),
            // All at once: a worker has ended, whatever they had in common.
            (&[(9000, 5000), (9001, 5000), (9500, 5000), (9999, 5000)], None),
            // Many in a row, each soon after the one before it.
            (&[(9000, 5000), (9400, 5000), (9800, 5000), (10_200, 5000)], Some(5000)),
            // A server that checks once a second.
            (&[(9000, 2900), (20_000, 2050)], Some(2050)),
            (&[(9000, 5000), (20_000, 900), (30_000, 3000)], None),
            // By the number of requests, as soon as it is reached.
            (&[(1000, 0), (3000, 1), (9000, 30)], None),
        ] {
            assert_eq!(learned(closed), expected.map(|ms| MS * ms), "{closed:?}");
        }
    }

    #[test]
    fn what_outlives_a_limit_refutes_it() {
        let mut limit = IdleLimit::default();
        limit.note_closed(MS * 2000, 0);
        limit.note_closed(MS * 2000, (MS * 3000).0);
        limit.note_outlived(MS * 3900);
        assert_eq!(limit.learned(), Some(MS * 2000), "it may look only now and then");
        limit.note_outlived(MS * 4100);
        assert_eq!(limit.learned(), None);
        limit.note_closed(MS * 2000, (MS * 9000).0);
        assert_eq!(limit.learned(), None, "what it was learned from is forgotten too");
    }

    #[test]
    fn what_is_about_to_be_closed_is_not_used() {
        assert!(
            !is_near(MS * 4499, MS * 5000) && is_near(MS * 4500, MS * 5000) && is_near(MS * 9000, MS * 5000)
        );
    }
}
