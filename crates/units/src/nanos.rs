use crate::{ParseError, number_and_unit, trim_zeros};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

/// A length of time, or a moment counted from the start of a trial, in nanoseconds.
///
/// Holds up to 584 years. Subtraction saturates at zero: a moment before the start is the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// The largest value; as a moment, never.
    pub const MAX: Self = Self(u64::MAX);

    /// From whole microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us.saturating_mul(1_000))
    }
    /// From whole milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }
    /// From whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000_000))
    }
    /// From seconds, rounded to the nearest nanosecond. Negative values and NaN become zero; infinity and what is too long become
    /// [`Nanos::MAX`].
    pub fn from_secs_f64(s: f64) -> Self {
        Self((s * 1e9).round().max(0.0) as u64)
    }
    /// In seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// In milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// In microseconds.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }
    /// As the standard library's type.
    pub const fn to_duration(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0)
    }
}

impl From<std::time::Duration> for Nanos {
    fn from(d: std::time::Duration) -> Self {
        Self(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self(self.0.saturating_add(o.0))
    }
}
impl AddAssign for Nanos {
    fn add_assign(&mut self, o: Self) {
        *self = *self + o;
    }
}
impl Sub for Nanos {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        Self(self.0.saturating_sub(o.0))
    }
}
impl Mul<u64> for Nanos {
    type Output = Self;
    fn mul(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}
impl Div<u64> for Nanos {
    type Output = Self;
    fn div(self, n: u64) -> Self {
        Self(self.0 / n)
    }
}

/// Three significant digits in the most readable unit: `950 ns`, `1.25 ms`, `12.3 s`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        let (value, unit) = match self.0 {
            0..=999 => return f.pad(&format!("{} ns", self.0)),
            1_000..=999_499 => (ns / 1e3, "µs"),
            999_500..=999_499_999 => (ns / 1e6, "ms"),
            999_500_000..=119_999_999_999 => (ns / 1e9, "s"),
            _ => {
                let s = self.0.saturating_add(500_000_000) / 1_000_000_000;
                let (h, m, s) = (s / 3600, s / 60 % 60, s % 60);
                let text = match (h, m, s) {
                    (0, m, 0) => format!("{m} min"),
                    (0, m, s) => format!("{m} min {s} s"),
                    (h, 0, _) => format!("{h} h"),
                    (h, m, _) => format!("{h} h {m} min"),
                };
                return f.pad(&text);
            }
        };
        let decimals = if value >= 99.95 {
            0
        } else if value >= 9.995 {
            1
        } else {
            2
        };
        f.pad(&format!("{} {unit}", trim_zeros(&format!("{value:.decimals$}"))))
    }
}

const EXPECTED: &str = "a duration such as 500us, 250ms, 30s, 1m30s or 2h";

/// One or more numbers with a unit each, largest first: `1h30m`, `1.5s`, `200ms`, `50us`.
impl FromStr for Nanos {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = || ParseError { found: text.to_owned(), expected: EXPECTED };
        let mut rest = text.trim();
        if rest == "0" {
            return Ok(Self::ZERO);
        }
        let (mut total, mut last) = (0.0, f64::INFINITY);
        while !rest.is_empty() {
            let (number, tail) = number_and_unit(rest).ok_or_else(error)?;
            let end = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
            let unit = match tail[..end].trim() {
                "ns" => 1.0,
                "us" | "µs" => 1e3,
                "ms" => 1e6,
                "s" => 1e9,
                "m" | "min" => 60e9,
                "h" => 3600e9,
                _ => return Err(error()),
            };
            if unit >= last {
                return Err(error());
            }
            last = unit;
            total += number * unit;
            rest = &tail[end..];
        }
        if last.is_infinite() || total > 1e18 {
            return Err(error());
        }
        Ok(Self(total.round() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_what_people_type() {
        for (text, ns) in [
            ("500us", 500_000),
            ("250ms", 250_000_000),
            ("1.5s", 1_500_000_000),
            ("1m30s", 90_000_000_000),
            ("2h", 7_200_000_000_000),
            ("0", 0),
            ("1 min", 60_000_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Nanos(ns)), "{text}");
        }
        for text in ["", "10", "s", "1s1m", "5 parsecs", "-1s", "1e9s", "99999999999h"] {
            assert!(text.parse::<Nanos>().is_err(), "{text}");
        }
    }

    /// The longest time could not be printed: rounding it to seconds overflowed.
    #[test]
    fn the_ends_of_the_scale_hold() {
        for (seconds, expected) in [
            (f64::INFINITY, Nanos::MAX),
            (f64::MAX, Nanos::MAX),
            (1e300, Nanos::MAX),
            (f64::NEG_INFINITY, Nanos::ZERO),
            (-1.0, Nanos::ZERO),
            (-0.0, Nanos::ZERO),
            (f64::NAN, Nanos::ZERO),
            (4e-10, Nanos::ZERO),
            (6e-10, Nanos(1)),
        ] {
            assert_eq!(Nanos::from_secs_f64(seconds), expected, "{seconds}");
        }
        for most in [Nanos::from_secs(u64::MAX), Nanos::from_millis(u64::MAX), Nanos::from_micros(u64::MAX)] {
            assert_eq!(most, Nanos::MAX);
        }
        assert_eq!(Nanos::MAX.to_string(), "5124095 h 34 min");
        assert_eq!(
            (Nanos::MAX + Nanos(1), Nanos::MAX * 2, Nanos(1) - Nanos(2)),
            (Nanos::MAX, Nanos::MAX, Nanos::ZERO)
        );
    }

    #[test]
    fn prints_three_digits() {
        for (ns, text) in [
            (0, "0 ns"),
            (950, "950 ns"),
            (1_254, "1.25 µs"),
            (999_600, "1 ms"),
            (12_340_000, "12.3 ms"),
            (1_000_000_000, "1 s"),
            (90_000_000_000, "90 s"),
            (150_000_000_000, "2 min 30 s"),
            (3_600_000_000_000, "1 h"),
        ] {
            assert_eq!(Nanos(ns).to_string(), text);
        }
    }
}
