//! When a trial of several begins, is stopped, and is over.

use record::SLICE;
use std::collections::{BTreeMap, VecDeque};
use units::Nanos;

/// From the order to the start, at the least: so that an order that is lost once and sent again still comes in time.
const LEAD_LEAST: Nanos = Nanos::from_millis(300);
/// So many of the longest ways there and back, where these are longer.
const LEAD_ROUND_TRIPS: u64 = 3;
/// So long before the start everybody must have said that it begins, or as long as the longest way there and back: an order not to must still
/// arrive, within half of it.
const READY_BEFORE: Nanos = Nanos::from_millis(50);
/// From one tick to the next no more time passes than this for whoever is not kept from running.
const TICK_MOST: Nanos = Nanos::from_millis(100);
/// A load is stopped so long from now, for everybody at once.
const STOP_LEAD: Nanos = Nanos::from_millis(200);
/// Who ends its load so much later than it was told to made another trial than the others.
const STOP_LATE: Nanos = Nanos::from_secs(1);
/// Who tells of a second so long after it is over is not waited for: no overload lasts because somebody reports late.
pub const SLICE_LATE: Nanos = Nanos::from_secs(5);

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialAction {
    /// All are told to begin then.
    Arm {
        /// What is begun.
        trial: u64,
        /// When, by the clock that the muster is told.
        start: Nanos,
    },
    /// All are told not to begin.
    Cancel {
        /// What.
        trial: u64,
    },
    /// All begin: nothing keeps them from it any more.
    Begin,
    /// All are told to end their load.
    Stop {
        /// Of which trial.
        trial: u64,
        /// When, from its start.
        at: Nanos,
    },
    /// A member is counted on no longer: its books are closed.
    Lose {
        /// Which.
        member: u32,
    },
}

/// Why a member is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Absence {
    /// It did not say in time that it would begin, twice.
    Unready,
    /// It has told of nothing since this moment of the trial, and more than [`SLICE_LATE`] ago should have.
    Behind(Nanos),
    /// It is gone at this moment of the trial, for a reason that is known.
    Gone(Nanos, String),
}

/// One trial, from the order to begin until everybody has told its end.
///
/// It is told what happened, and when by the coordinator's clock; [`Muster::next_move`] says what is to be done. The coordinator may be kept from running
/// for a while, and what members say waits unheard meanwhile: nobody is called late for that, and nobody is told not to begin who has begun.
#[derive(Debug)]
pub struct TrialCoordinator {
    trial: u64,
    lead: Nanos,
    /// So long before the start it is decided whether it begins.
    spare: Nanos,
    start: Nanos,
    /// The tick before.
    ticked: Nanos,
    /// So long in all nobody was listened to.
    away: Nanos,
    phase: Phase,
    members: BTreeMap<u32, MemberProgress>,
    moves: VecDeque<TrialAction>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Not all have said that they begin.
    Arming {
        again: bool,
    },
    Running,
    Stopped {
        at: Nanos,
    },
    /// It did not begin.
    Failed,
}

/// What is known of one member.
#[derive(Debug, Default)]
struct MemberProgress {
    armed: bool,
    /// What it told of reaches up to here.
    until: Nanos,
    /// For how long nobody had been listened to when it told that.
    away: Nanos,
    /// When its load ended.
    over: Option<Nanos>,
    absent: Option<Absence>,
}

impl MemberProgress {
    fn is_awaited(&self) -> bool {
        self.over.is_none() && self.absent.is_none()
    }
}

impl TrialCoordinator {
    /// A trial under a number that was never used, of members who are there; the longest way to one and back takes so long.
    pub fn begin(
        trial: u64,
        members: impl IntoIterator<Item = u32>,
        worst_round_trip: Nanos,
        now: Nanos,
    ) -> Self {
        let members = members.into_iter().map(|member| (member, MemberProgress::default())).collect();
        let lead = LEAD_LEAST.max(worst_round_trip * LEAD_ROUND_TRIPS);
        let phase = Phase::Arming { again: false };
        let mut muster = Self {
            trial,
            lead,
            spare: READY_BEFORE.max(worst_round_trip),
            start: Nanos::ZERO,
            ticked: now,
            away: Nanos::ZERO,
            phase,
            members,
            moves: VecDeque::new(),
        };
        muster.arm(now);
        muster
    }

    fn arm(&mut self, now: Nanos) {
        self.start = now + self.lead;
        self.members.values_mut().for_each(|part| part.armed = false);
        self.moves.push_back(TrialAction::Arm { trial: self.trial, start: self.start });
    }

    /// What is to be done next; none for now.
    pub fn next_action(&mut self) -> Option<TrialAction> {
        self.moves.pop_front()
    }

    /// Time passes: to be told some twenty times a second, and when something is decided, once what has come is heard.
    pub fn tick(&mut self, now: Nanos) {
        self.away += (now - self.ticked) - TICK_MOST;
        self.ticked = now;
        match self.phase {
            Phase::Arming { .. } if self.is_too_late_to_cancel(now) => self.run(),
            Phase::Arming { again } if now + self.spare > self.start => {
                self.moves.push_back(TrialAction::Cancel { trial: self.trial });
                if again {
                    for part in self.members.values_mut().filter(|part| !part.armed) {
                        part.absent = Some(Absence::Unready);
                    }
                    self.phase = Phase::Failed;
                } else {
                    (self.trial, self.lead) = (self.trial + 1, self.lead * 2);
                    self.phase = Phase::Arming { again: true };
                    self.arm(now);
                }
            }
            Phase::Running | Phase::Stopped { .. } => {
                let late = |part: &MemberProgress| {
                    let unheard = self.away - part.away;
                    now > self.start + part.until + SLICE + SLICE_LATE + unheard
                };
                let behind = |(member, part): (&u32, &MemberProgress)| {
                    (part.is_awaited() && late(part)).then_some((*member, part.until))
                };
                let behind: Vec<(u32, Nanos)> = self.members.iter().filter_map(behind).collect();
                for (member, until) in behind {
                    self.lose(member, Absence::Behind(until), now);
                }
            }
            Phase::Arming { .. } | Phase::Failed => {}
        }
    }

    /// When something is decided by a tick that cannot be so any more soon after.
    pub fn decision_time(&self) -> Option<Nanos> {
        let is_arming = matches!(self.phase, Phase::Arming { .. });
        is_arming.then(|| self.start - self.spare + Nanos(1))
    }

    /// An order not to begin would find some that have begun.
    fn is_too_late_to_cancel(&self, now: Nanos) -> bool {
        now + self.spare / 2 > self.start
    }

    fn run(&mut self) {
        self.phase = Phase::Running;
        self.moves.push_back(TrialAction::Begin);
    }

    /// A member says that it begins. It does not matter when that is heard: it begins by its own clock.
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

    /// What a member has told reaches up to this moment of the trial.
    pub fn member_reported(&mut self, member: u32, until: Nanos) {
        if let Some(part) = self.members.get_mut(&member).filter(|part| until > part.until) {
            (part.until, part.away) = (until, self.away);
        }
    }

    /// A member has told all; its load ended at this moment of the trial.
    pub fn member_over(&mut self, member: u32, at: Nanos) {
        if let Some(part) = self.members.get_mut(&member).filter(|part| part.absent.is_none()) {
            part.over = Some(at);
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
            self.moves.push_back(TrialAction::Lose { member });
        }
        self.stop(now);
    }

    /// The load is to end: nothing that it could still tell is worth it. One that has not begun does not begin.
    pub fn stop(&mut self, now: Nanos) {
        let is_arming = matches!(self.phase, Phase::Arming { .. });
        if is_arming && self.is_too_late_to_cancel(now) {
            self.run();
        }
        match self.phase {
            Phase::Arming { .. } => {
                self.moves.push_back(TrialAction::Cancel { trial: self.trial });
                self.phase = Phase::Failed;
            }
            Phase::Running => {
                let at = now + STOP_LEAD - self.start;
                self.moves.push_back(TrialAction::Stop { trial: self.trial, at });
                self.phase = Phase::Stopped { at };
            }
            Phase::Stopped { .. } | Phase::Failed => {}
        }
    }

    /// The number of what was begun last: the next must be a higher one.
    pub fn trial(&self) -> u64 {
        self.trial
    }

    /// When it began, or was to begin.
    pub fn start_time(&self) -> Nanos {
        self.start
    }

    /// It did not begin.
    pub fn has_failed(&self) -> bool {
        self.phase == Phase::Failed
    }

    /// Nobody is waited for any more.
    pub fn is_over(&self) -> bool {
        self.has_failed() || !self.members.values().any(MemberProgress::is_awaited)
    }

    /// When the load was told to end, if it was.
    pub fn stopped(&self) -> Option<Nanos> {
        if let Phase::Stopped { at } = self.phase { Some(at) } else { None }
    }

    /// Who is not there, and why.
    pub fn absent(&self) -> impl Iterator<Item = (u32, &Absence)> {
        self.members.iter().filter_map(|(member, part)| Some((*member, part.absent.as_ref()?)))
    }

    /// Whose load ended before this moment, though nobody had said that it should, and when.
    pub fn fell_short(&self, ends: Nanos) -> impl Iterator<Item = (u32, Nanos)> {
        let ends = self.stopped().map_or(ends, |_| Nanos::ZERO);
        self.members
            .iter()
            .filter_map(move |(member, part)| Some((*member, part.over.filter(|at| *at < ends)?)))
    }

    /// Who went on with its load for more than a second after its end, and until when.
    pub fn overran(&self) -> impl Iterator<Item = (u32, Nanos)> {
        let limit = self.stopped().map_or(Nanos::MAX, |at| at + STOP_LATE);
        self.members
            .iter()
            .filter_map(move |(member, part)| Some((*member, part.over.filter(|at| *at > limit)?)))
    }
}

#[cfg(test)]
mod tests;
