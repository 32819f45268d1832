//! `torment probe`: what the machine is like, and every figure with what explains it.

use super::unfinished;
use crate::document::indented;
use crate::sheet::{range_words, tables, wrapped};
use crate::{RunView, Text, Tone};
use record::{Conditions, CostRange, Machine, Verdict};
use units::{Bytes, Share, grouped};

pub(super) fn lines(view: &RunView) -> Vec<Text> {
    let mut lines = indented(unfinished(view));
    lines.extend(machine(view));
    let how = "each the median of its blocks; ± is the farther end of its 95 % interval";
    lines.push(headline(view, how).indented());
    lines.extend(tables(&view.measured, &view.notes));
    lines.push(Text::empty());
    lines
}

/// How many figures there are, or how it stands.
pub(super) fn first(view: &RunView) -> Vec<Text> {
    ranges(view)
        .into_iter()
        .chain([headline(view, "each the median of its blocks, with its 95 % interval")])
        .chain(unfinished(view))
        .collect()
}

/// Of what each table measures first the least that it costs, and the most.
fn ranges(view: &RunView) -> Option<Text> {
    let ranges: Vec<String> = CostRange::of(&view.measured).iter().map(range_words).collect();
    (!ranges.is_empty()).then(|| Text::empty().and(Tone::Strong, ranges.join("; ")))
}

/// What such figures are good for.
pub(crate) fn uses(view: &RunView) -> Option<Text> {
    let text = "estimate a design before you build it (a thread for each request costs a launch and two switches), see how near a \
                service comes to what its machine can do, compare machines: torment compare A B";
    (!view.measured.is_empty()).then(|| Text::labelled("use it to", text))
}

/// `how`: the figures are to be read, which differs between a table and a picture.
fn headline(view: &RunView, how: &str) -> Text {
    let all = view.measured.len() as u64;
    let doubtful = view.measured.iter().filter(|figure| !figure.caveats.is_empty()).count() as u64;
    let headline = Text::empty().and(Tone::Strong, format!("{} figures", grouped(all)));
    match view.end.as_ref().and_then(|end| end.verdict.as_ref()) {
        Some(Verdict::Sheet { cut_short: true, .. }) => {
            headline.and(Tone::Warn, ", interrupted before all were measured")
        }
        _ if doubtful > 0 => {
            headline.and(Tone::Warn, format!(", {} of them with caveats", grouped(doubtful)))
        }
        _ => headline.then(format!(", {how}")),
    }
}

/// The machine, and how quiet it was.
pub(super) fn machine(view: &RunView) -> Vec<Text> {
    let mut lines = Vec::new();
    if let Some(started) = &view.started {
        lines.extend(wrapped("  ", &machine_words(&started.machine), Tone::Faint));
    }
    if let Some(conditions) = &view.conditions {
        lines.extend(wrapped("  ", &conditions_words(conditions), Tone::Faint));
        let doubts = conditions.caveats.iter();
        lines.extend(doubts.flat_map(|caveat| wrapped("  caveat: ", &caveat.to_string(), Tone::Warn)));
    }
    if !lines.is_empty() {
        lines.push(Text::empty());
    }
    lines
}

/// Host, processors, memory, kernel.
pub(crate) fn machine_words(machine: &Machine) -> String {
    format!(
        "{}: {}, {} processor{}, {} of memory, Linux {}",
        machine.host,
        machine.processor,
        machine.cpus,
        if machine.cpus == 1 { "" } else { "s" },
        Bytes(machine.memory_bytes),
        machine.kernel
    )
}

/// How quiet the machine was, and what else is to be known of it.
pub(crate) fn conditions_words(conditions: &Conditions) -> String {
    let facts: Vec<String> = conditions.facts.iter().map(|(name, value)| format!("{name} {value}")).collect();
    format!(
        "others used {} of a processor, the hypervisor took {}; {}",
        Share(conditions.foreign),
        Share(conditions.stolen),
        facts.join(", ")
    )
}
