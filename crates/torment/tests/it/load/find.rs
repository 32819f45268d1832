//! `torment find` against the built-in service, whose limits are known.

use crate::program::target::TargetProcess;
use crate::program::{LoadTurn, ProcessOutput, Sandbox, adds_up, held, number, outcome};
use serde_json::Value;

fn trials(find: &Value) -> &Vec<Value> {
    find["trials"].as_array().unwrap_or_else(|| panic!("no trials in {find:#}"))
}

/// What holds for every search, however it ended.
#[track_caller]
fn assert_consistent(sandbox: &Sandbox, ended: &ProcessOutput, find: &Value) {
    assert_eq!(find["state"], "ended", "{ended}");
    assert_eq!(find["exit_code"], ended.code(), "{ended}");
    assert_eq!(find["skipped_events"], 0, "{ended}");
    for trial in trials(find) {
        adds_up(trial);
    }
    // Read back from the store, it is the same run.
    let (shown, again) = sandbox.json(["show"]);
    shown.expect(0);
    assert_eq!(again, *find, "show tells another story");
}

/// What holds for a search that found its limit: bounds within the width, each with its trials, and the curve below it.
#[track_caller]
fn is_regular(ended: &ProcessOutput, find: &Value, width: f64) {
    let limit = held(find);
    assert_eq!(ended.code(), 0, "{ended}");
    assert_eq!((&find["ended"], &limit["regular"]), (&"converged".into(), &true.into()), "{ended}");
    let (lower, upper) = (number(limit, "/lower"), number(limit, "/upper"));
    assert!(lower < upper && (upper - lower) / upper <= width + 1e-3, "{lower} to {upper}");
    assert_eq!(limit["lower_bad"], 0, "zero drop is zero: {limit}");
    let near = |t: &&Value| t["offered_per_second"].as_f64().is_some_and(|rate| rate >= lower * 0.98);
    let good = trials(find).iter().filter(|t| t["good"] == true).filter(near);
    assert!(good.count() as f64 >= number(limit, "/good_trials"), "{limit}");
    for trial in trials(find) {
        assert_eq!(outcome(trial, "refused"), 0, "it ends before the cap is reached: {trial:#}");
    }
    let shares: Vec<f64> =
        find["curve"].as_array().expect("a curve").iter().map(|p| number(p, "/share")).collect();
    assert_eq!(shares, [0.25, 0.5, 0.8, 0.9, 0.95]);
}

/// An undisturbed search. One without a limit, and for which torment reports stolen time or a generator limit, is
/// repeated; if that is no better, there is nothing to check.
fn undisturbed(search: impl Fn() -> (ProcessOutput, Value)) -> Option<(ProcessOutput, Value)> {
    const ATTEMPTS: u32 = 2;
    for _ in 0..ATTEMPTS {
        let (ended, find) = search();
        println!("{}", ended.stderr);
        let disturbed = trials(&find).iter().any(|trial| {
            let told = trial.to_string();
            ["\"steal\"", "\"generator-busy\"", "\"generator-late\""].iter().any(|code| told.contains(code))
        });
        if ended.code() == 0 || !disturbed {
            return Some((ended, find));
        }
    }
    println!("SKIPPED: others take too much of this machine");
    None
}

#[test]
fn the_demo_holds_two_thousand_a_second() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let Some((ended, find)) = undisturbed(|| sandbox.json(["find", "demo"])) else { return };
    assert_consistent(&sandbox, &ended, &find);
    let (lower, upper) = (number(held(&find), "/lower"), number(held(&find), "/upper"));
    if find["ended"] == "noisy" {
        // Others took so much of this machine that the built-in service changed.
        assert!(lower <= 2_020.0 && upper >= 1_960.0, "{lower} to {upper}: {ended}");
        return;
    }
    is_regular(&ended, &find, 0.02);
    assert!((1_960.0..=2_000.0).contains(&lower), "at least {lower}");
    assert!(upper <= 2_060.0, "below {upper}");
}

/// That the right limit is found is tested in virtual time, in the crate `runner`; this tests that a search keeps to
/// its budget, and sent what it reports.
#[test]
fn a_search_keeps_to_its_budget_and_sends_what_it_says() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let target = TargetProcess::start(&sandbox, &["--model", "async"]);
    let url = target.url("/pool?size=10&ms=20");
    let (ended, find) = sandbox.json(["find", &url, "--budget", "8s", "--trial", "2s"]);
    assert_consistent(&sandbox, &ended, &find);
    // And the check before the load.
    let sent: f64 = trials(&find).iter().map(|trial| number(trial, "/sent")).sum();
    assert_eq!(target.truth("/pool")["received"], sent as u64 + 1);
    let seconds = (number(&find, "/ended_unix_ms") - number(&find, "/started_unix_ms")) / 1e3;
    assert!(seconds < 30.0, "a search of a minute with a budget of 8 s took {seconds} s");
    let limit = held(&find);
    match (find["ended"].as_str().expect("a reason"), ended.code()) {
        // What is known by then is true, and not overstated.
        ("budget_spent", 91) => {
            assert_eq!(limit["regular"], false, "{ended}");
            assert!(limit["lower"].as_f64().is_none_or(|lower| lower <= 510.0), "{limit}");
        }
        ("converged" | "budget_spent", 0) => assert_eq!(limit["regular"], true, "{ended}"),
        // The machine was busy with something else.
        ("non_stationary", 91) | ("generator_limit", 92) => {}
        other => panic!("{other:?}: {ended}"),
    }
}

#[test]
fn a_limit_out_of_reach_is_at_least_the_highest_rate() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let (ended, find) =
        sandbox.json(["find", "demo/delay?ms=10", "--from", "150", "--max", "300", "--trial", "1s"]);
    println!("{}", ended.stderr);
    assert_consistent(&sandbox, &ended, &find);
    let ended = ended.expect(0);
    assert_eq!(find["ended"], "max_reached", "{ended}");
    let limit = held(&find);
    assert_eq!((&limit["lower"], &limit["upper"]), (&300.into(), &Value::Null), "{limit}");
    let text = sandbox.torment(["show"]).expect(0).stdout;
    assert!(text.contains("at least 300"), "{text}");
    for trial in trials(&find) {
        let p50 = number(trial, "/response/p50_us");
        assert!(p50 >= 10_000.0, "nobody answers before the delay is over: {p50} µs");
    }
}

#[test]
fn a_goal_that_no_rate_meets_is_not_met() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let (ended, find) = sandbox.json(["find", "demo/delay?ms=10", "--goal", "p99<1ms", "--trial", "1s"]);
    assert_consistent(&sandbox, &ended, &find);
    let ended = ended.expect(99);
    assert_eq!(find["goal"], "p99<1ms", "{ended}");
    assert_eq!((&find["ended"], &held(&find)["lower"]), (&"below_min".into(), &Value::Null), "{ended}");
    let text = sandbox.torment(["show"]).expect(0).stdout;
    assert!(text.contains("does not hold") && text.contains("--goal"), "{text}");
}

/// Where target and generator share a machine, either may be the limit; torment reports which, and only what it has
/// seen.
#[test]
fn a_real_server_gets_an_honest_verdict() {
    let _turn = LoadTurn::shared();
    let Some(nginx) = testbed::Nginx::start() else { return };
    let sandbox = Sandbox::new();
    let (ended, find) =
        sandbox.json(["find", &nginx.url(), "--from", "1000", "--trial", "1s", "--budget", "18s"]);
    println!("{}", ended.stderr);
    assert_consistent(&sandbox, &ended, &find);
    let limit = held(&find);
    match (find["ended"].as_str().expect("a reason"), ended.code()) {
        // The budget may end just when the bounds are close enough.
        ("converged" | "budget_spent", 0) => assert_eq!(limit["regular"], true, "{ended}"),
        ("budget_spent" | "non_stationary", 91) => {}
        ("generator_limit", 92) => {
            let text = sandbox.torment(["show"]).expect(0).stdout;
            assert!(text.contains("torment was the limit"), "{text}");
        }
        other => panic!("{other:?}: {ended}"),
    }
    assert!(number(limit, "/lower") >= 1_000.0, "nginx holds more than this: {ended}");
    // Each request sent was counted by nginx, except those cut off after an overload.
    let sum = |what: &dyn Fn(&Value) -> f64| trials(&find).iter().map(what).sum::<f64>() as u64;
    let answered = sum(&|trial| (outcome(trial, "ok") + outcome(trial, "late")) as f64);
    let sent = sum(&|trial| number(trial, "/sent"));
    let counted = nginx.requests() - 1;
    println!("{answered} answered, {sent} sent, nginx counted {counted} and the look before the load");
    assert!(answered <= counted && counted <= sent, "nginx counted {counted} requests");
}
