//! What a comparison says of code: the functions that cost more or less processor time per request.

use super::code_changes::{CodeChanges, sure};
use super::compared_run::ComparedRun;
use super::run_comparison::RunComparison;
use crate::document::{Section, TextTable, indent_all};
use crate::{Text, Tone, symbol};
use serde_json::{Value, json};
use stacks::CodeChange;
use units::Nanos;

const MAX_SHOWN: usize = 10;

/// A table of the significant changes; `None` if there are none.
fn table(resource: &str, significant: &[&CodeChange]) -> Option<TextTable> {
    let mut table = TextTable::new(&[resource, "first", "here", "more", "95 %, all together"]);
    for change in significant.iter().take(MAX_SHOWN) {
        let tone = if change.grew() { Tone::Bad } else { Tone::Good };
        let by = change.difference;
        table.push_row([
            (symbol::short(&change.name), Tone::Plain),
            (time(change.before), Tone::Plain),
            (time(change.after), Tone::Plain),
            (signed(by.value), tone),
            (format!("{} to {}", signed(by.low), signed(by.high)), Tone::Faint),
        ]);
    }
    (!significant.is_empty()).then_some(table)
}

/// Seconds per request, signed if a difference.
fn time(seconds: f64) -> String {
    Nanos((seconds.abs() * 1e9).round() as u64).to_string()
}

fn signed(seconds: f64) -> String {
    format!("{}{}", if seconds < 0.0 { "−" } else { "+" }, time(seconds))
}

impl RunComparison {
    /// One section per run that was profiled like the first.
    pub fn code_sections(&self) -> Vec<Section> {
        let of = |(nth, run, CodeChanges { itself, with_callees }): (usize, &ComparedRun, &CodeChanges)| {
            let title = format!("which code changed: processor time of a request, {}", run.title);
            let mut section = Section::named(&format!("code-{nth}"), &title);
            for (spent, all) in
                [("what functions do themselves", itself), ("with what they call", with_callees)]
            {
                section.tables.extend(table(spent, &sure(all)));
            }
            if section.tables.is_empty() {
                let compared = with_callees.len();
                let said = format!("no function differs by more than chance allows ({compared} compared)");
                section.texts.push(Text::empty_at_depth(1).with_plain(said));
            }
            section
        };
        self.changed_code().map(of).collect()
    }

    /// Each run that was profiled like the first, with its index.
    fn changed_code(&self) -> impl Iterator<Item = (usize, &ComparedRun, &CodeChanges)> {
        let runs = self.runs.iter().zip(&self.code).enumerate();
        runs.filter_map(|(nth, (run, changes))| Some((nth, run, changes.as_ref()?)))
    }

    pub(super) fn code_lines(&self) -> Vec<Text> {
        let mut lines = Vec::new();
        for section in self.code_sections() {
            lines.extend(indent_all([Text::empty(), Text::new(Tone::Strong, section.title)]));
            lines.extend(indent_all(section.texts));
            section.tables.iter().for_each(|table| lines.extend(table.indented_lines(1)));
        }
        lines
    }

    /// JSON for each run but the first: every compared function, in nanoseconds per request.
    pub(super) fn code_json(&self) -> Option<Value> {
        let ns = |seconds: f64| (seconds * 1e9).round();
        let function = |spent: &'static str, change: &CodeChange| {
            json!({
                "function": change.name,
                "spent": spent,
                "first_ns": ns(change.before),
                "ns": ns(change.after),
                "more_ns": ns(change.difference.value),
                "low": ns(change.difference.low),
                "high": ns(change.difference.high),
            })
        };
        let of = |(_, run, CodeChanges { itself, with_callees }): (usize, &ComparedRun, &CodeChanges)| {
            let itself = itself.iter().map(|change| function("itself", change));
            let with_callees = with_callees.iter().map(|change| function("with-callees", change));
            let functions: Vec<Value> = itself.chain(with_callees).collect();
            json!({ "run": run.id, "functions": functions })
        };
        let all: Vec<Value> = self.changed_code().map(of).collect();
        (!all.is_empty()).then_some(Value::Array(all))
    }

    /// For a pull request: the largest changes, one line per run.
    pub(super) fn code_sentences(&self) -> Vec<String> {
        let of = |(_, run, CodeChanges { itself, with_callees }): (usize, &ComparedRun, &CodeChanges)| {
            let change = *sure(itself).first().or(sure(with_callees).first())?;
            let (more, which) = (time(change.difference.value), if change.grew() { "more" } else { "less" });
            Some(format!("{} spends {more} {which} of each request in {}", run.title, change.name))
        };
        self.changed_code().filter_map(of).collect()
    }
}
