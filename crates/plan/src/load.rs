use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use units::{Nanos, ParseError, Rate, Share};

/// What `torment run` offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Load {
    /// Arrivals by a schedule, whether or not the target keeps up.
    Open {
        /// One after the other.
        stages: Vec<Stage>,
        /// How arrivals are spaced.
        arrivals: Arrivals,
    },
    /// Each connection sends its next request when the last is answered; it cannot show a limit, since a slow target
    /// slows the load.
    Closed {
        /// Requests in flight at all times.
        connections: u32,
        /// Ends after this many requests,
        requests: Option<u64>,
        /// or after this long, whichever comes first.
        duration: Option<Nanos>,
    },
}

/// The rate changes linearly from where the last stage ended (the first starts at `from`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// How long it lasts.
    pub duration: Nanos,
    /// Rate at its start.
    pub from: Rate,
    /// Rate at its end.
    pub to: Rate,
}

units::named! {
    /// How arrivals are spaced.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub enum Arrivals {
        /// Evenly spaced: the limit is defined by these.
        #[default]
        Even = "even",
        /// At random and independent of each other, as many users make them.
        Poisson = "poisson",
    }
}

/// What `torment find` tries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchPlan {
    /// Lowest rate, where the climb starts.
    pub from: Rate,
    /// Highest rate.
    pub max: Rate,
    /// How far apart the bounds may be, relative to the upper one.
    pub width: Share,
    /// How long a full trial lasts.
    pub trial: Nanos,
    /// How much trial time decides a rate.
    pub sum: Nanos,
    /// No trial may be bad at a rate said to hold.
    pub strict: bool,
    /// The search ends after this long with what it has.
    pub budget: Option<Nanos>,
    /// How arrivals are spaced.
    pub arrivals: Arrivals,
}

impl Default for SearchPlan {
    fn default() -> Self {
        Self {
            from: Rate(10.0),
            max: Rate(1_000_000.0),
            width: Share(0.02),
            trial: Nanos::from_secs(10),
            sum: Nanos::from_secs(30),
            strict: false,
            budget: None,
            arrivals: Arrivals::Even,
        }
    }
}

impl SearchPlan {
    /// `--careful`: the article's hold of 60 s, and half the width.
    pub fn careful(self) -> Self {
        Self { trial: Nanos::from_secs(60), sum: Nanos::from_secs(60), width: Share(0.01), ..self }
    }
}

/// How the load is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generator {
    /// Maximum connections of an open loop; an arrival that finds all busy waits in the backlog.
    pub connections: u32,
    /// Maximum arrivals outstanding (in flight and backlog); one more is refused. This spares a failing service, and
    /// bounds memory.
    pub outstanding: u32,
    /// Processors to run on, one loop on each; empty: one loop, on any processor.
    pub cores: Vec<u32>,
    /// How late a request may be sent to save processor time: the loop sleeps this much longer, and sends what falls
    /// due meanwhile together.
    pub lateness: Nanos,
    /// Whether a request that met a connection the server was closing is resent once.
    pub resend: bool,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for Generator {
    fn default() -> Self {
        Self {
            connections: 10_000,
            outstanding: 20_000,
            cores: Vec::new(),
            lateness: DEFAULT_LATENESS,
            resend: true,
            seed: 1,
        }
    }
}

/// As late as a sleeping thread wakes anyway.
const DEFAULT_LATENESS: Nanos = Nanos::from_micros(50);

/// Linux numbers processors up to this (`CONFIG_NR_CPUS` is at most 8,192).
const MAX_CORE: u32 = 8191;

/// Processors in the syntax of `taskset`: `0`, `0,2`, `0-3`, `0-3,8`; sorted, each once.
///
/// # Errors
/// If it is anything else.
pub fn parse_cores(text: &str) -> Result<Vec<u32>, ParseError> {
    let error =
        || ParseError { found: text.to_owned(), expected: "a list of processors such as 0, 0,2 or 0-3" };
    let core =
        |text: &str| text.trim().parse::<u32>().ok().filter(|core| *core <= MAX_CORE).ok_or_else(error);
    let mut cores = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (core(first)?, core(last)?);
        if first > last {
            return Err(error());
        }
        cores.extend(first..=last);
    }
    Ok(cores.into_iter().collect())
}

/// `processor 3`, `processors 0, 1`.
pub(crate) fn numbered(one: &str, several: &str, numbers: &[u32]) -> String {
    let listed: Vec<String> = numbers.iter().map(u32::to_string).collect();
    format!("{} {}", if numbers.len() == 1 { one } else { several }, listed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_processors() {
        for (text, expected) in
            [("0", vec![0]), ("2,0", vec![0, 2]), ("0-3", vec![0, 1, 2, 3]), ("5, 1-2,2", vec![1, 2, 5])]
        {
            assert_eq!(parse_cores(text), Ok(expected), "{text}");
        }
        for text in ["", "a", "3-1", "1-", "-1", "9999", "0,,1", "0-99999999999"] {
            assert!(parse_cores(text).is_err(), "{text}");
        }
    }
}
