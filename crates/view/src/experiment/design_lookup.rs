use super::changes;
use super::words::{measure_words, percent};
use crate::RunView;
use plan::{ArmMeasure, Hypothesis, LoadLevel};
use record::{ArmStart, Design, ExperimentState, HypothesisResult, MeasurementResult};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use units::{Rate, grouped};

static NO_STATE: LazyLock<ExperimentState> = LazyLock::new(ExperimentState::default);

/// Resolves the indices in an experiment's events.
pub(crate) struct DesignLookup<'a> {
    pub design: &'a Design,
    /// The default before there is any.
    pub state: &'a ExperimentState,
    pub all_starts: &'a [ArmStart],
    /// By probe index, the rate that a share of the capacity comes to in all blocks. During the pilot the capacity is an early estimate.
    rates: BTreeMap<usize, Rate>,
    plan: &'a str,
}

impl<'a> DesignLookup<'a> {
    /// `None` before the design is known.
    pub fn of(view: &'a RunView) -> Option<Self> {
        let held = view.starts.iter().filter(|start| start.block > 0).flat_map(|start| &start.taken);
        let rates = held.filter_map(|measurement| Some((measurement.probe, measurement.rate?))).collect();
        let plan = view.started.as_ref().map_or("", |started| started.plan.as_str());
        let state = view.experiment_state.as_ref().unwrap_or(&NO_STATE);
        Some(Self { design: view.design.as_ref()?, state, all_starts: &view.starts, rates, plan })
    }

    /// An arm's name.
    pub fn arm(&self, arm: usize) -> &'a str {
        self.design.arms.get(arm).map_or("an arm that is not in the design", |arm| arm.name.as_str())
    }

    /// What an arm changes, as `before → after`; empty for the unchanged plan.
    pub fn changes(&self, arm: usize) -> Vec<String> {
        let of = self.design.arms.get(arm);
        of.into_iter().flat_map(|of| &of.changes).map(|change| changes::describe(change, self.plan)).collect()
    }

    /// A probe's workload; empty if the plan has only one.
    pub fn workload(&self, probe: usize) -> &'a str {
        match self.design.probes.get(probe).map(|probe| probe.workload.as_str()) {
            Some("all") | None => "",
            Some(name) => name,
        }
    }

    /// A probe's load, to follow a measure; empty for the search for the limit.
    pub fn load(&self, probe: usize) -> String {
        self.load_at(probe, self.rates.get(&probe).copied())
    }

    /// The load of this measurement.
    pub fn load_of(&self, measurement: &MeasurementResult) -> String {
        self.load_at(measurement.probe, measurement.rate)
    }

    /// Whether it was measured under the blocks' load.
    pub fn is_at_load(&self, measurement: &MeasurementResult) -> bool {
        self.rates.get(&measurement.probe).is_none_or(|rate| measurement.rate == Some(*rate))
    }

    /// A start's result under the blocks' load.
    pub fn figure_at_load(&self, start: &ArmStart, probe: usize, measure: ArmMeasure) -> Option<f64> {
        let mut of_probe = start.taken.iter().filter(|measurement| measurement.probe == probe);
        figure(of_probe.find(|measurement| self.is_at_load(measurement))?, measure)
    }

    fn load_at(&self, probe: usize, held: Option<Rate>) -> String {
        match self.design.probes.get(probe).map(|probe| probe.at) {
            Some(LoadLevel::Limit) | None => String::new(),
            Some(LoadLevel::Rate(rate)) => format!("at {rate}"),
            Some(LoadLevel::Share(share)) => match held {
                Some(rate) => format!("at {rate}"),
                None => format!("at {} of the capacity", percent(share.0)),
            },
            Some(LoadLevel::Connections(count)) => format!("at {} connections", grouped(u64::from(count))),
        }
    }

    /// What is compared: `writes: p99 at 106/s`.
    pub fn comparison_label(&self, probe: usize, measure: ArmMeasure) -> String {
        let load = self.load(probe);
        let words = match measure {
            ArmMeasure::Cpu | ArmMeasure::Memory | ArmMeasure::Threads if load.is_empty() => {
                format!("{} at the limit", measure_words(measure))
            }
            measure => format!("{} {load}", measure_words(measure)).trim_end().to_owned(),
        };
        match self.workload(probe) {
            "" => words,
            workload => format!("{workload}: {words}"),
        }
    }

    /// The arms a hypothesis compares, if more than two: `A, B against C, D`.
    pub fn contrast(&self, hypothesis: &Hypothesis) -> Option<String> {
        let side =
            |sign| contrast_side(hypothesis, sign).map(|arm| self.arm(arm)).collect::<Vec<_>>().join(", ");
        (hypothesis.contrast.len() > 2).then(|| format!("{} against {}", side(1.0), side(-1.0)))
    }

    /// The measures that hypotheses ask for, without duplicates.
    pub fn hypothesis_measures(&self) -> Vec<(usize, ArmMeasure)> {
        crate::wording::distinct(
            self.design.hypotheses.iter().map(|hypothesis| (hypothesis.probe, hypothesis.measure)),
        )
    }

    /// Whether a hypothesis asks for this measure.
    pub fn has_hypothesis(&self, probe: usize, measure: ArmMeasure) -> bool {
        self.design.hypotheses.iter().any(|h| h.probe == probe && h.measure == measure)
    }

    /// The placebos: the unchanged plan against itself.
    pub fn placebos(&self) -> impl Iterator<Item = &'a HypothesisResult> {
        self.state.judged.iter().filter(|result| result.hypothesis.is_none())
    }

    /// The valid starts of an arm: of blocks, or of the pilot while there are no others.
    pub fn valid_starts(&self, arm: usize) -> impl Iterator<Item = &'a ArmStart> + Clone {
        self.valid_starts_with(arm, |_| true)
    }

    /// An arm's valid starts that measured this probe: of blocks, or only of the pilot.
    pub fn starts(&self, arm: usize, probe: usize) -> impl Iterator<Item = &'a ArmStart> + Clone {
        self.valid_starts_with(arm, move |start| start.taken.iter().any(|taken| taken.probe == probe))
    }

    fn valid_starts_with(
        &self,
        arm: usize,
        has: impl Fn(&ArmStart) -> bool + Clone,
    ) -> impl Iterator<Item = &'a ArmStart> + Clone {
        let starts = self.all_starts;
        let counts = move |start: &&ArmStart| start.arm == arm && start.void.is_none() && has(start);
        let in_blocks = starts.iter().filter(counts.clone()).any(|start| start.block > 0);
        starts.iter().filter(counts).filter(move |start| start.block > 0 || !in_blocks)
    }

    /// A probe's result at each of them.
    pub fn measurements(
        &self,
        arm: usize,
        probe: usize,
    ) -> impl Iterator<Item = &'a MeasurementResult> + Clone {
        self.starts(arm, probe).flat_map(move |start| start.taken.iter().filter(move |t| t.probe == probe))
    }
}

/// The arms with a positive or negative weight in a hypothesis.
pub(crate) fn contrast_side(hypothesis: &Hypothesis, sign: f64) -> impl Iterator<Item = usize> {
    hypothesis.contrast.iter().filter(move |(_, weight)| weight * sign > 0.0).map(|(arm, _)| *arm)
}

pub(crate) fn figure(measurement: &MeasurementResult, measure: ArmMeasure) -> Option<f64> {
    measurement.figures.iter().find(|(found, _)| *found == measure).map(|(_, figure)| *figure)
}

/// The most telling measure of a load.
pub(super) fn main_measure(at: LoadLevel) -> ArmMeasure {
    match at {
        LoadLevel::Limit => ArmMeasure::Capacity,
        LoadLevel::Rate(_) | LoadLevel::Share(_) => ArmMeasure::P99,
        LoadLevel::Connections(_) => ArmMeasure::Throughput,
    }
}
