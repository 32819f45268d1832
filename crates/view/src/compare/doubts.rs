//! Why a difference between runs may come of something else.

use super::measure::Run;
use super::runs::Compared;
use crate::{RunView, caveats, fleet};
use record::{Caveat, Doubt, Machine};
use units::Bytes;

/// So many settings of two plans are said that differ.
const SETTINGS: usize = 4;
/// The setting that is the target.
const TARGET: &str = "target.url";

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
            note(Doubt::OtherTarget, format!("{title} is of {}, {of} of {}", other.target, first.target));
        }
        if let Some(words) = plans(&first.plan, &other.plan, other.target != first.target) {
            note(Doubt::OtherPlan, format!("{title} was made with other settings than {of}: {words}"));
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

/// The settings by which two plans differ: `rate 2200 instead of 1800`; without the target's address, if that is told already.
fn plans(first: &str, other: &str, target_is_told: bool) -> Option<String> {
    let [first, other] = [first, other].map(|plan| {
        let mut all = settings(plan);
        all.retain(|(key, _)| !(target_is_told && key == TARGET));
        all
    });
    let find =
        |of: &[Setting], key: &str| of.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone());
    let mut all: Vec<(String, String)> = Vec::new();
    for (key, value) in &other {
        match find(&first, key) {
            Some(before) if before != *value => {
                all.push((key.clone(), format!("{value} instead of {before}")))
            }
            Some(_) => {}
            None => all.push((key.clone(), format!("{value} (which the other does not set)"))),
        }
    }
    for (key, value) in &first {
        if find(&other, key).is_none() {
            all.push((key.clone(), format!("not set (which the other sets to {value})")));
        }
    }
    let name = |key: &str| key.rsplit_once('.').map_or(key, |(_, name)| name).to_owned();
    let alone = |key: &str| all.iter().filter(|(other, _)| name(other) == name(key)).count() == 1;
    let said = all
        .iter()
        .map(|(key, words)| format!("{} {words}", if alone(key) { name(key) } else { key.clone() }));
    let shown = said.take(SETTINGS).collect::<Vec<_>>().join(", ");
    let more = all.len().saturating_sub(SETTINGS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!all.is_empty()).then(|| shown + &more)
}

/// A key with its tables before it, and its value.
type Setting = (String, String);

/// Every setting of a plan; of one that is no plan file, but what was typed, all of it.
fn settings(plan: &str) -> Vec<Setting> {
    let mut found = Vec::new();
    match plan.parse::<toml::Table>() {
        Ok(table) => gather("", &toml::Value::Table(table), &mut found),
        Err(_) => found.push(("command".to_owned(), plan.trim().to_owned())),
    }
    found
}

fn gather(key: &str, value: &toml::Value, found: &mut Vec<Setting>) {
    let inner = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
    match value {
        toml::Value::Table(table) => {
            table.iter().for_each(|(name, value)| gather(&inner(name), value, found));
        }
        toml::Value::Array(all) if !all.is_empty() && all.iter().all(toml::Value::is_table) => {
            for (nth, value) in (1..).zip(all) {
                gather(&format!("{key} {nth}"), value, found);
            }
        }
        toml::Value::String(text) => found.push((key.to_owned(), text.clone())),
        value => found.push((key.to_owned(), value.to_string())),
    }
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
        assert_eq!(plans("rate = 5\n", "rate = 5\n", false), None);
        let demo = "rate = 5\n[target]\nurl = \"demo\"\n";
        let null = "rate = 6\nseed = 2\n[target]\n  url = \"null\"\n";
        assert_eq!(
            plans(demo, null, false).as_deref(),
            Some("rate 6 instead of 5, seed 2 (which the other does not set), url null instead of demo")
        );
        let told = "rate 6 instead of 5, seed 2 (which the other does not set)";
        assert_eq!(plans(demo, null, true).as_deref(), Some(told), "that of the target is told already");
        let flows = |last: &str| format!("[[step]]\nurl = \"/a\"\n[[step]]\nurl = \"/{last}\"\n");
        assert_eq!(
            plans(&flows("b"), &flows("c"), false).as_deref(),
            Some("url /c instead of /b"),
            "the second is not the first"
        );
        assert_eq!(
            plans("[a]\nurl = 1\n[b]\nurl = 2\n", "[a]\nurl = 3\n", false).as_deref(),
            Some("a.url 3 instead of 1, b.url not set (which the other sets to 2)")
        );
        let lines = "headers = [\n  \"x: 1\",\n]\n";
        assert_eq!(
            plans(lines, &lines.replace('1', "2"), false).as_deref(),
            Some("headers [\"x: 2\"] instead of [\"x: 1\"]")
        );
        assert_eq!(
            plans("launch --blocks 3", "launch --blocks 4", false).as_deref(),
            Some("command launch --blocks 4 instead of launch --blocks 3")
        );
        let many: String = (0..9).map(|n| format!("a{n} = 1\n")).collect();
        assert!(plans("", &many, false).expect("they differ").ends_with(" and 5 more"));
    }
}
