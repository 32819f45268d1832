//! The fleet that makes a load, and what each member did. A single machine is a fleet of one.

use crate::Slice;
use serde::{Deserialize, Serialize};
use units::{Nanos, Share};

/// A process that makes part of the load.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FleetMember {
    /// Counted from 0.
    pub number: u32,
    /// Its host's name.
    pub place: String,
    /// As given to `--on`: `ssh:HOST`, `join`; empty for one on this machine.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub on: String,
    /// Its process there.
    pub pid: u32,
    /// Its loops.
    pub loops: u32,
    /// Uncertainty of its clock, at most.
    pub clock: Nanos,
}

/// One member's figures in one trial: a mean over many hides the one that is overloaded.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MemberFigures {
    /// Its number.
    pub member: u32,
    /// Loops that reported.
    pub loops: u32,
    /// Arrivals due in its part.
    pub due: u64,
    /// Arrivals it sent.
    pub sent: u64,
    /// Time covered, load and drain.
    pub elapsed: Nanos,
    /// Processor time of its loops, without deliberate spinning.
    pub cpu: Nanos,
    /// Time its loops were ready and waited for a processor.
    pub run_delay: Nanos,
    /// Share of its machine's processor time that the hypervisor gave to others.
    pub stolen: Share,
    /// Its connections, if all of them were busy while arrivals waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crowded: Option<u64>,
    /// Connections its target serves at a time, if others had to wait until one of these ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<u64>,
    /// Answers after which its target closes each connection unannounced, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers_each: Option<u64>,
    /// Answers over HTTP/1 whose last bytes came as long after the first as the kernel delays an acknowledgement.
    #[serde(default, skip_serializing_if = "crate::slice::is_zero")]
    pub held_back: u64,
    /// The sum of these pauses.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub held_back_time: Nanos,
    /// Acknowledgements delayed in its network namespace (`TcpExtDelayedACKs`), those on idle connections included. None if unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delayed_acks: Option<u64>,
    /// Taken up − due, its own delay alone, at p99. None without samples, as below.
    pub pacing_p99: Option<Nanos>,
    /// Sent − due, at p99.
    pub lateness_p99: Option<Nanos>,
    /// Done − due, at p50.
    pub response_p50: Option<Nanos>,
    /// The same, at p99.
    pub response_p99: Option<Nanos>,
    /// Uncertainty of its clock; zero if it is the reference clock.
    #[serde(default)]
    pub clock: Nanos,
}

/// A member lost during a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostMember {
    /// Its number.
    pub member: u32,
    /// Where it was.
    pub place: String,
    /// When, since the trial began.
    pub at: Nanos,
    /// Arrivals it was to send since its last report: whether they reached the target is unknown.
    pub unaccounted: u64,
    /// The reason, as far as known.
    pub why: String,
}

fn is_no_time(time: &Nanos) -> bool {
    *time == Nanos::ZERO
}

impl MemberFigures {
    /// From all that it counted; `stolen` is of its machine, `crowded` of its connections.
    pub fn from_slice(total: &Slice, stolen: Share, crowded: Option<u64>) -> Self {
        Self {
            loops: total.loops,
            due: total.due,
            sent: total.sent,
            elapsed: total.elapsed,
            cpu: total.cpu,
            run_delay: total.run_delay,
            stolen,
            crowded,
            pacing_p99: total.pacing.quantile(0.99),
            lateness_p99: total.lateness.quantile(0.99),
            response_p50: total.response.quantile(0.5),
            response_p99: total.response.quantile(0.99),
            ..Self::default()
        }
    }

    /// Shares of its loops' time working, and waiting for a processor; zero for a load that was over before they heard of it. The clocks
    /// are read one after the other; at most all of the time is reported.
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

    /// A worker that woke after the end of a short load was once reported as busy for 10^303 times the time there was.
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
