//! How two runs differ in what is compared of them: by how much, and when that is a difference.

use super::measure::{Figure, Measure};
use crate::Tone;
use crate::words::number;
use record::Unit;
use stats::Estimate;
use units::Share;

/// What differs by a smaller share is the same, where nobody says otherwise.
pub const NOISE: f64 = 0.05;
/// A share of lost arrivals that differs by less matters to nobody who compares.
const LOST_FLOOR: f64 = 0.001;

/// How a run differs from the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// What was found; of shares by how much it is more, of all else how many times it is as much.
    pub by: f64,
    /// With its interval; none if it has none.
    pub interval: Option<Estimate>,
    /// What that means.
    pub standing: Standing,
}

units::named! {
    /// What a difference means.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Standing {
        /// Better, by more than the noise.
        Better = "better",
        /// Worse, by more than the noise.
        Worse = "worse",
        /// No difference beyond the noise.
        Same = "same",
        /// The interval holds both.
        Undecided = "undecided",
        /// There is no interval, so nothing follows from it.
        Unknown = "unknown",
    }
}

impl Standing {
    /// How it is to be seen.
    pub fn tone(self) -> Tone {
        match self {
            Self::Better => Tone::Good,
            Self::Worse => Tone::Bad,
            Self::Same => Tone::Plain,
            Self::Undecided => Tone::Warn,
            Self::Unknown => Tone::Faint,
        }
    }

    /// Of how many times as bad something is: worse only if all of the interval is beyond the noise, the same only if all of it is within.
    fn of(harm: Estimate, noise: f64) -> Self {
        let (least, most) = (1.0 / (1.0 + noise), 1.0 + noise);
        match harm {
            _ if harm.low > most => Self::Worse,
            _ if harm.high < least => Self::Better,
            _ if harm.low >= least && harm.high <= most => Self::Same,
            _ => Self::Undecided,
        }
    }

    /// Of by how much more is lost. Where about as much was, the interval's width says only how many requests there were.
    fn of_lost(more: Estimate) -> Self {
        match more {
            _ if more.low > LOST_FLOOR => Self::Worse,
            _ if more.high < -LOST_FLOOR => Self::Better,
            _ if more.value.abs() <= LOST_FLOOR => Self::Same,
            _ => Self::Undecided,
        }
    }
}

/// How a limit differs from an earlier one: what a comparison of the two runs says of their limits.
pub(crate) fn limits_differ(first: Figure, other: Figure) -> Option<Difference> {
    let limits = Measure {
        id: "capacity",
        title: String::new(),
        unit: Unit::PerSecond,
        less_is_better: false,
        decides: true,
        figures: vec![Some(first), Some(other)],
        differences: Vec::new(),
    };
    limits.difference(1, NOISE)
}

/// By how much a factor is more than one: in whole percents, below one of them with a decimal.
pub(crate) fn changed_by(factor: f64) -> String {
    let more = (factor - 1.0) * 100.0;
    let more = if more.abs() < 0.95 { (more * 10.0).round() / 10.0 } else { more.round() };
    let sign = match more {
        0.0 => "",
        more if more < 0.0 => "−",
        _ => "+",
    };
    format!("{sign}{} %", more.abs())
}

impl Measure {
    /// A run's against the first one's.
    pub(super) fn difference(&self, run: usize, noise: f64) -> Option<Difference> {
        let (first, other) = (self.figures[0]?, self.figures[run]?);
        if run == 0 {
            return None;
        }
        let both = first.interval.zip(other.interval);
        if self.id == "goal" {
            let standing = match other.value - first.value {
                0.0 => Standing::Same,
                more if more > 0.0 => Standing::Better,
                _ => Standing::Worse,
            };
            return Some(Difference { by: other.value - first.value, interval: None, standing });
        }
        if self.unit == Unit::Share {
            let interval = both.map(|(first, other)| other.minus(first));
            let standing = interval.map_or(Standing::Unknown, Standing::of_lost);
            return Some(Difference { by: other.value - first.value, interval, standing });
        }
        if first.value <= 0.0 || other.value <= 0.0 {
            return Some(Difference { by: f64::NAN, interval: None, standing: Standing::Unknown });
        }
        let interval = both.and_then(|(first, other)| match self.id {
            // Bounds are no intervals that miss now and then: the true limits are between them, so all quotients are possible.
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
        let standing = interval.map_or(Standing::Unknown, |ratio| Standing::of(harm(ratio), noise));
        Some(Difference { by: other.value / first.value, interval, standing })
    }

    /// Whether its differences are factors.
    pub(super) fn is_multiple(&self) -> bool {
        self.unit != Unit::Share && self.id != "goal"
    }

    /// Whether a run's figure, and the ends of its interval, are near enough to the first one's to be told in percents.
    pub(super) fn is_near(&self, run: usize) -> bool {
        self.differences[run].filter(|difference| self.is_multiple() && difference.by.is_finite()).is_none_or(
            |difference| {
                let ends = difference.interval.iter().flat_map(|of| [of.low, of.high]);
                ends.chain([difference.by]).all(|factor| (0.5..2.0).contains(&factor))
            },
        )
    }

    /// A run's figure against the first one's, and what that makes, with how sure that is:
    /// `limit 1,800/s against 2,200/s (−18 %; 95 % interval −20 % to −16 %)`, or without: `response p99 41 ms against 2 ms (×20)`. In percents or
    /// as factors: all in a sentence in one form.
    pub(super) fn change_words(&self, run: usize, sure: bool, percents: bool) -> String {
        let Some((difference, (first, other))) =
            self.differences[run].zip(self.figures[0].zip(self.figures[run]))
        else {
            return self.title.clone();
        };
        let title = if self.id == "capacity" { "limit" } else { self.title.as_str() };
        if self.id == "goal" {
            return format!("{title} {}", self.difference_words(&difference)).trim().to_owned();
        }
        let [other, first] = [other, first].map(|figure| self.words(figure.value));
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
            _ if percents => changed_by(factor),
            _ => format!("×{}", number(factor)),
        };
        match interval.filter(|_| sure) {
            Some(of) => {
                format!("{against} ({}; 95 % interval {} to {})", words(by), words(of.low), words(of.high))
            }
            None => format!("{against} ({})", words(by)),
        }
    }

    /// What a difference means, as a reader sees it: nothing where nothing follows, and no judgement of what only explains.
    pub(super) fn means(&self, difference: &Difference) -> (&'static str, Tone) {
        match difference.standing {
            Standing::Unknown => ("", Tone::Faint),
            _ if !self.decides => ("not judged", Tone::Faint),
            standing => (standing.name(), standing.tone()),
        }
    }

    /// By how much a run differs, in words: `×1.8 (1.5–2.1)`, `+0.4 % (0.1 %–0.7 %)`.
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
        let is_share = self.unit == Unit::Share;
        let one = |value: f64| match value {
            _ if value.is_infinite() => "?".to_owned(),
            _ if is_share => {
                let size = Share((value.abs() * 1e5).round() / 1e5);
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
            _ => number(value),
        };
        let by = if is_share { one(difference.by) } else { format!("×{}", one(difference.by)) };
        let ends = difference.interval.map(|interval| (one(interval.low), one(interval.high)));
        match ends {
            // One that is narrower than the digits tells nothing.
            Some((low, high)) if low != high => format!("{by} ({low}–{high})"),
            _ => by,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_one_only_beyond_the_noise() {
        let of = |low, value, high| Standing::of(Estimate { value, low, high }, 0.05);
        assert_eq!(of(1.5, 1.8, 2.1), Standing::Worse);
        assert_eq!(of(0.5, 0.6, 0.7), Standing::Better);
        assert_eq!(of(0.97, 1.0, 1.03), Standing::Same);
        assert_eq!(of(1.02, 1.1, 1.2), Standing::Undecided, "perhaps by no more than the noise");
        assert_eq!(of(0.5, 1.0, 2.0), Standing::Undecided);
        assert_eq!(of(1.5, 1.8, f64::INFINITY), Standing::Worse, "at least so much");
    }

    #[test]
    fn about_as_much_lost_is_the_same_however_few_there_were() {
        let of = |low, value, high| Standing::of_lost(Estimate { value, low, high });
        assert_eq!(of(-0.01, 0.0, 0.01), Standing::Same);
        assert_eq!(of(0.002, 0.01, 0.02), Standing::Worse);
        assert_eq!(of(-0.02, -0.01, -0.002), Standing::Better);
        assert_eq!(of(-0.001, 0.01, 0.02), Standing::Undecided);
    }
}
