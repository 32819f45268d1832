//! A compared measure: each run's figure, their differences, and both in words.

use super::difference::{Difference, Significance, format_change};
use crate::Tone;
use crate::figure_tables::value;
use crate::wording::format_rate;
use record::FigureUnit;
use stats::Estimate;
use units::Share;

/// A measure that each run may have a figure for.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedMeasure {
    /// Its id in exports: `capacity`, `response_p99`, …
    pub id: &'static str,
    /// Its title.
    pub title: String,
    /// The unit of its figures.
    pub unit: FigureUnit,
    /// Whether less is better.
    pub less_is_better: bool,
    /// Whether it decides which run is worse; otherwise it only explains.
    pub decides: bool,
    /// One per run; `None` where not measured.
    pub figures: Vec<Option<RunFigure>>,
    /// One per run, against the first; `None` for the first itself and where a figure is missing.
    pub differences: Vec<Option<Difference>>,
}

/// A run's figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunFigure {
    /// The measured value.
    pub value: f64,
    /// Its interval; `None` if its uncertainty is unknown.
    pub interval: Option<Estimate>,
}

impl RunFigure {
    pub(super) fn with_interval(interval: Estimate) -> Self {
        Self { value: interval.value, interval: Some(interval) }
    }

    pub(super) fn without_interval(value: f64) -> Self {
        Self { value, interval: None }
    }
}

impl ComparedMeasure {
    /// Formats a figure.
    pub fn format_value(&self, figure: f64) -> String {
        match self.id {
            "goal" => (if figure > 0.5 { "met" } else { "not met" }).to_owned(),
            _ if figure.is_infinite() => "?".to_owned(),
            _ => value(self.unit, figure),
        }
    }

    /// Formats a figure's interval; empty if there is none worth showing.
    pub fn interval_words(&self, figure: &RunFigure) -> String {
        match figure.interval {
            Some(interval) if interval.low < interval.high => {
                format!("{}–{}", self.format_value(interval.low), self.format_value(interval.high))
            }
            _ => String::new(),
        }
    }

    /// Formats a run's figure, with its interval if any.
    pub(super) fn figure_words(&self, run: usize) -> String {
        let Some(figure) = self.figures[run] else { return "not measured".to_owned() };
        match self.interval_words(&figure) {
            interval if interval.is_empty() => self.format_value(figure.value),
            interval => format!("{} ({interval})", self.format_value(figure.value)),
        }
    }

    /// A run's difference from the first.
    pub(super) fn difference(&self, run: usize, noise: f64) -> Option<Difference> {
        let (first, other) = (self.figures[0]?, self.figures[run]?);
        if run == 0 {
            return None;
        }
        let both = first.interval.zip(other.interval);
        if self.id == "goal" {
            let significance = match other.value - first.value {
                0.0 => Significance::Same,
                more if more > 0.0 => Significance::Better,
                _ => Significance::Worse,
            };
            return Some(Difference { by: other.value - first.value, interval: None, significance });
        }
        if self.unit == FigureUnit::Share {
            let interval = both.map(|(first, other)| other.minus(first));
            let significance = interval.map_or(Significance::Unknown, Significance::from_loss_difference);
            return Some(Difference { by: other.value - first.value, interval, significance });
        }
        if first.value <= 0.0 || other.value <= 0.0 {
            return Some(Difference { by: f64::NAN, interval: None, significance: Significance::Unknown });
        }
        let interval = both.and_then(|(first, other)| match self.id {
            // Bounds never miss, unlike intervals: the true limits lie between them, so every quotient is possible.
            "capacity" => Some(Estimate {
                value: other.value / first.value,
                low: other.low / first.high,
                high: other.high / first.low,
            }),
            _ => other.over(first),
        });
        let harm = |ratio: Estimate| {
            let inverse = Estimate { value: 1.0 / ratio.value, low: 1.0 / ratio.high, high: 1.0 / ratio.low };
            if self.less_is_better { ratio } else { inverse }
        };
        let significance =
            interval.map_or(Significance::Unknown, |ratio| Significance::from_ratio(harm(ratio), noise));
        Some(Difference { by: other.value / first.value, interval, significance })
    }

    /// Whether its differences are ratios.
    pub(super) fn is_multiple(&self) -> bool {
        self.unit != FigureUnit::Share && self.id != "goal"
    }

    /// Whether a run's figure and its interval are near enough to the first's to be given in percent.
    pub(super) fn is_near(&self, run: usize) -> bool {
        self.differences[run].filter(|difference| self.is_multiple() && difference.by.is_finite()).is_none_or(
            |difference| {
                let ends = difference.interval.iter().flat_map(|of| [of.low, of.high]);
                ends.chain([difference.by]).all(|factor| (0.5..2.0).contains(&factor))
            },
        )
    }

    /// A run's figure against the first's, with the change and its confidence:
    /// `limit 1,800/s against 2,200/s (−18 %; 95 % interval −20 % to −16 %)`, or without: `response p99 41 ms against 2 ms (×20)`. A sentence
    /// uses either percent or factors throughout.
    pub(super) fn change_words(&self, run: usize, sure: bool, percents: bool) -> String {
        let Some((difference, (first, other))) =
            self.differences[run].zip(self.figures[0].zip(self.figures[run]))
        else {
            return self.title.clone();
        };
        let title = if self.id == "capacity" { "limit" } else { self.title.trim_start_matches("response ") };
        if self.id == "goal" {
            return format!("{title} {}", self.difference_words(&difference)).trim().to_owned();
        }
        let [other, first] = [other, first].map(|figure| self.format_value(figure.value));
        let against = format!("{title} {other} against {first}");
        let Difference { by, interval, .. } = difference;
        if !by.is_finite() {
            return against;
        }
        if !self.is_multiple() {
            return format!("{against}, {}", self.difference_words(&difference));
        }
        let words = |factor: f64| match factor {
            _ if factor.is_infinite() => "?".to_owned(),
            _ if percents => format_change(factor),
            _ => format!("×{}", format_rate(factor)),
        };
        let ends = interval.filter(|_| sure).map(|of| (words(of.low), words(of.high)));
        match ends.filter(|(low, high)| low != high) {
            Some((low, high)) => format!("{against} ({}; 95 % interval {low} to {high})", words(by)),
            None => format!("{against} ({})", words(by)),
        }
    }

    /// What a difference means to a reader: empty where nothing follows; no judgement for measures that only explain.
    pub(super) fn significance_words(&self, difference: &Difference) -> (&'static str, Tone) {
        match difference.significance {
            Significance::Unknown => ("", Tone::Faint),
            _ if !self.decides => ("not judged", Tone::Faint),
            standing => (standing.name(), standing.tone()),
        }
    }

    /// Formats a difference: `×1.8 (1.5–2.1)`, `+0.4 % (0.1 %–0.7 %)`.
    pub fn difference_words(&self, difference: &Difference) -> String {
        if self.id == "goal" {
            return match difference.by {
                less if less < 0.0 => "no longer met".to_owned(),
                more if more > 0.0 => "now met".to_owned(),
                _ => String::new(),
            };
        }
        if !difference.by.is_finite() {
            return String::new();
        }
        let is_share = self.unit == FigureUnit::Share;
        let one = |value: f64| match value {
            _ if value.is_infinite() => "?".to_owned(),
            _ if is_share => {
                let size = Share(value.abs()).rounded(5);
                format!(
                    "{}{size}",
                    if size.0 == 0.0 {
                        ""
                    } else if value < 0.0 {
                        "−"
                    } else {
                        "+"
                    }
                )
            }
            _ => format_rate(value),
        };
        let by = if is_share { one(difference.by) } else { format!("×{}", one(difference.by)) };
        let ends = difference.interval.map(|interval| (one(interval.low), one(interval.high)));
        match ends {
            // An interval narrower than the digits shown says nothing.
            Some((low, high)) if low != high => format!("{by} ({low}–{high})"),
            _ => by,
        }
    }
}
