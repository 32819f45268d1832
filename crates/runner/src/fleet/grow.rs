//! Adds workers before they are the limit.

use super::config::FleetConfig;
use super::member_state::MemberState;
use super::pods::POD_LIMIT;
use super::{Fleet, STOP_POLL};
use record::{Caveat, CaveatDetails, CaveatKind, MemberFigures};
use schedule::OfferedLoad;
use std::time::Instant;
use units::Rate;

/// Highest utilisation of a worker: beyond it, it is late now and then.
const BUSY_MOST: f64 = 0.8;
/// Target utilisation after growing.
const BUSY_TARGET: f64 = 0.6;
/// Below this, utilisation is mostly overhead of any load, and says nothing of a higher rate.
const BUSY_LEAST: f64 = 0.1;

/// What a load cost the busiest worker.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WorkerCost {
    rate: Rate,
    workers: u32,
    busy: f64,
}

impl WorkerCost {
    /// Of the last load, from those who made it; `None` for a closed loop.
    pub fn of(offer: &OfferedLoad, members: &[MemberFigures]) -> Option<Self> {
        let OfferedLoad::Open(schedule) = offer else { return None };
        let busy = members.iter().map(|worked| worked.busy_shares().0.0).fold(0.0, f64::max);
        (!members.is_empty()).then(|| Self { rate: schedule.max_rate(), workers: members.len() as u32, busy })
    }

    /// Workers needed for a rate, if more than `workers`; `None` if unknown.
    fn workers_needed(self, rate: Rate, workers: u32) -> Option<u32> {
        if self.busy < BUSY_LEAST || self.rate.0 <= 0.0 {
            return None;
        }
        let all = self.busy * f64::from(self.workers) * rate.0 / self.rate.0;
        (all / f64::from(workers) > BUSY_MOST).then(|| (all / BUSY_TARGET).ceil() as u32)
    }
}

impl Fleet {
    /// Adds workers if this load would keep one of the present ones too busy.
    pub(super) fn grow_for(&mut self, offer: &OfferedLoad) {
        let (Some(cost), OfferedLoad::Open(schedule)) = (self.cost, offer) else { return };
        if let Some(workers) = cost.workers_needed(schedule.max_rate(), self.members.len() as u32) {
            self.grow_to(workers);
        }
    }

    /// The same after a load that was too much for them; false if there are no more.
    pub(super) fn grow_after(&mut self) -> bool {
        let workers = self.members.len() as u32;
        let enough = self.cost.map_or(0.0, |cost| (f64::from(workers) * cost.busy / BUSY_TARGET).ceil());
        self.grow_to((enough as u32).max(workers + 1))
    }

    /// False if that is no more than there are, or none join. All get new shares, since limits are the fleet's.
    fn grow_to(&mut self, workers: u32) -> bool {
        let (before, workers) = (self.members.len() as u32, workers.min(self.max_workers));
        if workers <= before {
            return false;
        }
        match self.config {
            FleetConfig::Local { .. } => {
                self.members.extend((before..workers).map(|number| (number, MemberState::default())));
            }
            FleetConfig::Pods { .. } => {
                let grown = self.pods.as_mut().map_or(Ok(()), |pods| pods.grow(workers));
                let why = match grown {
                    Ok(()) => self.await_pods(workers),
                    Err(why) => Some(why.to_string()),
                };
                if let Some(why) = why {
                    let there = self.members.len() as u32;
                    // Ask for it only once.
                    self.max_workers = there;
                    let grounds = CaveatDetails::NoRoom { wanted: workers, there, why };
                    self.caveats.push(Caveat::with_details(CaveatKind::NoMoreWorkers, grounds));
                }
            }
            // Others start them, and they join whenever they do.
            FleetConfig::Join { .. } | FleetConfig::Ssh { .. } => return false,
        }
        if self.members.len() as u32 == before {
            return false;
        }
        self.has_joined = false;
        self.redistribute_shares();
        // A failed start is recorded in its `MemberState`.
        let _ = self.start_missing();
        self.present_loops().len() as u32 > before
    }

    /// Waits until the requested pods are ready; returns the cluster's reason if they will not come. Late ones are
    /// still admitted.
    fn await_pods(&mut self, workers: u32) -> Option<String> {
        let until = Instant::now() + POD_LIMIT;
        let are_ready = |fleet: &Self| {
            fleet.members.len() as u32 >= workers && !fleet.members.values().any(MemberState::is_pending)
        };
        while !are_ready(self) && Instant::now() < until && !self.stop.is_requested() && !self.lacks_pods() {
            let event = self.link.next(STOP_POLL);
            self.handle_news(event);
        }
        if are_ready(self) || self.stop.is_requested() { None } else { self.waiting_pods() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_more_before_one_is_the_limit() {
        let cost = |busy| WorkerCost { rate: Rate(10_000.0), workers: 4, busy };
        for (busy, rate, workers, expected) in [
            (0.44, 10_000.0, 4, None),
            // 88 % for four: six then work 59 %.
            (0.44, 20_000.0, 4, Some(6)),
            (0.44, 20_000.0, 6, None),
            (0.9, 10_000.0, 4, Some(6)),
            // A load that costs next to nothing tells nothing.
            (0.05, 1e6, 4, None),
            (0.2, 1e6, 4, Some(134)),
        ] {
            assert_eq!(cost(busy).workers_needed(Rate(rate), workers), expected, "{busy} {rate} {workers}");
        }
    }
}
