//! When a trial of several members begins, is stopped, and is over.

use record::SLICE;
use std::collections::{BTreeMap, VecDeque};
use units::Nanos;

/// Least time from order to start: an order lost once and resent still arrives in time.
const LEAD_LEAST: Nanos = Nanos::from_millis(300);
/// Lead in longest round trips, where that is longer.
const LEAD_ROUND_TRIPS: u64 = 3;
/// Time before the start by which everybody must be ready, or the longest round trip if longer: a cancellation must
/// still arrive, within half of it.
const READY_BEFORE: Nanos = Nanos::from_millis(50);
/// Longest time between ticks of a coordinator that is not kept from running.
const TICK_MOST: Nanos = Nanos::from_millis(100);
/// Lead of a stop, so that all stop at once.
const STOP_LEAD: Nanos = Nanos::from_millis(200);
/// A member whose load ends this much too late made a different trial from the others.
const STOP_LATE: Nanos = Nanos::from_secs(1);
/// A slice this late is not waited for: no overload lasts because somebody reports late.
pub const SLICE_LATE: Nanos = Nanos::from_secs(5);

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialAction {
    /// Tell all to begin at `start`.
    Arm {
        /// Number of the trial.
        trial: u64,
        /// When, by the coordinator's clock.
        start: Nanos,
    },
    /// Tell all not to begin.
    Cancel {
        /// Number of the trial.
        trial: u64,
    },
    /// All begin: it can no longer be cancelled.
    Begin,
    /// Tell all to end their load.
    Stop {
        /// Number of the trial.
        trial: u64,
        /// When, from its start.
        at: Nanos,
    },
    /// Stop counting on a member: its books are closed.
    Lose {
        /// Its number.
        member: u32,
    },
}

/// Why a member is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Absence {
    /// Twice, it was not ready in time.
    Unready,
    /// It has reported nothing since this time of the trial, and is overdue by more than [`SLICE_LATE`].
    Overdue(Nanos),
    /// It was gone at this time of the trial, for a known reason.
    Gone(Nanos, String),
}

/// One trial, from the order to begin until every member has reported its end.
///
/// It is told what happened, and when by the coordinator's clock; [`TrialCoordinator::next_action`] says what to do.
/// The coordinator may be kept from running for a while, with messages left unread: no member counts as late for that,
/// and a trial is not cancelled once a member has begun.
#[derive(Debug)]
pub struct TrialCoordinator {
    trial: u64,
    lead: Nanos,
    /// Time before the start when it is decided whether the trial begins.
    decision_lead: Nanos,
    start: Nanos,
    /// Time of the last tick.
    last_tick: Nanos,
    /// Total time the coordinator was not listening.
    away: Nanos,
    phase: Phase,
    members: BTreeMap<u32, MemberProgress>,
    actions: VecDeque<TrialAction>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Not all are ready.
    Arming {
        is_retry: bool,
    },
    Running,
    Stopped {
        at: Nanos,
    },
    Failed,
}

#[derive(Debug, Default)]
struct MemberProgress {
    armed: bool,
    /// How far it has reported.
    reported_until: Nanos,
    /// `away` of the coordinator at its last report.
    away_at_report: Nanos,
    /// When its load ended.
    load_end: Option<Nanos>,
    absent: Option<Absence>,
}

impl MemberProgress {
    fn is_awaited(&self) -> bool {
        self.load_end.is_none() && self.absent.is_none()
    }
}

impl TrialCoordinator {
    /// Starts a trial with a fresh number and the members present. `worst_round_trip` is the longest to any of them.
    pub fn begin(
        trial: u64,
        members: impl IntoIterator<Item = u32>,
        worst_round_trip: Nanos,
        now: Nanos,
    ) -> Self {
        let members = members.into_iter().map(|member| (member, MemberProgress::default())).collect();
        let lead = LEAD_LEAST.max(worst_round_trip * LEAD_ROUND_TRIPS);
        let phase = Phase::Arming { is_retry: false };
        let mut coordinator = Self {
            trial,
            lead,
            decision_lead: READY_BEFORE.max(worst_round_trip),
            start: Nanos::ZERO,
            last_tick: now,
            away: Nanos::ZERO,
            phase,
            members,
            actions: VecDeque::new(),
        };
        coordinator.arm(now);
        coordinator
    }

    fn arm(&mut self, now: Nanos) {
        self.start = now + self.lead;
        self.members.values_mut().for_each(|part| part.armed = false);
        self.actions.push_back(TrialAction::Arm { trial: self.trial, start: self.start });
    }

    /// What to do next; `None` for now.
    pub fn next_action(&mut self) -> Option<TrialAction> {
        self.actions.pop_front()
    }

    /// Time passes: call it some twenty times a second, and at [`Self::decision_time`], after all pending messages.
    pub fn tick(&mut self, now: Nanos) {
        self.away += (now - self.last_tick) - TICK_MOST;
        self.last_tick = now;
        match self.phase {
            Phase::Arming { .. } if self.is_too_late_to_cancel(now) => self.run(),
            Phase::Arming { is_retry: again } if now + self.decision_lead > self.start => {
                self.actions.push_back(TrialAction::Cancel { trial: self.trial });
                if again {
                    for part in self.members.values_mut().filter(|part| !part.armed) {
                        part.absent = Some(Absence::Unready);
                    }
                    self.phase = Phase::Failed;
                } else {
                    (self.trial, self.lead) = (self.trial + 1, self.lead * 2);
                    self.phase = Phase::Arming { is_retry: true };
                    self.arm(now);
                }
            }
            Phase::Running | Phase::Stopped { .. } => {
                let late = |part: &MemberProgress| {
                    let unheard = self.away - part.away_at_report;
                    now > self.start + part.reported_until + SLICE + SLICE_LATE + unheard
                };
                let behind = |(member, part): (&u32, &MemberProgress)| {
                    (part.is_awaited() && late(part)).then_some((*member, part.reported_until))
                };
                let behind: Vec<(u32, Nanos)> = self.members.iter().filter_map(behind).collect();
                for (member, until) in behind {
                    self.lose(member, Absence::Overdue(until), now);
                }
            }
            Phase::Arming { .. } | Phase::Failed => {}
        }
    }

    /// When a tick takes a decision that cannot be taken any more soon after.
    pub fn decision_time(&self) -> Option<Nanos> {
        let is_arming = matches!(self.phase, Phase::Arming { .. });
        is_arming.then(|| self.start - self.decision_lead + Nanos(1))
    }

    /// A cancellation would reach some that have begun.
    fn is_too_late_to_cancel(&self, now: Nanos) -> bool {
        now + self.decision_lead / 2 > self.start
    }

    fn run(&mut self) {
        self.phase = Phase::Running;
        self.actions.push_back(TrialAction::Begin);
    }

    /// A member is ready to begin. When that arrives does not matter: it begins by its own clock.
    pub fn armed(&mut self, member: u32, trial: u64) {
        if let (Phase::Arming { .. }, Some(part)) = (self.phase, self.members.get_mut(&member))
            && trial == self.trial
        {
            part.armed = true;
            if self.members.values().all(|part| part.armed) {
                self.run();
            }
        }
    }

    /// A member has reported up to this time of the trial.
    pub fn member_reported(&mut self, member: u32, until: Nanos) {
        if let Some(part) = self.members.get_mut(&member).filter(|part| until > part.reported_until) {
            (part.reported_until, part.away_at_report) = (until, self.away);
        }
    }

    /// A member has reported all; its load ended at this time of the trial.
    pub fn member_over(&mut self, member: u32, at: Nanos) {
        if let Some(part) = self.members.get_mut(&member).filter(|part| part.absent.is_none()) {
            part.load_end = Some(at);
        }
    }

    /// A member is gone, and it is known why.
    pub fn member_lost(&mut self, member: u32, why: String, now: Nanos) {
        if self.members.get(&member).is_some_and(MemberProgress::is_awaited) {
            self.lose(member, Absence::Gone(now - self.start, why), now);
        }
    }

    fn lose(&mut self, member: u32, why: Absence, now: Nanos) {
        if let Some(part) = self.members.get_mut(&member) {
            part.absent = Some(why);
            self.actions.push_back(TrialAction::Lose { member });
        }
        self.stop(now);
    }

    /// Ends the load early; a trial that has not begun is cancelled.
    pub fn stop(&mut self, now: Nanos) {
        let is_arming = matches!(self.phase, Phase::Arming { .. });
        if is_arming && self.is_too_late_to_cancel(now) {
            self.run();
        }
        match self.phase {
            Phase::Arming { .. } => {
                self.actions.push_back(TrialAction::Cancel { trial: self.trial });
                self.phase = Phase::Failed;
            }
            Phase::Running => {
                let at = now + STOP_LEAD - self.start;
                self.actions.push_back(TrialAction::Stop { trial: self.trial, at });
                self.phase = Phase::Stopped { at };
            }
            Phase::Stopped { .. } | Phase::Failed => {}
        }
    }

    /// Number of the latest start: the next must be higher.
    pub fn trial(&self) -> u64 {
        self.trial
    }

    /// When it began, or was to begin.
    pub fn start_time(&self) -> Nanos {
        self.start
    }

    /// Whether it did not begin.
    pub fn has_failed(&self) -> bool {
        self.phase == Phase::Failed
    }

    /// Whether no member is waited for any more.
    pub fn is_over(&self) -> bool {
        self.has_failed() || !self.members.values().any(MemberProgress::is_awaited)
    }

    /// When the load was told to end, if it was.
    pub fn stopped(&self) -> Option<Nanos> {
        if let Phase::Stopped { at } = self.phase { Some(at) } else { None }
    }

    /// Absent members, and why.
    pub fn absent(&self) -> impl Iterator<Item = (u32, &Absence)> {
        self.members.iter().filter_map(|(member, part)| Some((*member, part.absent.as_ref()?)))
    }

    /// Members whose load ended before `ends` without being told to, and when.
    pub fn fell_short(&self, ends: Nanos) -> impl Iterator<Item = (u32, Nanos)> {
        let ends = self.stopped().map_or(ends, |_| Nanos::ZERO);
        self.members
            .iter()
            .filter_map(move |(member, part)| Some((*member, part.load_end.filter(|at| *at < ends)?)))
    }

    /// Members whose load went on for more than a second after its end, and until when.
    pub fn overran(&self) -> impl Iterator<Item = (u32, Nanos)> {
        let limit = self.stopped().map_or(Nanos::MAX, |at| at + STOP_LATE);
        self.members
            .iter()
            .filter_map(move |(member, part)| Some((*member, part.load_end.filter(|at| *at > limit)?)))
    }
}

#[cfg(test)]
mod tests;
