//! One chart within a frame: of points, of rows, or of bars.

use super::bars;
use super::course;
use super::names::wide;
use super::rows::{HEAD, LANE, NAMES, WORDS, height as height_of_rows};
use crate::Tone;
use crate::document::{Band, Chart, Form, Point, Series, Unit};
use crate::scale::Scale;
use crate::words::xml;
use std::fmt::Write;

/// Around the axes: room for the names of values, and for the heading.
const LEFT: f64 = 74.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 22.0;
pub(super) const BOTTOM: f64 = 42.0;
/// A named value for each so many units.
const EACH_X: f64 = 80.0;
const EACH_Y: f64 = 34.0;
/// What is open to the right has at least so much of an axis.
const BEYOND: f64 = 0.12;
/// In a legend, room for the mark before a name, and for a short name with it.
const KEY: (f64, f64) = (24.0, 60.0);
/// What a mark says that is judged.
const JUDGED: &str = "full: good, crossed: bad";
/// The limit may be known more sharply than the picture shows.
const LEAST: f64 = 2.0;
/// Outlines around zero, one for each series in turn: round, square, on its tip.
pub(super) const OUTLINES: [&str; 3] =
    ["M4 0A4 4 0 1 1-4 0A4 4 0 1 1 4 0Z", "M-3.5-3.5H3.5V3.5H-3.5Z", "M0-5 5 0 0 5-5 0Z"];

pub(super) const CROSS: &str = "M-4-4 4 4M-4 4 4-4";

/// Where on the picture.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

/// The frame of the axes, and what stands where in it.
pub(super) struct Area<'a> {
    pub chart: &'a Chart,
    pub x: Scale,
    pub y: Scale,
    pub frame: Frame,
}

/// How high a panel of rows or bars must be.
pub(super) fn height(chart: &Chart) -> f64 {
    BOTTOM + if chart.form == Form::Bars { bars::height(chart) } else { height_of_rows(chart) }
}

pub(super) fn panel(out: &mut String, chart: &Chart, frame: Frame) {
    if chart.form == Form::Bars {
        return bars::panel(out, chart, frame);
    }
    let points = || chart.series.iter().flat_map(|series| &series.points);
    let upright = chart.bounds.iter().filter(|bound| bound.along_x).map(|bound| bound.at);
    let across = chart.bounds.iter().filter(|bound| !bound.along_x).map(|bound| bound.at);
    let open = chart.bands.iter().filter(|band| band.to.is_none()).filter_map(|band| band.from);
    let least = points().map(|point| point.x).fold(f64::INFINITY, f64::min);
    let beyond =
        open.map(|from| if chart.x.log { from * (from / least).powf(BEYOND) } else { from * (1.0 + BEYOND) });
    let places = points().map(|point| point.x).chain(upright);
    let ends = points().flat_map(|point| [point.low, point.high]).flatten();
    let has_rows = !chart.rows.is_empty();
    let (x, y, left, right) = if has_rows {
        let edges = chart.bands.iter().flat_map(|band| [band.from, band.to]).flatten();
        let x = Scale::of(&chart.x, places.chain(ends).chain(edges));
        (x, Scale::downwards(chart.rows.len() as f64 + LANE), NAMES, WORDS)
    } else {
        // What runs along the time is seen for what it is beside nothing.
        let nothing = (course::is_one(chart) && !chart.y.log).then_some(0.0);
        let heights = points().map(|point| point.y).chain(ends).chain(across).chain(nothing);
        (Scale::of(&chart.x, places.chain(beyond)), Scale::of(&chart.y, heights), LEFT, RIGHT)
    };
    let frame = Frame {
        left: frame.left + left,
        right: frame.right - right,
        top: frame.top + if has_rows { HEAD } else { TOP },
        bottom: frame.bottom - BOTTOM,
    };
    let area = Area { chart, x, y, frame };
    area.bands(out);
    area.axes(out);
    area.bounds(out);
    if has_rows {
        area.rows(out);
        // What a value comes from stands behind it.
        for (nth, series) in chart.series.iter().enumerate().rev() {
            series.points.iter().for_each(|point| area.in_row(out, nth == 0, point));
        }
        area.names(out);
        return;
    }
    area.marks(out);
    area.heading(out);
    for (nth, series) in chart.series.iter().enumerate() {
        match series.is_line() {
            true => area.line(out, series),
            false => series.points.iter().for_each(|point| area.mark(out, nth, &series.name, point)),
        }
    }
    area.names(out);
}

impl Area<'_> {
    pub fn at_x(&self, value: f64) -> f64 {
        let Frame { left, right, .. } = self.frame;
        left + self.x.place(value) * (right - left)
    }

    pub fn at_y(&self, value: f64) -> f64 {
        let Frame { top, bottom, .. } = self.frame;
        bottom - self.y.place(value) * (bottom - top)
    }

    /// From where to where a band reaches.
    pub(super) fn across(&self, band: &Band) -> (f64, f64) {
        let Frame { left, right, .. } = self.frame;
        let from = band.from.map_or(left, |at| self.at_x(at));
        (from, band.to.map_or(right, |at| self.at_x(at)).max((from + LEAST).min(right)))
    }

    fn bands(&self, out: &mut String) {
        let Frame { top, bottom, .. } = self.frame;
        for band in &self.chart.bands {
            let (from, to) = self.across(band);
            let class = match band.tone {
                Tone::Bad => "beyond",
                Tone::Good => "well",
                Tone::Faint => "little",
                Tone::Plain | Tone::Strong | Tone::Warn => "limit",
            };
            let (width, height) = (to - from, bottom - top);
            let _ = writeln!(
                out,
                "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{height}\"/>"
            );
        }
    }

    pub(super) fn axes(&self, out: &mut String) {
        let Frame { left, right, top, bottom } = self.frame;
        for tick in self.x.ticks(((right - left) / EACH_X) as usize) {
            let (x, words) = (self.at_x(tick), xml(&self.x.words(tick)));
            let _ = writeln!(out, "<path class=\"grid\" d=\"M{x:.1} {top}V{bottom}\"/>");
            let y = bottom + 16.0;
            let _ = writeln!(
                out,
                "<text class=\"tick\" x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{words}</text>"
            );
        }
        let most = ((bottom - top) / EACH_Y) as usize;
        let heights = if self.chart.rows.is_empty() { self.y.ticks(most) } else { Vec::new() };
        for tick in heights {
            let (y, words) = (self.at_y(tick), xml(&self.y.words(tick)));
            let _ = writeln!(out, "<path class=\"grid\" d=\"M{left} {y:.1}H{right}\"/>");
            let (x, y) = (left - 8.0, y + 4.0);
            let _ = writeln!(
                out,
                "<text class=\"tick\" x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{words}</text>"
            );
        }
        let unit = if self.chart.x.unit == Unit::PerSecond { ", a second" } else { "" };
        let (x, y, name) = (f64::midpoint(left, right), bottom + 32.0, xml(&self.chart.x.name));
        let _ = writeln!(
            out,
            "<text class=\"faint\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{name}{unit}</text>"
        );
    }

    /// What runs upwards; of several series what their marks look like.
    fn heading(&self, out: &mut String) {
        let Frame { left, right, top, .. } = self.frame;
        let y = top - 8.0;
        let title = match self.chart.y.unit {
            _ if !course::is_one(self.chart) => self.chart.y.name.clone(),
            Unit::PerSecond => format!("{}, a second", self.chart.title),
            _ => self.chart.title.clone(),
        };
        let _ = writeln!(out, "<text class=\"faint\" x=\"{left}\" y=\"{y}\">{}</text>", xml(&title));
        if self.chart.series.len() < 2 {
            return;
        }
        let room = |series: &Series| (wide(&series.name) + KEY.0).max(KEY.1);
        let mut points = self.chart.series.iter().flat_map(|series| &series.points);
        let is_judged = points.any(|point| matches!(point.tone, Tone::Good | Tone::Bad));
        let judged = if is_judged { wide(JUDGED) } else { 0.0 };
        let mut x = right - self.chart.series.iter().map(room).sum::<f64>() - judged;
        for (nth, series) in self.chart.series.iter().enumerate() {
            let (class, mark) = match series.is_line() {
                true => (course::class(self.chart, series), "M-6 0H6"),
                false => ("plain", OUTLINES[nth % OUTLINES.len()]),
            };
            let _ = writeln!(
                out,
                "<path class=\"{class}\" transform=\"translate({x:.1} {:.1})\" d=\"{mark}\"/>\
                 <text class=\"faint\" x=\"{:.1}\" y=\"{y}\">{}</text>",
                y - 4.0,
                x + 9.0,
                xml(&series.name)
            );
            x += room(series);
        }
        if is_judged {
            let _ = writeln!(
                out,
                "<text class=\"faint\" x=\"{right}\" y=\"{y}\" text-anchor=\"end\">{JUDGED}</text>"
            );
        }
    }

    /// A line from point to point; where one has no height, it is broken.
    fn line(&self, out: &mut String, series: &Series) {
        let (mut path, mut to) = (String::new(), 'M');
        for point in &series.points {
            if point.y.is_finite() {
                let _ = write!(path, "{to}{:.1} {:.1}", self.at_x(point.x), self.at_y(point.y));
                to = 'L';
            } else {
                to = 'M';
            }
        }
        let class = course::class(self.chart, series);
        let _ = writeln!(out, "<path class=\"{class}\" d=\"{path}\"/>");
    }

    fn bounds(&self, out: &mut String) {
        let Frame { left, right, top, bottom } = self.frame;
        for bound in &self.chart.bounds {
            let path = match bound.along_x {
                true => format!("M{:.1} {top}V{bottom}", self.at_x(bound.at)),
                false => format!("M{left} {:.1}H{right}", self.at_y(bound.at)),
            };
            let _ = writeln!(out, "<path class=\"bound {}\" d=\"{path}\"/>", class(bound.tone));
        }
    }

    fn mark(&self, out: &mut String, nth: usize, series: &str, point: &Point) {
        let (x, y) = (self.at_x(point.x), self.at_y(point.y));
        let class = class(point.tone);
        let said =
            format!("{}, {series} {} at {}", point.label, self.y.words(point.y), self.x.words(point.x));
        let _ = writeln!(out, "<g><title>{}</title>", xml(&said));
        if let (Some(low), Some(high)) = (point.low, point.high) {
            let (low, high) = (self.at_y(low), self.at_y(high));
            let _ = writeln!(out, "<path class=\"{class} interval\" d=\"M{x:.1} {low:.1}V{high:.1}\"/>");
        }
        let outline = OUTLINES[nth % OUTLINES.len()];
        let cross = if point.tone == Tone::Bad { CROSS } else { "" };
        let _ = writeln!(
            out,
            "<path class=\"{class}\" transform=\"translate({x:.1} {y:.1})\" d=\"{outline}{cross}\"/></g>"
        );
    }
}

/// Of a mark.
pub(super) fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Warn => "warn",
        Tone::Plain | Tone::Strong | Tone::Faint => "plain",
    }
}

/// Of a text.
pub(super) fn said(tone: Tone) -> &'static str {
    match tone {
        Tone::Faint => "faint",
        Tone::Plain | Tone::Strong => "",
        judged => class(judged),
    }
}
