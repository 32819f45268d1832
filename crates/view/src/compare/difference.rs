//! How two runs differ in what is compared of them: by how much, and when that is a difference.

use crate::Tone;
use stats::Estimate;

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
    pub standing: Significance,
}

units::named! {
    /// What a difference means.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Significance {
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

impl Significance {
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
    pub(super) fn from_ratio(harm: Estimate, noise: f64) -> Self {
        let (least, most) = (1.0 / (1.0 + noise), 1.0 + noise);
        match harm {
            _ if harm.low > most => Self::Worse,
            _ if harm.high < least => Self::Better,
            _ if harm.low >= least && harm.high <= most => Self::Same,
            _ => Self::Undecided,
        }
    }

    /// Of by how much more is lost. Where about as much was, the interval's width says only how many requests there were.
    pub(super) fn from_loss_difference(more: Estimate) -> Self {
        match more {
            _ if more.low > LOST_FLOOR => Self::Worse,
            _ if more.high < -LOST_FLOOR => Self::Better,
            _ if more.value.abs() <= LOST_FLOOR => Self::Same,
            _ => Self::Undecided,
        }
    }
}

/// By how much a factor is more than one: in whole percents, below one of them with a decimal.
pub(crate) fn format_change(factor: f64) -> String {
    let more = (factor - 1.0) * 100.0;
    let more = if more.abs() < 0.95 { (more * 10.0).round() / 10.0 } else { more.round() };
    let sign = match more {
        0.0 => "",
        more if more < 0.0 => "−",
        _ => "+",
    };
    format!("{sign}{} %", more.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_one_only_beyond_the_noise() {
        let of = |low, value, high| Significance::from_ratio(Estimate { value, low, high }, 0.05);
        assert_eq!(of(1.5, 1.8, 2.1), Significance::Worse);
        assert_eq!(of(0.5, 0.6, 0.7), Significance::Better);
        assert_eq!(of(0.97, 1.0, 1.03), Significance::Same);
        assert_eq!(of(1.02, 1.1, 1.2), Significance::Undecided, "perhaps by no more than the noise");
        assert_eq!(of(0.5, 1.0, 2.0), Significance::Undecided);
        assert_eq!(of(1.5, 1.8, f64::INFINITY), Significance::Worse, "at least so much");
    }

    #[test]
    fn about_as_much_lost_is_the_same_however_few_there_were() {
        let of = |low, value, high| Significance::from_loss_difference(Estimate { value, low, high });
        assert_eq!(of(-0.01, 0.0, 0.01), Significance::Same);
        assert_eq!(of(0.002, 0.01, 0.02), Significance::Worse);
        assert_eq!(of(-0.02, -0.01, -0.002), Significance::Better);
        assert_eq!(of(-0.001, 0.01, 0.02), Significance::Undecided);
    }
}
