//! That the target froze, in words and as JSON.

use crate::strays::judged;
use crate::values::{rate_value, seconds};
use crate::{RunView, Text, Tone, Trial, TrialState, Words};
use diagnosis::Freezes;
use record::{Cause, Ended, Verdict};
use serde_json::{Value, json};
use units::{Nanos, Rate, grouped};

/// Lengths that differ by more than this are not told as one.
const ALIKE: f64 = 1.2;
/// Trials within this factor of a rate are next to it.
const NEAR: f64 = 1.03;

/// In one line, if it did; under a goal that is met, whose headline has the first half, what it cost.
pub(crate) fn line(view: &RunView) -> Option<Text> {
    let found = view.freezes()?;
    if is_met(view) {
        return Some(Text::empty().and(Tone::Warn, "frozen").then(format!(" {}", cost(view, &found))));
    }
    // Where no limit of the target was found it is a warning.
    let tone = if view.is_ours() { Tone::Warn } else { Tone::Bad };
    let froze = Text::empty().and(tone, format!("the target {}", times(found.each.len())));
    Some(froze.then(format!("{}: {}", lengths(&found), cost(view, &found))))
}

/// The first half of it, behind a goal that is met: whoever looks for green is to see what the goal does not ask for.
pub(crate) fn but(view: &RunView) -> Option<String> {
    let found = view.freezes()?;
    Some(format!(", but the target {}{}", times(found.each.len()), lengths(&found)))
}

fn is_met(view: &RunView) -> bool {
    let verdict = view.end.as_ref().and_then(|end| end.verdict.as_ref());
    matches!(verdict, Some(Verdict::Goal { met: Some(true), .. }))
}

/// How much of the time it took, who had to wait for it, and what the target did meanwhile.
fn cost(view: &RunView, found: &Freezes) -> String {
    let held = view.limits.first().and_then(|limit| limit.held.or(limit.lower)).map(Rate);
    let rate = held.or_else(|| view.load()?.rate).filter(|_| view.words() != Words::Connections);
    let length = if are_alike(found) { found.median() } else { found.longest() };
    let waiting = rate.map(|rate| (rate, waiting(rate, shown(length))));
    let waiting = waiting.filter(|(_, count)| *count > 0).map_or_else(String::new, |(rate, count)| {
        let each = match found.each.len() {
            1 => "it left",
            _ if are_alike(found) => "each freeze leaves",
            _ => "the longest leaves",
        };
        format!("; at {rate} {each} {} waiting", view.words().count(count))
    });
    format!("{} of the time under load{waiting}; {}", found.share(), found.meanwhile.text)
}

/// How many wait at the end of a freeze.
fn waiting(rate: Rate, length: Nanos) -> u64 {
    (rate.0 * length.as_secs_f64()).round() as u64
}

/// Whether the target froze in a trial.
fn froze_in(found: &Freezes, trial: &Trial) -> bool {
    found.each.iter().any(|freeze| freeze.trial == trial.number)
}

/// Whether torment fell behind only where the target froze: then it was not the limit by itself.
pub(crate) fn held_up(view: &RunView) -> bool {
    let Some(found) = view.freezes() else { return false };
    let mut void = view.trials.iter().filter(|trial| TrialState::is_void(trial)).peekable();
    void.peek().is_some() && void.all(|trial| froze_in(&found, trial))
}

/// What makes trials next to the limit bad, if it is that the target froze in them: in all of these, and in few of the good ones there.
pub(crate) fn decide(view: &RunView) -> Option<String> {
    let found = view.freezes()?;
    let limit = view.limits.first()?;
    let held = limit.held.or(limit.lower)?;
    let of = |state| judged(view).filter(move |(_, trial)| TrialState::of(trial) == state);
    let lowest = of(TrialState::Bad).map(|(at, _)| at).filter(|at| *at > held).min_by(f64::total_cmp)?;
    let near = held / NEAR..=lowest * NEAR;
    let bad: Vec<&Trial> = of(TrialState::Bad).filter(|(at, _)| near.contains(at)).map(|(_, t)| t).collect();
    let (mut calm, mut good) = (0, 0);
    for (_, trial) in of(TrialState::Good).filter(|(at, _)| *at >= held / NEAR) {
        good += 1;
        calm += usize::from(!froze_in(&found, trial));
    }
    let decides = calm * 2 > good && bad.iter().all(|trial| froze_in(&found, trial));
    let length = shown(found.median());
    let left = view.words().count(waiting(Rate(lowest), length));
    decides.then(|| {
        format!(
            "the target froze in every bad trial ({}): a freeze of {length} at {} leaves {left} waiting; {}",
            bad.len(),
            Rate(lowest),
            found.meanwhile.text
        )
    })
}

/// Whether it froze more than once: once is a hiccup.
pub(crate) fn recur(view: &RunView) -> bool {
    view.freezes().is_some_and(|found| found.each.len() > 1)
}

/// Whether there is nothing better to say of what gave first: that requests wait somewhere inside says less than that all of it stood still.
pub(crate) fn lead(view: &RunView) -> bool {
    let cause = view.diagnosis.as_ref().and_then(|found| found.cause());
    recur(view) && !view.is_ours() && (cause == Some(Cause::Inside) || decide(view).is_some())
}

/// What to do about it, by what the target did then, and what it would bring to be rid of it; nothing where something else is to be done first.
pub(crate) fn way_on(view: &RunView) -> Vec<Text> {
    let Some(found) = view.freezes().filter(|found| found.each.len() > 1) else { return Vec::new() };
    let named = view.diagnosis.as_ref().is_some_and(|found| !found.findings.is_empty());
    if view.is_ours() || view.search_ended() == Some(&Ended::MaxReached) || (named && !lead(view)) {
        return Vec::new();
    }
    let brings = format!(
        "without the freezes no answer is held up for {}, and the target serves {} more of the time",
        shown(found.longest()),
        found.share()
    );
    let next = advice(found.meanwhile.code, found.period);
    vec![Text::labelled("next", next), Text::labelled("expect", brings)]
}

fn advice(meanwhile: &str, period: Option<Nanos>) -> String {
    match meanwhile {
        "quota" => "raise the processor quota, or spread out what uses it up".to_owned(),
        "collector" => "give the heap more room, or choose a collector with short pauses".to_owned(),
        "safepoint" => "the virtual machine's log names them: -Xlog:safepoint".to_owned(),
        "stolen" => "use a machine whose processors the hypervisor gives to nobody else".to_owned(),
        "stopped" => "find who stops it: a debugger, a snapshot, a container that is frozen".to_owned(),
        "disk" => "look at what else uses that disk at those moments".to_owned(),
        "waiting" => "take a stack trace at such a moment: it shows what that thread waits for".to_owned(),
        "busy" => "profile it at such a moment (perf record -g -p PID)".to_owned(),
        _ => {
            let when = match period {
                Some(period) => format!("look for what happens every {}", shown(period)),
                None => "look into the target's log at those moments".to_owned(),
            };
            format!("{when}: a timer, a collector, a checkpoint, a backup, a neighbour")
        }
    }
}

/// How often.
pub(crate) fn times(count: usize) -> String {
    match count {
        1 => "froze once".to_owned(),
        2 => "froze twice".to_owned(),
        count => format!("froze {} times", grouped(count as u64)),
    }
}

/// Whether all are about as long.
fn are_alike(found: &Freezes) -> bool {
    found.longest().as_secs_f64() <= ALIKE * found.median().as_secs_f64()
}

/// How long, and how often.
fn lengths(found: &Freezes) -> String {
    let (median, longest) = (shown(found.median()), shown(found.longest()));
    let most = match are_alike(found) {
        true if found.each.len() > 1 => " each".to_owned(),
        true => String::new(),
        false => format!(" in the median, {longest} at most"),
    };
    format!(" for {median}{most}{}", apart(found))
}

/// How long from one to the next: the period, or else, of freezes in one trial, what was seen.
fn apart(found: &Freezes) -> String {
    if let Some(period) = found.period {
        return format!(", every {}", shown(period));
    }
    let of_one = found.each.windows(2).all(|pair| pair[0].trial == pair[1].trial);
    let gaps = found.each.windows(2).map(|pair| pair[1].to - pair[0].to);
    match (gaps.clone().min(), gaps.max()) {
        (Some(least), Some(most)) if of_one => {
            let alike = most.as_secs_f64() <= ALIKE * least.as_secs_f64();
            let least = if alike { String::new() } else { format!("{} to ", shown(least)) };
            format!(", {least}{} apart", shown(most))
        }
        _ => String::new(),
    }
}

/// How long: to the tenth of a second where it is longer than a few, else to ten milliseconds.
pub(crate) fn shown(time: Nanos) -> Nanos {
    let step = if time >= Nanos::from_secs(3) { 100_000_000 } else { 10_000_000 };
    Nanos((time.0 + step / 2) / step * step)
}

/// For programs; null if it never froze.
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
        "loaded_seconds": seconds(found.loaded),
        "share": rate_value(found.share().0),
        "median_seconds": seconds(found.median()),
        "longest_seconds": seconds(found.longest()),
        "period_seconds": found.period.map(seconds),
        "meanwhile": { "code": found.meanwhile.code, "text": found.meanwhile.text },
        "each": each.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A load whose target froze every ten seconds said what a thread waited for then, and nothing of what to do.
    #[test]
    fn whatever_it_did_meanwhile_there_is_something_to_do() {
        let every = Some(Nanos::from_secs(10));
        let known = ["stopped", "quota", "collector", "safepoint", "stolen", "disk", "waiting", "busy"];
        for code in known {
            assert!(!advice(code, every).contains("every 10 s"), "{code} is explained");
        }
        assert!(advice("nothing", every).starts_with("look for what happens every 10 s: a timer"));
        assert!(advice("unseen", None).starts_with("look into the target's log"));
    }
}
