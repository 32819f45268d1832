//! Charts over time: timeline columns as lines, with events marked below.

use super::plot_area::{PlotArea, Rect};
use crate::document::{AxisUnit, Chart, ChartPoint, ChartSeries, SeriesRole, Timeline};
use crate::wording::escape_xml;
use std::fmt::Write;

/// Maximum rows: about one per unit of a panel's width.
const MAX_ROWS: usize = 400;
/// Maximum lines per panel; a chart begins with the most telling.
const MAX_LINES: usize = 4;
/// Height of the strip of marks, and minimum width of a mark.
const STRIP_HEIGHT: f64 = 7.0;
const MIN_MARK: f64 = 3.0;

/// Replaces a chart's columns by points; where nothing was measured, one without a y value.
pub(super) fn drawn(chart: &Chart, timeline: &Timeline) -> Chart {
    let timeline = timeline.downsampled(MAX_ROWS);
    let has_place = |value: &f64| !chart.y.log || *value > 0.0;
    let series = chart.series.iter().take(MAX_LINES).filter_map(|series| {
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

/// The middle of each row, which lasts until the next: events are drawn where they happened.
fn middles(at: &[f64]) -> impl Iterator<Item = f64> {
    let last = at.windows(2).last().map_or(0.0, |pair| pair[1] - pair[0]);
    let next = at.iter().skip(1).copied().chain(at.last().map(|at| at + last));
    at.iter().zip(next).map(|(from, to)| f64::midpoint(*from, to))
}

pub(super) fn is_over_time(chart: &Chart) -> bool {
    chart.x.unit == AxisUnit::Time
}

/// A line's CSS class, by its role: same as on the page.
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
    /// Events with a duration.
    pub(super) fn marks(&self, out: &mut String) {
        let Rect { left, right, top, bottom } = self.frame;
        for mark in &self.chart.marks {
            let from = self.at_x(mark.from);
            let width = (self.at_x(mark.to) - from).max(MIN_MARK).min(right - from);
            let (height, strip) = (bottom - top, bottom - STRIP_HEIGHT);
            let _ = writeln!(
                out,
                "<rect class=\"beyond\" x=\"{from:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{height}\"/>\
                 <rect class=\"still\" x=\"{from:.1}\" y=\"{strip}\" width=\"{width:.1}\" height=\"{STRIP_HEIGHT}\"/>"
            );
        }
        if let Some(mark) = self.chart.marks.first() {
            let (y, label) = (bottom + 32.0, escape_xml(&mark.label));
            let _ = writeln!(
                out,
                "<rect class=\"still\" x=\"{left}\" y=\"{}\" width=\"12\" height=\"{STRIP_HEIGHT}\"/>\
                 <text class=\"faint\" x=\"{}\" y=\"{y}\">{label}</text>",
                y - STRIP_HEIGHT,
                left + 18.0
            );
        }
    }
}
