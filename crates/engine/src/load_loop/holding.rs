//! Connections held open whether or not there are requests for them.

use super::{HeldConnections, LoadLoop, ThreadReport};
use record::Failure;
use units::Nanos;

/// Connections being made at once: more would overflow a target's accept queue (128 in many services) by our
/// doing.
const HOLD_CONNECTING_LIMIT: usize = 100;
/// While connections are made outside a trial: the interval of checks for those that take too long.
pub(super) const POLL_INTERVAL: Nanos = Nanos::from_millis(50);

/// Progress of holding connections open.
pub(super) struct HoldState {
    wanted: usize,
    /// Connections that the target closed while idle: they are not made again.
    dropped: usize,
    /// Why one could not be made: no more are tried.
    refused: Option<Failure>,
    /// Whether the result has been reported.
    reported: bool,
}

impl LoadLoop {
    pub(super) fn hold(&mut self, wanted: usize) {
        self.connections.shrink(wanted);
        self.connections.take_turns(true);
        self.hold = Some(HoldState { wanted, dropped: 0, refused: None, reported: false });
    }

    /// The caller waits no longer: gives up on those still being made.
    pub(super) fn hold_no_more(&mut self) {
        let Some(hold) = self.hold.as_mut().filter(|hold| !hold.reported) else { return };
        self.connections.give_up_making();
        hold.wanted = self.connections.len() + hold.dropped;
    }

    pub(super) fn release(&mut self) {
        self.connections.shrink(0);
        self.connections.take_turns(false);
        self.hold = None;
    }

    /// Makes missing connections, and reports once all that can be are open.
    pub(super) fn hold_open(&mut self) {
        while let Some(hold) = &self.hold {
            let lacking = hold.refused.is_none() && self.connections.len() + hold.dropped < hold.wanted;
            if !lacking || self.connections.connecting() >= HOLD_CONNECTING_LIMIT {
                break;
            }
            if let Err(why) = self.connect() {
                self.connect_failed(&why);
            }
        }
        let (open, connecting) = (self.connections.len(), self.connections.connecting());
        let Some(hold) = &mut self.hold else { return };
        let settled = open + hold.dropped >= hold.wanted || hold.refused.is_some();
        if settled && connecting == 0 && !hold.reported {
            hold.reported = true;
            self.reporter.send(ThreadReport::Custom(HeldConnections {
                open: open as u64,
                refused: hold.refused.clone(),
                refused_by: None,
            }));
        }
    }

    /// The target has closed a connection on which nothing was in flight and nothing was just answered.
    pub(super) fn note_dropped(&mut self) {
        if let Some(hold) = &mut self.hold {
            hold.dropped += 1;
        }
    }

    pub(super) fn note_refused(&mut self, why: Failure) {
        if let Some(hold) = &mut self.hold {
            hold.refused.get_or_insert(why);
        }
    }
}
