//! Fills a store with many runs, and measures how long it takes to list them: `cargo run --release -p torment-store --example many --
//! FILE [COUNT] [TORMENT]`. With TORMENT it also times that program's `list`, from start to end.

use record::{Event, Limit, LimitUnit, Machine, Outcomes, RunId, RunKind, SearchEnd, Verdict, exit};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use torment_store::{Filter, RunStatus, Store};
use units::{Moment, Nanos};

/// Repetitions, whose median counts.
const REPEATS: usize = 9;
/// Begin of the last run: 2026-11-20.
const LAST_UNIX_MS: u64 = 1_795_132_800_000;
/// A run every ten minutes.
const INTERVAL_MS: u64 = 600_000;

fn main() {
    let mut words = std::env::args().skip(1);
    let file = words.next().unwrap_or_else(|| panic!("FILE is missing: where the store is to be"));
    let count = words.next().map_or(10_000, |count| count.parse().expect("COUNT is a number of runs"));
    let torment = words.next();
    let store = Store::open(Path::new(&file)).expect("the store opens");
    let existing = store.count().expect("it is counted");
    (existing..count).for_each(|nth| store_run(&store, nth, count));
    println!("{} runs in {file}", store.count().expect("it is counted"));
    let week = LAST_UNIX_MS - 7 * 86_400_000;
    for (what, filter) in [
        ("all", Filter::default()),
        ("the last 100", Filter { limit: Some(100), ..Filter::default() }),
        ("not met", Filter { status: Some(RunStatus::Code(exit::NOT_MET)), ..Filter::default() }),
        ("of the last week", Filter { since_unix_ms: Some(week), ..Filter::default() }),
        ("one tag", Filter { tags: vec!["pool=3".to_owned()], ..Filter::default() }),
    ] {
        let found = store.list(&filter).expect("they are listed").len();
        println!("  store, {what}: {found} in {:?}", median(|| drop(store.list(&filter))));
    }
    for options in
        [&[][..], &["--limit", "100"], &["--format", "csv"], &["--format", "json"], &["--verdict", "not-met"]]
    {
        let Some(torment) = &torment else { break };
        let list = || {
            let mut list = Command::new(torment);
            list.args(["list", "--store", &file]).args(options).stdout(Stdio::null());
            assert!(list.status().expect("it starts").success(), "{list:?}");
        };
        println!("  torment list {}: {:?}", options.join(" "), median(list));
    }
}

fn median(work: impl Fn()) -> Duration {
    let mut all: Vec<Duration> = (0..REPEATS)
        .map(|_| {
            let begin = Instant::now();
            work();
            begin.elapsed()
        })
        .collect();
    all.sort_unstable();
    all[REPEATS / 2]
}

fn store_run(store: &Store, nth: u64, count: u64) {
    let at_unix_ms = LAST_UNIX_MS.saturating_sub((count - nth) * INTERVAL_MS);
    let moment = Moment::from_unix_ms(at_unix_ms);
    let ((year, month, day), (hour, minute, second)) = (moment.date(), moment.time());
    let label = record::Label {
        name: nth.is_multiple_of(3).then(|| format!("build-{nth}")),
        tags: vec![format!("pool={}", nth % 20), "nightly".to_owned()],
        commit: Some(format!("{:012x}", nth * 7919)),
    };
    let started = Event::RunStarted(Box::new(record::RunStart {
        id: RunId(format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}-{nth}")),
        at_unix_ms,
        version: "0.1.0".to_owned(),
        method: record::METHOD,
        command: if nth.is_multiple_of(2) { RunKind::Find } else { RunKind::Run },
        target: format!("http://127.0.0.1:{}/owners/{{1..1000}}", 8080 + nth % 7),
        goal: "zero-drop".to_owned(),
        plan: "[target]\nurl = \"http://127.0.0.1:8080/\"\n".repeat(20),
        parts: Vec::new(),
        machine: Machine {
            host: "homelab".to_owned(),
            processor: "A processor of 8 cores".to_owned(),
            cpus: 8,
            ..Machine::default()
        },
        part_of: None,
        label,
    }));
    let rate = 1000.0 + (nth % 900) as f64;
    let limit = Limit {
        held: None,
        goal: "strict".to_owned(),
        lower: Some(rate),
        upper: Some(rate * 1.02),
        unit: LimitUnit::Requests,
        regular: true,
        good_trials: 3,
        bad_trials: 2,
        lower_due: 59_490,
        lower_bad: 0,
        throughput: None,
    };
    let met = !nth.is_multiple_of(5);
    let verdict = if nth.is_multiple_of(2) {
        Verdict::Limits {
            limits: vec![limit],
            ended: SearchEnd::Converged,
            curve: Vec::new(),
            detection_limit: 0.01,
            trials: 20,
            loaded: Nanos::from_secs(200),
            background: None,
            warmed_up: None,
            overloaded: None,
            generator: None,
        }
    } else {
        Verdict::Goal {
            met: Some(met),
            goal: "zero-drop".to_owned(),
            outcomes: Outcomes::default(),
            loss: if met { 0.0 } else { 0.02 },
        }
    };
    let exit_code = if met || nth.is_multiple_of(2) { exit::MET } else { exit::NOT_MET };
    let mut recording = store.begin(&started).expect("it begins");
    let ended = Event::RunEnded(Box::new(record::RunEnd {
        at_unix_ms: at_unix_ms + 60_000,
        verdict: Some(verdict),
        exit_code,
        error: None,
    }));
    recording.append(&ended).expect("it goes on");
    recording.finish().expect("it is kept");
}
