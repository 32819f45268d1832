//! A full trial, and what it says of the capacity.

use crate::capacity::Observation;
use record::TrialResult;

/// Who does less than this part of what it held, when asked for more, is busy with turning away.
const COLLAPSED: f64 = 0.8;

/// One of those that the limits are estimated from.
#[derive(Debug, Clone, Copy)]
pub struct FullTrial {
    /// Offered.
    pub rate: f64,
    /// What it says of a target of which any few seconds are like the next.
    pub said: Observation,
    /// It was over before its time.
    stopped: bool,
    /// Requests due.
    pub due: u64,
    /// Those that were bad.
    pub bad: u64,
    /// What was lost was answered so.
    refused: bool,
}

impl FullTrial {
    /// A trial at `rate` that ended so.
    pub fn new(rate: f64, said: Observation, result: &TrialResult) -> Self {
        let outcomes = &result.total.outcomes;
        let (due, bad) = (result.total.due, outcomes.bad());
        Self { rate, said, stopped: result.hopeless, due, bad, refused: 2 * outcomes.failed > bad }
    }

    /// Whether it held.
    pub fn good(&self) -> bool {
        matches!(self.said, Observation::AtLeast(_))
    }

    /// What it measured, if it was stopped early; another trial `held` so much.
    pub fn stopped(&self, held: f64) -> Option<f64> {
        match self.against(held) {
            Observation::Was(did) if self.stopped => Some(did),
            _ => None,
        }
    }

    /// What it says where another trial held so much. Who is busy with turning away gets less done than it can: the overload did not measure it.
    pub fn against(&self, held: f64) -> Observation {
        match self.said {
            Observation::Was(did) if self.refused && did < held * COLLAPSED && self.rate > held => {
                Observation::Below(self.rate)
            }
            said => said,
        }
    }

    /// The same of a target that moves: what it did in a few seconds says little of a whole trial.
    pub fn against_moving(&self, held: f64) -> Observation {
        match self.against(held) {
            Observation::Was(_) if self.stopped => Observation::Below(self.rate),
            said => said,
        }
    }
}
