use super::limit::{self, at_bound, moves};
use super::{how_sure, making, unfinished};
use crate::document::{Table, indented};
use crate::experiment::number_of;
use crate::reason::what_to_check;
use crate::remedy::remedy;
use crate::strays::{Stood, fell_behind};
use crate::words::number;
use crate::{RunView, Text, Tone, Trial, TrialState, Words, fleet, freezes, hiccups, verdict, why_bad};
use record::{
    Background, CurvePoint, Ended, Failure, Limit, LimitUnit, Making, Outcome, Outcomes, Recovery, Verdict,
    WarmedUp,
};
use std::collections::BTreeMap;
use units::{Nanos, Share, grouped};

/// A warm-up that made a target so much quicker is worth a line.
const QUICKER: f64 = 1.2;

pub(super) fn lines(view: &RunView) -> Vec<Text> {
    let mut lines = Vec::new();
    let verdict = view.end.as_ref().and_then(|end| end.verdict.as_ref());
    let strict = view.limits.first();
    if let Some(Verdict::Limits { ended, curve, background, warmed_up, overloaded, .. }) = verdict {
        let mut head = headline(view, strict, ended).into_iter();
        lines.extend(background.as_ref().map(|lost| lost_anyway(view.words(), lost)));
        lines.extend(head.next());
        lines.extend(above(view));
        lines.extend(sinks(strict, *overloaded));
        lines.extend(second(view.words().arrivals(), &view.limits));
        lines.extend(warm(view.words(), *warmed_up));
        lines.extend(head);
        lines.extend(freezes::line(view));
        lines.push(Text::empty());
        lines.extend(verdict::lines(view));
        lines = indented(lines);
        lines.extend(curve_lines(view, curve));
        lines.extend(indented(told(view)));
        lines
    } else {
        lines.extend(unfinished(view).or_else(|| Some(Text::empty().and(Tone::Bad, "no verdict"))));
        lines.extend(known(view.words().raised(), strict));
        lines.extend(above(view));
        lines.extend(freezes::line(view));
        lines.extend(verdict_apart(view));
        lines.extend(told(view));
        indented(lines)
    }
}

/// What holds or is known so far, then why no more and what else is to be known.
pub(super) fn first(view: &RunView) -> Vec<Text> {
    let strict = view.limits.first();
    let verdict = view.end.as_ref().and_then(|end| end.verdict.as_ref());
    match verdict {
        Some(Verdict::Limits { ended, background, warmed_up, overloaded, .. }) => {
            let lost = background.as_ref().map(|lost| lost_anyway(view.words(), lost));
            let head = lost.into_iter().chain(headline(view, strict, ended));
            let above = above(view);
            let half = second(view.words().arrivals(), &view.limits);
            let rest = warm(view.words(), *warmed_up).into_iter().chain(freezes::line(view));
            head.chain(above).chain(sinks(strict, *overloaded)).chain(half).chain(rest).collect()
        }
        _ if view.end.is_some() => vec![Text::empty().and(Tone::Bad, "no verdict")],
        _ => {
            let known = known(view.words().raised(), strict).into_iter().chain(unfinished(view));
            let above = above(view);
            known.chain(above).chain(freezes::line(view)).collect()
        }
    }
}

/// How sure a search is, and what it took.
pub(crate) fn told(view: &RunView) -> Vec<Text> {
    let strict = view.limits.first();
    match view.end.as_ref().and_then(|end| end.verdict.as_ref()) {
        Some(Verdict::Limits { detection_limit, trials, loaded, .. }) => {
            let sure = doubt(view, strict, *detection_limit).into_iter();
            sure.chain(resent(view))
                .chain(spent(u64::from(*trials), *loaded))
                .chain(fleet::lines(view, "fleet: "))
                .collect()
        }
        _ => {
            let spent = spent(view.trials.len() as u64, view.loaded());
            resent(view).into_iter().chain(spent).chain(fleet::lines(view, "fleet: ")).collect()
        }
    }
}

/// The verdict, if there is one, with an empty line before it.
fn verdict_apart(view: &RunView) -> Vec<Text> {
    let mut lines = verdict::lines(view);
    if !lines.is_empty() {
        lines.insert(0, Text::empty());
    }
    lines
}

/// What holds, and how far the search came.
fn headline(view: &RunView, strict: Option<&Limit>, ended: &Ended) -> Vec<Text> {
    let held = strict.and_then(|l| l.held.or(l.lower));
    let raised = view.words().raised();
    let unit = strict.map_or(view.words().unit(), |l| l.unit.clone());
    let holds = |tone| match strict.zip(held) {
        Some((limit, held)) => limit::told(view, limit, held, ended, tone),
        None => {
            let tone = if ended.is_at_least() { Tone::Warn } else { Tone::Bad };
            let open = limit::open(ended, None, view.is_ours()).map(|open| format!(": {open}"));
            Text::empty().and(tone, format!("no {raised} was shown to hold{}", open.unwrap_or_default()))
        }
    };
    let note = |text: String| Text::plain(text);
    match ended {
        Ended::Converged => vec![holds(Tone::Good)],
        Ended::MaxReached => {
            std::iter::once(holds(Tone::Strong)).chain(raise(view)).chain(raised_brings(view)).collect()
        }
        Ended::BelowMin => vec![below_min(strict, &unit, raised)],
        Ended::BudgetSpent => vec![
            holds(Tone::Strong),
            note("time ran out before the bounds were close enough; raise --budget".to_owned()),
        ],
        Ended::Noisy => vec![holds(Tone::Strong), note(noise(view, strict))],
        Ended::GeneratorLimit if !view.is_ours() => vec![holds(Tone::Warn)],
        Ended::GeneratorLimit if let Some(making) = generator(view) => {
            let mut lines = vec![holds(Tone::Warn)];
            lines.extend(making::lines(view, making, held));
            lines
        }
        Ended::GeneratorLimit => {
            let why = view.trials.iter().rev().find_map(|t| t.judgement.as_ref()?.invalid.first());
            let why = why.map(|why| Text::plain(why.to_string()));
            std::iter::once(holds(Tone::Warn)).chain(why).chain(ours_way_on(view)).collect()
        }
        Ended::NonStationary => vec![
            holds(Tone::Strong),
            Text::empty()
                .and(Tone::Warn, "the target kept changing, so no bound held")
                .then(": let it warm up longer, and look for jobs, caches or neighbours that come and go"),
        ],
        Ended::NotRecovered => {
            let waited = view.trials.iter().rev().find_map(|t| match t.recovery {
                Recovery::Not(limit) => Some(format!(" within {limit}")),
                _ => None,
            });
            vec![
                holds(Tone::Strong),
                Text::empty()
                    .and(Tone::Bad, format!("the target did not recover from an overload{}", waited.unwrap_or_default()))
                    .then(": a short peak may take it down until it is restarted; look for retries and unbounded queues"),
            ]
        }
        Ended::Interrupted => known(raised, strict)
            .into_iter()
            .chain([Text::empty().and(Tone::Warn, "interrupted").then(": that is what is known so far")])
            .collect(),
        Ended::TargetFails => target_fails(view),
        Ended::FleetFailed => vec![
            holds(Tone::Warn),
            Text::empty()
                .and(Tone::Bad, "workers of the fleet were lost again and again")
                .then(": each is told below, with why"),
        ],
    }
}

/// What to do where the limit was not reached. A torment that fell behind here would do so further up, too.
fn raise(view: &RunView) -> Option<Text> {
    let held = view.limits.first().and_then(|limit| limit.lower)?;
    let max = (held * RAISED).ceil();
    let text = match fell_behind(view) {
        Some(trials) => format!(
            "torment fell behind in {}, so {}; then raise --max to {max:.0}",
            number_of(trials, "trial"),
            remedy(view, None)
        ),
        None => format!("raise the highest {} allowed: --max {max:.0}", view.words().raised()),
    };
    Some(Text::labelled("next", text))
}

/// So many times the highest rate is where to look next.
const RAISED: f64 = 4.0;

/// What that should bring.
pub(crate) fn raised_brings(view: &RunView) -> Option<Text> {
    let raised = view.words().raised();
    let text =
        format!("no estimate: the target held every {raised} tried; a search with a higher --max shows more");
    (view.search_ended() == Some(&Ended::MaxReached)).then(|| Text::labelled("expect", text))
}

/// What helps where torment was the limit, and what that should bring.
pub(crate) fn ours_way_on(view: &RunView) -> Vec<Text> {
    if !view.is_ours() {
        return Vec::new();
    }
    let making = generator(view);
    vec![making::next(view, making), making::brings(view, making)]
}

/// What the generator made, if it was the limit.
fn generator(view: &RunView) -> Option<&Making> {
    match view.end.as_ref()?.verdict.as_ref()? {
        Verdict::Limits { generator, .. } => generator.as_ref(),
        _ => None,
    }
}

/// What is lost at any rate.
fn lost_anyway(words: Words, lost: &Background) -> Text {
    let each = (lost.due as f64 / lost.bad.max(1) as f64).round() as u64;
    let how = lost.failure.as_ref().map(|failure| format!(" ({failure})")).unwrap_or_default();
    let (one, unit) = (words.count(each), words.unit());
    let text = format!("1 of {one} fails{how}");
    let rest = if lost.seen {
        format!(
            " at any rate, also at {} {unit}: the goal is met at none. The limit is that of the others",
            number(lost.at)
        )
    } else {
        format!(
            ", too rarely to tell whether also at {} {unit}. The limit given is that of the others",
            number(lost.at)
        )
    };
    Text::empty().and(Tone::Bad, text).then(rest)
}

/// How well a limit is known that was as well known as the target's noise allowed, and what more time would buy.
fn noise(view: &RunView, limit: Option<&Limit>) -> String {
    let bounds = limit.and_then(|limit| limit.lower.zip(limit.upper));
    let known = match bounds {
        Some((lower, upper)) => format!("known to ±{}", percent((upper - lower) / (upper + lower))),
        None => "not known better".to_owned(),
    };
    let more = Nanos::from_secs((4.0 * view.loaded().as_secs_f64() / 60.0).ceil() as u64 * 60);
    format!(
        "its capacity varies, so the limit is {known}; halving that takes four times as long: --budget {more}"
    )
}

fn known(raised: &str, strict: Option<&Limit>) -> Option<Text> {
    let limit = strict?;
    let unit = &limit.unit;
    let text = match (limit.lower, limit.upper) {
        (Some(lower), Some(upper)) => {
            let rest = match limit.held {
                Some(_) => format!(" so far (between {} and {})", number(lower), number(upper)),
                None => format!(", fails at {}; the limit lies between", number(upper)),
            };
            let held = number(limit.held.unwrap_or(lower));
            return Some(Text::empty().and(Tone::Strong, format!("holds {held} {unit}")).then(rest));
        }
        (Some(lower), None) => format!("holds {} {unit}, perhaps more", number(lower)),
        (None, Some(upper)) => format!("fails at {} {unit}; no {raised} was shown to hold", number(upper)),
        (None, None) => format!("no {raised} was tried long enough to say anything"),
    };
    Some(Text::empty().and(Tone::Strong, text))
}

fn below_min(strict: Option<&Limit>, unit: &LimitUnit, raised: &str) -> Text {
    let upper = strict.and_then(|l| l.upper).map(|u| format!(" {} {unit}", number(u))).unwrap_or_default();
    Text::empty()
        .and(Tone::Bad, format!("does not hold even{upper}"))
        .then(format!(", the lowest {raised} tried: start lower with --from, or relax --goal"))
}

/// Why no more: what the last bad trial at the upper bound did wrong, or at the next rate above; or that it is bad where the target froze.
pub(crate) fn above(view: &RunView) -> Option<Text> {
    let ended = view.search_ended().unwrap_or(&Ended::Interrupted);
    if *ended == Ended::TargetFails {
        return None;
    }
    let strict = view.limits.first()?;
    let upper = strict.held.or(strict.upper)?;
    let words = if *ended == Ended::BelowMin { "there" } else { "above that" };
    if let Some(froze) = freezes::decide(view) {
        return Some(Text::plain(format!("{words} ")).and(Tone::Strong, froze));
    }
    let bad = view.trials.iter().rev().filter(|t| TrialState::of(t) == TrialState::Bad);
    let bad = bad.filter(|t| t.is_at(upper) || t.rate.is_some_and(|r| r.0 > upper));
    let rate = |t: &&Trial| t.rate.map_or(f64::INFINITY, |r| r.0);
    let why = why_bad(bad.min_by(|a, b| rate(a).total_cmp(&rate(b)))?)?;
    Some(Text::plain(format!("{words} ")).and(Tone::Strong, why))
}

/// What a target does once a queue has formed, if that is less than it holds.
fn sinks(strict: Option<&Limit>, overloaded: Option<f64>) -> Option<Text> {
    let (limit, did) = strict.zip(overloaded)?;
    let share = percent(1.0 - did / limit.held?);
    let sinks =
        format!("once a queue has formed it does only about {} {}, {share} less", number(did), limit.unit);
    Some(
        Text::empty()
            .and(Tone::Warn, sinks)
            .then(": an overload does not end until the load falls below that"),
    )
}

/// How the target was warmed up, if that made a difference.
fn warm(words: Words, warmed_up: Option<WarmedUp>) -> Option<Text> {
    let WarmedUp { loaded, answered, times } = warmed_up.filter(|warm| warm.times >= QUICKER)?;
    let times = if times < 10.0 { format!("{times:.1}") } else { format!("{times:.0}") };
    Some(Text::plain(format!(
        "{times} times quicker after a warm-up of {loaded} and {}",
        words.count(answered)
    )))
}

/// The second goal, if it tells anything that the first does not.
fn second(arrivals: &str, limits: &[Limit]) -> Option<Text> {
    let (strict, typical) = (limits.first()?, limits.get(1)?);
    if strict.held.is_some() {
        let half = moves(limits)?;
        let between = half.lower.zip(half.upper);
        let between =
            between.map(|(l, u)| format!(" (between {} and {})", number(l), number(u))).unwrap_or_default();
        return Some(Text::plain(format!(
            "half of the trials hold {} {}{between}",
            number(half.held?),
            half.unit
        )));
    }
    let lower = typical.lower?;
    if strict.lower.is_some_and(|s| lower <= s * 1.005) {
        return None;
    }
    let upper =
        typical.upper.map(|u| format!(" (between {} and {})", number(lower), number(u))).unwrap_or_default();
    let gap = match strict.lower {
        Some(s) => {
            format!(
                "; the gap of {} is hiccups: single trials that lose {arrivals}",
                percent(1.0 - s / lower)
            )
        }
        None => format!("; but single trials lose {arrivals} at every rate tried"),
    };
    Some(Text::plain(format!("the typical trial holds {} {}{upper}{gap}", number(lower), typical.unit)))
}

/// A share in whole percent, for speech.
fn percent(share: f64) -> String {
    Share((share * 100.0).round() / 100.0).to_string()
}

fn curve_lines(view: &RunView, curve: &[CurvePoint]) -> Vec<Text> {
    if curve.is_empty() {
        return Vec::new();
    }
    let mut lines = curve_table(curve).lines();
    lines.extend(indented(hiccups::line(view)));
    lines.push(Text::empty());
    lines
}

/// Response time at fixed shares of the capacity.
pub(crate) fn curve_table(curve: &[CurvePoint]) -> Table {
    let mut table = Table::new(&["response time", "p50", "p99", "max", "waiting"]);
    for point in curve {
        let share = format!("{:>3} %  {:>9}", (point.share * 100.0).round(), point.rate.to_string());
        let plain = [
            share,
            point.response_p50.to_string(),
            point.response_p99.to_string(),
            point.response_max.to_string(),
            format!("{:.1}", point.outstanding),
        ];
        table.row(plain.map(|text| (text, Tone::Plain)));
    }
    table
}

fn doubt(view: &RunView, strict: Option<&Limit>, detection_limit: f64) -> Option<Text> {
    let limit = strict?;
    limit.lower?;
    let mut text = Vec::new();
    let stood = Stood::of(view, limit);
    let (due, bad) = stood.map_or_else(|| at_bound(view, limit).1, |stood| (stood.due, stood.lost));
    if due > 0 {
        let of = if stood.is_some_and(|stood| stood.bad > 0) { "in the good trials " } else { "" };
        text.push(format!("{of}{}", how_sure(view.words(), bad, due)));
    }
    if detection_limit > 0.0 {
        text.push(format!("an overload below {} of the rate would not be seen", Share(detection_limit)));
    }
    (!text.is_empty()).then(|| Text::labelled("how sure", format!("{}.", text.join("; "))))
}

/// Requests of all trials that were sent twice.
fn resent(view: &RunView) -> Option<Text> {
    let (resent, due) = view
        .trials
        .iter()
        .fold((0, 0), |(resent, due), trial| (resent + trial.figures.resent, due + trial.figures.due));
    let text = || {
        let of = view.words().count(due);
        format!("{} of {of} hit a connection that the server was closing", grouped(resent))
    };
    (resent > 0).then(|| Text::labelled("resent", text()))
}

fn spent(trials: u64, loaded: Nanos) -> Option<Text> {
    if loaded == Nanos::ZERO {
        return None;
    }
    let s = if trials == 1 { "" } else { "s" };
    let seconds = Nanos::from_secs(loaded.as_secs_f64().round() as u64);
    let text = format!("{} trial{s}, {seconds} of load", grouped(trials));
    Some(Text::labelled("time", text))
}

/// Only errors came back: which, how often, and what to look at.
fn target_fails(view: &RunView) -> Vec<Text> {
    let (mut outcomes, mut due) = (Outcomes::default(), 0);
    let mut failures: BTreeMap<&Failure, u64> = BTreeMap::new();
    for trial in &view.trials {
        outcomes.merge(&trial.figures.outcomes);
        due += trial.figures.due;
        for (failure, count) in &trial.figures.failures {
            *failures.entry(failure).or_default() += count;
        }
    }
    let head = Text::empty()
        .and(Tone::Bad, format!("the target fails from the first {} on", view.words().arrival()))
        .then(": there is no limit to find");
    let worst = failures.iter().max_by_key(|(_, count)| **count);
    let (what, check) = match worst {
        Some((failure, count)) if outcomes.failed >= outcomes.timeout => (
            format!("{}: {} of {}", failure, grouped(*count), view.words().count(due)),
            what_to_check(failure),
        ),
        _ if outcomes.timeout > 0 => (
            format!(
                "no complete answer in time: {} of {}",
                grouped(outcomes.get(Outcome::Timeout)),
                view.words().count(due)
            ),
            "check the address, raise --timeout, or look with --once at how long one request takes",
        ),
        _ => return vec![head],
    };
    vec![head, Text::empty().and(Tone::Strong, what), Text::plain(check)]
}
