//! Whether the target stood still is known from a run's row alone.

use crate::begun::begun;
use record::{Event, Outcome, Purpose, RunId, SLICE, Silence, Slice};
use torment_store::{StoodStill, Store};
use units::{Nanos, Rate};

/// Each second of a load at 400/s, in which the target answers nothing from one millisecond of the load on for so many.
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

fn kept(store: &Store, id: &str, still: &[(u64, u64)]) -> Option<StoodStill> {
    let mut recording = store.begin(&begun("run", id, 1_000_000)).expect("begins");
    for event in load(30, still) {
        recording.append(&event).expect("is taken");
    }
    let id = RunId(id.to_owned());
    assert_eq!(store.summary(&id).expect("is there").stood_still, None, "it is known at the end");
    let end = record::End { at_unix_ms: 1_030_000, verdict: None, exit_code: 0, error: None };
    recording.append(&Event::RunEnded(Box::new(end))).expect("is taken");
    recording.finish().expect("is kept");
    store.summary(&id).expect("is there").stood_still
}

/// A load whose target stood still for 900 ms every 7 s stood in the list as one that met its goal, and no word of that.
#[test]
fn a_row_says_how_often_the_target_stood_still() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let store = Store::open(&folder.path().join("t.db")).expect("opens");
    let froze = kept(&store, "froze", &[(6_100, 900), (13_100, 880), (20_100, 900)]);
    assert_eq!(froze, Some(StoodStill { times: 3, longest: Nanos::from_millis(900) }));
    assert_eq!(kept(&store, "steady", &[]), None);
}
