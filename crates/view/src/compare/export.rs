//! A comparison as JSON, a grid or Markdown.

use super::difference::{Difference, Significance};
use super::measure::ComparedMeasure;
use super::run_comparison::RunComparison;
use crate::Grid;
use crate::markdown::escape;
use crate::values::caveat;
use record::FigureUnit;
use serde_json::{Value, json};
use stats::Estimate;

/// A number to six digits; null if not finite.
fn number(value: f64) -> Value {
    if !value.is_finite() {
        return Value::Null;
    }
    let digits = if value == 0.0 { 0 } else { (5 - value.abs().log10().floor() as i32).clamp(0, 15) };
    let scale = 10_f64.powi(digits);
    crate::values::count((value * scale).round() / scale)
}

fn interval(estimate: Option<Estimate>) -> [Value; 2] {
    estimate.map_or([Value::Null, Value::Null], |found| [number(found.low), number(found.high)])
}

impl ComparedMeasure {
    /// The unit of its figures.
    fn unit_name(&self) -> &'static str {
        if self.unit == FigureUnit::Nanos { "ns" } else { self.unit.name() }
    }

    /// The unit of its differences: points of a share, or a factor.
    fn difference_name(&self) -> &'static str {
        if self.is_multiple() { "factor" } else { "more" }
    }
}

impl Difference {
    /// Encodes as JSON; `by` is the key of the number.
    pub(crate) fn json(&self, by: &str) -> Value {
        let [low, high] = interval(self.interval);
        json!({ (by): number(self.by), "low": low, "high": high, "standing": self.significance.name() })
    }
}

impl RunComparison {
    /// Encodes as JSON; an interval end that is open or unknown is null.
    pub fn json(&self) -> Value {
        let runs = self.runs.iter().map(|run| {
            json!({
                "id": run.id,
                "title": run.title,
                "name": run.label.name,
                "tags": run.label.tags,
                "commit": run.label.commit,
                "command": run.command,
                "target": run.target,
                "started_unix_ms": run.started_unix_ms,
                "machine": run.machine,
                "gave_first": run.first_cause,
            })
        });
        let measures = self.measures.iter().map(|measure| {
            let figures = measure.figures.iter().map(|figure| {
                figure.map(|figure| {
                    let [low, high] = interval(figure.interval);
                    json!({ "value": number(figure.value), "low": low, "high": high })
                })
            });
            let differences = measure
                .differences
                .iter()
                .map(|difference| difference.map(|difference| difference.json(measure.difference_name())));
            json!({
                "id": measure.id,
                "title": measure.title,
                "unit": measure.unit_name(),
                "less_is_better": measure.less_is_better,
                "decides": measure.decides,
                "figures": figures.collect::<Vec<_>>(),
                "differences": differences.collect::<Vec<_>>(),
            })
        });
        let verdicts = self.verdicts.iter().zip(self.runs.iter().skip(1)).map(|(verdict, run)| {
            json!({ "run": run.id, "standing": verdict.significance.name(), "words": verdict.sentence })
        });
        let mut object = json!({
            "schema": record::SCHEMA,
            "tolerance": self.noise,
            "standing": self.overall().name(),
            "verdicts": verdicts.collect::<Vec<_>>(),
            "doubts": self.all_caveats.iter().map(caveat).collect::<Vec<_>>(),
            "runs": runs.collect::<Vec<_>>(),
            "measures": measures.collect::<Vec<_>>(),
        });
        self.code_json().into_iter().for_each(|code| object["code"] = code);
        object
    }

    /// One row for each figure of each run.
    pub fn grid(&self) -> Grid {
        let mut grid = Grid::with_columns(
            "run name measure unit value low high difference by by_low by_high standing decides",
        );
        for measure in &self.measures {
            for (index, run) in self.runs.iter().enumerate() {
                let Some(figure) = measure.figures[index] else { continue };
                let [low, high] = interval(figure.interval);
                let mut row = vec![
                    json!(run.id),
                    json!(run.label.name),
                    json!(measure.id),
                    json!(measure.unit_name()),
                    number(figure.value),
                    low,
                    high,
                ];
                match measure.differences[index] {
                    Some(difference) => {
                        let [low, high] = interval(difference.interval);
                        row.extend([json!(measure.difference_name()), number(difference.by), low, high]);
                        row.push(json!(difference.significance.name()));
                    }
                    None => row.extend(vec![Value::Null; 5]),
                }
                row.push(json!(measure.decides));
                grid.push_row(row);
            }
        }
        grid
    }

    /// Markdown for a pull request: verdicts, caveats, and a table with a row per measure.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for verdict in &self.verdicts {
            let words = escape(&verdict.sentence);
            let marked = match verdict.significance {
                Significance::Worse | Significance::Better => format!("**{words}**"),
                _ => words,
            };
            text += &format!("{marked}\n\n");
        }
        let head: Vec<&str> =
            ["measure"].into_iter().chain(self.runs.iter().map(|run| run.title.as_str())).collect();
        let mut grid = Grid::new(&head);
        for measure in &self.measures {
            let cells = (0..self.runs.len()).map(|index| json!(cell(measure, index)));
            grid.push_row([json!(measure.title)].into_iter().chain(cells).collect());
        }
        text += &grid.markdown();
        for (run, said) in self.causes() {
            text += &format!("\n- {} — what gave first: {}", escape(&run.title), escape(said));
        }
        for said in self.code_sentences() {
            text += &format!("\n- {}", escape(&said));
        }
        for changed in self.changes() {
            text += &format!("\n- changed {}", escape(&changed.to_string()));
        }
        for caveat in self.caveats() {
            text += &format!("\n- caveat: {}", escape(&caveat.to_string()));
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }
}

/// A figure with its interval and difference: `1.9 ms (1.8 ms–2 ms), ×1.8 (1.5–2.1) worse`.
fn cell(measure: &ComparedMeasure, index: usize) -> String {
    let mut text = measure.figure_words(index);
    if let Some(difference) = measure.differences[index] {
        let said = format!(
            "{} {}",
            measure.difference_words(&difference),
            measure.significance_words(&difference).0
        );
        if !said.trim().is_empty() {
            text += &format!(", {}", said.trim());
        }
    }
    text
}
