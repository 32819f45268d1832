use crate::{ParseError, number_and_unit, trim_zeros};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A part of a whole, 0 to 1; printed in percent.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Share(pub f64);

impl Share {
    /// Zero.
    pub const ZERO: Self = Self(0.0);
    /// All of it.
    pub const ONE: Self = Self(1.0);

    /// `part` of `whole`; zero if `whole` is zero.
    pub fn of(part: u64, whole: u64) -> Self {
        if whole == 0 { Self::ZERO } else { Self(part as f64 / whole as f64) }
    }

    /// To so many decimals: two make whole percent.
    #[must_use]
    pub fn rounded(self, decimals: i32) -> Self {
        let scale = 10f64.powi(decimals);
        Self((self.0 * scale).round() / scale)
    }
}

/// In percent with three significant digits: `0.05 %`, `12.5 %`, `100 %`.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.0 * 100.0;
        let decimals = match percent.abs() {
            0.0 => 0,
            p if p < 0.001 => 5,
            p if p < 0.1 => 4,
            p if p < 1.0 => 3,
            p if p < 10.0 => 2,
            _ => 1,
        };
        f.pad(&format!("{} %", trim_zeros(&format!("{percent:.decimals$}"))))
    }
}

/// `2%`, `0.1 %` or a plain fraction `0.02`.
impl FromStr for Share {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = || ParseError {
            found: text.to_owned(),
            expected: "a share such as 2%, 0.1% or 0.02, at most 100%",
        };
        let (number, unit) = number_and_unit(text).ok_or_else(error)?;
        let share = match unit {
            "%" => number / 100.0,
            "" => number,
            _ => return Err(error()),
        };
        if share > 1.0 { Err(error()) } else { Ok(Self(share)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_prints() {
        for (text, share, printed) in [
            ("2%", 0.02, "2 %"),
            ("0.1 %", 0.001, "0.1 %"),
            ("0.005%", 0.00005, "0.005 %"),
            ("1", 1.0, "100 %"),
        ] {
            let parsed: Share = text.parse().expect(text);
            assert!((parsed.0 - share).abs() < 1e-12, "{text}");
            assert_eq!(parsed.to_string(), printed);
        }
        for text in ["", "200%", "half", "-1%"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
    }
}
