//! Compares two machines, or one at two times: which is faster at what, and by how much. Loads and searches: see the submodules.

mod chart;
mod code;
mod code_changes;
mod comparability;
mod compared_run;
mod difference;
mod export;
mod junit;
mod load_samples;
mod measure;
mod measures;
mod run_comparison;
mod settings;
mod text;

pub use comparability::strip_common_prefix;
pub use compared_run::ComparedRun;
pub(crate) use difference::format_change;
pub use difference::{Difference, NOISE, Significance};
pub use load_samples::LoadSamples;
pub use measure::{ComparedMeasure, RunFigure};
pub(crate) use measures::{limit_difference, limit_figure};
pub use run_comparison::{MAX_COMPARED, RunComparison, RunVerdict, compare_runs};

use crate::document::TextTable;
use crate::figure_tables::{value, wrap};
use crate::wording::distinct;
use crate::{RunView, Text, Tone};
use record::{Figure, FigureUnit};
use serde_json::{Value, json};
use stats::{Median, ratio_of_medians};

/// Differences below this do not matter when choosing a machine.
const NEGLIGIBLE: f64 = 0.02;

#[derive(Debug, Clone, PartialEq)]
struct FigurePair {
    first: Figure,
    second: Figure,
    /// Factor by which the second is better (above 1), with its interval.
    better: Option<Median>,
}

/// What the figures of two probe runs have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeComparison {
    /// Titles: run and machine.
    titles: [String; 2],
    pairs: Vec<FigurePair>,
    /// Rows that only one of them has, with their table.
    unmatched: Vec<String>,
    /// All pairs that have a better direction, as one factor.
    summary: Option<f64>,
}

/// Compares the figures of two `torment probe` runs; `None` if they share none.
pub fn compare_probes(first: &RunView, second: &RunView) -> Option<ProbeComparison> {
    let same = |a: &Figure, b: &Figure| {
        (&a.table, &a.row, &a.column, a.unit) == (&b.table, &b.row, &b.column, b.unit)
    };
    let pairs: Vec<FigurePair> = first
        .figures
        .iter()
        .filter_map(|a| {
            let b = second.figures.iter().find(|b| same(a, b))?;
            Some(FigurePair { first: a.clone(), second: b.clone(), better: better(a, b) })
        })
        .collect();
    if pairs.is_empty() {
        return None;
    }
    let missing = |of: &RunView, other: &RunView| -> Vec<String> {
        let alone = of.figures.iter().filter(|a| !other.figures.iter().any(|b| same(a, b)));
        alone.map(|figure| format!("{}: {}", figure.table, figure.row)).collect()
    };
    let mut alone = [missing(first, second), missing(second, first)].concat();
    alone.dedup();
    let summary = summary(&pairs);
    Some(ProbeComparison { titles: [first, second].map(name), pairs, unmatched: alone, summary })
}

/// Factor by which `second` is better; `None` if the unit has no better direction.
fn better(first: &Figure, second: &Figure) -> Option<Median> {
    match first.unit {
        FigureUnit::Nanos | FigureUnit::Bytes => ratio_of_medians(&second.blocks, &first.blocks),
        FigureUnit::PerSecond | FigureUnit::BytesPerSecond => ratio_of_medians(&first.blocks, &second.blocks),
        FigureUnit::Count | FigureUnit::Share => None,
    }
}

/// The geometric mean of the tables' geometric means, so that a table with many figures does not outvote the others.
fn summary(pairs: &[FigurePair]) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64;
    let tables = distinct(pairs.iter().map(|pair| pair.first.table.as_str()));
    let means: Vec<f64> = tables
        .iter()
        .filter_map(|table| {
            let of_it = pairs.iter().filter(|pair| pair.first.table == *table);
            let of_it: Vec<f64> = of_it.filter_map(|pair| Some(pair.better?.median)).collect();
            (!of_it.is_empty()).then(|| mean(&of_it).exp())
        })
        .collect();
    (!means.is_empty()).then(|| mean(&means).exp())
}

fn name(view: &RunView) -> String {
    view.started.as_ref().map_or_else(String::new, |started| {
        let cpus = started.machine.cpus;
        let s = if cpus == 1 { "" } else { "s" };
        format!("{} ({}, {cpus} processor{s})", started.id, started.machine.host)
    })
}

impl ProbeComparison {
    /// Formats the comparison as text.
    pub fn lines(&self) -> Vec<Text> {
        let mut lines = vec![
            Text::plain("  first   ").with_span(Tone::Strong, &self.titles[0]),
            Text::plain("  second  ").with_span(Tone::Strong, &self.titles[1]),
            Text::empty(),
        ];
        if let Some(summary) = self.summary {
            lines.push(
                Text::plain("  the second is ")
                    .with_span(Tone::Strong, faster(summary))
                    .with_plain(" over all"),
            );
            let text = "the geometric mean of the tables' geometric means; it leaves out what this machine does for you: \
                        disks, networks, your service, and every figure that only one of both has";
            lines.extend(wrap("    ", text, Tone::Faint));
            lines.push(Text::empty());
        }
        let mut table = TextTable::new(&["", "first", "second", "second is", "95 %"]);
        let mut last = "";
        let tables = distinct(self.pairs.iter().map(|pair| pair.first.table.as_str()));
        let sorted =
            tables.iter().flat_map(|name| self.pairs.iter().filter(|pair| pair.first.table == *name));
        for FigurePair { first, second, better } in sorted {
            if first.table != last {
                table.push_row([(first.table.clone(), Tone::Strong)]);
                last = &first.table;
            }
            let tone = better.map_or(Tone::Faint, |b| match () {
                () if b.low > 1.0 => Tone::Good,
                () if b.high < 1.0 => Tone::Bad,
                () => Tone::Plain,
            });
            table.push_row([
                (format!("  {}, {}", first.row, first.column), Tone::Plain),
                (value(first.unit, first.median), Tone::Plain),
                (value(second.unit, second.median), Tone::Plain),
                (better.map_or_else(String::new, |b| faster(b.median)), tone),
                (better.as_ref().map_or_else(String::new, interval), Tone::Faint),
            ]);
        }
        lines.extend(table.lines());
        if !self.unmatched.is_empty() {
            lines.push(Text::empty());
            lines.extend(wrap("  only one of them has  ", &self.unmatched.join("; "), Tone::Faint));
        }
        lines
    }

    /// Encodes the comparison as JSON.
    pub fn json(&self) -> Value {
        let interval = |b: &Median| json!({ "factor": b.median, "low": b.low, "high": b.high });
        json!({
            "schema": record::SCHEMA,
            "first": self.titles[0],
            "second": self.titles[1],
            "summary": self.summary,
            "figures": self.pairs.iter().map(|pair| json!({
                "table": pair.first.table,
                "row": pair.first.row,
                "column": pair.first.column,
                "unit": pair.first.unit,
                "first": pair.first.median,
                "second": pair.second.median,
                "second_better_by": pair.better.as_ref().map(interval),
            })).collect::<Vec<_>>(),
            "only_one_has": self.unmatched,
        })
    }
}

/// The interval's ends; empty if too few blocks bound it.
fn interval(better: &Median) -> String {
    match better.high.is_finite() {
        true => format!("{:.2}–{:.2}", better.low, better.high),
        false => "too few blocks".to_owned(),
    }
}

/// `1.33 × better`, `as good`.
fn faster(factor: f64) -> String {
    if (factor - 1.0).abs() < NEGLIGIBLE {
        return "as good".to_owned();
    }
    if factor > 1.0 { format!("{factor:.2} × better") } else { format!("{:.2} × worse", 1.0 / factor) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Event, METHOD, Machine, RunId, RunKind};

    fn sheet(host: &str, figures: &[(&str, &str, FigureUnit, f64)]) -> RunView {
        let mut view = RunView::default();
        view.fold(&Event::RunStarted(Box::new(record::RunStart {
            id: RunId(format!("run-{host}")),
            at_unix_ms: 0,
            version: String::new(),
            method: METHOD,
            command: RunKind::Probe,
            target: "this machine".to_owned(),
            goal: String::new(),
            plan: String::new(),
            parts: Vec::new(),
            machine: Machine { host: host.to_owned(), cpus: 2, ..Machine::default() },
            part_of: None,
            label: record::Label::default(),
        })));
        for (table, row, unit, median) in figures {
            let blocks: Vec<f64> =
                (0..20).map(|block| median * (1.0 + f64::from(block % 5) / 500.0)).collect();
            let figure =
                Figure::from_blocks((table, row, "0, launch"), *unit, blocks, 1).expect("they are numbers");
            view.fold(&Event::Measured { figure: Box::new(figure) });
        }
        view
    }

    #[test]
    fn less_time_is_better_and_so_are_more_bytes() {
        let old = sheet(
            "old",
            &[
                ("launch", "fork", FigureUnit::Nanos, 400.0),
                ("launch", "thread", FigureUnit::Nanos, 100.0),
                ("ipc", "pipe", FigureUnit::BytesPerSecond, 1e9),
                ("ipc", "tcp", FigureUnit::BytesPerSecond, 1e9),
                ("switch", "switches", FigureUnit::Count, 2.0),
            ],
        );
        let new = sheet(
            "new",
            &[
                ("launch", "fork", FigureUnit::Nanos, 100.0),
                ("launch", "thread", FigureUnit::Nanos, 100.0),
                ("ipc", "pipe", FigureUnit::BytesPerSecond, 2e9),
                ("switch", "switches", FigureUnit::Count, 2.0),
            ],
        );
        let compared = compare_probes(&old, &new).expect("they have figures in common");
        let factors: Vec<Option<f64>> =
            compared.pairs.iter().map(|pair| pair.better.map(|b| (b.median * 10.0).round() / 10.0)).collect();
        assert_eq!(factors, [Some(4.0), Some(1.0), Some(2.0), None]);
        // The mean of 4 and 1 is 2, that of 2 is 2: together 2.
        assert!((compared.summary.expect("there are figures") - 2.0).abs() < 0.02, "{:?}", compared.summary);
        assert_eq!(compared.unmatched, ["ipc: tcp"]);
        let text: String = compared.lines().iter().map(|line| format!("{line}\n")).collect();
        assert!(text.contains("the second is 2.00 × better over all"), "{text}");
        assert!(text.contains("4.00 × better") && text.contains("as good"), "{text}");
        assert_eq!(
            compared.json()["figures"][2]["second_better_by"]["factor"].as_f64().map(f64::round),
            Some(2.0)
        );
    }

    #[test]
    fn sheets_with_nothing_in_common() {
        let (one, other) = (sheet("a", &[("launch", "fork", FigureUnit::Nanos, 1.0)]), sheet("b", &[]));
        assert_eq!(compare_probes(&one, &other), None);
    }
}
