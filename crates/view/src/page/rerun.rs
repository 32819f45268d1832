//! The shell command that repeats a run, from its stored data.

use crate::{WatchedPlace, fleet};
use record::{FleetMember, RunKind, RunStart};

/// Heredoc delimiter for a plan.
const HEREDOC_DELIMITER: &str = "TORMENT";

/// The command that repeats the run, with this fleet and these watchers; `None` if the stored data do not tell, or a shell would misread
/// it.
pub(super) fn rerun_command(
    started: &RunStart,
    members: &[FleetMember],
    places: &[WatchedPlace],
) -> Option<String> {
    let plan = started.plan.trim_end();
    match &started.command {
        RunKind::Find | RunKind::Run | RunKind::Try => {
            let ends = plan.lines().any(|line| line == HEREDOC_DELIMITER);
            let is_text = plan.chars().all(|c| c == '\n' || c == '\t' || !c.is_control());
            let file = format!("{}.toml", started.id);
            // Earlier versions did not store it in the plan.
            let fleet = match plan.lines().any(|line| line == "[fleet]") {
                true => String::new(),
                false => fleet::fleet_arguments(members) + &fleet::watcher_arguments(places),
            };
            // A cluster's context may have any name.
            let is_typed = fleet.split(' ').all(|word| is_plain(&word.replace(['[', ']'], "")));
            (!plan.is_empty() && !ends && is_text && is_typed && is_plain(&started.id.0)).then(|| {
                format!("cat > {file} <<'{HEREDOC_DELIMITER}'\n{plan}\n{HEREDOC_DELIMITER}\ntorment {} {file}{fleet}", started.command)
            })
        }
        // Their plan is the command line, without its quotes.
        RunKind::Probe | RunKind::Profile | RunKind::FindThreads | RunKind::FindWorkingSet => {
            let words: Vec<&str> = plan.split_whitespace().collect();
            let line = || format!("torment {} {}", started.command, words.join(" ")).trim_end().to_owned();
            words.iter().all(|word| is_plain(word)).then(line)
        }
        // A plan in words, or only part of the command line.
        RunKind::RunProcesses | RunKind::FindProcesses | RunKind::FindConnections | RunKind::Other(_) => None,
    }
}

/// Whether a word needs no shell quoting.
fn is_plain(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Label, Machine, RunId};

    fn of(command: &str, plan: &str) -> Option<String> {
        by(&[], command, plan)
    }

    fn by(members: &[FleetMember], command: &str, plan: &str) -> Option<String> {
        let started = RunStart {
            id: RunId("20261120-161502-k3f".to_owned()),
            at_unix_ms: 0,
            version: String::new(),
            method: record::METHOD,
            command: RunKind::from(command.to_owned()),
            target: String::new(),
            goal: String::new(),
            plan: plan.to_owned(),
            parts: Vec::new(),
            machine: Machine::default(),
            part_of: None,
            label: Label::default(),
        };
        rerun_command(&started, members, &[])
    }

    #[test]
    fn a_plan_goes_along() {
        let expected = "cat > 20261120-161502-k3f.toml <<'TORMENT'\n\
            [target]\n\
            url = \"http://h/?a='$x'\"\n\
            TORMENT\n\
            torment find 20261120-161502-k3f.toml";
        assert_eq!(of("find", "[target]\nurl = \"http://h/?a='$x'\"\n").as_deref(), Some(expected));
        assert!(
            of("try", "[target]")
                .is_some_and(|text| text.ends_with("\ntorment try 20261120-161502-k3f.toml"))
        );
    }

    #[test]
    fn a_fleet_goes_along() {
        let on = |on: &str| FleetMember { on: on.to_owned(), ..FleetMember::default() };
        for (members, expected) in [
            (vec![on(""); 4], "--on here --workers 4"),
            (vec![on("join"); 2], "--on join --workers 2"),
            (vec![on("k8s:lab/load"); 2], "--on k8s:lab/load --workers 2"),
            (vec![on("ssh:node2"), on("ssh:me@node3"), on("ssh:node2")], "--on ssh:node2,me@node3,node2"),
        ] {
            let text = by(&members, "find", "[target]").expect("a line");
            assert!(text.ends_with(&format!("\ntorment find 20261120-161502-k3f.toml {expected}")), "{text}");
        }
        assert_eq!(by(&[on("k8s:$(reboot)/load")], "find", "[target]"), None);
        let said = by(&[on("")], "find", "[target]\n\n[fleet]\non = \"here\"").expect("a line");
        assert!(said.ends_with("\ntorment find 20261120-161502-k3f.toml"), "the plan says it: {said}");
    }

    #[test]
    fn what_a_shell_could_take_for_something_else_is_not_said() {
        for (command, plan) in [
            ("find", ""),
            ("find", "body = '''\nTORMENT\nrm x\n'''"),
            ("run", "body = '\u{1b}[2J'"),
            ("find threads", "--stack $(reboot)"),
            ("probe", "launch; reboot"),
            ("find processes", "starts true (/usr/bin/true)"),
            ("find connections", "[target]\nurl = \"demo\""),
            ("another", "[target]"),
        ] {
            assert_eq!(of(command, plan), None, "{command}: {plan}");
        }
    }

    #[test]
    fn what_asks_the_machine_is_one_line() {
        for (command, plan, expected) in [
            ("probe", "launch --blocks 6 --seed 1", "torment probe launch --blocks 6 --seed 1"),
            ("find threads", "", "torment find threads"),
            (
                "find working-set",
                "--file /a/b.bin --limit 64MiB",
                "torment find working-set --file /a/b.bin --limit 64MiB",
            ),
        ] {
            assert_eq!(of(command, plan).as_deref(), Some(expected));
        }
    }
}
