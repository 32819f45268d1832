//! Labels within the axes, each placed to cover as little as possible.

use super::plot_area::{PlotArea, Rect, text_class};
use crate::Tone;
use crate::wording::escape_xml;
use std::fmt::Write;

/// Width of a character, and heights above and below the baseline.
const CHAR_WIDTH: f64 = 6.3;
const ASCENT: f64 = 10.0;
const DESCENT: f64 = 3.0;
/// Gap between a label and its object.
const GAP: f64 = 5.0;
/// From the upper edge to the first line of labels, the line spacing, and the number of lines.
const FIRST: f64 = 14.0;
const LINE: f64 = 15.0;
const LINES: u32 = 4;
/// Half a mark's size, and half a line's width.
const MARK: f64 = 4.5;
const STROKE: f64 = 1.0;
/// Penalties for covering a line, a mark, another label, or leaving the axes; a slightly worse place costs one.
const LINE_PENALTY: u32 = 3;
const MARK_PENALTY: u32 = 4;
const LABEL_PENALTY: u32 = 90;
const OUTSIDE_PENALTY: u32 = 100;

units::named! {
    /// Which part of a label is at its position.
    #[derive(Clone, Copy, PartialEq)]
    enum Anchor {
        Start = "start",
        Middle = "middle",
        End = "end",
    }
}

/// A candidate position, with its penalty.
type LabelPlace = (f64, f64, Anchor, u32);

/// An occupied area, with the penalty for covering it.
type OccupiedRect = (Rect, u32);

impl PlotArea<'_> {
    /// Labels of bounds and bands, above everything else.
    pub(super) fn names(&self, out: &mut String) {
        let has_rows = !self.chart.rows.is_empty();
        let mut taken = if has_rows { Vec::new() } else { self.taken() };
        for bound in &self.chart.bounds {
            let scale = if bound.along_x { &self.x } else { &self.y };
            let words = format!("{} {}", bound.name, scale.words(bound.at));
            let places = match (has_rows, bound.along_x) {
                (true, _) => vec![(self.at_x(bound.at), self.frame.top - 8.0, Anchor::Middle, 0)],
                (false, true) => self.beside(self.at_x(bound.at)),
                (false, false) => self.along(self.at_y(bound.at)),
            };
            self.name(out, &mut taken, bound.tone, &words, &places);
        }
        for band in self.chart.bands.iter().filter(|band| !band.name.is_empty()) {
            let (from, to) = self.across(band);
            if to - from <= text_width(&band.name) + 2.0 * GAP {
                continue;
            }
            let places = if has_rows {
                vec![(from + GAP, self.frame.bottom - GAP, Anchor::Start, 0)]
            } else {
                self.within(from, to)
            };
            self.name(out, &mut taken, band.tone, &band.name, &places);
        }
    }

    /// Marks with their intervals, and vertical lines.
    fn taken(&self) -> Vec<OccupiedRect> {
        let Rect { top, bottom, .. } = self.frame;
        let upright = self.chart.bounds.iter().filter(|bound| bound.along_x).map(|bound| {
            let x = self.at_x(bound.at);
            (Rect { left: x - STROKE, right: x + STROKE, top, bottom }, LINE_PENALTY)
        });
        let marks = self.chart.series.iter().flat_map(|series| &series.points).flat_map(|point| {
            let (x, y) = (self.at_x(point.x), self.at_y(point.y));
            let mark = Rect { left: x - MARK, right: x + MARK, top: y - MARK, bottom: y + MARK };
            let interval = point.low.zip(point.high).map(|(low, high)| {
                let (top, bottom) = (self.at_y(high), self.at_y(low));
                Rect { left: x - STROKE, right: x + STROKE, top, bottom }
            });
            [Some(mark), interval].into_iter().flatten().map(|area| (area, MARK_PENALTY))
        });
        upright.chain(marks).collect()
    }

    /// Candidates for a vertical line's label: beside its upper end, preferably towards the middle.
    fn beside(&self, x: f64) -> Vec<LabelPlace> {
        let Rect { left, right, top, .. } = self.frame;
        let sides = [(x + GAP, Anchor::Start), (x - GAP, Anchor::End)];
        let sides = if x > f64::midpoint(left, right) { [sides[1], sides[0]] } else { sides };
        let lines = (0..LINES).map(|line| (top + FIRST + LINE * f64::from(line), line));
        lines
            .flat_map(|(y, line)| {
                (0..).zip(sides).map(move |(side, (x, anchor))| (x, y, anchor, line + side))
            })
            .collect()
    }

    /// Candidates for a horizontal line's label: at either end, above or below.
    fn along(&self, y: f64) -> Vec<LabelPlace> {
        let Rect { left, right, .. } = self.frame;
        let (above, below) = (y - GAP, y + ASCENT + GAP);
        vec![
            (right - GAP, above, Anchor::End, 0),
            (right - GAP, below, Anchor::End, 1),
            (left + GAP, above, Anchor::Start, 2),
            (left + GAP, below, Anchor::Start, 3),
        ]
    }

    /// Candidates for a band's label: bottom, top or middle, at its start or end.
    fn within(&self, from: f64, to: f64) -> Vec<LabelPlace> {
        let Rect { top, bottom, .. } = self.frame;
        let heights = [bottom - GAP, top + FIRST, f64::midpoint(top, bottom)];
        let ends = [(from + GAP, Anchor::Start), (to - GAP, Anchor::End)];
        let heights = (0..).zip(heights);
        heights
            .flat_map(|(worse, y)| {
                (0..).zip(ends).map(move |(end, (x, anchor))| (x, y, anchor, worse + 2 * end))
            })
            .collect()
    }

    /// Draws a label at the best place, the first of equals; `places` is never empty.
    fn name(
        &self,
        out: &mut String,
        taken: &mut Vec<OccupiedRect>,
        tone: Tone,
        words: &str,
        places: &[LabelPlace],
    ) {
        let has_rows = !self.chart.rows.is_empty();
        let bad = |place: &&LabelPlace| {
            let area = label_rect(**place, words);
            let on: u32 = taken.iter().filter(|(other, _)| overlap(&area, other)).map(|(_, bad)| bad).sum();
            let is_beyond = !has_rows && (area.left < self.frame.left || area.right > self.frame.right);
            place.3 + on + if is_beyond { OUTSIDE_PENALTY } else { 0 }
        };
        let Some(best) = places.iter().min_by_key(bad) else { return };
        taken.push((label_rect(*best, words), LABEL_PENALTY));
        let (x, y, anchor, _) = *best;
        let anchor = anchor.name();
        let class = format!("named {}", text_class(tone));
        let _ = writeln!(
            out,
            "<text class=\"{}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            class.trim_end(),
            escape_xml(words)
        );
    }
}

pub(super) fn text_width(words: &str) -> f64 {
    CHAR_WIDTH * words.chars().count() as f64
}

/// The area a label would cover.
fn label_rect((x, y, anchor, _): LabelPlace, words: &str) -> Rect {
    let wide = text_width(words);
    let left = match anchor {
        Anchor::Start => x,
        Anchor::Middle => x - wide / 2.0,
        Anchor::End => x - wide,
    };
    Rect { left, right: left + wide, top: y - ASCENT, bottom: y + DESCENT }
}

fn overlap(one: &Rect, other: &Rect) -> bool {
    one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{AxisUnit, Chart, ChartForm, ChartPoint, SeriesRole};
    use crate::svg::panel::panel;

    fn chart(points: &[(f64, f64)]) -> Chart {
        let point =
            |&(x, y): &(f64, f64)| ChartPoint { x, y, label: "a trial".to_owned(), ..ChartPoint::default() };
        let (x, y) = (("rate", AxisUnit::PerSecond), ("good", AxisUnit::Share));
        Chart::of("limit", "where it breaks", ChartForm::Points, x, y).points(
            "trials",
            SeriesRole::Good,
            points.iter().map(point),
        )
    }

    /// Each label with its position and anchor.
    fn names(chart: &Chart) -> Vec<(String, f64, f64, String)> {
        let mut out = String::new();
        panel(&mut out, chart, Rect { left: 0.0, right: 600.0, top: 0.0, bottom: 300.0 });
        let name = |line: &str| {
            let parts: Vec<&str> = line.strip_prefix("<text class=\"named")?.split('"').collect();
            let at = |place: usize| parts[place].parse().expect("a number");
            let words = parts[7].trim_start_matches('>').trim_end_matches("</text>");
            Some((words.to_owned(), at(2), at(4), parts[6].to_owned()))
        };
        out.lines().filter_map(name).collect()
    }

    #[test]
    fn a_name_changes_sides_rather_than_lie_on_another_line() {
        let wide = chart(&[(0.0, 1.0), (100.0, 0.5)]);
        let apart = wide.clone().vertical_line("holds", Some(90.0), Tone::Good).vertical_line(
            "knee",
            Some(60.0),
            Tone::Warn,
        );
        let near =
            wide.vertical_line("holds", Some(90.0), Tone::Good).vertical_line("knee", Some(80.0), Tone::Warn);
        for (chart, side) in [(apart, "end"), (near, "start")] {
            let names = names(&chart);
            let [(holds, _, high, anchor), (knee, _, other, end)] = names.as_slice() else {
                panic!("{names:?}")
            };
            assert_eq!((holds.as_str(), anchor.as_str()), ("holds 90", side));
            assert_eq!((knee.ends_with("0"), end.as_str(), high), (true, "end", other), "{names:?}");
        }
    }

    #[test]
    fn a_stretch_is_named_where_no_mark_is() {
        let of = |points: &[(f64, f64)]| names(&chart(points).band("too much", Some(50.0), None, Tone::Bad));
        let free = of(&[(0.0, 1.0), (100.0, 1.0)]);
        assert_eq!(free[0].2, 300.0 - 42.0 - GAP, "below: {free:?}");
        let taken = of(&[(0.0, 1.0), (55.0, 0.0), (100.0, 1.0)]);
        assert_eq!(taken[0].2, 22.0 + FIRST, "above: {taken:?}");
    }

    #[test]
    fn names_do_not_lie_on_each_other() {
        let limits = ["pid_max", "threads-max", "max_map_count"];
        let crowded = limits.iter().enumerate().fold(chart(&[(0.0, 1.0)]), |chart, (nth, name)| {
            chart.vertical_line(*name, Some(100.0 + nth as f64), Tone::Faint)
        });
        let mut heights: Vec<f64> = names(&crowded).iter().map(|name| name.2).collect();
        assert_eq!(heights.len(), limits.len());
        heights.dedup();
        assert_eq!(heights, [22.0 + FIRST, 22.0 + FIRST + LINE, 22.0 + FIRST + 2.0 * LINE]);
    }
}
