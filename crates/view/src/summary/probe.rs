//! `torment probe`: the machine, and every figure with its explanation.

use super::unfinished;
use crate::document::indent_all;
use crate::figure_tables::{range_words, tables, value, wrap};
use crate::{RunView, Text, Tone};
use record::{Conditions, CostRange, Machine, Verdict};
use units::{Bytes, Share, grouped};

pub(super) fn lines(view: &RunView) -> Vec<Text> {
    let mut lines = indent_all(unfinished(view));
    lines.extend(machine(view));
    let how = "each the median of its blocks; ± is the farther end of its 95 % interval";
    lines.push(headline(view, how).indented());
    lines.extend(tables(&view.figures, &view.notes));
    lines.push(Text::empty());
    lines
}

/// The number of figures, or the state.
pub(super) fn headline_lines(view: &RunView) -> Vec<Text> {
    blocks(view)
        .into_iter()
        .chain(ranges(view))
        .chain([headline(view, "each the median of its blocks, with its 95 % interval")])
        .chain(unfinished(view))
        .collect()
}

/// Basic costs for a design, as far as measured: thread, process, context switch.
fn blocks(view: &RunView) -> Option<Text> {
    let find = |row: &str, column: &str| {
        view.figures.iter().find(|figure| figure.row == row && figure.column == column)
    };
    let launched = |name: &str, row: &str| {
        let [alone, joined] = ["0 MiB, launch", JOINED_EMPTY].map(|column| find(row, column));
        let joined = joined.map(|joined| format!(" ({} until joined)", value(joined.unit, joined.median)));
        Some(format!("{name} {}{}", value(alone?.unit, alone?.median), joined.unwrap_or_default()))
    };
    let switched = find("futex, threads", "one processor").and_then(|figure| {
        let switch = figure.parts.iter().find(|part| part.name == "wake-up and switch")?;
        Some(format!("a context switch {}", value(figure.unit, switch.amount)))
    });
    let costs = [launched("a thread", "pthread_create"), launched("a process", "fork"), switched];
    let costs: Vec<String> = costs.into_iter().flatten().collect();
    let is_doubtful = view.figures.iter().all(|figure| !figure.caveats.is_empty());
    let (cost, tone) = if is_doubtful { ("cost, in doubt", Tone::Warn) } else { ("cost", Tone::Strong) };
    (!costs.is_empty()).then(|| Text::new(tone, format!("{cost}: {}", costs.join(", "))))
}

/// How launches are measured, here including the join.
const JOINED: &str = "launch and join";
const JOINED_EMPTY: &str = "0 MiB, launch and join";

/// The least and greatest cost of what each table measures first; launches without join.
fn ranges(view: &RunView) -> Option<Text> {
    let range = |range: &CostRange| {
        let joined = view.figures.iter().find(|figure| {
            let (at, what) = figure.circumstances();
            let is_it = figure.table == range.table && figure.row == range.most && what == JOINED;
            is_it && range.most_at.as_ref().is_none_or(|most_at| most_at == at)
        });
        let joined = joined.map(|joined| format!(", {} until joined", value(joined.unit, joined.median)));
        format!("{}{}", range_words(range), joined.unwrap_or_default())
    };
    let ranges: Vec<String> = CostRange::from_figures(&view.figures).iter().map(range).collect();
    (!ranges.is_empty()).then(|| Text::plain(ranges.join("; ")))
}

/// What the figures are good for.
pub(crate) fn usage_line(view: &RunView) -> Option<Text> {
    let text = "estimate a design before you build it (a thread for each request costs a launch and two switches), see how near a \
                service comes to what its machine can do, compare machines: torment compare A B";
    (!view.figures.is_empty()).then(|| Text::labelled("use it to", text))
}

/// `how`: how the figures are read, which differs between table and picture.
fn headline(view: &RunView, how: &str) -> Text {
    let all = view.figures.len() as u64;
    let doubtful = view.figures.iter().filter(|figure| !figure.caveats.is_empty()).count() as u64;
    let headline = Text::new(Tone::Strong, format!("{} figures", grouped(all)));
    match view.verdict() {
        Some(Verdict::Sheet { cut_short: true, .. }) => {
            headline.with_span(Tone::Warn, ", interrupted before all were measured")
        }
        _ if doubtful > 0 => {
            headline.with_span(Tone::Warn, format!(", {} of them with caveats", grouped(doubtful)))
        }
        _ => headline.with_plain(format!(", {how}")),
    }
}

/// The machine, and how quiet it was.
pub(super) fn machine(view: &RunView) -> Vec<Text> {
    let mut lines = Vec::new();
    if let Some(started) = &view.started {
        lines.extend(wrap("  ", &machine_words(&started.machine), Tone::Faint));
    }
    if let Some(conditions) = &view.conditions {
        lines.extend(wrap("  ", &conditions_words(conditions), Tone::Faint));
        let caveats = conditions.caveats.iter();
        lines.extend(caveats.flat_map(|caveat| wrap("  caveat: ", &caveat.to_string(), Tone::Warn)));
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

/// How quiet the machine was, and other conditions.
pub(crate) fn conditions_words(conditions: &Conditions) -> String {
    let facts: Vec<String> = conditions.facts.iter().map(|(name, value)| format!("{name} {value}")).collect();
    format!(
        "others used {} of a processor, the hypervisor took {}; {}",
        Share(conditions.foreign),
        Share(conditions.stolen),
        facts.join(", ")
    )
}
