//! One chart within a frame: points, rows, or bars.

use super::bars;
use super::labels::text_width;
use super::plot_area::{BOTTOM, CROSS, OUTLINES, PlotArea, Rect, class};
use super::rows::{HEAD, LANE, NAMES_WIDTH, OUTCOME_WIDTH, height as height_of_rows};
use super::time_chart;
use crate::Tone;
use crate::document::{AxisUnit, Band, Chart, ChartForm, ChartPoint, ChartSeries};
use crate::scale::Scale;
use crate::wording::escape_xml;
use std::fmt::Write;

/// Margins around the axes for tick labels and heading.
const LEFT: f64 = 74.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 22.0;
/// What is open to the right gets at least this share of the axis.
const MIN_OPEN_SHARE: f64 = 0.12;
/// In a legend, widths of a mark, and of a mark with a short name.
const LEGEND_WIDTHS: (f64, f64) = (24.0, 60.0);
/// Minimum height of a panel of rows or bars.
pub(super) fn height(chart: &Chart) -> f64 {
    BOTTOM + if chart.form == ChartForm::Bars { bars::height(chart) } else { height_of_rows(chart) }
}

pub(super) fn panel(out: &mut String, chart: &Chart, frame: Rect) {
    if chart.form == ChartForm::Bars {
        return bars::panel(out, chart, frame);
    }
    let points = || chart.series.iter().flat_map(|series| &series.points);
    let upright = chart.bounds.iter().filter(|bound| bound.along_x).map(|bound| bound.at);
    let across = chart.bounds.iter().filter(|bound| !bound.along_x).map(|bound| bound.at);
    let open = chart.bands.iter().filter(|band| band.to.is_none()).filter_map(|band| band.from);
    let least = points().map(|point| point.x).fold(f64::INFINITY, f64::min);
    let beyond = open.map(|from| {
        if chart.x.log { from * (from / least).powf(MIN_OPEN_SHARE) } else { from * (1.0 + MIN_OPEN_SHARE) }
    });
    let places = points().map(|point| point.x).chain(upright);
    let ends = points().flat_map(|point| [point.low, point.high]).flatten();
    let has_rows = !chart.rows.is_empty();
    let (x, y, left, right) = if has_rows {
        let edges = chart.bands.iter().flat_map(|band| [band.from, band.to]).flatten();
        let x = Scale::of(&chart.x, places.chain(ends).chain(edges));
        (x, Scale::downwards(chart.rows.len() as f64 + LANE), NAMES_WIDTH, OUTCOME_WIDTH)
    } else {
        // Charts over time include zero for scale.
        let nothing = (time_chart::is_over_time(chart) && !chart.y.log).then_some(0.0);
        let heights = points().map(|point| point.y).chain(ends).chain(across).chain(nothing);
        (Scale::of(&chart.x, places.chain(beyond)), Scale::of(&chart.y, heights), LEFT, RIGHT)
    };
    let frame = Rect {
        left: frame.left + left,
        right: frame.right - right,
        top: frame.top + if has_rows { HEAD } else { TOP },
        bottom: frame.bottom - BOTTOM,
    };
    let area = PlotArea { chart, x, y, frame };
    area.bands(out);
    area.axes(out);
    area.bounds(out);
    if has_rows {
        area.rows(out);
        // Underlying data go behind the values.
        for (nth, series) in chart.series.iter().enumerate().rev() {
            series.points.iter().for_each(|point| area.in_row(out, nth == 0, point));
        }
        area.names(out);
        return;
    }
    area.marks(out);
    area.heading(out);
    area.key(out);
    for (nth, series) in chart.series.iter().enumerate() {
        match series.is_line() {
            true => area.line(out, series),
            false => series.points.iter().for_each(|point| area.mark(out, nth, &series.name, point)),
        }
    }
    area.names(out);
}

impl PlotArea<'_> {
    fn bands(&self, out: &mut String) {
        let Rect { top, bottom, .. } = self.frame;
        for band in &self.chart.bands {
            let (from, to) = self.across(band);
            let class = shade(band.tone);
            let (width, height) = (to - from, bottom - top);
            let _ = writeln!(
                out,
                "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{height}\"/>"
            );
        }
    }

    /// Legend below the axis for shades without a name written in, if there is room beside the axis name.
    fn key(&self, out: &mut String) {
        let Rect { left, right, bottom, .. } = self.frame;
        let unnamed = |band: &&Band| band.name.is_empty() && !band.means.is_empty();
        let Some(band) = self.chart.bands.iter().find(unnamed) else { return };
        let room = (right - left) / 2.0 - text_width(&self.chart.x.name) - LEGEND_WIDTHS.0;
        if text_width(&band.means) < room {
            let (class, y, x) = (shade(band.tone), bottom + 22.0, left + 24.0);
            let (base, means) = (bottom + 32.0, escape_xml(&band.means));
            let _ = writeln!(
                out,
                "<rect class=\"{class}\" x=\"{left}\" y=\"{y}\" width=\"18\" height=\"11\"/>\
                 <text class=\"faint\" x=\"{x}\" y=\"{base}\">{means}</text>"
            );
        }
    }

    /// The y axis; with several series also their marks.
    fn heading(&self, out: &mut String) {
        let Rect { left, right, top, .. } = self.frame;
        let y = top - 8.0;
        let title = match self.chart.y.unit {
            _ if !time_chart::is_over_time(self.chart) => self.chart.y.name.clone(),
            AxisUnit::PerSecond => format!("{}, a second", self.chart.title),
            _ => self.chart.title.clone(),
        };
        let _ = writeln!(out, "<text class=\"faint\" x=\"{left}\" y=\"{y}\">{}</text>", escape_xml(&title));
        if self.chart.series.len() < 2 {
            return;
        }
        let room = |series: &ChartSeries| (text_width(&series.name) + LEGEND_WIDTHS.0).max(LEGEND_WIDTHS.1);
        let mut points = self.chart.series.iter().flat_map(|series| &series.points);
        let is_judged = points.any(|point| matches!(point.tone, Tone::Good | Tone::Bad | Tone::Warn));
        let judged = if is_judged { self.judged() } else { String::new() };
        let mut x = right - self.chart.series.iter().map(room).sum::<f64>() - text_width(&judged);
        for (nth, series) in self.chart.series.iter().enumerate() {
            let (class, mark) = match series.is_line() {
                true => (time_chart::class(self.chart, series), "M-6 0H6"),
                // A hollow mark would look like one of the meanings.
                false => ("start", OUTLINES[nth % OUTLINES.len()]),
            };
            let _ = writeln!(
                out,
                "<path class=\"{class}\" transform=\"translate({x:.1} {:.1})\" d=\"{mark}\"/>\
                 <text class=\"faint\" x=\"{:.1}\" y=\"{y}\">{}</text>",
                y - 4.0,
                x + 9.0,
                escape_xml(&series.name)
            );
            x += room(series);
        }
        if is_judged {
            let _ = writeln!(
                out,
                "<text class=\"faint\" x=\"{right}\" y=\"{y}\" text-anchor=\"end\">{judged}</text>"
            );
        }
    }

    /// The tooltip of a judged mark.
    fn judged(&self) -> String {
        let mut points = self.chart.series.iter().flat_map(|series| &series.points);
        let is_hollow = points.any(|point| point.tone == Tone::Warn);
        let hollow = if self.chart.hollow.is_empty() { "doubtful" } else { &self.chart.hollow };
        let hollow = if is_hollow { format!(", hollow: {hollow}") } else { String::new() };
        format!("full: good, crossed: bad{}", escape_xml(&hollow))
    }

    /// A polyline, broken at points without a value.
    fn line(&self, out: &mut String, series: &ChartSeries) {
        let (mut path, mut to) = (String::new(), 'M');
        for point in &series.points {
            if point.y.is_finite() {
                let _ = write!(path, "{to}{:.1} {:.1}", self.at_x(point.x), self.at_y(point.y));
                to = 'L';
            } else {
                to = 'M';
            }
        }
        let class = time_chart::class(self.chart, series);
        let _ = writeln!(out, "<path class=\"{class}\" d=\"{path}\"/>");
    }

    fn bounds(&self, out: &mut String) {
        let Rect { left, right, top, bottom } = self.frame;
        for bound in &self.chart.bounds {
            let path = match bound.along_x {
                true => format!("M{:.1} {top}V{bottom}", self.at_x(bound.at)),
                false => format!("M{left} {:.1}H{right}", self.at_y(bound.at)),
            };
            let _ = writeln!(out, "<path class=\"bound {}\" d=\"{path}\"/>", class(bound.tone));
        }
    }

    fn mark(&self, out: &mut String, nth: usize, series: &str, point: &ChartPoint) {
        let (x, y) = (self.at_x(point.x), self.at_y(point.y));
        let class = class(point.tone);
        let said =
            format!("{}, {series} {} at {}", point.label, self.y.words(point.y), self.x.words(point.x));
        let _ = writeln!(out, "<g><title>{}</title>", escape_xml(&said));
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

fn shade(tone: Tone) -> &'static str {
    match tone {
        Tone::Bad => "beyond",
        Tone::Good => "well",
        Tone::Faint => "little",
        Tone::Plain | Tone::Strong | Tone::Warn => "limit",
    }
}
