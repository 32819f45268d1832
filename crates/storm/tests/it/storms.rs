//! Real processes: what was asked for happens, and the counts agree with it.

use engine::{LoadCommand, LoadGenerator, OfferedLoad};
use plan::{Arrivals, Stage};
use record::{Failure, Slice, TrialCounts};
use schedule::Schedule;
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};
use torment_storm::{ExpectedStatuses, ProgramCommand, Storm, StormOptions, StormStats};
use units::{Nanos, Rate};

fn command(words: &[&str]) -> ProgramCommand {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    ProgramCommand::find(&words, None).expect("every Linux has it")
}

fn closed(connections: u32, requests: u64) -> OfferedLoad {
    OfferedLoad::Closed { connections, requests: Some(requests), duration: None }
}

fn open(rate: f64, duration: Nanos) -> OfferedLoad {
    let stage = Stage { duration, from: Rate(rate), to: Rate(rate) };
    OfferedLoad::Open(Schedule::new(&[stage], Arrivals::Even, 0))
}

/// Runs one trial to its end.
fn once(words: &[&str], options: StormOptions, offer: &OfferedLoad) -> (TrialCounts, StormStats) {
    let drain = options.timeout;
    let mut storm = Storm::new(&command(words), options).expect("it can be executed");
    let counted = storm.run_trial(offer, drain, &mut |_| {}, &mut |_| {}, &mut |_, _| LoadCommand::Continue);
    storm.settle(Nanos::from_secs(20), &|| false).expect("what was started ends");
    assert_eq!(storm.fault(), None);
    let stats = storm.trial_stats()[0].clone();
    storm.finish().expect("the log can be written");
    (counted, stats)
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("it was written");
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

#[test]
fn a_number_is_that_number() {
    let folder = tempfile::tempdir().expect("a folder");
    let (log, output) = (folder.path().join("jobs"), folder.path().join("output"));
    let parallel = 7;
    let options = StormOptions {
        parallel,
        log: Some(log.clone()),
        output: Some(output.clone()),
        ..StormOptions::default()
    };
    let (counted, stats) = once(&["sh", "-c", "echo x; echo y >&2"], options, &closed(parallel, 300));
    let total = &counted.total;
    assert_eq!((total.due, total.sent, total.outcomes.ok, total.outcomes.total()), (300, 300, 300, 300));
    assert_eq!((stats.started, stats.ended), (300, 300));
    assert_eq!(total.statuses.get(&0), Some(&300));
    assert!(stats.max_alive <= u64::from(parallel), "{} were alive", stats.max_alive);
    assert!(stats.max_alive >= 2, "they took turns: {}", stats.max_alive);
    assert_eq!(stats.spawn_times.count(), 300);
    // Processes were once started before the trial began, at times before its start.
    let quickest = stats.spawn_times.quantile(0.0).expect("some were started");
    assert!(quickest > Nanos::from_micros(1), "{quickest}");
    let text = std::fs::read_to_string(output).expect("it was written");
    assert_eq!((text.matches('x').count(), text.matches('y').count()), (300, 300));
    let lines = lines(&log);
    let mut numbers: Vec<u64> = lines.iter().map(|line| line["number"].as_u64().expect("a number")).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..300).collect::<Vec<u64>>());
    for line in &lines {
        let at = |name: &str| line[name].as_u64().unwrap_or_else(|| panic!("no {name} in {line}"));
        assert_eq!((at("exit"), &line["signal"], &line["timed_out"]), (0, &Value::Null, &Value::Bool(false)));
        assert!(at("due_ns") <= at("started_ns"), "{line}");
        assert!(at("started_ns") < at("executed_ns") && at("executed_ns") <= at("ended_ns"), "{line}");
        assert_eq!(at("wall_ns"), at("ended_ns") - at("started_ns"));
        assert!(line["last_cpu"].is_u64(), "{line}");
    }
}

/// According to the log itself, no more are ever alive than asked for.
#[test]
fn the_log_agrees_about_how_many_were_alive() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("jobs");
    let options = StormOptions { parallel: 5, log: Some(log.clone()), ..StormOptions::default() };
    once(&["sleep", "0.01"], options, &closed(5, 60));
    let lines = lines(&log);
    let mut changes: Vec<(u64, i32)> = Vec::new();
    for line in &lines {
        changes.push((line["started_ns"].as_u64().expect("a time"), 1));
        changes.push((line["ended_ns"].as_u64().expect("a time"), -1));
    }
    changes.sort_unstable();
    let (mut alive, mut most) = (0, 0);
    for (_, change) in changes {
        alive += change;
        most = most.max(alive);
    }
    assert_eq!(alive, 0);
    assert!((2..=5).contains(&most), "{most} were alive");
}

/// Ten at a time of 50 ms each are 200 a second, on every machine that can start that many.
#[test]
fn a_known_rate_is_found() {
    let options = StormOptions { parallel: 10, ..StormOptions::default() };
    let (counted, stats) = once(&["sleep", "0.05"], options, &closed(10, 200));
    assert_eq!(counted.total.outcomes.ok, 200);
    let rate = stats.rate().0;
    assert!(rate < 201.0, "{rate}/s are more than there can be");
    assert!(rate > 60.0, "{rate}/s are far too few");
    let shortest = counted.total.response.quantile(0.0).expect("some ended");
    assert!(shortest >= Nanos::from_millis(50), "{shortest}");
    let alive = stats.alive_ns as f64 / counted.loaded.0 as f64;
    assert!(alive > 3.0 && alive <= 10.0, "{alive} were alive on average");
}

#[test]
fn what_fails_is_counted_by_how_it_failed() {
    let (counted, _) = once(&["sh", "-c", "exit 3"], StormOptions::default(), &closed(4, 40));
    assert_eq!((counted.total.outcomes.failed, counted.total.outcomes.ok), (40, 0));
    assert_eq!(counted.total.statuses.get(&3), Some(&40));
    assert_eq!(counted.total.failures, [(Failure::Check("exit status 3".to_owned()), 40)].into());

    let expected = ExpectedStatuses::parse("0,2-4").expect("a list");
    let options = StormOptions { expected, ..StormOptions::default() };
    let (counted, _) = once(&["sh", "-c", "exit 3"], options, &closed(4, 40));
    assert_eq!(counted.total.outcomes.ok, 40);

    let (counted, _) = once(&["sh", "-c", "kill -TERM $$"], StormOptions::default(), &closed(4, 20));
    let why = counted.total.failures.keys().next().expect("they failed").to_string();
    assert_eq!((counted.total.outcomes.failed, why.as_str()), (20, "ended by signal 15 (SIGTERM)"));
}

#[test]
fn what_takes_too_long_is_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("jobs");
    let options = StormOptions {
        parallel: 10,
        timeout: Nanos::from_millis(200),
        log: Some(log.clone()),
        ..StormOptions::default()
    };
    let began = Instant::now();
    let (counted, stats) = once(&["sleep", "600"], options, &closed(10, 20));
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_eq!((counted.total.outcomes.timeout, counted.total.outcomes.total()), (20, 20));
    assert_eq!(stats.ended, 20);
    for line in lines(&log) {
        assert_eq!((&line["signal"], &line["timed_out"]), (&9.into(), &Value::Bool(true)));
    }
}

#[test]
fn a_rate_is_kept() {
    let options = StormOptions { parallel: 100, ..StormOptions::default() };
    let (counted, _) = once(&["true"], options, &open(50.0, Nanos::from_secs(2)));
    assert_eq!((counted.total.due, counted.total.outcomes.ok), (100, 100));
    assert!(counted.loaded >= Nanos::from_secs(2), "{}", counted.loaded);
}

/// More come due than may be alive: the rest waits, is started when there is room, and its waiting counts.
#[test]
fn what_is_due_waits_for_room() {
    let options = StormOptions { parallel: 2, ..StormOptions::default() };
    let (counted, stats) = once(&["sleep", "0.1"], options, &open(40.0, Nanos::from_secs(1)));
    assert_eq!((counted.total.due, counted.total.outcomes.ok), (40, 40));
    assert!(stats.max_alive <= 2);
    let slowest = counted.total.response.max().expect("some ended");
    assert!(slowest > Nanos::from_millis(800), "{slowest}: 40 of 100 ms, two at a time, take 2 s");
}

#[test]
fn a_program_that_cannot_be_executed_is_said_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("script");
    std::fs::write(&path, "#!/proc/nowhere/at/all\n").expect("the folder is ours");
    let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    std::fs::set_permissions(&path, mode).expect("the file is ours");
    let command = ProgramCommand::find(&[path.into_os_string()], None).expect("it looks like one");
    let mut storm = Storm::new(&command, StormOptions::default()).expect("it is not executed yet");
    let counted =
        storm.run_trial(&closed(10, 1000), Nanos::from_secs(1), &mut |_| {}, &mut |_| {}, &mut |_, _| {
            LoadCommand::Continue
        });
    assert!(counted.total.due < 1000, "it went on: {}", counted.total.due);
    assert_eq!(storm.fault().as_deref(), Some("no such file or directory"));
}

/// A kill takes effect at once, and nothing is left.
#[test]
fn told_to_end_it_ends() {
    let mut storm =
        Storm::new(&command(&["sleep", "600"]), StormOptions { parallel: 20, ..StormOptions::default() })
            .expect("it can be executed");
    let began = Instant::now();
    let mut next_command = |_: &Slice, _| {
        if began.elapsed() > Duration::from_millis(300) { LoadCommand::Kill } else { LoadCommand::Continue }
    };
    let counted = storm.run_trial(
        &closed(20, 1000),
        Nanos::from_secs(600),
        &mut |_| {},
        &mut |_| {},
        &mut next_command,
    );
    storm.settle(Nanos::from_secs(10), &|| false).expect("they are killed");
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(counted.total.outcomes.unfinished, 20);
    assert_eq!(storm.trial_stats()[0].ended, 20);
}

/// Each trial of a search begins with nothing left over from the one before.
#[test]
fn one_trial_after_the_other() {
    let mut storm = Storm::new(&command(&["true"]), StormOptions { parallel: 8, ..StormOptions::default() })
        .expect("it is there");
    for trial in 1..=3 {
        let mut seconds = 0;
        let counted = storm.run_trial(
            &closed(8, 50),
            Nanos::from_secs(10),
            &mut |_| {},
            &mut |_| seconds += 1,
            &mut |_, _| LoadCommand::Continue,
        );
        assert_eq!(counted.total.outcomes.ok, 50);
        assert!(seconds >= 1);
        assert_eq!(storm.trial_stats().len(), trial);
    }
}
