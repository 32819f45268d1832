//! Who makes the load, and who watches.

use super::plan;
use crate::*;

fn fleet(text: &str) -> Result<FleetPlan, String> {
    let text = format!("target.url = 'http://h/'\nload.rate = 1\n[fleet]\n{text}");
    plan(PlanCommand::Run, &text).map(|plan| plan.fleet).map_err(|why| why.to_string())
}

#[test]
fn what_goes_together_is_understood() {
    let ssh = |hosts: &[&str]| Some(FleetPlace::Ssh(hosts.iter().map(|host| (*host).to_owned()).collect()));
    let nobody = FleetPlan::default();
    for (text, expected) in [
        ("", nobody.clone()),
        (
            "on = 'here'\nworkers = 4\nworker_cpus = 2",
            FleetPlan {
                on: Some(FleetPlace::Here),
                workers: Some((4, 4)),
                worker_cpus: Some(2),
                ..nobody.clone()
            },
        ),
        (
            "on = 'join:b:7'\nworkers = '4..16'\nwait = '5min'",
            FleetPlan {
                on: Some(FleetPlace::Join(Some("b:7".to_owned()))),
                workers: Some((4, 16)),
                wait: Some(units::Nanos::from_secs(300)),
                ..nobody.clone()
            },
        ),
        (
            "on = 'ssh:b, me@c,b'\nwatch_on = 'ssh:root@web'\nremote_binary = '~/bin/t'",
            FleetPlan {
                on: ssh(&["b", "me@c", "b"]),
                watch_on: ssh(&["root@web"]),
                remote_binary: Some("~/bin/t".to_owned()),
                ..nobody.clone()
            },
        ),
        (
            "watch_on = 'join'\nwatchers = 2",
            FleetPlan { watch_on: Some(FleetPlace::Join(None)), watchers: Some(2), ..nobody.clone() },
        ),
        (
            "watch_on = 'inside'\nwait = '9s'",
            FleetPlan {
                watch_on: Some(FleetPlace::Inside(None)),
                wait: Some(units::Nanos::from_secs(9)),
                ..nobody.clone()
            },
        ),
        (
            "watch_on = 'inside:arn:x/y'",
            FleetPlan { watch_on: Some(FleetPlace::Inside(Some("arn:x/y".to_owned()))), ..nobody },
        ),
    ] {
        assert_eq!(fleet(text), Ok(expected), "{text}");
    }
}

#[test]
fn what_does_not_is_one_message() {
    for (text, words) in [
        ("on = 'moon'", "expected here"),
        ("on = 'k8s:'", "expected here"),
        ("on = 'ssh:-x'", "'-x' is no host"),
        ("on = 'ssh:b'\nworkers = 2", "name a host twice"),
        ("on = 'here'\nworkers = 0", "from 1 to 64"),
        ("on = 'here'\nworkers = '9..2'", "4..16"),
        ("workers = 2", "on in [fleet]"),
        ("worker_cpus = 2", "on in [fleet]"),
        ("on = 'here'\nworker_cpus = 0", "a number of processors"),
        ("on = 'here'\nworker_cpus = 65", "at most 64"),
        ("on = 'here'\nwait = '9s'", "only those of join, and pods"),
        ("on = 'join'\nwait = 0", "above 0"),
        ("on = 'here'\nremote_binary = 't'", "hosts of ssh"),
        ("on = 'ssh:b'\nremote_binary = '$(x)'", "a path of letters"),
        ("watch_on = 'here'", "watched anyway"),
        ("watch_on = 'inside:'", "or inside:CONTEXT"),
        ("on = 'inside'", "expected here"),
        ("watch_on = 'ssh:me@b,b'", "once"),
        ("watch_on = 'ssh:b'\nwatchers = 2", "watchers of join"),
        ("watch_on = 'join'\nwatchers = 9", "at most 8"),
        ("watch_on = 'join'\n[watch]\non = false", "nothing is watched"),
        ("of = 1", "unknown key 'of'"),
    ] {
        let why = fleet(text).expect_err(text);
        assert!(why.contains(words), "{text}: {why}");
    }
    let null = plan(PlanCommand::Run, "target.url = 'null'\nload.rate = 1\nfleet.watch_on = 'ssh:b'");
    assert!(null.expect_err("nobody is there").to_string().contains("no target that could be watched"));
}
