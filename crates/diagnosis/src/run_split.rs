//! Which part of a run shows the target well, and which shows it degraded.
//!
//! For a search the trials' judgements decide. For a single load its seconds do: a load with stages is well first and degraded later.

use crate::loaded_window::LoadedWindow;
use crate::observed_run::{ObservedRun, Second, Trial};
use record::Purpose;
use record::watch::Window;
use units::{Nanos, Rate};

/// A second in which arrivals stay this many times longer than in the best one, and this much longer, is degraded.
const DEGRADED_FACTOR: f64 = 3.0;
const DEGRADED_FLOOR: f64 = 0.005;
/// With a smaller share of degraded seconds a load had hiccups.
const MAX_HICCUP_SHARE: f64 = 0.2;
/// Bad trials up to this many times the best good rate show the limit; beyond, other things give too.
const MAX_RATE_RATIO: f64 = 3.0;
/// A limit whose bounds are at most this far apart holds.
const MAX_BRACKET_RATIO: f64 = 1.25;
/// Of these, windows count with at least this share of the maximum outstanding.
const MIN_OUTSTANDING_SHARE: f64 = 0.25;
/// A stopped load ends in a partial second. Averages of so short a part mean little: late reports of loops fall into it.
const MIN_SECOND: Nanos = Nanos::from_millis(100);
/// Good trials between these shares of the best good rate show the target well: closer to the limit its signs are already present,
/// further below little happens. Those above show what a request costs at the limit: under little load each pays for waking a thread of its own.
const WELL_SHARES: std::ops::RangeInclusive<f64> = 0.3..=0.85;

/// Seconds of load in the same state, with their windows.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunPart<'a> {
    pub seconds: Vec<&'a Second>,
    pub windows: Vec<LoadedWindow<'a>>,
    /// Their trials.
    pub trials: Vec<u32>,
}

/// A split run.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunSplit<'a> {
    pub well: RunPart<'a>,
    /// Good trials close to the limit of a search.
    pub near: RunPart<'a>,
    pub degraded: RunPart<'a>,
    /// Trials that say nothing about the target, because the generator was the limit.
    pub void_trials: Vec<&'a Trial>,
    /// Later seconds of the same load, at the same rate, were well.
    pub recovered: bool,
}

/// With the windows of one place.
pub(crate) fn split_run<'a>(recording: &'a ObservedRun, place: &str) -> RunSplit<'a> {
    let judged: Vec<&Trial> = recording.trials.iter().filter(|t| t.purpose != Purpose::Recovery).collect();
    match judged.as_slice() {
        [trial] if trial.purpose == Purpose::Load => by_second(trial, place),
        trials => by_trial(trials, place),
    }
}

/// Seconds of the load alone, without the drain, each with its window.
fn loaded_seconds<'a>(trial: &'a Trial, place: &str) -> Vec<(&'a Second, Option<&'a Window>)> {
    let windows = trial.at(place).map_or(&[][..], |seen| &seen.windows);
    let loaded = trial.end.as_ref().map_or(Nanos(u64::MAX), |end| end.loaded);
    let mut seconds = Vec::new();
    for second in &trial.seconds {
        let (from, to) = (second.from, second.from + second.elapsed);
        if from >= loaded
            || second.elapsed == Nanos::ZERO
            || from > Nanos::ZERO && second.elapsed < MIN_SECOND
        {
            break;
        }
        let middle = |w: &&Window| {
            let middle = w.from + w.length() / 2;
            middle >= from && middle < to && w.from < loaded
        };
        seconds.push((second, windows.iter().find(middle)));
    }
    seconds
}

fn push_second<'a>(part: &mut RunPart<'a>, trial: u32, second: &'a Second, window: Option<&'a Window>) {
    part.seconds.push(second);
    part.windows.extend(window.map(|window| LoadedWindow { window, outstanding: second.outstanding }));
    if part.trials.last() != Some(&trial) {
        part.trials.push(trial);
    }
}

fn push_trials<'a, 't>(part: &mut RunPart<'a>, trials: impl Iterator<Item = &'t &'a Trial>, place: &str)
where
    'a: 't,
{
    for trial in trials {
        for (second, window) in loaded_seconds(trial, place) {
            push_second(part, trial.number, second, window);
        }
    }
}

fn by_second<'a>(trial: &'a Trial, place: &str) -> RunSplit<'a> {
    let mut split = RunSplit::default();
    // A closed loop is saturated by design.
    let closed = trial.rate.is_none();
    if trial.end.as_ref().is_some_and(|end| generator_was_the_limit(&end.invalid)) {
        split.void_trials.push(trial);
    }
    let seconds = loaded_seconds(trial, place);
    let best = seconds.iter().filter_map(|(s, _)| s.stay()).min_by(f64::total_cmp);
    let is_degraded = |s: &Second| {
        let slow =
            s.stay().zip(best).is_some_and(|(stay, best)| stay > DEGRADED_FACTOR * best + DEGRADED_FLOOR);
        closed || slow || s.outcomes.bad() > 0
    };
    let marked: Vec<bool> = seconds.iter().map(|(s, _)| is_degraded(s)).collect();
    let share = marked.iter().filter(|bad| **bad).count() as f64 / marked.len().max(1) as f64;
    let good = trial.end.as_ref().is_some_and(|end| end.good && end.invalid.is_empty());
    split.recovered = has_recovered(&seconds, &marked);
    for ((second, window), bad) in seconds.into_iter().zip(marked) {
        // If the goal was met, a few slow seconds are no limit; if it was not and no second stands out, all of them are of one kind.
        let bad = match (good, share) {
            (true, share) if share < MAX_HICCUP_SHARE && !closed => false,
            (false, 0.0) => true,
            _ => bad,
        };
        push_second(if bad { &mut split.degraded } else { &mut split.well }, trial.number, second, window);
    }
    split
}

/// Whether the last degraded second is followed by as many well ones at its rate as there were degraded ones.
fn has_recovered(seconds: &[(&Second, Option<&Window>)], degraded: &[bool]) -> bool {
    let Some(last) = degraded.iter().rposition(|bad| *bad) else { return false };
    let rate = |at: usize| Rate::of(seconds[at].0.due, seconds[at].0.elapsed).0;
    let same = |at: &usize| (rate(*at) / rate(last) - 1.0).abs() <= 0.1;
    let after = (last + 1..seconds.len()).filter(same).count();
    after > 0 && after >= degraded.iter().filter(|bad| **bad).count()
}

fn by_trial<'a>(trials: &[&'a Trial], place: &str) -> RunSplit<'a> {
    let mut split = RunSplit::default();
    let judged =
        |trial: &&&Trial| trial.end.is_some() && trial.rate.is_some() && trial.purpose != Purpose::WarmUp;
    // What a cold target did says nothing of a warm one, if that was tried on both sides of its limit. After a warm-up that showed nothing
    // new, earlier trials count again, and only the curve may follow.
    let after_warm_up = |at: usize| (trials[at].purpose == Purpose::WarmUp).then(|| &trials[at + 1..]);
    let warm = (0..trials.len()).rev().filter_map(after_warm_up).find(|after| {
        let tried = after.iter().filter(|t| t.purpose.is_judged() && t.purpose != Purpose::Curve);
        let ends = tried.filter_map(|t| t.end.as_ref()).filter(|end| end.invalid.is_empty());
        let (good, bad): (Vec<_>, Vec<_>) = ends.partition(|end| end.good);
        !good.is_empty() && !bad.is_empty()
    });
    let trials = warm.unwrap_or(trials);
    let rate = |trial: &Trial| trial.rate.map_or(0.0, |rate| rate.0);
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for trial in trials.iter().filter(judged) {
        let Some(end) = &trial.end else { continue };
        match (end.invalid.is_empty(), end.good) {
            (false, _) if generator_was_the_limit(&end.invalid) => split.void_trials.push(trial),
            (false, _) => {}
            (true, true) => good.push(*trial),
            (true, false) => bad.push(*trial),
        }
    }
    let best = good.iter().map(|t| rate(t)).fold(0.0, f64::max);
    let least_bad = bad.iter().map(|t| rate(t)).fold(f64::INFINITY, f64::min);
    if bad.is_empty() {
        // Their first question is whose limit it was.
        bad.extend(split.void_trials.iter().copied());
    }
    // Once the target has failed at a rate, it does not matter who was the limit at a higher one; nor, below a good trial, who once was.
    // A limit bounded from both sides is the target's.
    let bounded = least_bad <= MAX_BRACKET_RATIO * best;
    split.void_trials.retain(|t| !bounded && rate(t) <= least_bad && rate(t) > best);
    let near = MAX_RATE_RATIO * if best > 0.0 { best } else { least_bad };
    bad.retain(|t| rate(t) <= near || rate(t) <= least_bad);
    let most =
        bad.iter().flat_map(|t| loaded_seconds(t, place)).map(|(s, _)| s.outstanding).fold(0.0, f64::max);
    for trial in bad {
        for (second, window) in loaded_seconds(trial, place) {
            if second.outstanding >= MIN_OUTSTANDING_SHARE * most {
                push_second(&mut split.degraded, trial.number, second, window);
            }
        }
    }
    good.retain(|t| rate(t) <= least_bad);
    let is_near = |t: &&&Trial| rate(t) > WELL_SHARES.end() * best;
    push_trials(&mut split.near, good.iter().filter(is_near), place);
    let is_calm = |t: &&Trial| WELL_SHARES.contains(&(rate(t) / best));
    if good.iter().any(is_calm) {
        good.retain(is_calm);
    }
    push_trials(&mut split.well, good.iter(), place);
    split
}

/// Whether a trial was void because the generator was the limit, and not for other reasons.
fn generator_was_the_limit(invalid: &[record::Caveat]) -> bool {
    invalid.iter().any(|caveat| caveat.doubt.is_generator() || caveat.doubt.is_exhaustion())
}
