//! A full trial, and what it says of the capacity.

use crate::capacity::Observation;
use record::{BLOCK, TrialResult};
use units::Rate;

/// A target that does less than this share of what it held, when asked for more, is busy refusing.
const COLLAPSED: f64 = 0.8;
/// A trial that was hopeless only after this many tenths of its time is a whole one.
const WHOLE: u64 = 9;
/// The queue is long from this share of its maximum on;
const CROWDED: f64 = 0.5;
/// from this share on it is full, if anything was refused.
const FULL: f64 = 0.95;
/// Throughput under a long queue is counted over two seconds, for a server may accept for a second and answer in the next. If the queue
/// is not long for that long, over as long as it is, but at least half a second.
const COUNTED: usize = (2_000_000_000 / BLOCK.0) as usize;
const COUNTED_LEAST: usize = COUNTED / 4;

/// A trial that the limits are estimated from.
#[derive(Debug, Clone, Copy)]
pub struct FullTrial {
    /// Offered rate.
    pub rate: f64,
    /// What it says of a target whose consecutive seconds are alike.
    pub said: Observation,
    /// If its queue grew, it grew linearly.
    pub straight: bool,
    /// It was stopped early.
    stopped: bool,
    /// Requests due.
    pub due: u64,
    /// Bad ones among them.
    pub bad: u64,
    /// Lost requests were refused.
    refused: bool,
    /// The most it did in two seconds under a long queue, in requests per second; none if there was none.
    pub crowded: Option<f64>,
}

impl FullTrial {
    /// A trial at `rate` with this result.
    pub fn new(rate: f64, said: Observation, straight: bool, result: &TrialResult) -> Self {
        let outcomes = &result.total.outcomes;
        let (due, bad) = (result.total.due, outcomes.bad());
        let refused = 2 * outcomes.failed > bad;
        let stopped = result.hopeless && result.loaded * 10 < result.planned * WHOLE;
        Self { rate, said, straight, stopped, due, bad, refused, crowded: crowded_rate(result) }
    }

    /// Whether it measured the capacity: it was overloaded, and what it kept up is known.
    pub fn measures(&self) -> bool {
        matches!(self.said, Observation::Was(_))
    }

    /// Whether it held.
    pub fn is_good(&self) -> bool {
        matches!(self.said, Observation::AtLeast(_))
    }

    /// What it measured, if it was stopped early; another trial `held` this rate.
    pub fn stopped(&self, held: f64) -> Option<f64> {
        match self.against(held) {
            Observation::Was(did) if self.stopped => Some(did),
            _ => None,
        }
    }

    /// What it says given that another trial `held` this rate. A target busy refusing does less than it can: the overload did not measure
    /// it.
    pub fn against(&self, held: f64) -> Observation {
        match self.said {
            Observation::Was(did) if self.refused && did < held * COLLAPSED && self.rate > held => {
                Observation::Below(self.rate)
            }
            said => said,
        }
    }

    /// The same for a target that moves: a few seconds say little of a whole trial.
    pub fn against_moving(&self, held: f64) -> Observation {
        match self.against(held) {
            Observation::Was(_) if self.stopped => Observation::Below(self.rate),
            said => said,
        }
    }
}

/// The most the target did in two seconds with at least half of its longest queue waiting, in requests per second: offered, less growth
/// of the queue. If the queue was full and more was refused, the mean over that time.
fn crowded_rate(result: &TrialResult) -> Option<f64> {
    let total = &result.total;
    let offered = Rate::of(total.due, result.loaded).0;
    let longest = total.outstanding.iter().copied().fold(0.0, f64::max);
    let refused = total.outcomes.refused as f64;
    let full = if refused > 0.0 { longest * FULL } else { f64::INFINITY };
    let seconds = |blocks: usize| blocks as f64 * BLOCK.as_secs_f64();
    let is_full = total.outstanding.iter().filter(|held| **held >= full).count();
    let while_full = (is_full >= COUNTED_LEAST).then(|| offered - refused / seconds(is_full));
    let is_crowded = |held: &f64| (longest * CROWDED..full).contains(held);
    let stretches = total.outstanding.chunk_by(|a, b| is_crowded(a) && is_crowded(b));
    let done = stretches.filter(|held| held.len() > COUNTED_LEAST).flat_map(|held| {
        let blocks = COUNTED.min(held.len() - 1);
        held.windows(blocks + 1).map(move |held| offered - (held[blocks] - held[0]) / seconds(blocks))
    });
    done.chain(while_full).reduce(f64::max)
}
