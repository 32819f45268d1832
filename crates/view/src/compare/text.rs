//! A comparison for people.

use super::compared::Compared;
use super::measure::Measure;
use super::runs::RunComparison;
use crate::document::{Table, indented};
use crate::sheet::wrapped;
use crate::{Text, Tone};
use record::Doubt;

/// The doubt that every comparison of single runs has: it stands last, and is no warning.
const ALWAYS: Doubt = Doubt::SingleRuns;

impl RunComparison {
    /// For people: what was changed and the doubts first, then the verdicts, then the figures.
    pub fn lines(&self) -> Vec<Text> {
        let mut lines = self.names();
        let (always, doubts): (Vec<_>, Vec<_>) = self.doubted().partition(|doubt| doubt.doubt == ALWAYS);
        for changed in self.changed() {
            lines.extend(wrapped("  changed ", &changed.to_string(), Tone::Plain));
        }
        for doubt in doubts {
            lines.extend(wrapped("  caveat: ", &doubt.to_string(), Tone::Warn));
        }
        lines.push(Text::empty());
        for verdict in &self.verdicts {
            lines.push(Text::plain("  ").and(verdict.standing.tone(), &verdict.words));
        }
        lines.extend(indented(self.way_on()));
        if !self.verdicts.is_empty() {
            lines.push(Text::empty());
        }
        lines.extend(self.table());
        lines.extend(self.code_lines());
        let gave = self.gave();
        if !gave.is_empty() {
            lines.push(Text::empty());
            lines.push(Text::plain("  ").and(Tone::Strong, "what gave first"));
            let width = self.width();
            for (run, said) in gave {
                lines.extend(wrapped(&format!("    {:width$}  ", run.title), said, Tone::Plain));
            }
        }
        for doubt in always {
            lines.push(Text::empty());
            lines.extend(wrapped("  ", &doubt.to_string(), Tone::Faint));
        }
        lines
    }

    /// The name of each that no other has, or its id.
    pub fn titles(&self) -> impl Iterator<Item = &str> {
        self.runs.iter().map(|run| run.title.as_str())
    }

    fn width(&self) -> usize {
        self.titles().map(|title| title.chars().count()).max().unwrap_or(0)
    }

    /// Which runs they are, one line each.
    fn names(&self) -> Vec<Text> {
        let width = self.width();
        let line = |run: &Compared| {
            let id = if run.title == run.id.0 { String::new() } else { format!("  {}", run.id) };
            let commit =
                run.label.commit.as_ref().map(|commit| format!("  commit {commit}")).unwrap_or_default();
            let tags = run.label.tags.iter().map(|tag| format!("  {tag}")).collect::<String>();
            Text::plain("  ")
                .and(Tone::Strong, format!("{:width$}", run.title))
                .then(format!("  {}  {}", run.command, run.target))
                .and(Tone::Faint, format!("{id}{tags}{commit}"))
        };
        self.runs.iter().map(line).collect()
    }

    /// What gave first in each of which that is known.
    pub(super) fn gave(&self) -> Vec<(&Compared, &str)> {
        self.runs.iter().filter_map(|run| Some((run, run.gave.as_deref()?))).collect()
    }

    fn table(&self) -> Vec<Text> {
        let against = self.runs.first().map_or_else(String::new, |run| format!("× {}", run.title));
        let with_differences = self.runs.len() > 1;
        let head: &[&str] = if with_differences {
            &["", "measured", "95 %", &against, ""]
        } else {
            &["", "measured", "95 %"]
        };
        let mut table = Table::new(head);
        for measure in &self.measures {
            table.row([(measure.title.clone(), Tone::Strong)]);
            for (index, run) in self.runs.iter().enumerate() {
                let cells = cells(measure, index, run);
                table.row(cells.into_iter().take(head.len()));
            }
        }
        table.lines()
    }
}

fn cells(measure: &Measure, index: usize, run: &Compared) -> Vec<(String, Tone)> {
    let (measured, interval) = match &measure.figures[index] {
        Some(figure) => (measure.words(figure.value), measure.interval_words(figure)),
        None => ("not measured".to_owned(), String::new()),
    };
    let (difference, word, tone) = match &measure.differences[index] {
        Some(difference) => {
            let (means, tone) = measure.means(difference);
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
