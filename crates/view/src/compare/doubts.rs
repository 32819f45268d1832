//! Why a difference between runs may come of something else.

use super::measure::Run;
use super::runs::Compared;
use crate::{RunView, caveats, fleet};
use record::{Caveat, Doubt, Machine};
use std::collections::BTreeSet;
use units::Bytes;

/// So many lines of two plans are said that differ.
const PLAN_LINES: usize = 3;

/// Everything that the runs do not have in common but should, and their own doubts: what makes them incomparable first.
pub(super) fn doubts(runs: &[Run<'_>], compared: &[Compared]) -> Vec<Caveat> {
    let mut all = Vec::new();
    let mut note = |doubt: Doubt, text: String| all.push(Caveat::new(doubt, text));
    let views: Vec<&RunView> = runs.iter().map(|(view, _)| *view).collect();
    let started = |view: &RunView| view.started.clone().expect("it was looked at before");
    let first = started(views[0]);
    for (view, run) in views.iter().zip(compared).skip(1) {
        let (other, title, of) = (started(view), &run.title, &compared[0].title);
        if let Some(words) = machines(&first.machine, &other.machine) {
            note(
                Doubt::OtherMachine,
                format!(
                    "{title} and {of} were made on different machines ({words}): the difference may be theirs"
                ),
            );
        }
        let makers = [*view, views[0]].map(|view| fleet::named(&view.fleet));
        if makers[0] != makers[1] {
            let [one, another] = makers;
            let text = format!("the load of {title} was made by {one}, that of {of} by {another}");
            note(Doubt::OtherMachine, text);
        }
        if other.method != first.method {
            let text = format!(
                "{title} was measured by method {}, {of} by method {}: their figures mean different \
                 things; measure both with the same version of torment",
                other.method, first.method
            );
            note(Doubt::OtherMethod, text);
        } else if other.version != first.version {
            note(
                Doubt::OtherVersion,
                format!("{title} was made by torment {}, {of} by {}", other.version, first.version),
            );
        }
        if other.target != first.target {
            note(Doubt::OtherTarget, format!("{title} is of {}, {of} of {}", other.target, first.target));
        }
        if let Some(words) = plans(&first.plan, &other.plan) {
            note(Doubt::OtherPlan, format!("the plan of {title} is not that of {of}: {words}"));
        }
    }
    for (view, run) in views.iter().zip(compared) {
        let title = &run.title;
        match &view.end {
            None if view.running => {
                note(Doubt::StillRunning, format!("{title} is still running: this is what is known so far"))
            }
            None => note(Doubt::CutShort, format!("{title} was cut short: only part of it is compared")),
            Some(end) => {
                if let Some(error) = &end.error {
                    note(Doubt::Failed, format!("{title} came to no verdict: {error}"));
                }
            }
        }
        for (caveat, _) in caveats::gathered(view) {
            note(caveat.doubt.clone(), format!("{title}: {caveat}"));
        }
        if view.skipped > 0 {
            note(
                Doubt::SkippedEvents,
                format!("{} events of {title} could not be read by this version", view.skipped),
            );
        }
    }
    if runs.len() > 1 {
        let text = "each run was made once: the intervals leave out what differs from start to start; \
                    `torment try` measures that";
        note(Doubt::SingleRuns, text.to_owned());
    }
    all
}

/// What differs between two machines; none if nothing does.
fn machines(first: &Machine, other: &Machine) -> Option<String> {
    let mut words = Vec::new();
    let mut differs = |one: String, another: String| {
        if one != another {
            words.push(format!("{another} instead of {one}"));
        }
    };
    differs(first.host.clone(), other.host.clone());
    differs(first.processor.clone(), other.processor.clone());
    let processors =
        |machine: &Machine| format!("{} processor{}", machine.cpus, if machine.cpus == 1 { "" } else { "s" });
    differs(processors(first), processors(other));
    // Kernels give or keep a few MiB from boot to boot.
    let near = first.memory_bytes.abs_diff(other.memory_bytes) <= first.memory_bytes / 50;
    if !near {
        differs(Bytes(first.memory_bytes).to_string(), Bytes(other.memory_bytes).to_string());
    }
    differs(format!("kernel {}", first.kernel), format!("kernel {}", other.kernel));
    (!words.is_empty()).then(|| words.join(", "))
}

/// Lines of the one plan that the other has not.
fn plans(first: &str, other: &str) -> Option<String> {
    let lines = |text: &'static str, of: &str, without: &str| -> Vec<String> {
        let known: BTreeSet<&str> = without.lines().map(str::trim).collect();
        let new = of.lines().map(str::trim).filter(|line| !line.is_empty() && !known.contains(line));
        new.map(|line| format!("{text} `{line}`")).collect()
    };
    let all: Vec<String> = [lines("it has", other, first), lines("it lacks", first, other)].concat();
    let more = all.len().saturating_sub(PLAN_LINES);
    let shown = all.iter().take(PLAN_LINES).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!all.is_empty()).then(|| shown + &more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_and_plans_that_differ() {
        let hill = Machine {
            host: "hill".to_owned(),
            processor: "Abacus 3000".to_owned(),
            cpus: 2,
            memory_bytes: 8 << 30,
            kernel: "6.12.0".to_owned(),
        };
        assert_eq!(machines(&hill, &hill), None);
        let other = Machine { cpus: 4, memory_bytes: (8 << 30) - (1 << 20), ..hill.clone() };
        assert_eq!(machines(&hill, &other).as_deref(), Some("4 processors instead of 2 processors"));
        assert_eq!(plans("rate = 5\n", "rate = 5\n"), None);
        assert_eq!(
            plans("rate = 5\n[target]\n", "[target]\n  rate = 6\n").as_deref(),
            Some("it has `rate = 6`, it lacks `rate = 5`")
        );
        let many: String = (0..9).map(|n| format!("a{n} = 1\n")).collect();
        assert!(plans("", &many).expect("they differ").ends_with(" and 6 more"));
    }
}
