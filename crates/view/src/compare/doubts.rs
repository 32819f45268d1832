//! Why a difference between runs may come of something else.

use super::compared::Compared;
use super::measured::{Run, other_load};
use super::settings::plans;
use super::spread::Spread;
use crate::{RunView, caveats, fleet};
use record::{Caveat, Doubt, Machine};
use units::Bytes;

/// Everything that the runs do not have in common but should, and their own doubts: what makes them incomparable first.
pub(super) fn doubts(runs: &[Run<'_>], compared: &[Compared]) -> Vec<Caveat> {
    let mut all = Vec::new();
    let mut note = |doubt: Doubt, text: String| all.push(Caveat::new(doubt, text));
    let views: Vec<&RunView> = runs.iter().map(|(view, _)| *view).collect();
    let started = |view: &RunView| view.started.clone().expect("it was looked at before");
    let first = started(views[0]);
    for (view, run) in views.iter().zip(compared).skip(1) {
        let (other, title, of) = (started(view), run.called(), compared[0].called());
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
            let text = format!("from {of} to {title}: target {} → {}", first.target, other.target);
            note(Doubt::OtherTarget, text);
        }
        if let Some(words) = other_load(runs[0], (view, &Spread::default())) {
            note(Doubt::OtherLoad, format!("from {of} to {title}: {words}"));
        }
        if let Some(words) = plans(&first.plan, &other.plan, other.target != first.target) {
            note(Doubt::OtherPlan, format!("from {of} to {title}: {words}"));
        }
    }
    for (view, run) in views.iter().zip(compared) {
        let title = run.called();
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
        let text = "one run of each: the intervals leave out how much two runs of the same setup differ";
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_that_differ() {
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
    }
}
