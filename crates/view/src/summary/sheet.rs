//! `torment probe`: what the machine is like, and every figure with what explains it.

use super::unfinished;
use crate::document::indented;
use crate::sheet::{tables, wrapped};
use crate::{RunView, Text, Tone};
use record::{Conditions, Machine, Verdict};
use units::{Bytes, Share, grouped};

pub(super) fn lines(view: &RunView) -> Vec<Text> {
    let mut lines = indented(unfinished(view));
    lines.extend(machine(view));
    lines.push(headline(view).indented());
    lines.extend(tables(&view.measured, &view.notes));
    lines.push(Text::empty());
    lines
}

/// How many figures there are, or how it stands.
pub(super) fn first(view: &RunView) -> Vec<Text> {
    std::iter::once(headline(view)).chain(unfinished(view)).collect()
}

fn headline(view: &RunView) -> Text {
    let all = view.measured.len() as u64;
    let doubtful = view.measured.iter().filter(|figure| !figure.caveats.is_empty()).count() as u64;
    let headline = Text::empty().and(Tone::Strong, format!("{} figures", grouped(all)));
    match view.end.as_ref().and_then(|end| end.verdict.as_ref()) {
        Some(Verdict::Sheet { cut_short: true, .. }) => {
            headline.and(Tone::Warn, ", interrupted before all were measured")
        }
        _ if doubtful > 0 => headline.and(Tone::Warn, format!(", {} of them doubtful", grouped(doubtful))),
        _ => headline.then(", each the median of its blocks; ± is the farther end of its 95 % interval"),
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
        "{}: {}, {} processors, {} of memory, Linux {}",
        machine.host,
        machine.processor,
        machine.cpus,
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
