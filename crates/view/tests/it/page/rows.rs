//! The rows of a growing page, and of long runs.

use crate::page::search::search;
use crate::page::support::{ROWS, document};
use crate::synthetic::{RunBuilder, load};
use record::watch::{ThreadGroup, ThreadState, ThreadWait};
use record::{Event, Outcome, Purpose, Slice};
use torment_view::document::Timeline;
use torment_view::page::PageBuilder;
use units::Nanos;

#[test]
fn a_live_page_gets_every_row_once() {
    let mut page = PageBuilder::default();
    let (mut held, mut generation, mut renewed) = (Timeline::default(), 0, 0);
    for event in search() {
        page.fold(&event);
        if page.generation() != generation {
            generation = page.generation();
            renewed += 1;
            held = Timeline::default();
        }
        let new = page.rows_from(held.at.len());
        if held.at.is_empty() {
            held = new;
            continue;
        }
        assert_eq!(new.columns.len(), held.columns.len(), "columns change only with the generation");
        held.at.extend(new.at);
        for (column, new) in held.columns.iter_mut().zip(new.columns) {
            assert_eq!(column.id, new.id);
            column.values.extend(new.values);
        }
        assert_eq!(held.at.len(), page.rows());
    }
    assert_eq!(held, page.rows_from(0));
    assert!(renewed < 20, "{renewed} times all rows anew");
}

#[test]
fn a_whole_day_stays_small() {
    let mut run = RunBuilder::start("run");
    run.events.push(Event::TrialStarted {
        trial: 1,
        purpose: Purpose::Load,
        rate: None,
        duration: None,
        at_unix_ms: 1_795_191_303_000,
    });
    let mut page = PageBuilder::from_events(&run.events);
    let mut slice = Slice { due: 3, sent: 3, elapsed: Nanos::from_secs(1), loops: 1, ..Slice::default() };
    slice.outcomes.add(Outcome::Ok, 3);
    slice.response.record_many(Nanos(900), 3);
    let mut event = Event::SliceDone { trial: 1, slice: Box::new(slice) };
    for index in 0..86_400 {
        let Event::SliceDone { slice, .. } = &mut event else { unreachable!("it is one") };
        slice.index = index;
        slice.outstanding = vec![if index == 23_456 { 5000.0 } else { 0.0 }, 0.0];
        page.fold(&event);
    }
    assert!(page.rows() <= 4_000, "{}", page.rows());
    let document = document(&page);
    assert!(document.timeline.at.len() <= ROWS);
    let waiting =
        document.timeline.columns.iter().find(|column| column.id == "outstanding_max").expect("a column");
    assert!(waiting.values.contains(&Some(5000.0)), "the one peak survives");
    let offered = document.timeline.columns.iter().find(|column| column.id == "offered").expect("a column");
    assert!(offered.values.iter().flatten().all(|rate| *rate == 3.0));
    assert!(*document.timeline.at.last().expect("rows") > 86_000.0);
}

/// Half an hour of six thread groups in six states each.
#[test]
fn half_an_hour_fits_in_little() {
    let seconds = 1_800;
    let run = RunBuilder::start("run").begin(&load(Purpose::Load, 2.0, seconds), seconds);
    let window = |index: u64| {
        let wobble = |n: u64| ((index * 31 + n * 17) % 97) as f64 / 97.0;
        let group = |group: u64| ThreadGroup {
            name: format!("pool-{group}"),
            threads: 36.0,
            on_cpu_ns: (wobble(group) * 1e9) as u64,
            states: (0..6)
                .map(|state| ThreadState {
                    wait: ThreadWait::Other { what: format!("call {state}") },
                    threads: 1.0 + wobble(group * 6 + state) * 4.0,
                })
                .collect(),
            ..ThreadGroup::default()
        };
        let mut window = crate::synthetic::watched::window(index, 1.0);
        window.subjects.truncate(1);
        window.subjects[0].groups = (0..6).map(group).collect();
        window
    };
    let mut events = Vec::new();
    for event in run.events {
        let seen = match &event {
            Event::SliceDone { slice, .. } => Some(window(u64::from(slice.index))),
            _ => None,
        };
        events.push(event);
        if events.len() == 1 {
            events.push(Event::WatchStarted {
                place: String::new(),
                watched: Box::new(crate::synthetic::watched::watched()),
            });
        }
        events.extend(seen.map(|window| Event::Observed {
            trial: 1,
            place: String::new(),
            window: Box::new(window),
        }));
    }
    let document = document(&PageBuilder::from_events(&events));
    assert_eq!(document.timeline.at.len(), 1_800);
    let states = document.timeline.columns.iter().filter(|column| column.id.starts_with("threads.0."));
    assert_eq!(states.count(), 36);
    let bytes = serde_json::to_string(&document).expect("is JSON").len();
    assert!(bytes <= 1_200_000, "{bytes} bytes");
}
