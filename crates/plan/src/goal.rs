use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use units::{Nanos, ParseError, Share};

/// What the user calls good enough: how many requests may be bad, and from when an answer is late.
///
/// `zero-drop` allows none; `loss<0.1%` allows one in a thousand; `p99<50ms` allows 1 % to be later than 50 ms,
/// counted together with those that failed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// The share of due requests that may be bad.
    pub loss: Share,
    /// An answer with a longer response time is `late`, which is bad.
    pub deadline: Option<Nanos>,
}

impl Objective {
    /// Not one request may be bad.
    pub const ZERO_DROP: Self = Self { loss: Share::ZERO, deadline: None };
}

impl Default for Objective {
    fn default() -> Self {
        Self::ZERO_DROP
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.deadline {
            None if self.loss == Share::ZERO => f.write_str("zero-drop"),
            None => write!(f, "loss<{}", self.loss.to_string().replace(' ', "")),
            Some(limit) => {
                let percentile = format!("{:.4}", 100.0 - self.loss.0 * 100.0);
                let percentile = percentile.trim_end_matches('0').trim_end_matches('.');
                write!(f, "p{percentile}<{}", limit.to_string().replace(' ', ""))
            }
        }
    }
}

impl FromStr for Objective {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = || ParseError {
            found: text.to_owned(),
            expected: "a goal such as zero-drop, loss<0.1% or p99<50ms",
        };
        let text = text.trim();
        if text == "zero-drop" {
            return Ok(Self::ZERO_DROP);
        }
        let (left, right) = text.split_once('<').ok_or_else(error)?;
        let (left, right) = (left.trim(), right.trim_start_matches('=').trim());
        if left == "loss" {
            return Ok(Self { loss: right.parse().map_err(|_| error())?, deadline: None });
        }
        if left == "max" {
            let deadline = Some(right.parse().map_err(|_| error())?);
            return Ok(Self { loss: Share::ZERO, deadline });
        }
        let percentile: f64 = left.strip_prefix('p').and_then(|p| p.parse().ok()).ok_or_else(error)?;
        if !(percentile > 0.0 && percentile <= 100.0) {
            return Err(error());
        }
        // Via a rounded decimal, so that p99.9 allows 0.001 and not 0.00099999.
        let loss = Share(((100.0 - percentile) * 1e6).round() / 1e8);
        Ok(Self { loss, deadline: Some(right.parse().map_err(|_| error())?) })
    }
}

/// One condition under which the search looks for a limit: an MLRsearch goal (draft-ietf-bmwg-mlrsearch-15).
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// `nine-of-ten`, `half`, `strict` or `typical`.
    pub name: String,
    /// Goal loss ratio: a trial whose share of bad requests is above it is a bad trial.
    pub loss: Share,
    /// Goal exceed ratio: the share of trial time at a lower bound that may be bad.
    pub exceed: Share,
    /// Goal final trial duration: a trial at least this long counts in full.
    pub trial: Nanos,
    /// Goal duration sum: how much trial time decides a level.
    pub sum: Nanos,
    /// Goal width: how far apart, relative to the upper one, the two bounds may be.
    pub width: Share,
}

impl Goal {
    /// The two goals searched by default: the rate that nine of ten trials hold, and the rate that half of them hold.
    /// Their distance shows how much the target's capacity varies.
    pub fn default_goals(objective: &Objective, trial: Nanos, sum: Nanos, width: Share) -> [Self; 2] {
        let goal = |name, exceed| Self::new(name, exceed, objective, trial, sum, width);
        [goal("nine-of-ten", 0.1), goal("half", 0.5)]
    }

    /// `strict`: no trial may be bad, the literal meaning of the objective; and `typical`: half of the trials may.
    pub fn strict_goals(objective: &Objective, trial: Nanos, sum: Nanos, width: Share) -> [Self; 2] {
        let goal = |name, exceed| Self::new(name, exceed, objective, trial, sum, width);
        [goal("strict", 0.0), goal("typical", 0.5)]
    }

    fn new(name: &str, exceed: f64, objective: &Objective, trial: Nanos, sum: Nanos, width: Share) -> Self {
        Self { name: name.to_owned(), loss: objective.loss, exceed: Share(exceed), trial, sum, width }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_prints_objectives() {
        let ms = Nanos::from_millis;
        for (text, loss, deadline, printed) in [
            ("zero-drop", 0.0, None, "zero-drop"),
            ("loss<0.1%", 0.001, None, "loss<0.1%"),
            ("p99<50ms", 0.01, Some(ms(50)), "p99<50ms"),
            ("p99.9 <= 1s", 0.001, Some(ms(1000)), "p99.9<1s"),
            ("max<200ms", 0.0, Some(ms(200)), "p100<200ms"),
        ] {
            let parsed: Objective = text.parse().expect(text);
            assert_eq!(parsed, Objective { loss: Share(loss), deadline }, "{text}");
            assert_eq!(parsed.to_string(), printed);
        }
        for text in ["", "fast", "p99", "p101<5ms", "p99<soon", "loss<200%"] {
            assert!(text.parse::<Objective>().is_err(), "{text}");
        }
    }
}
