//! A target that works on after a load.

use crate::builders::*;
use record::watch::{ThreadWait, WatchCoverage};
use record::{Caveat, CaveatDetails, CaveatKind, Purpose, SearchEnd};
use torment_diagnosis::caveats;
use units::{Nanos, Rate};

/// The caveat for a target that uses this many processors in looks of five seconds each, after an overload.
fn said(watched: WatchCoverage, looks: &[f64]) -> Option<Caveat> {
    said_of(watched, looks, 5, 7_000.0)
}

/// The same with this response time in the looks, and this capacity.
fn said_of(watched: WatchCoverage, looks: &[f64], response_ms: u64, rate: f64) -> Option<Caveat> {
    let window = |used: f64| second(vec![workers(used, 0.0, &[(ThreadWait::Running, used)])]);
    let look =
        |used: &f64| Load { purpose: Purpose::Recovery, ..load(20.0, 20.0, 0.1, response_ms, window(*used)) };
    let overload = load(15_810.0, 15_000.0, 3000.0, 900, window(0.95));
    let again = load(rate, rate, 3.0, 1, window(0.9));
    let after = looks.iter().map(look);
    let recording = recorded(None, watched, std::iter::once(overload).chain(after).chain([again]).collect());
    caveats(&recording, &came_to(SearchEnd::Converged, Vec::new()), None).pop()
}

fn other_than_java() -> WatchCoverage {
    let mut watched = watched();
    watched.subjects[0].java = None;
    watched
}

/// PocketBase wrote its log for half a minute after 10 s at 15,810/s, and "holds" that much; its first overloads had measured half of
/// that.
#[test]
fn who_works_on_puts_off_work() {
    let caveat = said(other_than_java(), &[0.9, 0.84, 0.02, 0.9]).expect("it was at work");
    assert_eq!(caveat.doubt, CaveatKind::WorksOn);
    let Some(CaveatDetails::WorkedOn { after, lasted, used }) = caveat.grounds else { panic!("{caveat:?}") };
    assert_eq!((after, lasted), (Rate(15_810.0), Nanos::from_secs(10)), "it was at rest in the third look");
    assert!((used - 0.87).abs() < 1e-6, "{used}");
}

#[test]
fn who_is_at_rest_or_compiles_does_not() {
    assert_eq!(said(other_than_java(), &[0.02, 0.9, 0.9]), None, "it rested first");
    assert_eq!(said(other_than_java(), &[]), None);
    assert_eq!(said(watched(), &[0.9, 0.9]), None, "a Java virtual machine");
    assert_eq!(said_of(other_than_java(), &[0.9, 0.9], 2_000, 7_000.0), None, "a queue is still answered");
    assert_eq!(said_of(other_than_java(), &[0.3, 0.3], 5, 80.0), None, "a look costs as much");
}
