//! A load's seconds and a search's trials as a few lines of text.

use crate::wording::format_rate;
use crate::{LoadSecond, RunView, Text, Tone, Trial, TrialState};
use units::{Nanos, Rate};

/// Fewer seconds make no curve.
const MIN_SECONDS: usize = 5;
const WIDTH: usize = 60;

/// Characters for curves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Glyphs {
    /// Unicode block elements.
    #[default]
    Blocks,
    /// ASCII only.
    Plain,
}

impl Glyphs {
    /// From zero to the maximum.
    fn levels(self) -> &'static [char] {
        match self {
            Self::Blocks => &['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
            Self::Plain => &['_', '.', ':', '-', '=', '+', '*', '#'],
        }
    }

    /// A trial's mark, by [`TrialState::tone`].
    pub(crate) fn mark(self, tone: Tone) -> char {
        match (self, tone) {
            (Self::Blocks, Tone::Good) => '●',
            (Self::Blocks, Tone::Bad) => '✖',
            (Self::Plain, Tone::Good) => 'o',
            (Self::Plain, Tone::Bad) => 'x',
            (_, Tone::Warn) => '?',
            (Self::Blocks, _) => '·',
            (Self::Plain, _) => '.',
        }
    }
}

/// At most eight lines: rates, response times and outstanding requests over the time under load, and a search's trials. Empty with fewer
/// than five seconds.
pub fn sparklines(view: &RunView, glyphs: Glyphs) -> Vec<Text> {
    let seconds: Vec<&LoadSecond> = view.seconds.iter().filter(|second| second.is_whole()).collect();
    if seconds.len() < MIN_SECONDS {
        return Vec::new();
    }
    let time = seconds.iter().fold(Nanos::ZERO, |sum, second| sum + second.elapsed);
    let columns = seconds.len().min(WIDTH);
    let each = if columns < seconds.len() {
        format!(", {} a column", Nanos(time.0 / columns as u64))
    } else {
        String::new()
    };
    let curve = |name: &str, of: &dyn Fn(&LoadSecond) -> Option<f64>, words: &dyn Fn(f64) -> String| {
        let values: Vec<Option<f64>> = seconds.iter().map(|second| of(second)).collect();
        drawn(name, &values, glyphs, words)
    };
    let rate = |value: f64| Rate(value).to_string();
    let mut lines = vec![
        Text::empty(),
        Text::new(Tone::Faint, format!("  over {time} under load{each}; each curve from 0 to its largest")),
    ];
    let offered: f64 = seconds.iter().map(|second| second.offered.0).sum();
    let achieved: f64 = seconds.iter().map(|second| second.achieved.0).sum();
    if (offered - achieved).abs() > offered / 100.0 {
        lines.extend(curve("offered", &|second| Some(second.offered.0), &rate));
    }
    lines.extend(curve("achieved", &|second| Some(second.achieved.0), &rate));
    let p99 = |second: &LoadSecond| second.response_p99.map(|time| time.0 as f64);
    lines.extend(curve("p99", &p99, &|value| Nanos(value as u64).to_string()));
    let waiting = |second: &LoadSecond| Some((second.in_flight + second.backlog) as f64);
    lines.extend(curve("waiting", &waiting, &format_rate));
    lines.extend(trial_strip(&view.trials, glyphs, WIDTH));
    lines
}

/// A curve with its maximum; `None` if nothing is above 0.
fn drawn(name: &str, values: &[Option<f64>], glyphs: Glyphs, words: &dyn Fn(f64) -> String) -> Option<Text> {
    let most = values.iter().flatten().copied().fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let levels = glyphs.levels();
    let columns = values.len().min(WIDTH);
    let letters = (0..columns).map(|column| {
        // Each column shows the maximum of its seconds: a single bad one must not disappear.
        let of_it = &values[column * values.len() / columns..(column + 1) * values.len() / columns];
        match of_it.iter().flatten().copied().reduce(f64::max) {
            None => ' ',
            Some(value) => {
                levels[((value / most * levels.len() as f64).ceil() as usize).clamp(1, levels.len()) - 1]
            }
        }
    });
    let curve: String = letters.collect();
    Some(
        Text::plain(format!("  {name:<8}  "))
            .with_plain(curve)
            .with_span(Tone::Faint, format!("  {}", words(most))),
    )
}

/// One mark per trial of a search, in order; `None` for a single load. Shows the last `most`.
pub fn trial_strip(trials: &[Trial], glyphs: Glyphs, most: usize) -> Option<Text> {
    if trials.len() < 2 {
        return None;
    }
    let left_out = trials.len().saturating_sub(most);
    let mut line = Text::plain(format!("  {:<8}  ", "trials"));
    for trial in &trials[left_out..] {
        let tone = trial.state().tone();
        line = line.with_span(tone, glyphs.mark(tone));
    }
    let of = |state| trials.iter().filter(|trial| trial.state() == state).count();
    let mut words = format!("  {} good, {} bad", of(TrialState::Good), of(TrialState::Bad));
    if of(TrialState::Void) > 0 {
        words += &format!(", {} void", of(TrialState::Void));
    }
    if left_out > 0 {
        words += &format!("; the last {most}");
    }
    Some(line.with_span(Tone::Faint, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(values: &[Option<f64>], glyphs: Glyphs) -> Option<String> {
        drawn("p99", values, glyphs, &|most| format!("{most}")).map(|line| line.to_string())
    }

    #[test]
    fn a_curve_goes_from_nothing_to_its_largest() {
        let values = [0.0, 1.0, 2.0, 4.0, 8.0].map(Some);
        assert_eq!(text(&values, Glyphs::Blocks).as_deref(), Some("  p99       ▁▁▂▄█  8"));
        assert_eq!(text(&values, Glyphs::Plain).as_deref(), Some("  p99       __.-#  8"));
        assert_eq!(text(&[Some(1.0), None, Some(1.0)], Glyphs::Plain).as_deref(), Some("  p99       # #  1"));
        assert_eq!(text(&[Some(0.0), None], Glyphs::Plain), None);
        assert_eq!(text(&[], Glyphs::Plain), None);
    }

    #[test]
    fn a_long_load_keeps_its_worst_second() {
        let mut values = vec![Some(1.0); 1800];
        values[777] = Some(1000.0);
        let drawn = text(&values, Glyphs::Plain).expect("it has a largest");
        assert_eq!(drawn.matches('#').count(), 1, "{drawn}");
        assert_eq!(drawn.split_whitespace().nth(1).map(str::len), Some(WIDTH), "{drawn}");
    }
}
