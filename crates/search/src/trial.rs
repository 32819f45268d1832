//! A full trial, and what it says of the capacity.

use crate::moving::{PARTS, Throughputs};
use crate::observation::Observation;
use record::{BLOCK, TrialResult};
use units::Rate;

/// A target that does less than this share of what it held, when asked for more, is busy refusing.
const MAX_COLLAPSED_SHARE: f64 = 0.8;
/// A trial that was hopeless only after this many tenths of its time is a whole one.
const STOPPED_TENTHS: u64 = 9;
/// The queue is long from this share of its maximum on;
const CROWDED_SHARE: f64 = 0.5;
/// from this share on it is full, if anything was refused.
const FULL_SHARE: f64 = 0.95;
/// Throughput under a long queue is counted over two seconds, for a server may accept for a second and answer in the next. If the queue
/// is not long for that long, over as long as it is, but at least half a second.
const COUNTED_BLOCKS: usize = (2_000_000_000 / BLOCK.0) as usize;
const MIN_COUNTED_BLOCKS: usize = COUNTED_BLOCKS / 4;

/// What was lost says when only roughly: of a trial that lost more, nothing is known of its parts.
const MAX_LOST_SHARE: f64 = 0.01;

/// A trial that the limits are estimated from.
#[derive(Debug, Clone, Copy)]
pub struct FullTrial {
    /// Offered rate.
    pub rate: f64,
    /// What it says of a target whose consecutive seconds are alike.
    pub observation: Observation,
    /// If its queue grew, it grew linearly.
    pub is_linear: bool,
    /// It was stopped early.
    stopped_early: bool,
    /// Requests due.
    pub due: u64,
    /// Bad ones among them.
    pub bad: u64,
    /// Lost requests were refused.
    refused: bool,
    /// The most it did in two seconds under a long queue, in requests per second; none if there was none.
    pub crowded_rate: Option<f64>,
    /// What it did in each part.
    throughputs: Option<Throughputs>,
    /// How long its drain was, in such parts.
    pub drain: f64,
}

impl FullTrial {
    /// A trial at `rate` with this result.
    pub fn new(rate: f64, observation: Observation, is_linear: bool, result: &TrialResult) -> Self {
        let bad = result.total.outcomes.bad();
        Self {
            rate,
            observation,
            is_linear,
            stopped_early: result.hopeless && result.loaded * 10 < result.planned * STOPPED_TENTHS,
            due: result.total.due,
            bad,
            refused: 2 * result.total.outcomes.failed > bad,
            crowded_rate: crowded_rate(result),
            throughputs: throughputs(result),
            drain: PARTS as f64 * result.drain.as_secs_f64() / result.loaded.as_secs_f64(),
        }
    }

    /// What it did in each part, if that measured the target.
    pub fn throughputs(&self, observation: Observation) -> Option<Throughputs> {
        self.throughputs.filter(|_| observation.measured().is_some())
    }

    /// Whether it held.
    pub fn is_good(&self) -> bool {
        matches!(self.observation, Observation::AtLeast(_))
    }

    /// What it measured, if it was stopped early; another trial `held` this rate.
    pub fn stopped(&self, held: f64) -> Option<f64> {
        self.against(held).measured().filter(|_| self.stopped_early)
    }

    /// What it says given that another trial `held` this rate. A target busy refusing does less than it can: the overload did not measure
    /// it.
    pub fn against(&self, held: f64) -> Observation {
        match self.observation {
            Observation::Measured(did)
                if self.refused && did < held * MAX_COLLAPSED_SHARE && self.rate > held =>
            {
                Observation::Below(self.rate)
            }
            said => said,
        }
    }

    /// The same for a target that moves: a few seconds say little of a whole trial.
    pub fn against_moving(&self, held: f64) -> Observation {
        match self.against(held) {
            Observation::Measured(_) if self.stopped_early => Observation::Below(self.rate),
            said => said,
        }
    }
}

/// What the target did in each part of the load: offered, less growth of what was outstanding. None if it did nothing, or if much was lost: when is unknown.
fn throughputs(result: &TrialResult) -> Option<Throughputs> {
    let total = &result.total;
    let o = &total.outcomes;
    let lost = (o.failed + o.refused + o.timeout + o.unsent) as f64 > MAX_LOST_SHARE * total.due as f64;
    let blocks = total.outstanding.len();
    if lost || blocks < 2 * PARTS {
        return None;
    }
    let offered = Rate::of(total.due, result.loaded).0;
    let seconds = result.loaded.as_secs_f64() / PARTS as f64;
    let held = |part: usize| match part * (blocks - 1) / PARTS {
        0 => 0.0,
        block => total.outstanding[block],
    };
    let did: Throughputs =
        std::array::from_fn(|part| (offered - (held(part + 1) - held(part)) / seconds).max(0.0));
    did.iter().any(|did| *did > 0.0).then_some(did)
}

/// The most the target did in two seconds with at least half of its longest queue waiting, in requests per second: offered, less growth
/// of the queue. If the queue was full and more was refused, the mean over that time.
fn crowded_rate(result: &TrialResult) -> Option<f64> {
    let total = &result.total;
    let offered = Rate::of(total.due, result.loaded).0;
    let longest = total.outstanding.iter().copied().fold(0.0, f64::max);
    let refused = total.outcomes.refused as f64;
    let full = if refused > 0.0 { longest * FULL_SHARE } else { f64::INFINITY };
    let seconds = |blocks: usize| blocks as f64 * BLOCK.as_secs_f64();
    let is_full = total.outstanding.iter().filter(|held| **held >= full).count();
    let while_full = (is_full >= MIN_COUNTED_BLOCKS).then(|| offered - refused / seconds(is_full));
    let is_crowded = |held: &f64| (longest * CROWDED_SHARE..full).contains(held);
    let stretches = total.outstanding.chunk_by(|a, b| is_crowded(a) && is_crowded(b));
    let done = stretches.filter(|held| held.len() > MIN_COUNTED_BLOCKS).flat_map(|held| {
        let blocks = COUNTED_BLOCKS.min(held.len() - 1);
        held.windows(blocks + 1).map(move |held| offered - (held[blocks] - held[0]) / seconds(blocks))
    });
    done.chain(while_full).reduce(f64::max)
}
