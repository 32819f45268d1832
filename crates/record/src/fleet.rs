//! Who makes a load together, and what each of them did. One machine by itself is a fleet of one.

use crate::Slice;
use serde::{Deserialize, Serialize};
use units::{Nanos, Share};

/// A process that makes a part of the load.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FleetMember {
    /// Counted from 0.
    pub number: u32,
    /// Where it is: the host's name.
    pub place: String,
    /// How it was asked for, as `--on` takes it: `ssh:HOST`, `join`; of one on this machine nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub on: String,
    /// Its process there.
    pub pid: u32,
    /// Its loops.
    pub loops: u32,
    /// How well its clock is known: at most so far from what it is taken for.
    pub clock: Nanos,
}

/// What one of them did in one trial, in figures: a mean over many hides the one that drowns.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MemberFigures {
    /// Whose.
    pub member: u32,
    /// Loops that have told.
    pub loops: u32,
    /// Arrivals that came due in its part.
    pub due: u64,
    /// Those that it sent.
    pub sent: u64,
    /// Time covered, load and drain.
    pub elapsed: Nanos,
    /// Processor time of its loops, without deliberate spinning.
    pub cpu: Nanos,
    /// Time that they were ready and waited for a processor.
    pub run_delay: Nanos,
    /// Share of its machine's processor time that the hypervisor gave to others.
    pub stolen: Share,
    /// How many connections it has, if all of them were busy while arrivals waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crowded: Option<u64>,
    /// How many connections its target serves at a time, if others had to wait until one of these ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<u64>,
    /// After how many answers its target closes each connection without announcing it, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers_each: Option<u64>,
    /// Taken up − due, its own delay alone: 99 % are below. None of nothing, as below.
    pub pacing_p99: Option<Nanos>,
    /// Sent − due.
    pub lateness_p99: Option<Nanos>,
    /// Done − due.
    pub response_p50: Option<Nanos>,
    /// The same, at 99 %.
    pub response_p99: Option<Nanos>,
    /// How well its clock was known; zero where it is the clock by which all is told.
    #[serde(default)]
    pub clock: Nanos,
}

/// One that was lost while a trial lasted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostMember {
    /// Which.
    pub member: u32,
    /// Where it was.
    pub place: String,
    /// At this moment of the trial.
    pub at: Nanos,
    /// Arrivals that it was to send since it last told: whether they reached the target is not known.
    pub unaccounted: u64,
    /// What is known of the reason.
    pub why: String,
}

impl MemberFigures {
    /// Of all that it counted; `stolen` is of its machine, `crowded` of its connections.
    pub fn from_slice(total: &Slice, stolen: Share, crowded: Option<u64>) -> Self {
        Self {
            member: 0,
            loops: total.loops,
            due: total.due,
            sent: total.sent,
            elapsed: total.elapsed,
            cpu: total.cpu,
            run_delay: total.run_delay,
            stolen,
            crowded,
            places: None,
            answers_each: None,
            pacing_p99: total.pacing.quantile(0.99),
            lateness_p99: total.lateness.quantile(0.99),
            response_p50: total.response.quantile(0.5),
            response_p99: total.response.quantile(0.99),
            clock: Nanos::ZERO,
        }
    }

    /// Shares of its loops' time in which they worked, and in which they waited for a processor; none of a load that was over
    /// before they heard of it. Both clocks are read one after the other, and no more than all of the time is told.
    pub fn busy_shares(&self) -> (Share, Share) {
        let span = self.elapsed.as_secs_f64() * f64::from(self.loops.max(1));
        let share = |time: Nanos| if span > 0.0 { time.as_secs_f64() / span } else { 0.0 };
        let worked = share(self.cpu).min(1.0);
        (Share(worked), Share(share(self.run_delay).min(1.0 - worked)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker that woke up behind the end of a short load once was busy for 10^303 times as long as there was.
    #[test]
    fn who_had_no_time_was_not_busy() {
        let ms = Nanos::from_millis;
        let worked = MemberFigures {
            loops: 2,
            elapsed: ms(1000),
            cpu: ms(500),
            run_delay: ms(200),
            ..MemberFigures::default()
        };
        assert_eq!(worked.busy_shares(), (Share(0.25), Share(0.1)));
        let full = MemberFigures { cpu: ms(1980), run_delay: ms(50), ..worked };
        assert_eq!(
            full.busy_shares().0.0 + full.busy_shares().1.0,
            1.0,
            "of two clocks, read one after the other"
        );
        assert_eq!(MemberFigures { elapsed: Nanos::ZERO, ..worked }.busy_shares(), (Share(0.0), Share(0.0)));
    }
}
