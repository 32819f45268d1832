//! Freezes, and a load's outcome, are known from a run's row alone.

use crate::run_started::run_started;
use record::{
    CostRange, Event, Figure, FigureUnit, Judgement, Outcome, Purpose, Recovery, RunId, SLICE, Silence,
    Slice, TrialResult,
};
use torment_store::{FreezeSummary, LoadOutcome, RunSummary, Store};
use units::{Nanos, Rate};

/// Each second of a load at 400/s, with freezes given by start and length in milliseconds.
fn load(seconds: u32, still: &[(u64, u64)]) -> Vec<Event> {
    let (purpose, duration) = (Purpose::Load, Some(Nanos::from_secs(u64::from(seconds))));
    let rate = Some(Rate(400.0));
    let mut events = vec![Event::TrialStarted { trial: 1, purpose, rate, duration, at_unix_ms: 1_000_000 }];
    for index in 0..seconds {
        let mut slice = Slice { index, due: 400, sent: 400, elapsed: SLICE, loops: 1, ..Slice::default() };
        slice.outcomes.add(Outcome::Ok, 400);
        (0..400).for_each(|_| slice.response.record(Nanos::from_millis(1)));
        slice.silences = still
            .iter()
            .map(|(from, length)| {
                let [from, to] = [*from, from + length].map(Nanos::from_millis);
                let waiting = length * 400 / 1000;
                Silence { from, to, waiting, freed: Some(waiting) }
            })
            .filter(|silence| silence.to.0 / SLICE.0 == u64::from(index))
            .collect();
        events.push(Event::SliceDone { trial: 1, slice: Box::new(slice) });
    }
    events
}

fn kept(store: &Store, id: &str, still: &[(u64, u64)]) -> Option<FreezeSummary> {
    row(store, id, &load(30, still)).freezes
}

/// The row of a run of these events.
fn row(store: &Store, id: &str, events: &[Event]) -> RunSummary {
    let mut recording = store.begin(&run_started("run", id, 1_000_000)).expect("begins");
    for event in events {
        recording.append(event).expect("is taken");
    }
    let id = RunId(id.to_owned());
    let row = store.summary(&id).expect("is there");
    assert_eq!((row.freezes, row.load_outcome), (None, None), "it is known at the end");
    let end = record::RunEnd { at_unix_ms: 1_030_000, verdict: None, exit_code: 0, error: None };
    recording.append(&Event::RunEnded(Box::new(end))).expect("is taken");
    recording.finish().expect("is kept");
    store.summary(&id).expect("is there")
}

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let store = Store::open(&folder.path().join("t.db")).expect("opens");
    (folder, store)
}

/// A load whose target froze for 900 ms every 7 s was listed as one that met its goal, without a word of that.
#[test]
fn a_row_says_how_often_the_target_stood_still() {
    let (_folder, store) = store();
    let froze = kept(&store, "froze", &[(6_100, 900), (13_100, 880), (20_100, 900)]);
    assert_eq!(froze, Some(FreezeSummary { count: 3, longest: Nanos::from_millis(900) }));
    assert_eq!(kept(&store, "steady", &[]), None);
}

/// A list said that a load met its goal, but not how large it was.
#[test]
fn a_row_says_what_a_load_came_to() {
    let (_folder, store) = store();
    let mut events = load(30, &[]);
    let mut total = Slice::default();
    for event in &events {
        let Event::SliceDone { slice, .. } = event else { continue };
        total.merge_after(slice);
    }
    // What is answered after the load belongs to no rate.
    let mut late = Slice { index: 30, elapsed: SLICE, loops: 1, ..Slice::default() };
    late.outcomes.add(Outcome::Ok, 4_000);
    events.push(Event::SliceDone { trial: 1, slice: Box::new(late) });
    let p99 = total.response.quantiles().map(|times| times.p99);
    let result = TrialResult {
        purpose: Purpose::Load,
        rate: Rate(533.0),
        planned: Nanos::from_secs(30),
        loaded: Nanos::from_secs(30),
        drain: Nanos::ZERO,
        hopeless: false,
        total,
        recovery: Recovery::NotNeeded,
        caveats: Vec::new(),
        members: Vec::new(),
    };
    let judgement = Judgement { loss: 0.25, good: false, growth_per_second: None, invalid: Vec::new() };
    events.push(Event::TrialDone { trial: 1, result: Box::new(result), judgement });
    let carried = LoadOutcome { offered: Rate(533.0), answered: Rate(400.0), response_p99: p99 };
    assert!(p99.is_some());
    assert_eq!(row(&store, "load", &events).load_outcome, Some(carried));
}

/// A probe was listed as "58 figures", without any of them.
#[test]
fn a_row_says_what_a_probe_measured() {
    let (_folder, store) = store();
    let measured = |table: &str, row: &str, column: &str, unit: FigureUnit, value: f64| {
        let figure = Figure::from_blocks((table, row, column), unit, vec![value], 1).expect("it is a number");
        Event::Measured { figure: Box::new(figure) }
    };
    let events = [
        measured("launch", "fork", "0 MiB, launch", FigureUnit::Nanos, 34_200.0),
        measured("launch", "fork", "64 MiB, launch", FigureUnit::Nanos, 495_000.0),
        measured("launch", "fork", "64 MiB, launch and join", FigureUnit::Nanos, 1_240_000.0),
        measured("launch", "async task", "0 MiB, launch", FigureUnit::Nanos, 20.0),
        measured("memory", "thread", "resident", FigureUnit::Bytes, 8_192.0),
        measured("switch", "pipe", "one processor", FigureUnit::Nanos, 900.0),
    ];
    let launch = CostRange {
        table: "launch".to_owned(),
        least: "async task".to_owned(),
        least_ns: 20.0,
        most: "fork".to_owned(),
        most_at: Some("64 MiB".to_owned()),
        most_ns: 495_000.0,
    };
    assert_eq!(row(&store, "probe", &events).costs, [launch], "a single figure is no range, nor are bytes");
}
