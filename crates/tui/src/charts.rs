//! The last minutes as three charts: rates, waiting requests, response times.

use crate::Palette;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Chart, Dataset, GraphType};
use units::{Nanos, Rate};
use view::{RunView, Second, Tone};

/// Seconds shown at most.
const SHOWN: usize = 120;
/// A chart narrower than this shows nothing.
const NARROWEST: u16 = 24;

/// One line of a chart.
struct Curve {
    name: &'static str,
    colour: Color,
    points: Vec<(f64, f64)>,
}

/// Draws as many charts beside each other as there is room for; the first is the most telling.
pub(crate) fn draw(frame: &mut Frame, area: Rect, view: &RunView, palette: Palette) {
    let count = usize::from((area.width / NARROWEST).clamp(1, 3));
    let mut seconds: Vec<&Second> = view.seconds.iter().rev().filter(|s| s.is_whole()).take(SHOWN).collect();
    seconds.reverse();
    let curve = |name, colour, value: &dyn Fn(&Second) -> Option<f64>| Curve {
        name,
        colour,
        points: seconds.iter().enumerate().filter_map(|(i, s)| Some((i as f64, value(s)?))).collect(),
    };
    let rates = vec![
        curve("offered", Color::Blue, &|s| Some(s.offered.0)),
        curve("achieved", Color::Green, &|s| Some(s.achieved.0)),
    ];
    let times = vec![
        curve("p99", Color::Yellow, &|s| Some(s.response_p99?.as_micros_f64().max(1.0).log10())),
        curve("p50", Color::Green, &|s| Some(s.response_p50?.as_micros_f64().max(1.0).log10())),
    ];
    let waiting = vec![curve("waiting", Color::Magenta, &|s| Some((s.in_flight + s.backlog) as f64))];
    let areas = Layout::horizontal(vec![Constraint::Fill(1); count]).spacing(2).split(area);
    let all = [
        Panel { curves: rates, from_zero: true, label: number },
        Panel { curves: times, from_zero: false, label: time_of_log },
        Panel { curves: waiting, from_zero: true, label: number },
    ];
    for (panel, area) in all.iter().zip(areas.iter()) {
        panel.draw(frame, *area, palette);
    }
}

fn number(value: f64) -> String {
    Rate(value).to_string().trim_end_matches("/s").to_owned()
}

/// The next number at or above a positive one that reads well on an axis.
fn round_up(value: f64) -> f64 {
    let ten = 10f64.powf(value.log10().floor());
    // A hair of tolerance: a power of ten must not be rounded up by its own logarithm's error.
    let steps = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0];
    steps.into_iter().find(|step| step * ten >= value * (1.0 - 1e-9)).unwrap_or(10.0) * ten
}

/// Of a decimal logarithm of microseconds.
fn time_of_log(log: f64) -> String {
    Nanos::from_secs_f64(10f64.powf(log) / 1e6).to_string()
}

/// One chart.
struct Panel {
    curves: Vec<Curve>,
    from_zero: bool,
    label: fn(f64) -> String,
}

impl Panel {
    fn draw(&self, frame: &mut Frame, area: Rect, palette: Palette) {
        let Self { curves, from_zero, label } = self;
        let [head, body] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
        let names = curves
            .iter()
            .flat_map(|c| [Span::styled(c.name, palette.tint(Style::new(), c.colour)), Span::raw(" ")]);
        frame.render_widget(Line::from_iter(names), head);
        let values = || curves.iter().flat_map(|c| c.points.iter().map(|p| p.1));
        let highest = values().fold(f64::NEG_INFINITY, f64::max);
        let lowest = values().fold(f64::INFINITY, f64::min);
        if !highest.is_finite() {
            return;
        }
        let bounds = if *from_zero {
            [0.0, round_up(highest.max(1.0))]
        } else {
            [-round_up(10f64.powf(-lowest)).log10(), round_up(10f64.powf(highest)).log10()]
        };
        // A line that is as high as its label would be half hidden.
        let spare = (bounds[1] - bounds[0]) * 0.02;
        let labels = bounds.map(label);
        let bounds = [bounds[0], bounds[1] + spare];
        let faint = palette.style(Tone::Faint);
        let sets = curves
            .iter()
            .map(|c| {
                Dataset::default()
                    .marker(Marker::Braille)
                    .graph_type(GraphType::Line)
                    .style(palette.tint(Style::new(), c.colour))
                    .data(&c.points)
            })
            .collect();
        let last = curves.iter().filter_map(|c| c.points.last()).map(|p| p.0).fold(0.0, f64::max);
        // The first minute fills the chart from the left; later it holds all that is shown.
        let x = Axis::default().bounds([0.0, last.max(59.0)]);
        let y = Axis::default().style(faint).bounds(bounds).labels(labels);
        frame.render_widget(Chart::new(sets).legend_position(None).x_axis(x).y_axis(y), body);
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
