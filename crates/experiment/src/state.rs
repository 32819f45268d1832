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
const FREEDOM_FEW: f64 = 6.0;
/// Probability of a false alarm about drift or unequal noise.
const DOUBT: f64 = 0.01;

impl Experiment {
    /// The current state.
    pub fn state(&self) -> ExperimentState {
        experiment_state(self)
    }

    /// Ends it from outside; measurements still count.
    pub fn interrupt(&mut self, over: ExperimentEnd) -> ExperimentState {
        self.over = self.over.or(Some(over));
        self.state()
    }
}

fn experiment_state(experiment: &Experiment) -> ExperimentState {
    let mut judged: Vec<Option<HypothesisResult>> = vec![None; experiment.found.len()];
    let mut standing = ExperimentState { over: experiment.over, ..ExperimentState::default() };
    let mut placebos = Vec::new();
    for (group, placebo) in experiment.groups.iter().zip(&experiment.placebos) {
        for place in &group.asked {
            judged[*place] = Some(hypothesis_result(experiment, group, *place));
        }
        if let Some(found) = placebo_result(experiment, group, placebo) {
            if found.some_effect {
                let text = format!(
                    "{} Starts of the same arm differ by more than chance explains: do not trust the rest.",
                    found.says
                );
                standing.caveats.push(Caveat::new(CaveatKind::PlaceboDiffers, text));
            }
            placebos.push(found);
        }
        standing.noise.extend(noise(experiment, group));
        if let Some(fit) = group.fit(&experiment.visits) {
            let what = describe::describe_measure(group.measure, &experiment.design.probes[group.probe]);
            standing.caveats.extend(drift(&fit, &what));
            standing.caveats.extend(unequal(experiment, group, &fit, &what));
        }
    }
    standing.blocks = experiment.complete_blocks();
    standing.judged = judged.into_iter().flatten().chain(placebos).collect();
    for (arm, why) in
        experiment.dropped.iter().enumerate().filter_map(|(arm, why)| Some((arm, why.as_ref()?)))
    {
        let text = format!("'{}' is no longer measured: {why}", experiment.design.arms[arm].name);
        standing.caveats.push(Caveat::new(CaveatKind::ArmDropped, text));
    }
    standing
}

fn hypothesis_result(experiment: &Experiment, group: &HypothesisGroup, place: usize) -> HypothesisResult {
    let (asked, found) = (&experiment.design.hypotheses[place], &experiment.found[place]);
    let ratio = found.ratio();
    let answer = match found.answer {
        Some(answer) => answer,
        None if group.weights(asked).is_none() => HypothesisAnswer::NotMeasured,
        None => HypothesisAnswer::Undecided,
    };
    let expected = expected_answer(experiment, asked);
    let decided = !matches!(answer, HypothesisAnswer::Undecided | HypothesisAnswer::NotMeasured);
    let held =
        expected.as_ref().and_then(|expected| expected.answer).filter(|_| decided).map(|e| e == answer);
    let says = match answer {
        HypothesisAnswer::NotMeasured => missing_reason(experiment, group, asked),
        _ => describe::describe_causes(experiment, asked),
    };
    HypothesisResult {
        hypothesis: Some(place),
        name: asked.name.clone(),
        answer,
        ratio,
        some_effect: found.some_effect(),
        blocks: found.blocks as u32,
        expected,
        held,
        says,
        caveats: caveats(experiment, group, found, &asked.contrast),
    }
}

/// A group's placebo, once there is something to compare.
fn placebo_result(
    experiment: &Experiment,
    group: &HypothesisGroup,
    found: &ComparisonEstimate,
) -> Option<HypothesisResult> {
    let ratio = found.ratio()?;
    let answer = found.answer.unwrap_or(HypothesisAnswer::Undecided);
    Some(HypothesisResult {
        hypothesis: None,
        name: format!(
            "placebo: {}",
            describe::describe_measure(group.measure, &experiment.design.probes[group.probe])
        ),
        answer,
        ratio: Some(ratio),
        some_effect: found.some_effect(),
        blocks: found.blocks as u32,
        expected: None,
        held: None,
        says: String::new(),
        caveats: caveats(experiment, group, found, &[(0, 1.0)]),
    })
}

/// Why a hypothesis has nothing to compare.
fn missing_reason(experiment: &Experiment, group: &HypothesisGroup, asked: &plan::Hypothesis) -> String {
    let missing = |arm: usize| !group.rows.iter().any(|row| row.arm == arm);
    let arms =
        asked.contrast.iter().filter(|(arm, weight)| *weight != 0.0 && missing(*arm)).map(|(arm, _)| *arm);
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
    found: &ComparisonEstimate,
    contrast: &[(usize, f64)],
) -> Vec<Caveat> {
    let mut doubts = Vec::new();
    if found.bounds.is_some() && !found.looked {
        let text = format!(
            "{} complete blocks, and the first look is at {}: this interval is only shown, and decides nothing.",
            found.blocks, experiment.design.least
        );
        doubts.push(Caveat::new(CaveatKind::BeforeFirstLook, text));
    }
    if found.still {
        let text = "The figures differ by the same factor in every block: there is no noise to judge by, \
                    and an interval of no width is only as good as the figures are fine.";
        doubts.push(Caveat::new(CaveatKind::NoNoise, text));
    } else if found.bounds.is_some() && found.freedom < FREEDOM_FEW {
        let text = format!(
            "The noise is known from {} degrees of freedom only; more blocks narrow it.",
            found.freedom
        );
        doubts.push(Caveat::new(CaveatKind::FewFreedom, text));
    }
    if found.clash {
        let text =
            "The intervals of two looks do not overlap, so one of them missed; the earlier one is kept.";
        doubts.push(Caveat::new(CaveatKind::LooksDisagree, text));
    }
    let at_least = |arm: usize| {
        let of = experiment
            .visits
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
        doubts.push(Caveat::new(CaveatKind::AtLeast, text));
    }
    doubts
}

/// Whether blocks get slower or faster over time: a t test of the slope of their means.
fn drift(fit: &BlockDesign, what: &str) -> Option<Caveat> {
    let slope = Slope::fit(fit.block_means(), 1.0)?;
    let sure = slope.per_unit.abs() > student_t(1.0 - DOUBT / 2.0, slope.freedom) * slope.error;
    let text = format!(
        "{what} drifts by {}{} a block; comparisons are made within blocks, so it is not in them.",
        if slope.per_unit < 0.0 { "−" } else { "+" },
        Share(slope.per_unit.exp_m1().abs())
    );
    (sure && slope.per_unit.abs() > 1e-9).then(|| Caveat::new(CaveatKind::Drift, text))
}

/// Whether one arm is noisier than the others.
fn unequal(
    experiment: &Experiment,
    group: &HypothesisGroup,
    fit: &BlockDesign,
    what: &str,
) -> Option<Caveat> {
    let unequal = fit.unequal().filter(|unequal| unequal.chance < DOUBT)?;
    let name = &experiment.design.arms[group.rows[unequal.treatment].arm].name;
    let text = format!(
        "'{name}' is noisier than the others in {what}: {:.1} times their deviation. Comparisons with it \
         use its noise, and may miss a little more often than planned; the others leave it out.",
        unequal.ratio
    );
    Some(Caveat::new(CaveatKind::UnequalNoise, text))
}
