//! A running experiment.

use super::DesignLookup;
use super::causes::NAME_WIDTH;
use super::certainty::noise_words;
use super::design_lookup::{figure, main_measure};
use super::words::{answer_word, measure_words, ratio, value, without_log_tail};
use crate::wording::number_of;
use crate::wording::shortened;
use crate::{RunView, Text, Tone};
use plan::ArmMeasure;
use record::{ArmStart, Design, ExperimentState, MeasurementResult, OngoingStart};
use units::{Nanos, grouped};

pub(crate) fn design_line(design: &Design) -> Text {
    let (arms, asked) = (design.arms.len(), design.hypotheses.len());
    let blocks = if design.least == design.most {
        format!("{} of them", design.least)
    } else {
        format!("{} to {} of them", design.least, design.most)
    };
    let pilot = match design.pilot {
        0 => String::new(),
        n => format!("{} of the plan as it stands first, then ", number_of(n as usize, "start")),
    };
    // Each block starts the unchanged plan twice: the second is the placebo.
    let starts = number_of(design.starts_in_block() as usize, "start");
    let budget = design.budget.map(|budget| format!("; at most {budget}")).unwrap_or_default();
    Text::new(
        Tone::Strong,
        format!(
            "{}, {}; {pilot}blocks of {starts}, {blocks}{budget}; seed {}",
            number_of(arms, "arm"),
            number_of(asked, "hypothesis"),
            design.seed
        ),
    )
}

pub(crate) fn start_begun_line(lookup: &DesignLookup<'_>, visiting: &OngoingStart) -> Text {
    let about = visiting.expected.map(|time| format!(", about {}", whole(time))).unwrap_or_default();
    let again = if visiting.placebo { " again, as placebo" } else { "" };
    Text::plain(format!("{} · ", block(lookup, visiting.block)))
        .with_span(Tone::Strong, lookup.arm(visiting.arm))
        .with_plain(again)
        .with_span(Tone::Faint, format!(" (start {}{about})", visiting.number))
}

fn block(lookup: &DesignLookup<'_>, block: u32) -> String {
    let Design { least, most, .. } = lookup.design;
    match block {
        0 => "pilot".to_owned(),
        block if least == most => format!("block {block} of {most}"),
        block => format!("block {block} of {least}–{most}"),
    }
}

/// The block of a completed start.
pub(crate) fn block_of(start: &ArmStart) -> String {
    if start.block == 0 { "pilot".to_owned() } else { format!("block {}", start.block) }
}

/// Rounded to seconds, but at least one.
fn whole(time: Nanos) -> Nanos {
    Nanos::from_secs(time.as_secs_f64().round().max(1.0) as u64)
}

pub(crate) fn start_done_line(lookup: &DesignLookup<'_>, start: &ArmStart) -> Text {
    if let Some(why) = &start.void {
        return Text::new(Tone::Warn, "void").with_plain(format!(": {}", without_log_tail(why)));
    }
    Text::plain(format!("ready in {}{}", tenths(start.started_in), figures(lookup, start)))
}

fn tenths(time: Nanos) -> Nanos {
    match time.0 {
        10_000_000_000.. => whole(time),
        1_000_000_000.. => Nanos::from_millis((time.as_secs_f64() * 10.0).round() as u64 * 100),
        _ => time,
    }
}

/// ` · writes: capacity 212/s (gave first: a pool), p99 14 ms at 100/s`.
fn figures(lookup: &DesignLookup<'_>, start: &ArmStart) -> String {
    let mut text = String::new();
    let mut last = None;
    for measurement in &start.taken {
        let Some(found) = of(lookup, measurement) else { continue };
        let workload = lookup.workload(measurement.probe);
        match last {
            Some(last) if last == workload => text += ", ",
            _ if workload.is_empty() => text += " · ",
            _ => text += &format!(" · {workload}: "),
        }
        text += &found;
        last = Some(workload);
    }
    text
}

fn of(lookup: &DesignLookup<'_>, measurement: &MeasurementResult) -> Option<String> {
    let at = lookup.design.probes.get(measurement.probe)?.at;
    let shown = |measure: &ArmMeasure| {
        *measure == main_measure(at) || lookup.has_hypothesis(measurement.probe, *measure)
    };
    let sign = |measure| if measurement.at_least && measure == ArmMeasure::Capacity { "≥ " } else { "" };
    let found: Vec<String> = ArmMeasure::ALL
        .into_iter()
        .filter(shown)
        .filter_map(|m| Some((m, figure(measurement, m)?)))
        .map(|(m, figure)| format!("{} {}{}", measure_words(m), sign(m), value(m, figure)))
        .collect();
    let cause =
        measurement.cause.map(|cause| format!(" (gave first: {})", cause.words())).unwrap_or_default();
    let text = format!("{} {}", found.join(", "), lookup.load_of(measurement));
    (!found.is_empty()).then(|| format!("{}{cause}", text.trim_end()))
}

/// The state: noise after the pilot, answers after a block.
pub(crate) fn standing_lines(lookup: &DesignLookup<'_>, state: &ExperimentState) -> Vec<Text> {
    let arrow = || Text::plain("  → ");
    if state.blocks == 0 {
        return state.noise.iter().map(|noise| arrow().with_plain(noise_words(lookup, noise))).collect();
    }
    let asked = state.judged.iter().filter(|result| result.hypothesis.is_some());
    let width = asked.clone().map(|result| result.name.chars().count()).max().unwrap_or(0).min(40);
    asked
        .map(|result| {
            let (word, tone) = answer_word(result.answer);
            let ratio = result.ratio.as_ref().map(ratio).unwrap_or_default();
            let name = shortened(&result.name, width);
            arrow()
                .with_span(tone, format!("{word:13}"))
                .with_plain(format!("  {name:width$}  {ratio}").trim_end())
        })
        .collect()
}

/// The current start, or what happens between two.
pub fn current_start_line(view: &RunView) -> Text {
    match (DesignLookup::of(view), &view.ongoing_start) {
        (Some(names), Some(visiting)) => start_begun_line(&names, visiting),
        (Some(names), None) => {
            let made = number_of(names.all_starts.len(), "start");
            let words = if view.end.is_some() { "done" } else { "between two starts" };
            Text::new(Tone::Faint, format!("{words}; {made} made"))
        }
        (None, _) => Text::new(Tone::Faint, "starting"),
    }
}

/// One line per arm, with the results of its last start.
pub fn arm_lines(view: &RunView) -> Vec<Text> {
    let Some(lookup) = DesignLookup::of(view) else { return Vec::new() };
    let widest = lookup.design.arms.iter().map(|arm| arm.name.chars().count()).max().unwrap_or(0);
    let width = widest.min(NAME_WIDTH);
    let each = (0..lookup.design.arms.len()).map(|arm| {
        let mut starts = lookup.all_starts.iter().filter(|start| start.arm == arm);
        let (last, all) = (starts.next_back(), starts.count());
        let goes_on = view.ongoing_start.is_some_and(|visiting| visiting.arm == arm);
        let tone = if goes_on { Tone::Strong } else { Tone::Plain };
        let name = shortened(lookup.arm(arm), width);
        let count = last.map_or(0, |_| all + 1);
        let line = Text::plain(if goes_on { "▶ " } else { "  " })
            .with_span(tone, format!("{name:width$}"))
            .with_span(Tone::Faint, format!("{:>4} ", grouped(count as u64)));
        match last {
            None => line.with_span(Tone::Faint, "not started yet"),
            Some(ArmStart { void: Some(why), .. }) => {
                line.with_span(Tone::Warn, "void").with_plain(format!(": {}", without_log_tail(why)))
            }
            Some(visit) => line.with_plain(figures(&lookup, visit).trim_start_matches(" · ")),
        }
    });
    each.collect()
}
