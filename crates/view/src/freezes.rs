//! Freezes of the target, in words and as JSON.

use crate::contrary_trials::plotted_trials;
use crate::values::{rate_value, seconds};
use crate::wording::rounded;
use crate::{ArrivalKind, ReportKind, RunView, Text, Tone, Trial, TrialState};
use diagnosis::{Freezes, format_times, rounded_length};
use record::{Cause, SearchEnd};
use serde_json::{Value, json};
use units::{Nanos, Rate, Share};

/// Trials within this factor of a rate are near it.
const NEAR_FACTOR: f64 = 1.03;

/// How sure the freezes are, and what the target did meanwhile: silences are counted, but what is seen in the same seconds may merely
/// coincide.
pub(crate) fn certainty_words(view: &RunView) -> Option<String> {
    let found = view.freezes()?;
    Some(match found.activity.code {
        "unseen" | "nothing" => " (high confidence that it froze; the cause is not known)".to_owned(),
        _ => " (high confidence that it froze, medium confidence in the cause)".to_owned(),
    })
}

/// One line, if it froze; under a met goal, whose headline has the first half, only the cost. `None` where the verdict on what gave first
/// says it.
pub(crate) fn line(view: &RunView) -> Option<Text> {
    let found = view.freezes().filter(|_| view.cause() != Some(Cause::Freeze))?;
    if view.goal_met() == Some(true) {
        return Some(Text::new(Tone::Warn, "frozen").with_plain(format!(" {}", cost_words(view, &found))));
    }
    // A warning where no limit of the target was found.
    let tone = if view.is_generator_limited() { Tone::Warn } else { Tone::Bad };
    let (count, lengths) = (found.each.len(), found.format_lengths());
    // A search only sees freezes during trials: fewer than length and period suggest.
    let (froze, lengths) = match found.period.filter(|_| view.kind() == ReportKind::Search) {
        Some(_) => ("froze".to_owned(), format!("{lengths}, seen {count} times in trials")),
        None => (format_times(count), lengths),
    };
    let froze = Text::new(tone, format!("the target {froze}"));
    Some(froze.with_plain(format!("{lengths}: {}", cost_words(view, &found))))
}

/// The first half of that line, after a met goal: a green result must not hide what the goal does not ask for.
pub(crate) fn headline_suffix(view: &RunView) -> Option<String> {
    let found = view.freezes()?;
    Some(format!(", but the target {}{}", format_times(found.each.len()), found.format_lengths()))
}

/// The share of time it took, who had to wait, and what the target did meanwhile.
fn cost_words(view: &RunView, found: &Freezes) -> String {
    let rate =
        held(view).or_else(|| view.load()?.rate).filter(|_| view.arrival_kind() != ArrivalKind::Connections);
    let leave = rate.and_then(|rate| found.format_left(rate, |left| view.arrival_kind().count(left)));
    let leave = leave.map(|leave| format!("; {leave}")).unwrap_or_default();
    format!("{} of the time{leave}; {}", found.time_share(), found.activity.text)
}

fn froze_in(found: &Freezes, trial: &Trial) -> bool {
    found.each.iter().any(|freeze| freeze.trial == trial.number)
}

/// Whether torment fell behind only while the target froze: then it was not the limit by itself.
pub(crate) fn is_lateness_by_freezes(view: &RunView) -> bool {
    let Some(found) = view.freezes() else { return false };
    let mut void = view.trials.iter().filter(|trial| trial.is_void()).peekable();
    void.peek().is_some() && void.all(|trial| froze_in(&found, trial))
}

/// That freezes are why trials near the limit are bad, if all of these froze and few of the good ones did; one trial says too little.
/// `None` where the verdict on what gave first says it, or where the limit would be no higher without them.
pub(crate) fn why_trials_bad(view: &RunView) -> Option<String> {
    let found =
        view.freezes().filter(|_| view.cause() != Some(Cause::Freeze) && !is_limit_unaffected(view))?;
    let held = view.held()?;
    let of = |state| plotted_trials(view).filter(move |(_, trial)| trial.state() == state);
    let lowest = of(TrialState::Bad).map(|(at, _)| at).filter(|at| *at > held).min_by(f64::total_cmp)?;
    let near = held / NEAR_FACTOR..=lowest * NEAR_FACTOR;
    let bad: Vec<&Trial> = of(TrialState::Bad).filter(|(at, _)| near.contains(at)).map(|(_, t)| t).collect();
    let (mut calm, mut good) = (0, 0);
    for (_, trial) in of(TrialState::Good).filter(|(at, _)| *at >= held / NEAR_FACTOR) {
        good += 1;
        calm += usize::from(!froze_in(&found, trial));
    }
    let decides = bad.len() > 1 && calm * 2 > good && bad.iter().all(|trial| froze_in(&found, trial));
    let length = rounded_length(found.median());
    let left = view.arrival_kind().count((lowest * length.as_secs_f64()).round() as u64);
    decides.then(|| {
        format!(
            "the target froze in every bad trial ({}): a freeze of {length} at {} leaves {left} waiting; {}",
            bad.len(),
            Rate(lowest),
            found.activity.text
        )
    })
}

/// Whether it froze more than once: once is a hiccup.
pub(crate) fn is_recurrent(view: &RunView) -> bool {
    view.freezes().is_some_and(|found| found.each.len() > 1)
}

/// Whether there is no better finding: that requests wait somewhere inside says less than that everything stood still.
pub(crate) fn is_main_finding(view: &RunView) -> bool {
    let is_it = match view.cause() {
        Some(Cause::Freeze) => true,
        Some(Cause::Inside) => !is_limit_unaffected(view),
        None => true,
        Some(_) => false,
    };
    is_recurrent(view) && !view.is_generator_limited() && (is_it || why_trials_bad(view).is_some())
}

/// What holds, as far as known.
fn held(view: &RunView) -> Option<Rate> {
    view.held().map(Rate)
}

/// Whether the limit would be no higher without them.
pub(crate) fn is_limit_unaffected(view: &RunView) -> bool {
    held(view).zip(view.freezes()).is_some_and(|(held, found)| found.leave_limit(held))
}

/// That nothing else is known to have given and freezes do not set the limit, so what does is unknown. Earlier versions named freezes as
/// what gave first all the same.
pub(crate) fn unknown_cause_line(view: &RunView) -> Option<Text> {
    let is_all = matches!(view.cause(), None | Some(Cause::Freeze)) && view.diagnosis.is_some();
    let is_so = is_all && is_recurrent(view) && !view.is_generator_limited() && is_limit_unaffected(view);
    is_so.then_some(())?;
    let queued = view.arrival_kind().arrivals();
    let known = match view.freezes().zip(held(view)) {
        Some((Freezes { rate_between: None, failed_rates: failed_without, .. }, held)) => {
            let fails = failed_without.iter().find(|rate| rate.0 > held.0)?;
            format!(": {fails} fails even without a freeze")
        }
        _ => format!(": between freezes it answers no more than that either, however many {queued} queue"),
    };
    Some(Text::new(Tone::Strong, "what sets the limit is not known").with_plain(known))
}

/// Follows their cost where the limit is the same without them.
pub(crate) fn limit_unaffected_words(view: &RunView) -> String {
    match sustained_rate(view).and_then(|_| view.freezes()) {
        Some(found) => {
            let left = Share(1.0 - found.time_share().0);
            format!(" (after a trial it can catch up; in the long run it has only {left} of the time)")
        }
        None => " (this costs response time, not the limit)".to_owned(),
    }
}

/// What the target holds for longer than a trial, if less than in trials.
pub(crate) fn sustained_rate(view: &RunView) -> Option<Rate> {
    let (found, held) = view.freezes().filter(|_| !view.is_generator_limited()).zip(held(view))?;
    found.sustained_rate(held).map(rounded)
}

/// The limit left without freezes: what the target answered between them while requests queued, else its bounds.
fn remaining_words(view: &RunView, found: &Freezes) -> Option<String> {
    if view.arrival_kind() == ArrivalKind::Connections {
        return None;
    }
    let Some(held) = held(view) else {
        let most = found.rate_between?;
        return Some(format!(
            "; between freezes it answered {most} while {} queued",
            view.arrival_kind().arrivals()
        ));
    };
    let queued = view.arrival_kind().arrivals();
    Some(match (found.rate_between, found.fails_without(held)) {
        // A second figure close to what holds would look like a contradiction.
        _ if found.leave_limit(held) => match found.sustained_rate(held) {
            Some(_) => format!("; for longer than a trial it then holds about {held}, too"),
            None => format!("; the limit stays at about {held}"),
        },
        (Some(most), _) if most.0 > held.0 => {
            format!(
                "; the limit rises to about {}: between freezes it answered that while {queued} queued",
                rounded(most)
            )
        }
        (_, Some(fails)) => {
            format!("; the limit is then between {held} and {fails}, where trials failed without a freeze")
        }
        (_, None) => format!("; the limit is then {held} or more: above it nothing failed without a freeze"),
    })
}

/// What to do, given what the target did in freezes, and the expected gain; empty where something else comes first.
pub(crate) fn next_steps(view: &RunView) -> Vec<Text> {
    let Some(found) = view.freezes().filter(|found| found.each.len() > 1) else { return Vec::new() };
    let named = view.diagnosis.as_ref().is_some_and(|found| !found.findings.is_empty());
    if view.is_generator_limited()
        || view.search_ended() == Some(&SearchEnd::MaxReached)
        || (named && !is_main_finding(view))
    {
        return Vec::new();
    }
    let brings = format!(
        "without the freezes no answer is held up for {}, and the target serves all of the time, not {} of it{}",
        found.length(),
        Share(1.0 - found.time_share().0),
        remaining_words(view, &found).unwrap_or_default()
    );
    vec![Text::labelled("next", found.advice()), Text::labelled("expect", brings)]
}

/// The wait of requests that arrive in a freeze, if more than a figure which may have been measured between two.
pub(crate) fn wait_words(view: &RunView, figure: Nanos) -> String {
    let longest = view.freezes().filter(|_| is_recurrent(view)).map(|found| found.longest());
    let longest = longest.filter(|longest| *longest > figure * 2);
    longest
        .map(|longest| format!(" between freezes, up to {} in one", rounded_length(longest)))
        .unwrap_or_default()
}

/// JSON; null if it never froze.
pub(crate) fn json(view: &RunView) -> Value {
    let Some(found) = view.freezes() else { return Value::Null };
    let each = found.each.iter().map(|freeze| {
        json!({
            "trial": freeze.trial,
            "from_seconds": seconds(freeze.from),
            "to_seconds": seconds(freeze.to),
            "ended": freeze.ended,
        })
    });
    json!({
        "count": found.each.len(),
        "loaded_seconds": seconds(found.loaded_time),
        "share": rate_value(found.share().0),
        "median_seconds": seconds(found.median()),
        "longest_seconds": seconds(found.longest()),
        "period_seconds": found.period.map(seconds),
        "long_run_per_second": sustained_rate(view).map(|rate| rate_value(rate.0)),
        "between_per_second": found.rate_between.map(|most| rate_value(most.0)),
        "meanwhile": { "code": found.activity.code, "text": found.activity.text },
        "each": each.collect::<Vec<_>>(),
    })
}
