//! Bar charts: group names above, what tells bars apart on the left, values on the right, and the expected value, part by part, as a thin
//! bar below each.

use super::plot_area::{BOTTOM, PlotArea, Rect};
use super::rows::{MARGIN, text};
use crate::Tone;
use crate::document::{Chart, ChartPoint, ChartRow};
use crate::scale::Scale;
use crate::wording::{escape_xml, shortened};
use std::fmt::Write;

/// Height of the heading.
const HEAD: f64 = 26.0;
/// Heights of a group's name, a bar, the thin bar below it, and a note.
const NAME: f64 = 22.0;
const BAR: f64 = 17.0;
const THIN_BAR: f64 = 6.0;
const NOTE: f64 = 15.0;
/// Space above and below a bar, and below a thin one.
const GAP: f64 = 2.0;
/// Width of bar labels, and of values.
const LABEL_WIDTH: f64 = 130.0;
const VALUE_WIDTH: f64 = 210.0;
/// Maximum characters of a name, a bar label, and a note.
const MAX_CHARS: (usize, usize, usize) = (110, 18, 140);
/// From a line's upper edge to its baseline.
const LINE: f64 = 12.0;
/// Minimum visible length of a bar.
const MIN_BAR: f64 = 1.0;

/// A row with its contents.
struct PlacedRow<'a> {
    row: &'a ChartRow,
    /// Begins a new group.
    is_named: bool,
    /// `None` if its value is off the axis.
    value: Option<&'a ChartPoint>,
    parts: Vec<&'a ChartPoint>,
    /// Offset from the first row's upper edge.
    top: f64,
}

impl PlacedRow<'_> {
    fn height(&self) -> f64 {
        let name = if self.is_named { NAME } else { 0.0 };
        let thin = if self.parts.is_empty() { 0.0 } else { THIN_BAR };
        let note = if self.row.note.is_empty() { 0.0 } else { NOTE };
        name + BAR + thin + note
    }

    /// Sum of its parts, if any.
    fn sum(&self) -> Option<f64> {
        (!self.parts.is_empty()).then(|| self.parts.iter().map(|part| part.x).sum())
    }
}

fn placed(chart: &Chart) -> Vec<PlacedRow<'_>> {
    let of = |series: usize, place: usize| {
        let points = chart.series.get(series).into_iter().flat_map(|series| &series.points);
        points.filter(move |point| point.row() == place)
    };
    let mut all: Vec<PlacedRow<'_>> = Vec::new();
    for (place, row) in chart.rows.iter().enumerate() {
        let above = all.last();
        let placed_row = PlacedRow {
            row,
            is_named: above.is_none_or(|above| above.row.name != row.name),
            value: of(0, place).next(),
            parts: of(1, place).collect(),
            top: above.map_or(0.0, |above| above.top + above.height()),
        };
        all.push(placed_row);
    }
    all
}

/// Height of a chart's bars, including what is above them.
pub(super) fn height(chart: &Chart) -> f64 {
    HEAD + placed(chart).last().map_or(0.0, |last| last.top + last.height())
}

pub(super) fn panel(out: &mut String, chart: &Chart, frame: Rect) {
    let rows = placed(chart);
    let frame = Rect {
        left: frame.left + LABEL_WIDTH,
        right: frame.right - VALUE_WIDTH,
        top: frame.top + HEAD,
        bottom: frame.bottom - BOTTOM,
    };
    text(out, "strong", (frame.left - LABEL_WIDTH + MARGIN, frame.top - HEAD + 14.0), &chart.title);
    let area = PlotArea { chart, x: reach(chart, &rows), y: Scale::downwards(1.0), frame };
    area.axes(out);
    rows.iter().for_each(|row| area.bar(out, row));
    let is_doubtful = |row: &PlacedRow<'_>| row.value.is_some_and(|value| value.tone == Tone::Warn);
    let key = [
        (
            rows.iter().any(|row| !row.parts.is_empty()),
            "thin: what it should come to, its parts alternately filled and hollow",
        ),
        (rows.iter().any(is_doubtful), "hollow: doubtful"),
    ];
    let key: Vec<&str> = key.into_iter().filter(|(is_so, _)| *is_so).map(|(_, said)| said).collect();
    text(out, "faint", (frame.left - LABEL_WIDTH + MARGIN, frame.bottom + 32.0), &key.join(", "));
}

/// From zero; on a logarithmic axis from half the minimum, so that its bar is visible.
fn reach(chart: &Chart, rows: &[PlacedRow<'_>]) -> Scale {
    let values = rows.iter().filter_map(|row| row.value);
    let ends = values.clone().flat_map(|point| [Some(point.x), point.low, point.high]).flatten();
    let least = values.map(|point| point.x).fold(f64::INFINITY, f64::min);
    let base = if chart.x.log { least / 2.0 } else { 0.0 };
    Scale::of(&chart.x, ends.chain(rows.iter().filter_map(PlacedRow::sum)).chain([base]))
}

impl PlotArea<'_> {
    fn bar(&self, out: &mut String, row: &PlacedRow<'_>) {
        let Rect { left, right, top, .. } = self.frame;
        let ChartRow { name, note, word } = row.row;
        let mut y = top + row.top;
        if row.is_named {
            text(out, "strong", (left - LABEL_WIDTH + MARGIN, y + NAME - 6.0), &shortened(name, MAX_CHARS.0));
            y += NAME;
        }
        let label = row.value.map_or("", |point| point.label.as_str());
        if !label.is_empty() {
            let (x, y, label) = (left - 8.0, y + LINE, escape_xml(&shortened(label, MAX_CHARS.1)));
            let _ = writeln!(
                out,
                "<text class=\"tick\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{label}</text>"
            );
        }
        let value = row.value.map(|point| self.value(point));
        let texts = non_empty(&[value.as_deref().unwrap_or_default(), word.text.as_str()]);
        text(out, "tick", (right + 12.0, y + LINE), &texts.join(" · "));
        let zero = if self.chart.x.log { left } else { self.at_x(0.0) };
        if let Some(point) = row.value {
            let texts: Vec<&str> = [name.as_str(), label].into_iter().chain(texts).collect();
            let class = if point.tone == Tone::Warn { "warn" } else { "measured" };
            let across = (zero, self.at_x(point.x));
            with_title(out, &texts, |out| {
                rect(out, class, across, (y + GAP, BAR - 2.0 * GAP));
                self.whisker(out, "whisker", point, y + BAR / 2.0, 4.0);
            });
        }
        y += BAR;
        let mut from = 0.0;
        for (nth, part) in row.parts.iter().enumerate() {
            let to = from + part.x;
            let across = (if nth == 0 { zero } else { self.at_x(from) }, self.at_x(to));
            // Alternately filled and hollow: distinguishable without colour.
            let class = if nth % 2 == 0 { "start" } else { "plain" };
            let amount = self.value(part);
            with_title(out, &[name.as_str(), part.label.as_str(), amount.as_str()], |out| {
                rect(out, class, across, (y - GAP / 2.0, THIN_BAR - GAP));
            });
            from = to;
        }
        if !row.parts.is_empty() {
            y += THIN_BAR;
        }
        text(out, "tick", (left, y + LINE - 1.0), &shortened(note, MAX_CHARS.2));
    }
}

fn non_empty<'a>(texts: &[&'a str]) -> Vec<&'a str> {
    texts.iter().copied().filter(|text| !text.is_empty()).collect()
}

/// Adds a tooltip.
fn with_title(out: &mut String, texts: &[&str], draw: impl FnOnce(&mut String)) {
    let _ = writeln!(out, "<g><title>{}</title>", escape_xml(&non_empty(texts).join(", ")));
    draw(out);
    let _ = writeln!(out, "</g>");
}

/// A rectangle between two x positions in either order; y is the upper edge.
fn rect(out: &mut String, class: &str, (from, to): (f64, f64), (y, height): (f64, f64)) {
    let (x, width) = (from.min(to), (to - from).abs().max(MIN_BAR));
    let _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
    );
}
