//! An experiment's conclusions, and what to do about them.

use crate::RunView;
use crate::document::{Text, Tone};
use crate::experiment::{
    DesignLookup, HypothesisRow, answer_word, figure, hypothesis_rows, median, ratio, value,
};
use crate::wording::quoted;
use plan::ArmMeasure;
use record::{Cause, CaveatKind, HypothesisAnswer, MeasurementResult};

/// The decided hypotheses, each with its change.
pub(super) fn decided_line(view: &RunView) -> Option<Text> {
    let (names, standing) = DesignLookup::of(view).zip(view.standing.as_ref())?;
    let mut line = Text::empty();
    for row in hypothesis_rows(&names, standing) {
        let (word, tone) = answer_word(row.judged.answer);
        let Some(interval) = row.judged.ratio.as_ref().filter(|_| matches!(tone, Tone::Good | Tone::Bad))
        else {
            continue;
        };
        let comma = if line.pieces.is_empty() { "" } else { "; " };
        let (name, what) =
            (quoted(&row.judged.name), names.comparison_label(row.asked.probe, row.asked.measure));
        let changed = changed(&names, &row).map(|changed| format!(" ({changed})")).unwrap_or_default();
        line = line
            .with_plain(comma)
            .with_span(tone, word)
            .with_plain(format!(": {name}{changed}, {what} {}", ratio(interval)));
    }
    let sure = format!("; {} confidence in all answers together", names.design.confidence);
    (!line.pieces.is_empty()).then(|| line.with_span(Tone::Faint, sure))
}

/// The change, if a hypothesis is about one arm alone.
fn changed(names: &DesignLookup<'_>, row: &HypothesisRow<'_>) -> Option<String> {
    let mut raised = row.asked.contrast.iter().filter(|(_, weight)| *weight > 0.0);
    let (arm, _) = raised.next().filter(|_| row.asked.contrast.len() == 2)?;
    let changes = names.changes(*arm);
    (!changes.is_empty()).then(|| changes.join(", "))
}

/// Says that what a change relieved still gives first: then raising it as much again is worth a try, if it is a number.
fn again(names: &DesignLookup<'_>, row: &HypothesisRow<'_>) -> Option<String> {
    let (arm, _) = row.asked.contrast.iter().find(|(_, weight)| *weight > 0.0)?;
    let taken: Vec<&MeasurementResult> = names.taken(*arm, row.asked.probe).collect();
    let is_relieved = |cause: Cause| row.asked.relieves.iter().any(|relieved| relieved == cause.name());
    let still: Vec<&&MeasurementResult> =
        taken.iter().filter(|taken| taken.cause.is_some_and(is_relieved)).collect();
    let last = still.last().filter(|_| still.len() * 2 > taken.len())?;
    // The first clause: `All 20 workers of app are taken`.
    let says = last.says.split([',', ';']).next().unwrap_or_default().trim_end_matches('.');
    let says = match says.strip_prefix("All ") {
        Some(rest) => format!("even then all {rest}"),
        None if says.is_empty() => format!("it is still limited by {}", last.cause?.words()),
        None => format!("even then {says}"),
    };
    let changes = names.changes(*arm);
    let further = match changes.as_slice() {
        [change] => further(change),
        _ => None,
    };
    let next = further.map(|further| format!(": try {further} next")).unwrap_or_default();
    Some(format!(" ({says}{next})"))
}

/// The same step again: `--workers 40` after `--workers 10 → 20`.
fn further(change: &str) -> Option<String> {
    let (before, to) = change.split_once(" → ")?;
    let (what, from) = before.rsplit_once(' ')?;
    let (from, to): (u64, u64) = (from.parse().ok()?, to.parse().ok()?);
    let further = to.checked_mul(to)?.checked_div(from)?;
    (to > from).then(|| format!("{what} {further}"))
}

/// What to do next: keep what helped, run more blocks for what is open; otherwise the plan is as good as its variants.
pub(super) fn next_step(view: &RunView) -> Option<Text> {
    let (names, standing) = DesignLookup::of(view).zip(view.standing.as_ref())?;
    view.end.as_ref()?;
    let rows = hypothesis_rows(&names, standing);
    let of = |answer: HypothesisAnswer| rows.iter().filter(move |row| row.judged.answer == answer);
    let mut said: Vec<String> = Vec::new();
    let adopted = |row: &HypothesisRow<'_>| {
        Some(format!("{}{}", changed(&names, row)?, again(&names, row).unwrap_or_default()))
    };
    let better: Vec<String> = of(HypothesisAnswer::Better).filter_map(adopted).collect();
    if !better.is_empty() {
        said.push(format!("adopt {}", better.join("; ")));
    }
    let open: Vec<String> = of(HypothesisAnswer::Undecided).map(|row| quoted(&row.judged.name)).collect();
    if !open.is_empty() {
        said.push(format!("to decide {}, ask for more blocks (most and budget in [try])", open.join(", ")));
    }
    let is_kept = !rows.is_empty()
        && rows
            .iter()
            .all(|row| matches!(row.judged.answer, HypothesisAnswer::Worse | HypothesisAnswer::NoDifference));
    if is_kept {
        said.push("keep the plan as it stands".to_owned());
    }
    (!said.is_empty()).then(|| Text::labelled("next", said.join("; ")))
}

/// What to expect of the adopted change: the compared figure times the ratio in the headline, to its precision. The median of its own
/// starts may differ, as the ratio is within blocks.
pub(super) fn expected_gain(view: &RunView) -> Option<Text> {
    let (names, standing) = DesignLookup::of(view).zip(view.standing.as_ref())?;
    view.end.as_ref()?;
    let said = hypothesis_rows(&names, standing)
        .into_iter()
        .filter(|row| row.judged.answer == HypothesisAnswer::Better);
    let said = said.filter_map(|row| {
        changed(&names, &row)?;
        let (probe, measure) = (row.asked.probe, row.asked.measure);
        let (arm, _) = row.asked.contrast.iter().find(|(_, weight)| *weight < 0.0)?;
        let taken = names.taken(*arm, probe).filter(|taken| names.is_at_load(taken));
        let mut figures: Vec<f64> = taken.filter_map(|taken| figure(taken, measure)).collect();
        let (before, times) = (median(&mut figures)?, row.judged.ratio.as_ref()?);
        let after = as_known(before * times.value, before * (times.high - times.low) / 2.0);
        let (after, before) = (value(measure, after), value(measure, before));
        Some(format!("{} of about {after}, where it was {before}", names.comparison_label(probe, measure)))
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| Text::labelled("expect", said.join("; ")))
}

/// Response times with the adopted change, else of the unchanged plan, and whether any are missing: a change that answers more may answer
/// later.
pub(super) fn quick(view: &RunView) -> Option<Text> {
    let (names, standing) = DesignLookup::of(view).zip(view.standing.as_ref())?;
    view.end.as_ref()?;
    let rows = hypothesis_rows(&names, standing);
    let better = rows.iter().find(|row| row.judged.answer == HypothesisAnswer::Better);
    let row = better.or(rows.first())?;
    let side = |is_raised: bool| {
        let mut of = row.asked.contrast.iter().filter(|(_, weight)| (*weight > 0.0) == is_raised);
        of.next().map(|(arm, _)| *arm)
    };
    let taken = |arm: usize| -> Vec<&MeasurementResult> {
        names.taken(arm, row.asked.probe).filter(|taken| names.is_at_load(taken)).collect()
    };
    let times = |arm: usize| {
        let of = |measure: ArmMeasure| {
            let mut figures: Vec<f64> =
                taken(arm).into_iter().filter_map(|taken| figure(taken, measure)).collect();
            median(&mut figures).map(|time| value(measure, time))
        };
        Some(format!("p50 {} and p99 {}", of(ArmMeasure::P50)?, of(ArmMeasure::P99)?))
    };
    let (arm, before) = (side(true).filter(|_| better.is_some()), side(false)?);
    let said = match arm {
        Some(arm) => format!("{}, where it was {}", times(arm)?, times(before)?),
        None => format!("{} as the plan stands", times(before)?),
    };
    let failed = |taken: &&&MeasurementResult| {
        taken.caveats.iter().any(|caveat| caveat.doubt == CaveatKind::NotAnswered)
    };
    let all: Vec<&MeasurementResult> = arm.into_iter().chain([before]).flat_map(taken).collect();
    let lost = match all.iter().filter(failed).count() {
        0 => "no request failed".to_owned(),
        starts => format!("requests failed in {starts} of {} starts", all.len()),
    };
    Some(Text::labelled("response time", format!("{said} (medians of the starts); {lost}")))
}

/// Drops digits that half the uncertainty makes meaningless: 953 ± 34 is 950.
fn as_known(figure: f64, doubt: f64) -> f64 {
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
            assert_eq!(further(change).as_deref(), expected, "{change}");
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
            assert!((as_known(figure, doubt) - said).abs() < 1e-9, "{figure}");
        }
    }
}
