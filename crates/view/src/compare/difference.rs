//! How much two runs differ in a measure, and when that is significant.

use crate::Tone;
use stats::Estimate;

/// Default noise: a smaller relative difference counts as the same.
pub const NOISE: f64 = 0.05;
/// Smaller differences in loss do not matter.
const LOSS_FLOOR: f64 = 0.001;

/// How a run differs from the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The estimate: a difference for shares, a ratio for all else.
    pub by: f64,
    /// Its interval, if known.
    pub interval: Option<Estimate>,
    /// Its significance.
    pub significance: Significance,
}

units::named! {
    /// The significance of a difference.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Significance {
        /// Better, by more than the noise.
        Better = "better",
        /// Worse, by more than the noise.
        Worse = "worse",
        /// No difference beyond the noise.
        Same = "same",
        /// The interval allows for both.
        Undecided = "undecided",
        /// Without an interval nothing follows.
        Unknown = "unknown",
    }
}

impl Significance {
    /// The tone it is shown in.
    pub fn tone(self) -> Tone {
        match self {
            Self::Better => Tone::Good,
            Self::Worse => Tone::Bad,
            Self::Same => Tone::Plain,
            Self::Undecided => Tone::Warn,
            Self::Unknown => Tone::Faint,
        }
    }

    /// From a ratio of harm: worse only if the whole interval is beyond the noise, the same only if all of it is within.
    pub(super) fn from_ratio(harm: Estimate, noise: f64) -> Self {
        let (least, most) = (1.0 / (1.0 + noise), 1.0 + noise);
        match harm {
            _ if harm.low > most => Self::Worse,
            _ if harm.high < least => Self::Better,
            _ if harm.low >= least && harm.high <= most => Self::Same,
            _ => Self::Undecided,
        }
    }

    /// From a difference of loss. If the loss is about equal, the interval's width only reflects the number of requests.
    pub(super) fn from_loss_difference(more: Estimate) -> Self {
        match more {
            _ if more.low > LOSS_FLOOR => Self::Worse,
            _ if more.high < -LOSS_FLOOR => Self::Better,
            _ if more.value.abs() <= LOSS_FLOOR => Self::Same,
            _ => Self::Undecided,
        }
    }
}

/// A factor as a relative change: whole percent, with one decimal below 1 %.
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
