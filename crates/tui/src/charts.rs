//! Charts of the last minutes on one time axis: rates with the bounds, response times, outstanding requests, processors. Each has a foot
//! line of trials, coloured by result.

use crate::Palette;
use crate::frame_context::FrameContext;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Chart, Dataset, GraphType};
use units::Nanos;
use view::document::Timeline;
use view::{ReportKind, Tone, format_rate};

/// Maximum seconds shown.
const MAX_SPAN_S: f64 = 120.0;
/// Minimum seconds shown: a run's first seconds fill the chart from the left.
const MIN_SPAN_S: f64 = 59.0;
/// Minimum width of a chart.
const MIN_CHART_WIDTH: u16 = 32;
/// Trials marked on the time axis.
const MAX_PHASES: usize = 40;
/// A bound this far above recent offered rates would flatten the curves.
const FAR_BOUND_RATIO: f64 = 1.5;

/// One line of a chart.
struct Curve {
    name: &'static str,
    colour: Color,
    points: Vec<(f64, f64)>,
}

/// Draws as many charts side by side as fit, most telling first.
pub(crate) fn draw(frame: &mut Frame, area: Rect, context: &FrameContext<'_>) {
    let ids = [
        "offered",
        "achieved",
        "goodput",
        "response_p50",
        "response_p99",
        "outstanding_max",
        "backlog",
        "cpu.0",
    ];
    let recent = context.live_run.page.recent(MAX_SPAN_S, &ids);
    let curve = |name, colour, id: &str| Curve { name, colour, points: points(&recent, id) };
    let log = |mut curve: Curve| {
        curve.points.iter_mut().for_each(|point| point.1 = (point.1 * 1e6).max(1.0).log10());
        curve
    };
    let rates = vec![
        curve("offered", Color::Blue, "offered"),
        curve("achieved", Color::Green, "achieved"),
        curve("good", Color::Cyan, "goodput"),
    ];
    let times = vec![
        log(curve("p99", Color::Yellow, "response_p99")),
        log(curve("p50", Color::Green, "response_p50")),
    ];
    let waiting =
        vec![curve("waiting", Color::Magenta, "outstanding_max"), curve("not sent", Color::Red, "backlog")];
    let busy = vec![curve("CPUs of the target", Color::Green, "cpu.0")];
    let limit = context.view.limits.first().filter(|_| context.view.kind() == ReportKind::Search);
    let highest = rates[0].points.iter().map(|point| point.1).fold(0.0, f64::max);
    let bounds = [(limit.and_then(|l| l.lower), Color::Green), (limit.and_then(|l| l.upper), Color::Red)];
    let bounds = bounds
        .into_iter()
        .filter_map(|(at, colour)| Some((at.filter(|at| *at <= FAR_BOUND_RATIO * highest)?, colour)));
    let quota = context
        .live_run
        .page
        .trees()
        .first()
        .and_then(|tree| tree.allowed)
        .map(|allowed| (allowed, Color::Red));
    let panels = [
        Panel { curves: rates, bounds: bounds.collect(), from_zero: true, label: format_rate },
        Panel { curves: times, bounds: Vec::new(), from_zero: false, label: time_of_log },
        Panel { curves: waiting, bounds: Vec::new(), from_zero: true, label: format_rate },
        Panel { curves: busy, bounds: quota.into_iter().collect(), from_zero: true, label: format_rate },
    ];
    let end = recent.at.last().copied().unwrap_or(0.0);
    let first = recent.at.first().copied().unwrap_or(0.0);
    let time = TimeAxis { from: first, to: end.max(first + MIN_SPAN_S), trials: trials(context, first) };
    // The first always has its place; of the others those with data.
    let there = |(nth, panel): &(usize, &Panel)| *nth == 0 || panel.height().is_some();
    let room = usize::from((area.width / MIN_CHART_WIDTH).max(1));
    let shown: Vec<&Panel> =
        panels.iter().enumerate().filter(there).map(|(_, panel)| panel).take(room).collect();
    let areas = Layout::horizontal(vec![Constraint::Fill(1); shown.len()]).spacing(2).split(area);
    for (panel, area) in shown.into_iter().zip(areas.iter()) {
        panel.draw(frame, *area, &time, context.palette);
    }
}

/// A column's values, without gaps.
fn points(recent: &Timeline, id: &str) -> Vec<(f64, f64)> {
    let column = recent.columns.iter().find(|column| column.id == id);
    let values = column.map_or(&[][..], |column| &column.values);
    recent.at.iter().zip(values).filter_map(|(at, value)| Some((*at, (*value)?))).collect()
}

/// Shared by all charts: seconds since the run began, and the trials.
struct TimeAxis {
    from: f64,
    to: f64,
    /// Start, end, and result.
    trials: Vec<(f64, f64, Tone)>,
}

fn trials(context: &FrameContext<'_>, first: f64) -> Vec<(f64, f64, Tone)> {
    let phases = context.live_run.page.phases(MAX_PHASES).into_iter().filter(|phase| phase.to > first);
    phases.map(|phase| (phase.from.max(first), phase.to, phase.tone)).collect()
}

/// The next round number at or above a positive one, for an axis.
fn round_up(value: f64) -> f64 {
    let ten = 10f64.powf(value.log10().floor());
    // With a little tolerance: logarithm errors must not round up a power of ten.
    let steps = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0];
    steps.into_iter().find(|step| step * ten >= value * (1.0 - 1e-9)).unwrap_or(10.0) * ten
}

/// From a decimal logarithm of microseconds.
fn time_of_log(log: f64) -> String {
    Nanos::from_secs_f64(10f64.powf(log) / 1e6).to_string()
}

fn line(points: &[(f64, f64)], style: Style) -> Dataset<'_> {
    Dataset::default().marker(Marker::Braille).graph_type(GraphType::Line).style(style).data(points)
}

struct Panel {
    curves: Vec<Curve>,
    /// Horizontal lines.
    bounds: Vec<(f64, Color)>,
    from_zero: bool,
    label: fn(f64) -> String,
}

impl Panel {
    fn draw(&self, frame: &mut Frame, area: Rect, time: &TimeAxis, palette: Palette) {
        let [head, body] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
        let names = self
            .curves
            .iter()
            .flat_map(|c| [Span::styled(c.name, palette.tint(Style::new(), c.colour)), Span::raw(" ")]);
        frame.render_widget(Line::from_iter(names), head);
        let Some(height) = self.height() else { return };
        let labels = height.map(self.label);
        // A line as high as its label would be half hidden, and the trials need space below.
        let spare = (height[1] - height[0]) * 0.02;
        let height = [height[0] - spare, height[1] + spare];
        let across: Vec<_> =
            self.bounds.iter().map(|(at, colour)| ([(time.from, *at), (time.to, *at)], *colour)).collect();
        let foot: Vec<_> = time
            .trials
            .iter()
            .map(|(from, to, tone)| ([(*from, height[0]), (*to, height[0])], palette.style(*tone)))
            .collect();
        let foot = foot.iter().map(|(points, style)| line(points, *style).marker(Marker::Bar));
        let across = across
            .iter()
            .map(|(points, colour)| line(points, palette.tint(Style::new(), *colour)).marker(Marker::Dot));
        let curves = self.curves.iter().map(|c| line(&c.points, palette.tint(Style::new(), c.colour)));
        let sets = foot.chain(across).chain(curves).collect();
        let x = Axis::default().bounds([time.from, time.to]);
        let y = Axis::default().style(palette.style(Tone::Faint)).bounds(height).labels(labels);
        frame.render_widget(Chart::new(sets).legend_position(None).x_axis(x).y_axis(y), body);
    }

    /// The range of its axis; `None` without values.
    fn height(&self) -> Option<[f64; 2]> {
        let values = || self.curves.iter().flat_map(|c| c.points.iter().map(|p| p.1));
        let highest = values().fold(f64::NEG_INFINITY, f64::max);
        let lowest = values().fold(f64::INFINITY, f64::min);
        if !highest.is_finite() {
            return None;
        }
        let highest = self.bounds.iter().map(|(at, _)| *at).fold(highest, f64::max);
        Some(match self.from_zero {
            true => [0.0, round_up(highest.max(1.0))],
            false => [-round_up(10f64.powf(-lowest)).log10(), round_up(10f64.powf(highest)).log10()],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_in_readable_numbers() {
        for (value, expected) in
            [(1.0, 1.0), (1000.0, 1000.0), (2040.0, 2500.0), (0.07, 0.08), (9.5, 10.0), (81.0, 100.0)]
        {
            assert!((round_up(value) / expected - 1.0).abs() < 1e-9, "{value}: {}", round_up(value));
        }
    }
}
