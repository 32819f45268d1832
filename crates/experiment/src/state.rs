use crate::comparison::ComparisonEstimate;
use crate::describe;
use crate::experiment::Experiment;
use crate::group::{HypothesisGroup, compared_arms, counts};
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
    /// Ends it from outside; measurements still count.
    pub fn interrupt(&mut self, end: ExperimentEnd) -> ExperimentState {
        self.end = self.end.or(Some(end));
        self.state()
    }

    /// The current state.
    pub fn state(&self) -> ExperimentState {
        let mut results: Vec<Option<HypothesisResult>> = vec![None; self.estimates.len()];
        let mut state = ExperimentState { over: self.end, ..ExperimentState::default() };
        let mut placebos = Vec::new();
        for (group, placebo) in self.groups.iter().zip(&self.placebo_estimates) {
            for place in &group.hypotheses {
                results[*place] = Some(hypothesis_result(self, group, *place));
            }
            if let Some(found) = placebo_result(self, group, placebo) {
                if found.some_effect {
                    let what = describe::describe_group(self, group);
                    let text = format!(
                        "starts of the same arm differ in {what} by more than chance explains: \
                         do not trust the rest."
                    );
                    state.caveats.push(Caveat::new(CaveatKind::PlaceboDiffers, text));
                }
                placebos.push(found);
            }
            state.noise.extend(noise(self, group));
            if let Some(fit) = group.fit(&self.starts) {
                let what = describe::describe_group(self, group);
                state.caveats.extend(drift(&fit, &what));
                state.caveats.extend(unequal(self, group, &fit, &what));
            }
        }
        state.blocks = self.complete_blocks();
        state.judged = results.into_iter().flatten().chain(placebos).collect();
        for (arm, why) in self.dropped.iter().enumerate().filter_map(|(arm, why)| Some((arm, why.as_ref()?)))
        {
            let text = format!("'{}' is no longer measured: {why}", self.design.arms[arm].name);
            state.caveats.push(Caveat::new(CaveatKind::ArmDropped, text));
        }
        state
    }
}

fn hypothesis_result(experiment: &Experiment, group: &HypothesisGroup, place: usize) -> HypothesisResult {
    let (hypothesis, estimate) = (&experiment.design.hypotheses[place], &experiment.estimates[place]);
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
    let (hypothesis, name, contrast) = (Some(place), hypothesis.name.clone(), &hypothesis.contrast);
    let comparison = comparison_result(experiment, group, estimate, contrast);
    HypothesisResult { hypothesis, name, answer, expected, held, says, ..comparison }
}

/// A group's placebo, once there is something to compare.
fn placebo_result(
    experiment: &Experiment,
    group: &HypothesisGroup,
    estimate: &ComparisonEstimate,
) -> Option<HypothesisResult> {
    estimate.bounds?;
    let name = format!("placebo: {}", describe::describe_group(experiment, group));
    Some(HypothesisResult { name, ..comparison_result(experiment, group, estimate, &[(0, 1.0)]) })
}

/// What is known of a comparison, whatever it is of.
fn comparison_result(
    experiment: &Experiment,
    group: &HypothesisGroup,
    estimate: &ComparisonEstimate,
    contrast: &[(usize, f64)],
) -> HypothesisResult {
    HypothesisResult {
        hypothesis: None,
        name: String::new(),
        answer: estimate.answer.unwrap_or(HypothesisAnswer::Undecided),
        ratio: estimate.ratio(),
        some_effect: estimate.some_effect(),
        blocks: estimate.blocks as u32,
        expected: None,
        held: None,
        says: String::new(),
        caveats: caveats(experiment, group, estimate, contrast),
    }
}

/// Why a hypothesis has nothing to compare.
fn missing_reason(experiment: &Experiment, group: &HypothesisGroup, hypothesis: &plan::Hypothesis) -> String {
    let missing = |arm: usize| !group.rows.iter().any(|row| row.arm == arm);
    let arms = compared_arms(&hypothesis.contrast).filter(|arm| missing(*arm));
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
        let of = experiment.starts.iter().filter(|visit| counts(visit, arm));
        let taken = of.flat_map(|visit| &visit.taken).filter(|taken| taken.probe == group.probe);
        taken.filter(|taken| taken.at_least).count()
    };
    let unended: usize = compared_arms(contrast).map(at_least).sum();
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
