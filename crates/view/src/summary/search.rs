//! A search: what holds, why no more, other findings, and the certainty.

mod headline;

pub(crate) use headline::{generator_next_steps, not_recovered_line, raise_advice, raise_gain};

use super::limit::{at_bound, between, median_limit};
use super::{loss_bound_words, no_verdict_line, unfinished};
use crate::contrary_trials::{SupportingTrials, bad_below_limit, fell_behind_at};
use crate::document::{TextTable, indent_all};
use crate::wording::number_of;
use crate::wording::{format_rate, whole_seconds};
use crate::{ArrivalKind, RunView, Text, Tone, Trial, TrialState, fleet, freezes, hiccups, verdict, why_bad};
use headline::{headline, known};
use record::{BackgroundLoss, SearchEnd, Verdict, WarmUpResult};
use units::{Nanos, Share, grouped};

/// A smaller speed-up by the warm-up is not mentioned.
const MIN_SPEEDUP: f64 = 1.2;

pub(super) fn lines(view: &RunView) -> Vec<Text> {
    if let Some([lost, mut first, found]) = finished(view) {
        let more = first.split_off(first.len().min(1));
        let mut lines = [lost, first, found, more].concat();
        lines.extend(freezes::line(view));
        lines.push(Text::empty());
        lines.extend(verdict::lines(view));
        lines = indent_all(lines);
        lines.extend(curve_lines(view));
        lines.extend(indent_all(certainty_lines(view)));
        return lines;
    }
    let mut lines = vec![unfinished(view).unwrap_or_else(no_verdict_line)];
    lines.extend(known(view, Tone::Strong));
    lines.extend(generator_limited_line(view));
    lines.extend(why_no_more_line(view));
    lines.extend(freezes::line(view));
    lines.extend(verdict_apart(view));
    lines.extend(certainty_lines(view));
    indent_all(lines)
}

/// Of a finished search: its background loss, what holds and how far it came, and all else that it found.
fn finished(view: &RunView) -> Option<[Vec<Text>; 3]> {
    let Verdict::Limits { ended, background, warmed_up, overloaded, .. } = view.verdict()? else {
        return None;
    };
    let lost = background.as_ref().map(|lost| background_loss_line(view.arrival_kind(), lost));
    let found = why_no_more_line(view)
        .into_iter()
        .chain(failures_below_line(view))
        .chain(overload_line(view, *overloaded))
        .chain(typical_limit_line(view))
        .chain(warm_up_line(view.arrival_kind(), *warmed_up));
    Some([Vec::from_iter(lost), headline(view, ended), found.collect()])
}

/// What holds so far or in the end, why no more, and other findings.
pub(super) fn headline_lines(view: &RunView) -> Vec<Text> {
    if let Some(found) = finished(view) {
        return found.into_iter().flatten().chain(freezes::line(view)).collect();
    }
    if view.end.is_some() {
        return vec![no_verdict_line()];
    }
    let known = known(view, Tone::Strong).into_iter().chain(generator_limited_line(view));
    let above = unfinished(view).into_iter().chain(why_no_more_line(view));
    known.chain(above).chain(freezes::line(view)).collect()
}

/// A search's certainty and cost.
pub(crate) fn certainty_lines(view: &RunView) -> Vec<Text> {
    let (sure, spent) = match view.verdict() {
        Some(Verdict::Limits { detection_limit, trials, loaded, .. }) => {
            (certainty_line(view, *detection_limit), spent(view, u64::from(*trials), *loaded))
        }
        _ => (None, spent(view, view.trials.len() as u64, view.time_under_load())),
    };
    sure.into_iter().chain(resent(view)).chain(spent).chain(fleet::lines(view, "fleet: ")).collect()
}

/// Says that torment is the limit, while a search has no end yet.
pub(super) fn generator_limited_line(view: &RunView) -> Option<Text> {
    view.generator_capacity
        .as_ref()
        .map(|capacity| super::generator_limit::capacity_line(Text::empty(), view, capacity))
}

/// The verdict, if any, preceded by an empty line.
fn verdict_apart(view: &RunView) -> Vec<Text> {
    let mut lines = verdict::lines(view);
    if !lines.is_empty() {
        lines.insert(0, Text::empty());
    }
    lines
}

/// The background loss.
fn background_loss_line(arrivals: ArrivalKind, lost: &BackgroundLoss) -> Text {
    let each = (lost.due as f64 / lost.bad.max(1) as f64).round() as u64;
    let how = lost.failure.as_ref().map(|failure| format!(" ({failure})")).unwrap_or_default();
    let (one, unit) = (arrivals.count(each), arrivals.unit());
    let text = format!("1 of {one} fails{how}");
    let rest = if lost.seen {
        format!(
            " at any rate, even at {} {unit}: no rate meets the goal. The limit is for the others",
            format_rate(lost.at)
        )
    } else {
        format!(
            ", too rarely to tell whether it does so at {} {unit}, too. The limit given is for the others",
            format_rate(lost.at)
        )
    };
    Text::new(Tone::Bad, text).with_plain(rest)
}

pub(crate) fn why_no_more_line(view: &RunView) -> Option<Text> {
    let words = if view.search_ended() == Some(&SearchEnd::BelowMin) { "at that rate" } else { "above that" };
    Some(Text::plain(format!("{words} ")).with_span(Tone::Strong, why_no_more(view)?))
}

/// A clause: what the last bad trial at the upper bound, or at the next higher rate that no good one outdid, did wrong; or that it is bad
/// because the target froze.
pub(crate) fn why_no_more(view: &RunView) -> Option<String> {
    if view.search_ended() == Some(&SearchEnd::TargetFails) {
        return None;
    }
    let strict_limit = view.limits.first()?;
    let upper = strict_limit.held.or(strict_limit.upper)?;
    if let Some(froze) = freezes::why_trials_bad(view) {
        return Some(froze);
    }
    let rate = |t: &Trial| t.rate.map_or(f64::INFINITY, |r| r.0);
    let bad = view.trials.iter().rev().filter(|t| t.state() == TrialState::Bad);
    let mut bad: Vec<&Trial> = bad.filter(|t| t.is_at(upper) || rate(t) > upper).collect();
    bad.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    // Of a target that moves: not where as long a trial at as high a rate was good.
    let good = || view.trials.iter().filter(|t| t.state() == TrialState::Good);
    let is_bound = |bad: &Trial| strict_limit.upper.is_some_and(|upper| bad.is_at(upper));
    let outdone =
        |bad: &Trial| !is_bound(bad) && good().any(|t| t.loaded >= bad.loaded && rate(t) >= rate(bad));
    why_bad(bad.iter().find(|trial| !outdone(trial)).or(bad.first())?)
}

/// If no limit was found, what failed at or below what is said to hold: a reader of the picture should know whether it was the target.
pub(crate) fn failures_below_line(view: &RunView) -> Option<Text> {
    let failed = bad_below_limit(view);
    let loss = |trial: &&&Trial| trial.judgement.as_ref().map_or(0.0, |judgement| judgement.loss);
    let worst = failed.iter().max_by(|a, b| loss(a).total_cmp(&loss(b)))?;
    let held = view.held()?;
    let at = if failed.iter().any(|trial| trial.is_at(held)) { "at or " } else { "" };
    let times = if failed.len() == 1 { "in one trial" } else { "in several trials" };
    let whose = if fell_behind_at(view, worst) {
        "torment fell behind at that rate in another trial, so this may be torment's doing"
    } else {
        "trials at that rate or above were good"
    };
    let below = format!("{times} {at}below {}", format_rate(held));
    Some(Text::new(Tone::Warn, below).with_plain(format!(": {}; {whose}", why_bad(worst)?)))
}

/// The target's throughput once a queue has formed, if below what it holds.
fn overload_line(view: &RunView, overloaded: Option<f64>) -> Option<Text> {
    let (limit, did) = view.limits.first().zip(overloaded)?;
    // Earlier versions stored it even if not below.
    let less = Some(1.0 - did / limit.held?).filter(|less| *less >= 0.005)?;
    let sinks = format!(
        "once a queue has formed it handles only about {} {}, {} less",
        format_rate(did),
        limit.unit,
        Share(less).rounded(2)
    );
    Some(
        Text::new(Tone::Warn, sinks).with_plain(": an overload does not end until the load falls below that"),
    )
}

/// The warm-up, if it made a difference.
fn warm_up_line(arrivals: ArrivalKind, warmed_up: Option<WarmUpResult>) -> Option<Text> {
    let WarmUpResult { loaded, answered, times } = warmed_up.filter(|warm| warm.times >= MIN_SPEEDUP)?;
    let times = if times < 10.0 { format!("{times:.1}") } else { format!("{times:.0}") };
    Some(Text::plain(format!(
        "{times} times quicker after a warm-up of {loaded} and {}",
        arrivals.count(answered)
    )))
}

/// The second goal, if it adds anything to the first.
fn typical_limit_line(view: &RunView) -> Option<Text> {
    let (strict_limit, typical) = (view.limits.first()?, view.limits.get(1)?);
    let in_brackets = |lower: Option<f64>, upper: Option<f64>| {
        between(None, lower, upper).map(|between| format!(" ({between})")).unwrap_or_default()
    };
    if strict_limit.held.is_some() {
        let half = median_limit(view)?;
        let between = in_brackets(half.lower, half.upper);
        return Some(Text::plain(format!(
            "half of the trials hold {} {}{between}",
            format_rate(half.held?),
            half.unit
        )));
    }
    let lower = typical.lower?;
    if strict_limit.lower.is_some_and(|s| lower <= s * 1.005) {
        return None;
    }
    let (between, arrivals) = (in_brackets(Some(lower), typical.upper), view.arrival_kind().arrivals());
    let gap = match strict_limit.lower {
        Some(s) => {
            format!(
                "; the gap of {} is hiccups: single trials that lose {arrivals}",
                Share(1.0 - s / lower).rounded(2)
            )
        }
        None => format!("; but single trials lose {arrivals} at every rate tried"),
    };
    Some(Text::plain(format!(
        "the typical trial holds {} {}{between}{gap}",
        format_rate(lower),
        typical.unit
    )))
}

fn curve_lines(view: &RunView) -> Vec<Text> {
    if view.curve().is_empty() {
        return Vec::new();
    }
    let mut lines = curve_table(view).lines();
    lines.extend(indent_all(hiccups::line(view)));
    lines.push(Text::empty());
    lines
}

/// Response times at fixed shares of the capacity.
pub(crate) fn curve_table(view: &RunView) -> TextTable {
    let mut table = TextTable::new(&["response time", "p50", "p99", "max", "waiting"]);
    for point in view.curve() {
        let share = format!("{:>3} %  {:>9}", (point.share * 100.0).round(), point.rate.to_string());
        let plain = [
            share,
            point.response_p50.to_string(),
            point.response_p99.to_string(),
            point.response_max.to_string(),
            format!("{:.1}", point.outstanding),
        ];
        table.push_row(plain.map(|text| (text, Tone::Plain)));
    }
    table
}

fn certainty_line(view: &RunView, detection_limit: f64) -> Option<Text> {
    let limit = view.limits.first()?;
    limit.lower?;
    let mut text = Vec::new();
    let stood = SupportingTrials::from_limit(view, limit);
    let (due, bad) = stood.map_or_else(|| at_bound(view, limit).1, |stood| (stood.due, stood.lost));
    if due > 0 {
        let of = if stood.is_some_and(|stood| stood.bad > 0) { "in the good trials " } else { "" };
        text.push(format!("{of}{}", loss_bound_words(view.arrival_kind(), bad, due)));
    }
    if detection_limit > 0.0 {
        text.push(format!(
            "an overload of less than {} of the rate would go undetected",
            Share(detection_limit)
        ));
    }
    (!text.is_empty()).then(|| Text::labelled("how sure", format!("{}.", text.join("; "))))
}

/// From this share on it is no longer a race with a server's idle timeout.
const OFTEN_RESENT: f64 = 0.1;

/// Requests resent, over all trials.
fn resent(view: &RunView) -> Option<Text> {
    let (resent, due) = view
        .trials
        .iter()
        .fold((0, 0), |(resent, due), trial| (resent + trial.figures.resent, due + trial.figures.due));
    let text = || {
        let of = view.arrival_kind().count(due);
        let often = match resent as f64 >= OFTEN_RESENT * due as f64 {
            true => ": it often closes one right after an answer, without announcing it (Connection: close)",
            false => "",
        };
        format!("{} of {of} hit a connection that the server was closing{often}", grouped(resent))
    };
    (resent > 0).then(|| Text::labelled("resent", text()))
}

/// A warm-up that took less is not mentioned.
const MIN_WARM_UP: Nanos = Nanos::from_secs(30);

fn spent(view: &RunView, trials: u64, loaded: Nanos) -> Option<Text> {
    if loaded == Nanos::ZERO {
        return None;
    }
    let mut text = format!("{}, {} of load", number_of(trials as usize, "trial"), whole_seconds(loaded));
    let warm_up = view.time_warming_up();
    if warm_up >= MIN_WARM_UP {
        text += &format!(", {} of it warm-up", whole_seconds(warm_up));
    }
    Some(Text::labelled("time", text))
}
