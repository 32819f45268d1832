//! What a run's row is to say that its verdict does not, drawn from its events while they are written: no list can read them all.

use crate::FreezeSummary;
use diagnosis::FreezeDetector;
use record::{ArmAnswer, CostRange, Design, Event, Figure, Purpose, Verdict};
use units::{Nanos, Rate};

/// What a load came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadOutcome {
    /// Starts due per second, the mean of all stages; of a closed loop what it got through.
    pub offered: Rate,
    /// Answers per second while it lasted: what comes later is of no rate.
    pub answered: Rate,
    /// The 99th percentile of the response time; none without answers.
    pub response_p99: Option<Nanos>,
}

/// A fold of the events so far.
#[derive(Debug, Default)]
pub(crate) struct SummaryBuilder {
    stillness: FreezeDetector,
    /// The load that goes on: its trial, and how long it is to last.
    load: Option<(u32, Nanos)>,
    answered: u64,
    carried: Option<LoadOutcome>,
    figures: Vec<Figure>,
    design: Option<Box<Design>>,
    arms: Vec<ArmAnswer>,
}

/// What it came to.
#[derive(Debug)]
pub(crate) struct SummaryFields {
    pub still: Option<FreezeSummary>,
    pub carried: Option<LoadOutcome>,
    pub costs: Vec<CostRange>,
    pub arms: Vec<ArmAnswer>,
}

impl SummaryBuilder {
    pub fn fold(&mut self, event: &Event) {
        match event {
            // What the target did meanwhile does not stand in its row.
            Event::Observed { .. } => return,
            Event::TrialStarted { trial, purpose: Purpose::Load, duration, .. } => {
                self.load = Some((*trial, duration.unwrap_or(Nanos::MAX)));
                self.answered = 0;
            }
            Event::SliceDone { trial, slice } => {
                if let Some((_, load)) = self.load.filter(|(load, _)| load == trial) {
                    self.answered += slice.answered_within(load);
                }
            }
            Event::TrialDone { trial, result, .. } if self.load.is_some_and(|(load, _)| load == *trial) => {
                self.carried = Some(LoadOutcome {
                    offered: result.rate,
                    answered: Rate::of(self.answered, result.loaded),
                    response_p99: result.total.response.quantiles().map(|times| times.p99),
                });
            }
            Event::Designed { design, .. } => self.design = Some(design.clone()),
            Event::RunEnded(end) => {
                if let (Some(design), Some(Verdict::Answers { standing })) = (&self.design, &end.verdict) {
                    self.arms = ArmAnswer::all(design, standing);
                }
            }
            Event::Measured { figure } => self.figures.push((**figure).clone()),
            _ => {}
        }
        self.stillness.fold(event);
    }

    pub fn fields(&self) -> SummaryFields {
        SummaryFields {
            still: self.stillness.freezes().map(FreezeSummary::from),
            carried: self.carried,
            costs: CostRange::from_figures(&self.figures),
            arms: self.arms.clone(),
        }
    }
}
