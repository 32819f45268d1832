use crate::experiment::Experiment;
use crate::group::pilot;
use plan::{ArmMeasure, Hypothesis, LoadLevel};
use record::{ArmStart, Cause, ExpectedAnswer, HypothesisAnswer};

/// The answer expected from the baseline's diagnosis; none before the pilot is complete.
///
/// One rule, for capacities: relieving what gives first raises the capacity; relieving something else does not. Anything beyond this rule
/// has no expected answer, and says why.
pub(crate) fn expected_answer(experiment: &Experiment, hypothesis: &Hypothesis) -> Option<ExpectedAnswer> {
    let none = |why: &str| Some(ExpectedAnswer { answer: None, why: why.to_owned() });
    let pilot: Vec<&ArmStart> = pilot(&experiment.starts).collect();
    if pilot.is_empty() {
        return None;
    }
    let at_full_load =
        matches!(experiment.design.probes[hypothesis.probe].at, LoadLevel::Limit | LoadLevel::Connections(_));
    if !(hypothesis.measure == ArmMeasure::Capacity
        || (hypothesis.measure == ArmMeasure::Throughput && at_full_load))
    {
        return none("a diagnosis says what limits the capacity, and this is not measured at the limit");
    }
    if compared_variant(hypothesis).is_none() {
        return none(
            "the diagnosis is of the plan as it stands, and this compares more than one variant with it",
        );
    }
    if hypothesis.relieves.is_empty() {
        return none("the variant does not say which causes it `relieves`");
    }
    let Some((limit, starts)) = pilot_cause(experiment, hypothesis.probe, &pilot) else {
        return none(
            "the first starts of the plan as it stands do not agree on what gives first, or nothing did",
        );
    };
    let (answer, effect) = match hypothesis.relieves.iter().any(|name| name == limit.name()) {
        true => (HypothesisAnswer::Better, "relieves"),
        false => (HypothesisAnswer::NoDifference, "does not touch"),
    };
    let why = format!(
        "the plan as it stands is limited by {} ({starts} of {} starts), which this {effect}",
        limit.words(),
        pilot.len()
    );
    Some(ExpectedAnswer { answer: Some(answer), why })
}

/// The variant, if the hypothesis compares one with the unchanged plan.
pub(crate) fn compared_variant(hypothesis: &Hypothesis) -> Option<usize> {
    let mut arms = hypothesis.contrast.iter().filter(|(_, weight)| *weight != 0.0);
    let (Some(one), Some(other), None) = (arms.next(), arms.next(), arms.next()) else { return None };
    let (variant, baseline) = if one.0 == 0 { (other, one) } else { (one, other) };
    (baseline.0 == 0 && baseline.1 < 0.0).then_some(variant.0)
}

/// The cause found in more than half of the pilot's starts, and in how many: by the search for the capacity of the measurement's
/// workload, or if there is none, at the measurement itself.
fn pilot_cause(experiment: &Experiment, probe: usize, pilot: &[&ArmStart]) -> Option<(Cause, usize)> {
    let probes = &experiment.design.probes;
    let search = |place: &usize| {
        probes[*place].at == LoadLevel::Limit && probes[*place].workload == probes[probe].workload
    };
    let from = (0..probes.len()).find(search).unwrap_or(probe);
    commonest_cause(pilot.iter().copied(), from).filter(|(_, starts)| starts * 2 > pilot.len())
}

/// The most frequent cause at a measurement, and its number of starts; on a tie the first by name.
pub(crate) fn commonest_cause<'a>(
    starts: impl Iterator<Item = &'a ArmStart>,
    probe: usize,
) -> Option<(Cause, usize)> {
    let taken = starts.flat_map(|visit| &visit.taken).filter(|taken| taken.probe == probe);
    let mut causes: Vec<Cause> = taken.filter_map(|taken| taken.cause).collect();
    causes.sort_unstable();
    let groups = causes.chunk_by(|a, b| a == b).map(|same| (same[0], same.len()));
    groups.reduce(|most, next| if next.1 > most.1 { next } else { most })
}
