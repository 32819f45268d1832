//! Charts of rows: names on the left, outcomes on the right.

use super::plot_area::{CROSS, OUTLINES, PlotArea, Rect, class, text_class};
use crate::Tone;
use crate::document::{Chart, ChartPoint};
use crate::wording::{escape_xml, shortened};
use std::fmt::Write;

/// Row height, and space below the last row, for the names of bands.
pub(super) const ROW: f64 = 46.0;
pub(super) const LANE: f64 = 0.5;
/// Space above the first row: the heading, and the names of bounds.
pub(super) const HEAD: f64 = 40.0;
/// Widths of names and of outcomes.
pub(super) const NAMES_WIDTH: f64 = 262.0;
pub(super) const OUTCOME_WIDTH: f64 = 200.0;
/// Margin beside texts.
pub(super) const MARGIN: f64 = 20.0;
/// Maximum characters of a name, and of a note.
const MAX_CHARS: (usize, usize) = (34, 41);
/// From a row's middle to its two baselines.
const LINES: (f64, f64) = (-3.0, 12.0);
const TRIANGLE: &str = "M0-5 4.5 4H-4.5Z";
const SMALL_CIRCLE: &str = "M3 0A3 3 0 1 1-3 0A3 3 0 1 1 3 0Z";

/// Draws text, unless empty.
pub(super) fn text(out: &mut String, class: &str, (x, y): (f64, f64), words: &str) {
    if !words.is_empty() {
        let _ =
            writeln!(out, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape_xml(words));
    }
}

/// Separates parts of a note.
const SEPARATOR: &str = " · ";

/// As many whole parts of a note as fit; a single part that is too long is cut.
fn fitting(note: &str, letters: usize) -> String {
    let parts: Vec<&str> = note.split(SEPARATOR).collect();
    let fits = |count: &usize| parts[..*count].join(SEPARATOR).chars().count() <= letters;
    match (1..=parts.len()).rev().find(fits) {
        Some(count) => parts[..count].join(SEPARATOR),
        None => shortened(parts[0], letters),
    }
}

/// Height of a chart's rows, including what is above them.
pub(super) fn height(chart: &Chart) -> f64 {
    HEAD + ROW * (chart.rows.len() as f64 + LANE)
}

impl PlotArea<'_> {
    /// The heading, each row's texts, and a legend for small marks.
    pub fn rows(&self, out: &mut String) {
        let Rect { left, right, top, bottom } = self.frame;
        let (names, words) = (left - NAMES_WIDTH + MARGIN, right + 12.0);
        text(out, "strong", (names, top - HEAD + 14.0), &self.chart.title);
        for (place, row) in self.chart.rows.iter().enumerate() {
            let y = self.at_y(place as f64);
            if place > 0 {
                let (y, end) = (self.at_y(place as f64 - 0.5), right + OUTCOME_WIDTH - MARGIN);
                let _ = writeln!(out, "<path class=\"grid\" d=\"M{names} {y:.1}H{end}\"/>");
            }
            text(out, "strong", (names, y + LINES.0), &shortened(&row.name, MAX_CHARS.0));
            text(out, "tick", (names, y + LINES.1), &fitting(&row.note, MAX_CHARS.1));
            let word = format!("strong {}", text_class(row.word.tone));
            text(out, word.trim_end(), (words, y + LINES.0), &row.word.text);
            let values = self.chart.series.first().into_iter().flat_map(|series| &series.points);
            for point in values.filter(|point| point.row() == place) {
                text(out, "tick", (words, y + LINES.1), &self.value(point));
            }
        }
        if let Some(small) = self.chart.series.get(1).filter(|series| !series.points.is_empty()) {
            let is_void = small.points.iter().any(|point| point.tone == Tone::Warn);
            let hollow = if is_void { ", hollow: void" } else { "" };
            text(out, "faint", (names, bottom + 32.0), &format!("small: each {}{hollow}", small.name));
        }
    }

    pub fn value(&self, point: &ChartPoint) -> String {
        let value = self.x.words(point.x);
        match (point.low, point.high) {
            (Some(low), Some(high)) => {
                format!("{value} ({}–{})", self.x.words(low), self.x.words(high))
            }
            _ => value,
        }
    }

    /// A value with its interval, shaped by its tone; small for underlying data, hollow for what does not count.
    pub fn in_row(&self, out: &mut String, is_value: bool, point: &ChartPoint) {
        let Some(row) = self.chart.rows.get(point.row()) else { return };
        let (x, y) = (self.at_x(point.x), self.at_y(point.y));
        let word = if is_value { row.word.text.as_str() } else { "" };
        let value = self.value(point);
        let all = [row.name.as_str(), point.label.as_str(), value.as_str(), word];
        let all: Vec<&str> = all.into_iter().filter(|words| !words.is_empty()).collect();
        let _ = writeln!(out, "<g><title>{}</title>", escape_xml(&all.join(", ")));
        let toned = class(point.tone);
        self.whisker(out, &format!("{toned} bar"), point, y, 5.0);
        let (class, outline) = match (is_value, point.tone) {
            (true, Tone::Good) => (toned, OUTLINES[0]),
            (true, Tone::Bad) => (toned, CROSS),
            (true, Tone::Warn) => (toned, TRIANGLE),
            (true, _) => (toned, OUTLINES[1]),
            (false, Tone::Warn) => (toned, SMALL_CIRCLE),
            (false, _) => ("start", SMALL_CIRCLE),
        };
        let _ = writeln!(
            out,
            "<path class=\"{class}\" transform=\"translate({x:.1} {y:.1})\" d=\"{outline}\"/></g>"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_loses_whole_parts() {
        for (note, expected) in [
            ("--workers 10 → 20 · gave first: workers", "--workers 10 → 20"),
            ("a → b · gave: x", "a → b · gave: x"),
            ("a note that is far too long for it", "a note that is far …"),
            ("", ""),
        ] {
            assert_eq!(fitting(note, 20), expected);
        }
    }
}
