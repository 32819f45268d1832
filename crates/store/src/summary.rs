//! Columns of a run's row beyond its verdict, derived from its events while they are written: no list can read them all.

use crate::FreezeSummary;
use diagnosis::FreezeDetector;
use record::{ArmAnswer, CostRange, Design, Event, Figure, Purpose, Verdict};
use units::{Nanos, Rate};

/// The outcome of a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadOutcome {
    /// Arrivals due per second, the mean of all stages; for a closed loop its throughput.
    pub offered: Rate,
    /// Answers per second during the load: later ones belong to no rate.
    pub answered: Rate,
    /// The 99th percentile of the response time; none without answers.
    pub response_p99: Option<Nanos>,
}

/// A fold of the events so far.
#[derive(Debug, Default)]
pub(crate) struct SummaryBuilder {
    freeze_detector: FreezeDetector,
    /// The current load: its trial, and its planned duration.
    load: Option<(u32, Nanos)>,
    answered: u64,
    load_outcome: Option<LoadOutcome>,
    figures: Vec<Figure>,
    design: Option<Box<Design>>,
    arms: Vec<ArmAnswer>,
}

#[derive(Debug)]
pub(crate) struct SummaryFields {
    pub freezes: Option<FreezeSummary>,
    pub load_outcome: Option<LoadOutcome>,
    pub costs: Vec<CostRange>,
    pub arms: Vec<ArmAnswer>,
}

impl SummaryBuilder {
    pub fn fold(&mut self, event: &Event) {
        match event {
            // Observations of the target are not in its row.
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
                self.load_outcome = Some(LoadOutcome {
                    offered: result.rate,
                    answered: Rate::of(self.answered, result.loaded),
                    response_p99: result.total.response.quantiles().map(|times| times.p99),
                });
            }
            Event::Designed { design, .. } => self.design = Some(design.clone()),
            Event::RunEnded(end) => {
                if let (Some(design), Some(Verdict::Answers { standing })) = (&self.design, &end.verdict) {
                    self.arms = ArmAnswer::from_state(design, standing);
                }
            }
            Event::Measured { figure } => self.figures.push((**figure).clone()),
            _ => {}
        }
        self.freeze_detector.fold(event);
    }

    pub fn fields(&self) -> SummaryFields {
        SummaryFields {
            freezes: self.freeze_detector.freezes().map(FreezeSummary::from),
            load_outcome: self.load_outcome,
            costs: CostRange::from_figures(&self.figures),
            arms: self.arms.clone(),
        }
    }
}
