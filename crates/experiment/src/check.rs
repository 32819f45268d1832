use record::{Cause, Design};

/// Maximum blocks of an experiment: the bounds are computed for each look, and nobody waits for more.
const MAX_BLOCKS: u32 = 200;

/// Why a design is invalid: what was found, what was expected, and what can be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);
/// Reports a design's first error.
pub(crate) fn check(design: &Design) -> Result<(), Error> {
    let fail = |text: String| Err(Error(text));
    if design.arms.is_empty() {
        return fail("an experiment has no arms: the first is the plan as it stands".to_owned());
    }
    for (place, probe) in design.probes.iter().enumerate() {
        if let Some(arm) = probe.arms.iter().find(|arm| **arm >= design.arms.len()) {
            let arms = design.arms.len();
            return fail(format!(
                "probe {place} is measured of arm {arm}, and there are {arms} (counted from 0)"
            ));
        }
    }
    if design.hypotheses.is_empty() {
        return Ok(());
    }
    let Design { least, most, .. } = *design;
    if least < 2 {
        return fail(format!(
            "{least} blocks before the first look: noise can be told from two on, four are usual"
        ));
    }
    if most < least || most > MAX_BLOCKS {
        return fail(format!(
            "{most} blocks at most: expected {least} (those before the first look) to {MAX_BLOCKS}"
        ));
    }
    let confidence = design.confidence.0;
    if !(0.5..=0.999).contains(&confidence) {
        return fail(format!(
            "a confidence of {}: expected 50 % to 99.9 %; 95 % is usual",
            design.confidence
        ));
    }
    design.hypotheses.iter().try_for_each(|hypothesis| check_hypothesis(design, hypothesis))
}

fn check_hypothesis(design: &Design, hypothesis: &plan::Hypothesis) -> Result<(), Error> {
    let fail = |text: String| Err(Error(format!("hypothesis '{}': {text}", hypothesis.name)));
    let Some(probe) = design.probes.get(hypothesis.probe) else {
        return fail(format!("probe {} is none of the {}", hypothesis.probe, design.probes.len()));
    };
    let sum: f64 = hypothesis.contrast.iter().map(|(_, weight)| weight).sum();
    if !sum.is_finite() || sum.abs() > 1e-9 {
        return fail(format!("its weights add up to {sum}; those of a comparison add up to 0"));
    }
    if hypothesis.contrast.iter().all(|(_, weight)| *weight == 0.0) {
        return fail("it compares nothing: it has no arm with a weight".to_owned());
    }
    for (place, (arm, _)) in hypothesis.contrast.iter().enumerate() {
        if hypothesis.contrast[..place].iter().any(|(other, _)| other == arm) {
            return fail(format!("arm {arm} stands in it twice"));
        }
        if !probe.arms.contains(arm) {
            return fail(format!("arm {arm} is not measured at its probe"));
        }
    }
    let effect = hypothesis.effect.0;
    if !(effect > 0.0 && effect.is_finite()) {
        return fail("its smallest effect is not above 0; 10% is usual".to_owned());
    }
    for word in &hypothesis.relieves {
        let names = || Cause::ALL.iter().map(|cause| cause.name());
        if !names().any(|name| name == word) {
            let near = names().min_by_key(|name| strsim::levenshtein(name, word));
            let near = near.map(|near| format!("; '{near}' is the nearest")).unwrap_or_default();
            return fail(format!("`relieves` names '{word}', which no diagnosis does{near}"));
        }
    }
    Ok(())
}
