use crate::{Nanos, ParseError, grouped, number_and_unit, trim_zeros};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Mul;
use std::str::FromStr;

/// Events per second. Never negative, never infinite.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(pub f64);

impl Rate {
    /// Zero.
    pub const ZERO: Self = Self(0.0);

    /// `count` events in `time`; zero when no time has passed.
    pub fn of(count: u64, time: Nanos) -> Self {
        if time == Nanos::ZERO { Self::ZERO } else { Self(count as f64 / time.as_secs_f64()) }
    }
    /// Events per second.
    pub fn per_second(self) -> f64 {
        self.0
    }
    /// The mean time between two events; forever at rate zero.
    pub fn mean_interval(self) -> Nanos {
        if self.0 > 0.0 { Nanos::from_secs_f64(1.0 / self.0) } else { Nanos::MAX }
    }
    /// The mean number of events in `time`.
    pub fn expected_count(self, time: Nanos) -> f64 {
        self.0 * time.as_secs_f64()
    }
}

impl Mul<f64> for Rate {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self(self.0 * factor)
    }
}

/// `1,980/s`; below 100 with enough decimals for three digits.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = if self.0 >= 99.95 {
            format!("{}/s", grouped(self.0.round() as u64))
        } else {
            let decimals = match self.0.abs() {
                rate if rate >= 9.995 => 1,
                rate if rate >= 0.1 => 2,
                0.0 => 0,
                // Three significant digits.
                rate => 2 + (-rate.log10().floor()).min(12.0) as usize,
            };
            format!("{}/s", trim_zeros(&format!("{:.decimals$}", self.0)))
        };
        f.pad(&text)
    }
}

/// `1000`, `1,000/s`, `2.5k/s`, `90/m`, `10/h`.
impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = || ParseError {
            found: text.to_owned(),
            expected: "a rate such as 1000, 1000/s, 2.5k/s or 90/min (per second if nothing is said)",
        };
        let (number, unit) = number_and_unit(text).ok_or_else(error)?;
        let (factor, unit) = match unit.chars().next() {
            Some('k') => (1e3, &unit[1..]),
            Some('M') => (1e6, &unit[1..]),
            _ => (1.0, unit),
        };
        let per = match unit {
            "" | "/s" | "rps" => 1.0,
            "/m" | "/min" => 60.0,
            "/h" => 3600.0,
            _ => return Err(error()),
        };
        Ok(Self(number * factor / per))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_prints() {
        for (text, rate, printed) in [
            ("1000", 1000.0, "1,000/s"),
            ("1,980/s", 1980.0, "1,980/s"),
            ("2.5k", 2500.0, "2,500/s"),
            ("50M/s", 50e6, "50,000,000/s"),
            ("90/min", 1.5, "1.5/s"),
            ("0", 0.0, "0/s"),
            ("12.34", 12.34, "12.3/s"),
            ("1/min", 1.0 / 60.0, "0.0167/s"),
            ("1/h", 1.0 / 3600.0, "0.000278/s"),
        ] {
            let parsed: Rate = text.parse().expect(text);
            assert!((parsed.0 - rate).abs() < 1e-9, "{text}");
            assert_eq!(parsed.to_string(), printed);
        }
        for text in ["", "fast", "-5", "10/fortnight"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }
}
