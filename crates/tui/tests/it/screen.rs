//! The live view on an in-memory terminal.

use crate::terminal;
use crate::terminal::{STARTED, check, of, screen, screen_at};
use record::watch::{
    FutexOp, PostgresWindow, SessionCount, ThreadGroup, ThreadState, ThreadWait, TreeWindow, WatchCoverage,
    WatchedProcesses, Window,
};
use record::{
    Caveat, CaveatKind, Event, Judgement, Limit, LimitUnit, Outcome, Purpose, Recovery, Slice, TrialResult,
};
use units::{Nanos, Rate};
use view::LiveRun;

fn started(command: &str) -> Event {
    terminal::started(command, "http://127.0.0.1:8080/queue?us=500")
}

fn begin(trial: u32, purpose: Purpose, rate: f64) -> Event {
    let duration = Some(Nanos::from_secs(10));
    Event::TrialStarted { trial, purpose, rate: Some(Rate(rate)), duration, at_unix_ms: STARTED }
}

fn slice(index: u32, rate: f64, failed: u64) -> Slice {
    let due = rate as u64;
    let mut slice = Slice { index, due, sent: due, backlog: 5, ..Slice::default() };
    slice.elapsed = Nanos::from_secs(1);
    slice.outcomes.add(Outcome::Failed, failed);
    slice.outcomes.add(Outcome::Ok, due - failed);
    slice.response.record_many(Nanos::from_micros(520), due);
    slice.outstanding = vec![40.0; 10];
    slice
}

/// A two-second trial, and then its bounds.
fn trial(view: &mut LiveRun, number: u32, rate: f64, good: bool, bounds: (Option<f64>, Option<f64>)) {
    view.fold(&begin(number, Purpose::Measure, rate), STARTED);
    let mut total = Slice::default();
    for index in 0..2 {
        let slice = slice(index, rate, if good { 0 } else { 9 });
        total.merge_after(&slice);
        view.fold(&Event::SliceDone { trial: number, slice: Box::new(slice) }, STARTED);
    }
    let result = TrialResult {
        purpose: Purpose::Measure,
        rate: Rate(rate),
        planned: Nanos::from_secs(2),
        loaded: Nanos::from_secs(2),
        drain: Nanos::ZERO,
        hopeless: false,
        total,
        recovery: Recovery::NotNeeded,
        caveats: Vec::new(),
        members: Vec::new(),
    };
    let judgement = Judgement { loss: 0.0, good, growth_per_second: None, invalid: Vec::new() };
    view.fold(&Event::TrialDone { trial: number, result: Box::new(result), judgement }, STARTED);
    let limit = Limit {
        held: None,
        goal: "strict".to_owned(),
        lower: bounds.0,
        upper: bounds.1,
        unit: LimitUnit::Requests,
        regular: false,
        good_trials: 1,
        bad_trials: 1,
        lower_due: 0,
        lower_bad: 0,
        throughput: None,
    };
    view.fold(&Event::Bounds { limits: vec![limit], making: None }, STARTED);
}

fn search() -> LiveRun {
    let mut view = of(&[started("find")]);
    trial(&mut view, 1, 1984.0, true, (Some(1984.0), None));
    trial(&mut view, 2, 2100.0, false, (Some(1984.0), Some(2100.0)));
    view.fold(&begin(3, Purpose::Measure, 2016.0), STARTED);
    for index in 0..4 {
        view.fold(&Event::SliceDone { trial: 3, slice: Box::new(slice(index, 2016.0, 1)) }, STARTED);
    }
    view
}

#[test]
fn a_search_says_what_matters_at_any_usual_size() {
    let always = [
        "1:23",
        "127.0.0.1:8080",
        "2,016/s",
        "4 s of 10 s",
        "holds 1,984",
        "fails at 2,100",
        "●",
        "✖",
        "▼",
        "offered 2,016/s",
        "waiting 40",
        "not sent 5",
        "p50 520 µs",
        "8,064",
        "4 failed",
        "q or Ctrl-C stops",
    ];
    check(&screen(&search(), (80, 24)), &always);
    check(&screen(&search(), (80, 24)), &["trial 3: measure", "offered achieved", "p99 p50", "good", "bad"]);
    let small: Vec<&str> = always.into_iter().filter(|w| !["127.0.0.1:8080", "▼"].contains(w)).collect();
    check(&screen(&search(), (40, 10)), &small);
    let large = screen(&search(), (120, 40));
    check(&large, &["20261120-161502-k3f", "waiting not sent", "4 failed", "zero-drop", "1 good, 1 bad"]);
}

#[test]
fn a_load_shows_its_loss() {
    let mut view = of(&[started("run"), begin(1, Purpose::Load, 1000.0)]);
    let first = Slice { resent: 7, ..slice(0, 1000.0, 20) };
    view.fold(&Event::SliceDone { trial: 1, slice: Box::new(first) }, STARTED);
    view.fold(
        &Event::Caveat {
            caveat: Caveat::new(
                CaveatKind::Other("one-machine".to_owned()),
                "target and generator share a processor",
            ),
        },
        STARTED,
    );
    for size in [(80, 24), (40, 10)] {
        check(&screen(&view, size), &["20 of 1,000 bad", "loss 2 %", "1 s of 10 s", "q or Ctrl-C stops"]);
    }
    check(&screen(&view, (80, 24)), &["doubt: target and generator share a processor", "7 resent"]);
}

/// The search, with its target watched.
fn watched() -> LiveRun {
    let mut view = search();
    let subject = WatchedProcesses { pid: 7, cpus: 2.0, ..WatchedProcesses::default() };
    let watched = WatchCoverage { subjects: vec![subject], ..WatchCoverage::default() };
    view.fold(&Event::WatchStarted { place: String::new(), watched: Box::new(watched) }, STARTED);
    let wait = ThreadWait::Futex { op: FutexOp::WaitBitset, within_s: Some(30), shared: false };
    let group = ThreadGroup {
        name: "exec-N".to_owned(),
        threads: 200.0,
        on_cpu_ns: 1_850_000_000,
        run_delay_ns: 9_500_000_000,
        switches: 0,
        full: None,
        states: vec![
            ThreadState { wait, threads: 188.8 },
            ThreadState { wait: ThreadWait::Running, threads: 11.2 },
        ],
    };
    let service = TreeWindow { groups: vec![group], ..TreeWindow::default() };
    let locked = SessionCount {
        state: "active".to_owned(),
        wait_type: Some("Lock".to_owned()),
        wait_event: Some("tuple".to_owned()),
        count: 9.0,
    };
    let window = Window {
        to: Nanos::from_secs(1),
        subjects: vec![service],
        postgres: Some(PostgresWindow { looks: 10, sessions: vec![locked], ..PostgresWindow::default() }),
        ..Window::default()
    };
    view.fold(&Event::Observed { trial: 3, place: String::new(), window: Box::new(window) }, STARTED);
    view
}

#[test]
fn the_target_stands_between_the_figures_and_the_charts() {
    let seen = [
        "1.85 of 2 CPUs",
        "9.5 ready",
        "exec-N",
        "189 waits for another thread",
        "9 active, waits: Lock tuple",
    ];
    check(&screen(&watched(), (80, 24)), &seen);
    check(&screen(&watched(), (80, 24)), &["p99 p50", "good", "q or Ctrl-C stops"]);
    check(
        &screen(&watched(), (120, 40)),
        &["PostgreSQL 9 busy", "189 waits for another thread, at most 30 s"],
    );
    assert!(!screen(&watched(), (40, 6)).contains("CPUs"), "there is no room");
}

#[test]
fn a_stop_that_was_asked_for_is_shown() {
    check(&screen_at(&search(), (80, 24), 83_000, true), &["stopping", "Ctrl-C again ends at once"]);
}

#[test]
fn no_size_and_no_moment_is_too_much() {
    let views = [LiveRun::default(), of(&[started("find")]), of(&[started("run")]), search(), watched()];
    for view in &views {
        for width in (0..30).step_by(2).chain([39, 40, 59, 60, 79, 80, 99, 100, 200]) {
            for height in (0..14).step_by(2).chain([19, 20, 24, 31, 32, 33, 60]) {
                screen(view, (width, height));
            }
        }
    }
}
