//! A chart's plot area, and positions within it.

use crate::Tone;
use crate::document::{AxisUnit, Band, Chart, ChartPoint};
use crate::scale::Scale;
use crate::wording::escape_xml;
use std::fmt::Write;

/// Height below the axes for tick labels.
pub(super) const BOTTOM: f64 = 42.0;
/// Units per tick label.
const TICK_WIDTH: f64 = 80.0;
const TICK_HEIGHT: f64 = 34.0;
/// Minimum width of a band: a limit may be known more sharply than can be drawn.
const MIN_BAND: f64 = 2.0;
/// Mark outlines around the origin, one per series in turn: circle, square, diamond.
pub(super) const OUTLINES: [&str; 3] =
    ["M4 0A4 4 0 1 1-4 0A4 4 0 1 1 4 0Z", "M-3.5-3.5H3.5V3.5H-3.5Z", "M0-5 5 0 0 5-5 0Z"];

pub(super) const CROSS: &str = "M-4-4 4 4M-4 4 4-4";

/// A rectangle in the picture.
#[derive(Clone, Copy)]
pub(super) struct Rect {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

/// A chart's plot area, and positions within it.
pub(super) struct PlotArea<'a> {
    pub chart: &'a Chart,
    pub x: Scale,
    pub y: Scale,
    pub frame: Rect,
}

impl PlotArea<'_> {
    pub fn at_x(&self, value: f64) -> f64 {
        let Rect { left, right, .. } = self.frame;
        left + self.x.place(value) * (right - left)
    }

    pub fn at_y(&self, value: f64) -> f64 {
        let Rect { top, bottom, .. } = self.frame;
        bottom - self.y.place(value) * (bottom - top)
    }

    /// A band's left and right edge.
    pub(super) fn across(&self, band: &Band) -> (f64, f64) {
        let Rect { left, right, .. } = self.frame;
        let from = band.from.map_or(left, |at| self.at_x(at));
        (from, band.to.map_or(right, |at| self.at_x(at)).max((from + MIN_BAND).min(right)))
    }

    /// A value's interval with upright ends, which reach `half` above and below.
    pub(super) fn whisker(&self, out: &mut String, class: &str, point: &ChartPoint, y: f64, half: f64) {
        let (Some(low), Some(high)) = (point.low, point.high) else { return };
        let (low, high, above, below) = (self.at_x(low), self.at_x(high), y - half, y + half);
        let _ = writeln!(
            out,
            "<path class=\"{class}\" d=\"M{low:.1} {y:.1}H{high:.1}\
             M{low:.1} {above:.1}V{below:.1}M{high:.1} {above:.1}V{below:.1}\"/>"
        );
    }

    pub(super) fn axes(&self, out: &mut String) {
        let Rect { left, right, top, bottom } = self.frame;
        for tick in self.x.ticks(((right - left) / TICK_WIDTH) as usize) {
            let (x, words) = (self.at_x(tick), escape_xml(&self.x.words(tick)));
            let _ = writeln!(out, "<path class=\"grid\" d=\"M{x:.1} {top}V{bottom}\"/>");
            let y = bottom + 16.0;
            let _ = writeln!(
                out,
                "<text class=\"tick\" x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{words}</text>"
            );
        }
        let most = ((bottom - top) / TICK_HEIGHT) as usize;
        let heights = if self.chart.rows.is_empty() { self.y.ticks(most) } else { Vec::new() };
        for tick in heights {
            let (y, words) = (self.at_y(tick), escape_xml(&self.y.words(tick)));
            let _ = writeln!(out, "<path class=\"grid\" d=\"M{left} {y:.1}H{right}\"/>");
            let (x, y) = (left - 8.0, y + 4.0);
            let _ = writeln!(
                out,
                "<text class=\"tick\" x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{words}</text>"
            );
        }
        let unit = if self.chart.x.unit == AxisUnit::PerSecond { ", a second" } else { "" };
        let (x, y, name) = (f64::midpoint(left, right), bottom + 32.0, escape_xml(&self.chart.x.name));
        let _ = writeln!(
            out,
            "<text class=\"faint\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{name}{unit}</text>"
        );
    }
}

/// A mark's CSS class.
pub(super) fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Warn => "warn",
        Tone::Plain | Tone::Strong | Tone::Faint => "plain",
    }
}

/// A text's CSS class.
pub(super) fn text_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Faint => "faint",
        Tone::Plain | Tone::Strong => "",
        judged => class(judged),
    }
}
