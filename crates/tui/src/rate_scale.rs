//! The rates tried, on a line: what holds to the left, what fails to the right, the unknown between.

use crate::Palette;
use ratatui::text::{Line, Span};
use view::{RunView, Tone, TrialState, format_rate};

/// With both bounds the line shows their interval and this many times as much on either side: it zooms in as they converge.
const ZOOM_MARGIN: f64 = 2.0;

/// The range of rates drawn, logarithmic.
struct RateRange {
    low: f64,
    high: f64,
    width: usize,
}

impl RateRange {
    fn of(view: &RunView, width: usize) -> Option<Self> {
        let limit = view.limits.first();
        let current = view.current.as_ref().and_then(|c| c.rate);
        let (low, high) = match limit.and_then(|l| l.lower.zip(l.upper)) {
            Some((lower, upper)) if lower > 0.0 && upper > lower => {
                let around = (upper / lower).powf(ZOOM_MARGIN);
                (lower / around, upper * around)
            }
            _ => {
                let rates = view
                    .trials
                    .iter()
                    .filter_map(|t| t.rate)
                    .chain(current)
                    .map(|r| r.0)
                    .filter(|r| *r > 0.0);
                let (low, high) = rates.fold((f64::INFINITY, 0.0f64), |(l, h), r| (l.min(r), h.max(r)));
                if low > high {
                    return None;
                }
                (low / 1.5, high * 1.5)
            }
        };
        (width >= 10).then_some(Self { low, high, width })
    }

    /// A rate's column, clamped to the edges.
    fn column(&self, rate: f64) -> usize {
        let share = (rate / self.low).ln() / (self.high / self.low).ln();
        (share.clamp(0.0, 1.0) * (self.width - 1) as f64).round() as usize
    }

    fn shows(&self, rate: f64) -> bool {
        (self.low..=self.high).contains(&rate)
    }
}

/// Three lines: the current load, the rates with one mark per trial, their labels. `None` before the first rate.
pub(crate) fn lines(view: &RunView, width: usize, palette: Palette) -> Option<[Line<'static>; 3]> {
    let window = RateRange::of(view, width)?;
    let limit = view.limits.first();
    let (lower, upper) = (limit.and_then(|l| l.lower), limit.and_then(|l| l.upper));

    let mut axis: Vec<(char, Tone)> = (0..width)
        .map(|column| {
            if lower.is_some_and(|l| column <= window.column(l)) {
                ('━', Tone::Good)
            } else if upper.is_some_and(|u| column >= window.column(u)) {
                ('━', Tone::Bad)
            } else {
                ('╌', Tone::Faint)
            }
        })
        .collect();
    for trial in &view.trials {
        let Some(rate) = trial.rate.filter(|r| window.shows(r.0)) else { continue };
        let mark = match trial.state() {
            TrialState::Good => ('●', Tone::Good),
            TrialState::Bad => ('✖', Tone::Bad),
            TrialState::Void => ('?', Tone::Warn),
            TrialState::Unjudged => continue,
        };
        axis[window.column(rate.0)] = mark;
    }

    let mut now = vec![(' ', Tone::Plain); width];
    if let Some(rate) = view.current.as_ref().and_then(|c| c.rate) {
        let column = window.column(rate.0);
        let text = match (rate.0 < window.low, rate.0 > window.high) {
            (true, _) => format!("◀ {rate}"),
            (_, true) => format!("{rate} ▶"),
            _ => format!("▼ {rate}"),
        };
        let length = text.chars().count();
        let (text, begin) = match column + length <= width {
            true => (text, column),
            false if rate.0 > window.high => (text, width.saturating_sub(length)),
            // To the left of the mark.
            false => (format!("{rate} ▼"), (column + 1).saturating_sub(length)),
        };
        write(&mut now, begin, &text, Tone::Strong);
    }

    let mut labels = vec![(' ', Tone::Plain); width];
    let high = format_rate(window.high);
    write(&mut labels, 0, &format_rate(window.low), Tone::Faint);
    write(&mut labels, width.saturating_sub(high.chars().count()), &high, Tone::Faint);
    if let Some(lower) = lower {
        // It ends at its mark, and the upper one begins at its own: no overlap.
        let text = format_rate(lower);
        write(
            &mut labels,
            (window.column(lower) + 1).saturating_sub(text.chars().count()),
            &text,
            Tone::Good,
        );
    }
    if let Some(upper) = upper {
        let text = format_rate(upper);
        let begin = window.column(upper).min(width.saturating_sub(text.chars().count()));
        write(&mut labels, begin, &text, Tone::Bad);
    }
    Some([now, axis, labels].map(|row| styled(&row, palette)))
}

fn write(row: &mut [(char, Tone)], begin: usize, text: &str, tone: Tone) {
    for (cell, letter) in row.iter_mut().skip(begin).zip(text.chars()) {
        *cell = (letter, tone);
    }
}

/// Joins neighbours of one tone into spans.
fn styled(row: &[(char, Tone)], palette: Palette) -> Line<'static> {
    row.chunk_by(|a, b| a.1 == b.1)
        .map(|run| Span::styled(run.iter().map(|(c, _)| *c).collect::<String>(), palette.style(run[0].1)))
        .collect::<Vec<_>>()
        .into()
}
