//! An experiment's conclusions, and what to do about them.

use crate::RunView;
use crate::document::{Text, Tone};
use crate::experiment::{
    DesignLookup, HypothesisRow, answer_word, contrast_side, figure, hypothesis_rows, median, ratio, value,
};
use crate::wording::quoted;
use plan::ArmMeasure;
use record::{Cause, CaveatKind, HypothesisAnswer, MeasurementResult};

/// The decided hypotheses, each with its change.
pub(super) fn decided_line(view: &RunView) -> Option<Text> {
    let lookup = DesignLookup::of(view)?;
    let mut line = Text::empty();
    for row in hypothesis_rows(&lookup) {
        let (word, tone) = answer_word(row.result.answer);
        let Some(interval) = row.result.ratio.as_ref().filter(|_| matches!(tone, Tone::Good | Tone::Bad))
        else {
            continue;
        };
        let comma = if line.pieces.is_empty() { "" } else { "; " };
        let (name, what) =
            (quoted(&row.result.name), lookup.comparison_label(row.hypothesis.probe, row.hypothesis.measure));
        let changed = changed(&lookup, &row).map(|changed| format!(" ({changed})")).unwrap_or_default();
        line = line
            .with_plain(comma)
            .with_span(tone, word)
            .with_plain(format!(": {name}{changed}, {what} {}", ratio(interval)));
    }
    let sure = format!("; {} confidence in all answers together", lookup.design.confidence);
    (!line.pieces.is_empty()).then(|| line.with_span(Tone::Faint, sure))
}

/// The change, if a hypothesis is about one arm alone.
fn changed(lookup: &DesignLookup<'_>, row: &HypothesisRow<'_>) -> Option<String> {
    let raised = contrast_side(row.hypothesis, 1.0).next();
    let changes = lookup.changes(raised.filter(|_| row.hypothesis.contrast.len() == 2)?);
    (!changes.is_empty()).then(|| changes.join(", "))
}

/// Says that what a change relieved still gives first: then raising it as much again is worth a try, if it is a number.
fn still_limited_words(lookup: &DesignLookup<'_>, row: &HypothesisRow<'_>) -> Option<String> {
    let arm = contrast_side(row.hypothesis, 1.0).next()?;
    let measurements: Vec<&MeasurementResult> = lookup.measurements(arm, row.hypothesis.probe).collect();
    let is_relieved = |cause: Cause| row.hypothesis.relieves.iter().any(|relieved| relieved == cause.name());
    let still: Vec<&&MeasurementResult> =
        measurements.iter().filter(|measurement| measurement.cause.is_some_and(is_relieved)).collect();
    let last = still.last().filter(|_| still.len() * 2 > measurements.len())?;
    // The first clause: `All 20 workers of app are taken`.
    let says = last.says.split([',', ';']).next().unwrap_or_default().trim_end_matches('.');
    let says = match says.strip_prefix("All ") {
        Some(rest) => format!("even then all {rest}"),
        None if says.is_empty() => format!("it is still limited by {}", last.cause?.words()),
        None => format!("even then {says}"),
    };
    let changes = lookup.changes(arm);
    let further = match changes.as_slice() {
        [change] => next_value(change),
        _ => None,
    };
    let next = further.map(|further| format!(": try {further} next")).unwrap_or_default();
    Some(format!(" ({says}{next})"))
}

/// The same step again: `--workers 40` after `--workers 10 → 20`.
fn next_value(change: &str) -> Option<String> {
    let (before, to) = change.split_once(" → ")?;
    let (what, from) = before.rsplit_once(' ')?;
    let (from, to): (u64, u64) = (from.parse().ok()?, to.parse().ok()?);
    let further = to.checked_mul(to)?.checked_div(from)?;
    (to > from).then(|| format!("{what} {further}"))
}

/// What to do next: keep what helped, run more blocks for what is open; otherwise the plan is as good as its variants.
pub(super) fn next_step(view: &RunView) -> Option<Text> {
    let lookup = DesignLookup::of(view)?;
    view.end.as_ref()?;
    let rows = hypothesis_rows(&lookup);
    let of = |answer: HypothesisAnswer| rows.iter().filter(move |row| row.result.answer == answer);
    let mut parts: Vec<String> = Vec::new();
    let adopted = |row: &HypothesisRow<'_>| {
        Some(format!("{}{}", changed(&lookup, row)?, still_limited_words(&lookup, row).unwrap_or_default()))
    };
    let better: Vec<String> = of(HypothesisAnswer::Better).filter_map(adopted).collect();
    if !better.is_empty() {
        parts.push(format!("adopt {}", better.join("; ")));
    }
    let open: Vec<String> = of(HypothesisAnswer::Undecided).map(|row| quoted(&row.result.name)).collect();
    if !open.is_empty() {
        parts.push(format!("to decide {}, ask for more blocks (most and budget in [try])", open.join(", ")));
    }
    let is_kept = !rows.is_empty()
        && rows
            .iter()
            .all(|row| matches!(row.result.answer, HypothesisAnswer::Worse | HypothesisAnswer::NoDifference));
    if is_kept {
        parts.push("keep the plan as it stands".to_owned());
    }
    (!parts.is_empty()).then(|| Text::labelled("next", parts.join("; ")))
}

/// What to expect of the adopted change: the compared figure times the ratio in the headline, to its precision. The median of its own
/// starts may differ, as the ratio is within blocks.
pub(super) fn expected_gain(view: &RunView) -> Option<Text> {
    let lookup = DesignLookup::of(view)?;
    view.end.as_ref()?;
    let gains =
        hypothesis_rows(&lookup).into_iter().filter(|row| row.result.answer == HypothesisAnswer::Better);
    let gains = gains.filter_map(|row| {
        changed(&lookup, &row)?;
        let (probe, measure) = (row.hypothesis.probe, row.hypothesis.measure);
        let arm = contrast_side(row.hypothesis, -1.0).next()?;
        let (before, times) = (median_at_load(&lookup, arm, probe, measure)?, row.result.ratio.as_ref()?);
        let after = round_to_uncertainty(before * times.value, before * (times.high - times.low) / 2.0);
        let (after, before) = (value(measure, after), value(measure, before));
        Some(format!("{} of about {after}, where it was {before}", lookup.comparison_label(probe, measure)))
    });
    let gains: Vec<String> = gains.collect();
    (!gains.is_empty()).then(|| Text::labelled("expect", gains.join("; ")))
}

/// Response times with the adopted change, else of the unchanged plan, and whether any are missing: a change that answers more may answer
/// later.
pub(super) fn response_time_line(view: &RunView) -> Option<Text> {
    let lookup = DesignLookup::of(view)?;
    view.end.as_ref()?;
    let rows = hypothesis_rows(&lookup);
    let better = rows.iter().find(|row| row.result.answer == HypothesisAnswer::Better);
    let row = better.or(rows.first())?;
    let probe = row.hypothesis.probe;
    let times = |arm: usize| {
        let of = |measure| Some(value(measure, median_at_load(&lookup, arm, probe, measure)?));
        Some(format!("p50 {} and p99 {}", of(ArmMeasure::P50)?, of(ArmMeasure::P99)?))
    };
    let side = |sign| contrast_side(row.hypothesis, sign).next();
    let (arm, before) = (side(1.0).filter(|_| better.is_some()), side(-1.0)?);
    let times_text = match arm {
        Some(arm) => format!("{}, where it was {}", times(arm)?, times(before)?),
        None => format!("{} as the plan stands", times(before)?),
    };
    let failed = |measurement: &&&MeasurementResult| {
        measurement.caveats.iter().any(|caveat| caveat.doubt == CaveatKind::NotAnswered)
    };
    let arms = arm.into_iter().chain([before]);
    let all: Vec<&MeasurementResult> =
        arms.flat_map(|arm| measurements_at_load(&lookup, arm, probe)).collect();
    let lost = match all.iter().filter(failed).count() {
        0 => "no request failed".to_owned(),
        starts => format!("requests failed in {starts} of {} starts", all.len()),
    };
    Some(Text::labelled("response time", format!("{times_text} (medians of the starts); {lost}")))
}

/// An arm's results under the blocks' load.
fn measurements_at_load<'a>(
    lookup: &DesignLookup<'a>,
    arm: usize,
    probe: usize,
) -> impl Iterator<Item = &'a MeasurementResult> {
    lookup.measurements(arm, probe).filter(|measurement| lookup.is_at_load(measurement))
}

fn median_at_load(lookup: &DesignLookup<'_>, arm: usize, probe: usize, measure: ArmMeasure) -> Option<f64> {
    let found = measurements_at_load(lookup, arm, probe).filter_map(|taken| figure(taken, measure));
    median(&mut found.collect::<Vec<_>>())
}

/// Drops digits that half the uncertainty makes meaningless: 953 ± 34 is 950.
fn round_to_uncertainty(figure: f64, doubt: f64) -> f64 {
    if doubt <= 0.0 || !doubt.is_finite() {
        return figure;
    }
    let step = 10_f64.powi((doubt / 2.0).log10().floor() as i32);
    (figure / step).round() * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_of_what_was_raised_is_a_number() {
        for (change, expected) in [
            ("--workers 10 → 20", Some("--workers 40")),
            ("with --queue 1000", None),
            ("VIRTUAL_THREADS false → true", None),
            ("--pool 20 → 10", None),
            ("--pool 0 → 10", None),
            ("--bytes 1 → 5000000000", None),
        ] {
            assert_eq!(next_value(change).as_deref(), expected, "{change}");
        }
    }

    /// "481/s × 1.98" gave "about 953/s".
    #[test]
    fn what_is_expected_is_said_no_finer_than_it_is_known() {
        for (figure, doubt, said) in [
            (953.0, 34.0, 950.0),
            (260.4, 20.0, 260.0),
            (953.0, 113.0, 950.0),
            (0.0273, 0.0028, 0.027),
            (1234.0, 0.0, 1234.0),
        ] {
            assert!((round_to_uncertainty(figure, doubt) - said).abs() < 1e-9, "{figure}");
        }
    }
}
