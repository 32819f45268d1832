//! That the target froze, in words and as JSON.

use crate::values::{rate_value, seconds};
use crate::{RunView, Text, Tone};
use diagnosis::Freezes;
use record::Verdict;
use serde_json::{Value, json};
use units::{Nanos, grouped};

/// Lengths that differ by more than this are not told as one.
const ALIKE: f64 = 1.2;

/// In one line, if it did.
pub(crate) fn line(view: &RunView) -> Option<Text> {
    let found = view.freezes()?;
    let is_met = matches!(
        view.end.as_ref().and_then(|end| end.verdict.as_ref()),
        Some(Verdict::Goal { met: Some(true), .. })
    );
    // Under a goal that is met it is a warning, and where no limit of the target was found.
    let tone = if is_met || view.is_ours() { Tone::Warn } else { Tone::Bad };
    let froze = format!("the target {}", times(found.each.len()));
    Some(Text::empty().and(tone, froze).then(format!(
        "{} ({} of the time under load: the slowest answers waited for that); {}",
        lengths(&found),
        found.share(),
        found.meanwhile.text
    )))
}

/// What to do about it, by what the target did then.
pub(crate) fn next(view: &RunView) -> Option<Text> {
    let found = view.freezes().filter(|found| found.each.len() > 1)?;
    let what = advice(found.meanwhile.code, found.period);
    Some(Text::empty().and(Tone::Faint, "next: ").then(what))
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

/// How long, and how often.
fn lengths(found: &Freezes) -> String {
    let (median, longest) = (shown(found.median()), shown(found.longest()));
    let alike = found.longest().as_secs_f64() <= ALIKE * found.median().as_secs_f64();
    let most = match alike {
        true if found.each.len() > 1 => " each".to_owned(),
        true => String::new(),
        false => format!(" in the median, {longest} at most"),
    };
    let every = found.period.map(|period| format!(", every {}", shown(period))).unwrap_or_default();
    format!(" for {median}{most}{every}")
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
