//! What runs along the time: columns of the timeline as lines, and what is marked below them.

use super::plot_area::{PlotArea, Rect};
use crate::document::{AxisUnit, Chart, ChartPoint, ChartSeries, SeriesRole, Timeline};
use crate::wording::escape_xml;
use std::fmt::Write;

/// Rows at most: about as many as a panel has units of width.
const ROWS: usize = 400;
/// Lines at most in one panel; a chart begins with those that say most.
const LINES: usize = 4;
/// How high the strip of marks is, and the least that can be seen of one.
const STRIP: f64 = 7.0;
const LEAST: f64 = 3.0;

/// The chart with the values of its columns as points; where nothing was measured is a point without a height.
pub(super) fn drawn(chart: &Chart, timeline: &Timeline) -> Chart {
    let timeline = timeline.downsampled(ROWS);
    let has_place = |value: &f64| !chart.y.log || *value > 0.0;
    let series = chart.series.iter().take(LINES).filter_map(|series| {
        let id = series.column.as_ref()?;
        let column = timeline.columns.iter().find(|column| column.id == *id)?;
        let height = |value: &Option<f64>| value.filter(has_place).unwrap_or(f64::NAN);
        let points = middles(&timeline.at).zip(&column.values);
        let points: Vec<ChartPoint> =
            points.map(|(x, value)| ChartPoint { x, y: height(value), ..ChartPoint::default() }).collect();
        points.iter().any(|point| point.y.is_finite()).then(|| ChartSeries { points, ..series.clone() })
    });
    Chart { series: series.collect(), ..chart.clone() }
}

/// The middle of each row, which begins there and is of all the time to the next: what happened within it is drawn where it did.
fn middles(at: &[f64]) -> impl Iterator<Item = f64> {
    let last = at.windows(2).last().map_or(0.0, |pair| pair[1] - pair[0]);
    let next = at.iter().skip(1).copied().chain(at.last().map(|at| at + last));
    at.iter().zip(next).map(|(from, to)| f64::midpoint(*from, to))
}

/// Whether a chart is of this kind.
pub(super) fn is_over_time(chart: &Chart) -> bool {
    chart.x.unit == AxisUnit::Time
}

/// How a line is drawn, by what it is: as the page has it.
pub(super) fn class(chart: &Chart, series: &ChartSeries) -> &'static str {
    if !is_over_time(chart) {
        return "line";
    }
    match series.role {
        SeriesRole::Offered => "course offered",
        SeriesRole::Achieved => "course achieved",
        SeriesRole::Half => "course half",
        SeriesRole::Ninety => "course ninety",
        SeriesRole::NinetyNine => "course ninety-nine",
        SeriesRole::Largest => "course largest",
        SeriesRole::Waiting => "course waiting",
        _ => "course done",
    }
}

impl PlotArea<'_> {
    /// What happened for a while.
    pub(super) fn marks(&self, out: &mut String) {
        let Rect { left, right, top, bottom } = self.frame;
        for mark in &self.chart.marks {
            let from = self.at_x(mark.from);
            let width = (self.at_x(mark.to) - from).max(LEAST).min(right - from);
            let (height, strip) = (bottom - top, bottom - STRIP);
            let _ = writeln!(
                out,
                "<rect class=\"beyond\" x=\"{from:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{height}\"/>\
                 <rect class=\"still\" x=\"{from:.1}\" y=\"{strip}\" width=\"{width:.1}\" height=\"{STRIP}\"/>"
            );
        }
        if let Some(mark) = self.chart.marks.first() {
            let (y, label) = (bottom + 32.0, escape_xml(&mark.label));
            let _ = writeln!(
                out,
                "<rect class=\"still\" x=\"{left}\" y=\"{}\" width=\"12\" height=\"{STRIP}\"/>\
                 <text class=\"faint\" x=\"{}\" y=\"{y}\">{label}</text>",
                y - STRIP,
                left + 18.0
            );
        }
    }
}
