//! A comparison as text.

use super::compared_run::ComparedRun;
use super::measure::ComparedMeasure;
use super::run_comparison::RunComparison;
use crate::document::{TextTable, indent_all};
use crate::figure_tables::wrap;
use crate::{Text, Tone};
use record::CaveatKind;

/// The caveat of every comparison of single runs: last, and no warning.
const FINAL_CAVEAT: CaveatKind = CaveatKind::SingleRuns;

impl RunComparison {
    /// Changes and caveats first, then the verdicts, then the figures.
    pub fn lines(&self) -> Vec<Text> {
        let mut lines = self.names();
        let (always, caveats): (Vec<_>, Vec<_>) =
            self.caveats().partition(|caveat| caveat.doubt == FINAL_CAVEAT);
        for changed in self.changes() {
            lines.extend(wrap("  changed ", &changed.to_string(), Tone::Plain));
        }
        for caveat in caveats {
            lines.extend(wrap("  caveat: ", &caveat.to_string(), Tone::Warn));
        }
        lines.push(Text::empty());
        for verdict in &self.verdicts {
            lines.push(Text::plain("  ").with_span(verdict.significance.tone(), &verdict.sentence));
        }
        lines.extend(indent_all(self.next_steps()));
        if !self.verdicts.is_empty() {
            lines.push(Text::empty());
        }
        lines.extend(self.table());
        lines.extend(self.code_lines());
        let gave = self.causes();
        if !gave.is_empty() {
            lines.push(Text::empty());
            lines.push(Text::plain("  ").with_span(Tone::Strong, "what gave first"));
            let width = self.width();
            for (run, said) in gave {
                lines.extend(wrap(&format!("    {:width$}  ", run.title), said, Tone::Plain));
            }
        }
        for caveat in always {
            lines.push(Text::empty());
            lines.extend(wrap("  ", &caveat.to_string(), Tone::Faint));
        }
        lines
    }

    /// Each run's name if unique, else its id.
    pub fn titles(&self) -> impl Iterator<Item = &str> {
        self.runs.iter().map(|run| run.title.as_str())
    }

    fn width(&self) -> usize {
        self.titles().map(|title| title.chars().count()).max().unwrap_or(0)
    }

    /// The runs, one line each.
    fn names(&self) -> Vec<Text> {
        let width = self.width();
        let line = |run: &ComparedRun| {
            let id = if run.title == run.id.0 { String::new() } else { format!("  {}", run.id) };
            let commit =
                run.label.commit.as_ref().map(|commit| format!("  commit {commit}")).unwrap_or_default();
            let tags = run.label.tags.iter().map(|tag| format!("  {tag}")).collect::<String>();
            Text::plain("  ")
                .with_span(Tone::Strong, format!("{:width$}", run.title))
                .with_plain(format!("  {}  {}", run.command, run.target))
                .with_span(Tone::Faint, format!("{id}{tags}{commit}"))
        };
        self.runs.iter().map(line).collect()
    }

    /// What gave first in each run where that is known.
    pub(super) fn causes(&self) -> Vec<(&ComparedRun, &str)> {
        self.runs.iter().filter_map(|run| Some((run, run.first_cause.as_deref()?))).collect()
    }

    fn table(&self) -> Vec<Text> {
        let against = self.runs.first().map_or_else(String::new, |run| format!("× {}", run.title));
        let with_differences = self.runs.len() > 1;
        let head: &[&str] = if with_differences {
            &["", "measured", "95 %", &against, ""]
        } else {
            &["", "measured", "95 %"]
        };
        let mut table = TextTable::new(head);
        for measure in &self.measures {
            table.push_row([(measure.title.clone(), Tone::Strong)]);
            for (index, run) in self.runs.iter().enumerate() {
                let cells = cells(measure, index, run);
                table.push_row(cells.into_iter().take(head.len()));
            }
        }
        table.lines()
    }
}

fn cells(measure: &ComparedMeasure, index: usize, run: &ComparedRun) -> Vec<(String, Tone)> {
    let (measured, interval) = match &measure.figures[index] {
        Some(figure) => (measure.format_value(figure.value), measure.interval_words(figure)),
        None => ("not measured".to_owned(), String::new()),
    };
    let (difference, word, tone) = match &measure.differences[index] {
        Some(difference) => {
            let (means, tone) = measure.significance_words(difference);
            (measure.difference_words(difference), means, tone)
        }
        None => (String::new(), "", Tone::Plain),
    };
    vec![
        (format!("  {}", run.title), Tone::Plain),
        (measured, Tone::Plain),
        (interval, Tone::Faint),
        (difference.trim_start_matches('×').to_owned(), tone),
        (word.to_owned(), tone),
    ]
}
