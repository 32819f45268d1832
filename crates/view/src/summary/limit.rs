//! How to present a limit: the number alone must not be taken for more than it is.

use super::FEW_REQUESTS;
use crate::contrary_trials::{BRIEF_TRIAL, SupportingTrials, good_at, good_trials};
use crate::wording::{format_rate, whole_seconds};
use crate::{ArrivalKind, RunView, Text, Tone, Trial, freezes};
use record::{Limit, SearchEnd};
use units::{Nanos, grouped};

/// Two rates with a lower quotient look the same to a reader.
const SAME_RATE_RATIO: f64 = 1.01;
/// A wider interval, relative to its upper end, is not worth quoting.
const WIDE_INTERVAL: f64 = 0.1;

/// What holds, given how the search ended.
pub(super) fn limit_line(view: &RunView, limit: &Limit, held: f64, ended: &SearchEnd, tone: Tone) -> Text {
    let verb = holds(ended, limit.held, limit.lower, limit.upper);
    let longer = freezes::sustained_rate(view);
    let of = match longer {
        _ if median_limit(view).is_some() => " in nine of ten trials".to_owned(),
        Some(_) => in_trials(view),
        None => String::new(),
    };
    let unit = &limit.unit;
    let open = open_limit_words(ended, Some(held), view.failed_rate(), Some(view.is_generator_limited()));
    let behind = |mark: &str| open.as_ref().map(|open| format!("{mark} {open}")).unwrap_or_default();
    let line = match weight(view, limit) {
        EvidenceWeight::Little(due) => {
            let only = format!(
                ": only {} at {} {unit}{}",
                view.arrival_kind().count(due),
                format_rate(held),
                behind(";")
            );
            return Text::new(Tone::Warn, "too little to say").with_plain(only);
        }
        EvidenceWeight::Weak(longest) => {
            let only = format!("{verb} {} {unit}{of}, for {longest} only{}", format_rate(held), behind(";"));
            Text::new(Tone::Warn, only)
        }
        EvidenceWeight::Full => {
            Text::new(tone, format!("{verb} {} {unit}{of}{}", format_rate(held), behind(":")))
        }
    };
    let line = line.with_plain(evidence(view, limit, held, ended));
    match longer {
        Some(rate) => line.with_span(tone, format!("; about {} for longer", format_rate(rate.0))),
        None => line,
    }
}

/// How to present a limit: the number alone must not be taken for more than it is.
pub(crate) fn holds(
    ended: &SearchEnd,
    held: Option<f64>,
    lower: Option<f64>,
    upper: Option<f64>,
) -> &'static str {
    match (ended, lower, upper) {
        (ended, ..) if ended.is_at_least() => "at least",
        (SearchEnd::NonStationary, ..) => "holds about",
        (SearchEnd::Converged, ..) | (_, None, _) | (_, _, None) => "holds",
        (_, Some(lower), Some(upper)) => match held {
            _ if upper - lower <= WIDE_INTERVAL * upper => "holds",
            Some(held) if held > lower * SAME_RATE_RATIO => "holds about",
            _ => "holds at least",
        },
    }
}

/// The tone of a search's result on its page, in its chart and in the list of runs. `freezes`: the target froze now and then.
pub(crate) fn tone(ended: &SearchEnd, freezes: bool) -> Tone {
    match ended {
        SearchEnd::Converged if freezes => Tone::Warn,
        SearchEnd::Converged => Tone::Good,
        // All is well as far as the search was allowed to go.
        SearchEnd::MaxReached => Tone::Strong,
        SearchEnd::BelowMin | SearchEnd::TargetFails => Tone::Bad,
        SearchEnd::BudgetSpent
        | SearchEnd::Noisy
        | SearchEnd::GeneratorLimit
        | SearchEnd::NonStationary
        | SearchEnd::NotRecovered
        | SearchEnd::Interrupted
        | SearchEnd::FleetFailed => Tone::Warn,
    }
}

/// A limit's bounds; `None` if it was not found, or not both are known.
pub(crate) fn between(ended: Option<&SearchEnd>, lower: Option<f64>, upper: Option<f64>) -> Option<String> {
    let found = !ended.is_some_and(SearchEnd::is_at_least);
    let (lower, upper) = lower.zip(upper).filter(|_| found)?;
    Some(format!("between {} and {}", format_rate(lower), format_rate(upper)))
}

/// Follows the number of a limit that was not found, which alone would be taken for the target's. `ours`: torment fell behind by itself,
/// not only while the target froze; `None` if unknown.
pub(crate) fn open_limit_words(
    ended: &SearchEnd,
    held: Option<f64>,
    upper: Option<f64>,
    generator_limited: Option<bool>,
) -> Option<String> {
    let fails = upper.map(|upper| format!("fails at {}", format_rate(upper)));
    Some(match (ended, fails) {
        (SearchEnd::MaxReached, _) => match held {
            Some(max) => format!("no limit found up to --max {max}"),
            None => "no limit found up to --max".to_owned(),
        },
        (SearchEnd::GeneratorLimit, Some(fails)) => match generator_limited {
            Some(false) => format!("{fails}, in between {HELD_UP_BY_FREEZES}"),
            _ => format!("{fails}, torment fell behind in between"),
        },
        (SearchEnd::GeneratorLimit, None) => match generator_limited {
            Some(true) => "torment was the limit, and the target's is not known".to_owned(),
            Some(false) => format!("above that {HELD_UP_BY_FREEZES}"),
            None => "above that torment fell behind".to_owned(),
        },
        (SearchEnd::FleetFailed, _) => "workers were lost before a limit was found".to_owned(),
        _ => return None,
    })
}

/// If it was not torment's own fault.
const HELD_UP_BY_FREEZES: &str = "torment fell behind whenever the target froze";

/// The evidence for what holds.
enum EvidenceWeight {
    /// Too few requests to say anything.
    Little(u64),
    /// A single short trial, of this length.
    Weak(Nanos),
    Full,
}

fn weight(view: &RunView, limit: &Limit) -> EvidenceWeight {
    let (trials, (due, _)) = at_bound(view, limit);
    let short = || {
        let good =
            limit.lower.into_iter().flat_map(|lower| good_trials(view).filter(move |t| t.is_at(lower)));
        good.map(|trial| trial.loaded).max().filter(|longest| *longest < BRIEF_TRIAL)
    };
    match trials {
        0 => EvidenceWeight::Full,
        _ if due < FEW_REQUESTS => EvidenceWeight::Little(due),
        1 if limit.held.is_none() => {
            short().map_or(EvidenceWeight::Full, |longest| EvidenceWeight::Weak(whole_seconds(longest)))
        }
        _ => EvidenceWeight::Full,
    }
}

/// ` in trials of 10 s`, if what holds does so no longer.
fn in_trials(view: &RunView) -> String {
    let longest = good_trials(view).map(|trial| trial.loaded).max();
    longest.map(|longest| format!(" in trials of {}", whole_seconds(longest))).unwrap_or_default()
}

/// Bounds, and the trials behind them: ` (between …; 3 trials of 10 s, …)`.
fn evidence(view: &RunView, limit: &Limit, held: f64, ended: &SearchEnd) -> String {
    let fails =
        limit.upper.filter(|_| limit.lower.is_none()).map(|upper| format!("fails at {}", format_rate(upper)));
    // An estimated limit has a 95 % interval.
    let sure = if limit.held.is_some() { "95 % sure: " } else { "" };
    let between =
        between(Some(ended), limit.lower, limit.upper).map(|between| format!("{sure}{between}")).or(fails);
    let length =
        limit.lower.and_then(|lower| length_at(view, lower)).map(|t| format!(" of {t}")).unwrap_or_default();
    let stood = SupportingTrials::from_limit(view, limit);
    let trials = match stood {
        // One trial may fail what nine in ten hold: that the others had no bad request would not match the picture.
        Some(stood) if stood.bad > 0 => {
            let (at, all) = (stood.at(held), stood.good + stood.bad);
            let hold = if median_limit(view).is_some() { "" } else { "nine in ten trials hold it: " };
            Some(format!("{hold}{} of {all}{length} {at} did", stood.good))
        }
        Some(stood) => Some(counted(
            view.arrival_kind(),
            stood.good as u64,
            &length,
            &format!(" {}", stood.at(held)),
            (stood.due, stood.lost),
        )),
        None if limit.good_trials > 0 => {
            let (trials, requests) = at_bound(view, limit);
            Some(counted(view.arrival_kind(), trials, &length, "", requests))
        }
        None => None,
    };
    let parts: Vec<String> = between.into_iter().chain(trials).collect();
    if parts.is_empty() { String::new() } else { format!("   ({})", parts.join("; ")) }
}

/// The good trials that support a bound: how many, their requests due, and how many of those were bad; counts short trials too, which are
/// in the picture.
pub(super) fn at_bound(view: &RunView, limit: &Limit) -> (u64, (u64, u64)) {
    let counted = (u64::from(limit.good_trials), (limit.lower_due, limit.lower_bad));
    let drawn = limit.lower.filter(|_| limit.held.is_none()).map(|lower| good_at(view, lower));
    drawn.filter(|drawn| drawn.0 > counted.0).unwrap_or(counted)
}

/// Good trials in words, with their requests due, and how many of those were bad.
fn counted(arrivals: ArrivalKind, trials: u64, length: &str, at: &str, (due, lost): (u64, u64)) -> String {
    let s = if trials == 1 { "" } else { "s" };
    let (good, bad) = match lost {
        0 => ("", "none bad".to_owned()),
        n => ("good ", format!("{} bad", grouped(n))),
    };
    format!("{trials} {good}trial{s}{length}{at}, {}, {bad}", arrivals.count(due))
}

/// What half of the trials hold, if that differs from what nine in ten hold.
pub(super) fn median_limit(view: &RunView) -> Option<&Limit> {
    let (most, half) = (view.limits.first()?, view.limits.get(1)?);
    (half.held? > most.held? * SAME_RATE_RATIO).then_some(half)
}

/// The good trials' length at a rate, if equal to the second. For an estimated limit, at any rate.
fn length_at(view: &RunView, rate: f64) -> Option<Nanos> {
    let seconds = |t: &Trial| t.loaded.as_secs_f64().round() as u64;
    let estimated = view.limits.first().is_some_and(|limit| limit.held.is_some());
    let good = good_trials(view);
    if estimated {
        return good.map(seconds).max().map(Nanos::from_secs);
    }
    let mut at = good.filter(|t| t.is_at(rate)).map(seconds);
    let first = at.next()?;
    at.all(|next| next == first).then(|| Nanos::from_secs(first))
}
