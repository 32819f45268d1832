use crate::comparison::ComparisonEstimate;
use crate::describe;
use crate::experiment::Experiment;
use crate::group::HypothesisGroup;
use crate::noise::noise;
use crate::predict::expected_answer;
use record::{Caveat, CaveatKind, ExperimentEnd, ExperimentState, HypothesisAnswer, HypothesisResult};
use stats::{BlockDesign, Slope, student_t};
use units::Share;

/// Below this many degrees of freedom the noise itself is hardly known.
const FEW_DEGREES: f64 = 6.0;
/// Probability of a false alarm about drift or unequal noise.
const SIGNIFICANCE: f64 = 0.01;

impl Experiment {
    /// The current state.
    pub fn state(&self) -> ExperimentState {
        experiment_state(self)
    }

    /// Ends it from outside; measurements still count.
    pub fn interrupt(&mut self, end: ExperimentEnd) -> ExperimentState {
        self.end = self.end.or(Some(end));
        self.state()
    }
}

fn experiment_state(experiment: &Experiment) -> ExperimentState {
    let mut results: Vec<Option<HypothesisResult>> = vec![None; experiment.estimates.len()];
    let mut state = ExperimentState { over: experiment.end, ..ExperimentState::default() };
    let mut placebos = Vec::new();
    for (group, placebo) in experiment.groups.iter().zip(&experiment.placebo_estimates) {
        for place in &group.hypotheses {
            results[*place] = Some(hypothesis_result(experiment, group, *place));
        }
        if let Some(found) = placebo_result(experiment, group, placebo) {
            if found.some_effect {
                let text = format!(
                    "{} Starts of the same arm differ by more than chance explains: do not trust the rest.",
                    found.says
                );
                state.caveats.push(Caveat::new(CaveatKind::PlaceboDiffers, text));
            }
            placebos.push(found);
        }
        state.noise.extend(noise(experiment, group));
        if let Some(fit) = group.fit(&experiment.starts) {
            let what = describe::describe_measure(group.measure, &experiment.design.probes[group.probe]);
            state.caveats.extend(drift(&fit, &what));
            state.caveats.extend(unequal(experiment, group, &fit, &what));
        }
    }
    state.blocks = experiment.complete_blocks();
    state.judged = results.into_iter().flatten().chain(placebos).collect();
    for (arm, why) in
        experiment.dropped.iter().enumerate().filter_map(|(arm, why)| Some((arm, why.as_ref()?)))
    {
        let text = format!("'{}' is no longer measured: {why}", experiment.design.arms[arm].name);
        state.caveats.push(Caveat::new(CaveatKind::ArmDropped, text));
    }
    state
}

fn hypothesis_result(experiment: &Experiment, group: &HypothesisGroup, place: usize) -> HypothesisResult {
    let (hypothesis, estimate) = (&experiment.design.hypotheses[place], &experiment.estimates[place]);
    let ratio = estimate.ratio();
    let answer = match estimate.answer {
        Some(answer) => answer,
        None if group.weights(hypothesis).is_none() => HypothesisAnswer::NotMeasured,
        None => HypothesisAnswer::Undecided,
    };
    let expected = expected_answer(experiment, hypothesis);
    let decided = !matches!(answer, HypothesisAnswer::Undecided | HypothesisAnswer::NotMeasured);
    let held =
        expected.as_ref().and_then(|expected| expected.answer).filter(|_| decided).map(|e| e == answer);
    let says = match answer {
        HypothesisAnswer::NotMeasured => missing_reason(experiment, group, hypothesis),
        _ => describe::describe_causes(experiment, hypothesis),
    };
    HypothesisResult {
        hypothesis: Some(place),
        name: hypothesis.name.clone(),
        answer,
        ratio,
        some_effect: estimate.some_effect(),
        blocks: estimate.blocks as u32,
        expected,
        held,
        says,
        caveats: caveats(experiment, group, estimate, &hypothesis.contrast),
    }
}

/// A group's placebo, once there is something to compare.
fn placebo_result(
    experiment: &Experiment,
    group: &HypothesisGroup,
    estimate: &ComparisonEstimate,
) -> Option<HypothesisResult> {
    let ratio = estimate.ratio()?;
    let answer = estimate.answer.unwrap_or(HypothesisAnswer::Undecided);
    Some(HypothesisResult {
        hypothesis: None,
        name: format!(
            "placebo: {}",
            describe::describe_measure(group.measure, &experiment.design.probes[group.probe])
        ),
        answer,
        ratio: Some(ratio),
        some_effect: estimate.some_effect(),
        blocks: estimate.blocks as u32,
        expected: None,
        held: None,
        says: String::new(),
        caveats: caveats(experiment, group, estimate, &[(0, 1.0)]),
    })
}

/// Why a hypothesis has nothing to compare.
fn missing_reason(experiment: &Experiment, group: &HypothesisGroup, hypothesis: &plan::Hypothesis) -> String {
    let missing = |arm: usize| !group.rows.iter().any(|row| row.arm == arm);
    let arms = hypothesis
        .contrast
        .iter()
        .filter(|(arm, weight)| *weight != 0.0 && missing(*arm))
        .map(|(arm, _)| *arm);
    let why = |arm: usize| match &experiment.dropped[arm] {
        Some(why) => format!("'{}' was given up: {why}", experiment.design.arms[arm].name),
        None => format!("'{}' gave no such figure.", experiment.design.arms[arm].name),
    };
    arms.map(why).collect::<Vec<_>>().join(" ")
}

/// Caveats about one comparison.
fn caveats(
    experiment: &Experiment,
    group: &HypothesisGroup,
    estimate: &ComparisonEstimate,
    contrast: &[(usize, f64)],
) -> Vec<Caveat> {
    let mut found_caveats = Vec::new();
    if estimate.bounds.is_some() && !estimate.has_looked {
        let text = format!(
            "{} complete blocks, and the first look is at {}: this interval is only shown, and decides nothing.",
            estimate.blocks, experiment.design.least
        );
        found_caveats.push(Caveat::new(CaveatKind::BeforeFirstLook, text));
    }
    if estimate.is_noiseless {
        let text = "The figures differ by the same factor in every block: there is no noise to judge by, \
                    and an interval of no width is only as good as the figures are fine.";
        found_caveats.push(Caveat::new(CaveatKind::NoNoise, text));
    } else if estimate.bounds.is_some() && estimate.freedom < FEW_DEGREES {
        let text = format!(
            "The noise is known from {} degrees of freedom only; more blocks narrow it.",
            estimate.freedom
        );
        found_caveats.push(Caveat::new(CaveatKind::FewFreedom, text));
    }
    if estimate.looks_clash {
        let text =
            "The intervals of two looks do not overlap, so one of them missed; the earlier one is kept.";
        found_caveats.push(Caveat::new(CaveatKind::LooksDisagree, text));
    }
    let at_least = |arm: usize| {
        let of = experiment
            .starts
            .iter()
            .filter(|visit| visit.arm == arm && visit.block > 0 && visit.void.is_none());
        let taken = of.flat_map(|visit| &visit.taken).filter(|taken| taken.probe == group.probe);
        taken.filter(|taken| taken.at_least).count()
    };
    let unended: usize =
        contrast.iter().filter(|(_, weight)| *weight != 0.0).map(|(arm, _)| at_least(*arm)).sum();
    if unended > 0 {
        let text = format!(
            "{unended} of its figures are only known to be at least what they say (the generator or the plan ended the \
             search): the true ratio may be further from 1, or on the other side."
        );
        found_caveats.push(Caveat::new(CaveatKind::AtLeast, text));
    }
    found_caveats
}

/// Whether blocks get slower or faster over time: a t test of the slope of their means.
fn drift(fit: &BlockDesign, what: &str) -> Option<Caveat> {
    let slope = Slope::fit(fit.block_means(), 1.0)?;
    let is_significant =
        slope.per_unit.abs() > student_t(1.0 - SIGNIFICANCE / 2.0, slope.freedom) * slope.error;
    let text = format!(
        "{what} drifts by {}{} a block; comparisons are made within blocks, so it is not in them.",
        if slope.per_unit < 0.0 { "−" } else { "+" },
        Share(slope.per_unit.exp_m1().abs())
    );
    (is_significant && slope.per_unit.abs() > 1e-9).then(|| Caveat::new(CaveatKind::Drift, text))
}

/// Whether one arm is noisier than the others.
fn unequal(
    experiment: &Experiment,
    group: &HypothesisGroup,
    fit: &BlockDesign,
    what: &str,
) -> Option<Caveat> {
    let unequal = fit.unequal().filter(|unequal| unequal.chance < SIGNIFICANCE)?;
    let name = &experiment.design.arms[group.rows[unequal.treatment].arm].name;
    let text = format!(
        "'{name}' is noisier than the others in {what}: {:.1} times their deviation. Comparisons with it \
         use its noise, and may miss a little more often than planned; the others leave it out.",
        unequal.ratio
    );
    Some(Caveat::new(CaveatKind::UnequalNoise, text))
}
