//! A running experiment.

use super::DesignLookup;
use super::causes::NAME;
use super::certainty::in_words;
use super::design_lookup::{figure, main_measure};
use super::words::{answer_word, measure_words, number_of, ratio, value, without_log_tail};
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

pub(crate) fn start_begun_line(names: &DesignLookup<'_>, visiting: &OngoingStart) -> Text {
    let about = visiting.expected.map(|time| format!(", about {}", whole(time))).unwrap_or_default();
    let again = if visiting.placebo { " again, as placebo" } else { "" };
    Text::plain(format!("{} · ", block(names, visiting.block)))
        .with_span(Tone::Strong, names.arm(visiting.arm))
        .with_plain(again)
        .with_span(Tone::Faint, format!(" (start {}{about})", visiting.number))
}

fn block(names: &DesignLookup<'_>, block: u32) -> String {
    let Design { least, most, .. } = names.design;
    match block {
        0 => "pilot".to_owned(),
        block if least == most => format!("block {block} of {most}"),
        block => format!("block {block} of {least}–{most}"),
    }
}

/// The block of a completed start.
pub(crate) fn block_of(visit: &ArmStart) -> String {
    if visit.block == 0 { "pilot".to_owned() } else { format!("block {}", visit.block) }
}

/// Rounded to seconds; above two minutes to minutes.
fn whole(time: Nanos) -> Nanos {
    Nanos::from_secs(time.as_secs_f64().round().max(1.0) as u64)
}

pub(crate) fn start_done_line(names: &DesignLookup<'_>, visit: &ArmStart) -> Text {
    if let Some(why) = &visit.void {
        return Text::new(Tone::Warn, "void").with_plain(format!(": {}", without_log_tail(why)));
    }
    Text::plain(format!("ready in {}{}", tenths(visit.started_in), figures(names, visit)))
}

fn tenths(time: Nanos) -> Nanos {
    match time.0 {
        10_000_000_000.. => whole(time),
        1_000_000_000.. => Nanos::from_millis((time.as_secs_f64() * 10.0).round() as u64 * 100),
        _ => time,
    }
}

/// ` · writes: capacity 212/s (gave first: a pool), p99 14 ms at 100/s`.
fn figures(names: &DesignLookup<'_>, visit: &ArmStart) -> String {
    let mut text = String::new();
    let mut last = None;
    for taken in &visit.taken {
        let Some(found) = of(names, taken) else { continue };
        let workload = names.workload(taken.probe);
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

fn of(names: &DesignLookup<'_>, taken: &MeasurementResult) -> Option<String> {
    let at = names.design.probes.get(taken.probe)?.at;
    let shown = |measure: &ArmMeasure| *measure == main_measure(at) || names.is_asked(taken.probe, *measure);
    let sign = |measure| if taken.at_least && measure == ArmMeasure::Capacity { "≥ " } else { "" };
    let found: Vec<String> = ArmMeasure::ALL
        .into_iter()
        .filter(shown)
        .filter_map(|m| Some((m, figure(taken, m)?)))
        .map(|(m, figure)| format!("{} {}{}", measure_words(m), sign(m), value(m, figure)))
        .collect();
    let cause = taken.cause.map(|cause| format!(" (gave first: {})", cause.words())).unwrap_or_default();
    let text = format!("{} {}", found.join(", "), names.load_of(taken));
    (!found.is_empty()).then(|| format!("{}{cause}", text.trim_end()))
}

/// The state: noise after the pilot, answers after a block.
pub(crate) fn standing_lines(names: &DesignLookup<'_>, standing: &ExperimentState) -> Vec<Text> {
    let arrow = || Text::plain("  → ");
    if standing.blocks == 0 {
        return standing.noise.iter().map(|noise| arrow().with_plain(in_words(names, noise))).collect();
    }
    let asked = standing.judged.iter().filter(|judged| judged.hypothesis.is_some());
    let width = asked.clone().map(|judged| judged.name.chars().count()).max().unwrap_or(0).min(40);
    asked
        .map(|judged| {
            let (word, tone) = answer_word(judged.answer);
            let ratio = judged.ratio.as_ref().map(ratio).unwrap_or_default();
            let name = shortened(&judged.name, width);
            arrow()
                .with_span(tone, format!("{word:13}"))
                .with_plain(format!("  {name:width$}  {ratio}").trim_end())
        })
        .collect()
}

/// The current start, or what happens between two.
pub fn current_start_line(view: &RunView) -> Text {
    match (DesignLookup::of(view), &view.visiting) {
        (Some(names), Some(visiting)) => start_begun_line(&names, visiting),
        (Some(names), None) => {
            let made = number_of(names.visits.len(), "start");
            let words = if view.end.is_some() { "done" } else { "between two starts" };
            Text::new(Tone::Faint, format!("{words}; {made} made"))
        }
        (None, _) => Text::new(Tone::Faint, "starting"),
    }
}

/// One line per arm, with the results of its last start.
pub fn arm_lines(view: &RunView) -> Vec<Text> {
    let Some(names) = DesignLookup::of(view) else { return Vec::new() };
    let widest = names.design.arms.iter().map(|arm| arm.name.chars().count()).max().unwrap_or(0);
    let width = widest.min(NAME);
    let each = (0..names.design.arms.len()).map(|arm| {
        let mut visits = names.visits.iter().filter(|visit| visit.arm == arm);
        let (last, all) = (visits.next_back(), visits.count());
        let goes_on = view.visiting.is_some_and(|visiting| visiting.arm == arm);
        let tone = if goes_on { Tone::Strong } else { Tone::Plain };
        let name = shortened(names.arm(arm), width);
        let count = last.map_or(0, |_| all + 1);
        let line = Text::plain(if goes_on { "▶ " } else { "  " })
            .with_span(tone, format!("{name:width$}"))
            .with_span(Tone::Faint, format!("{:>4} ", grouped(count as u64)));
        match last {
            None => line.with_span(Tone::Faint, "not started yet"),
            Some(ArmStart { void: Some(why), .. }) => {
                line.with_span(Tone::Warn, "void").with_plain(format!(": {}", without_log_tail(why)))
            }
            Some(visit) => line.with_plain(figures(&names, visit).trim_start_matches(" · ")),
        }
    });
    each.collect()
}
