//! Neighbours that use part of what the target waits for.

use crate::builders::*;
use record::watch::{BusyThreads, Neighbour, ThreadGroup, ThreadWait, WatchCoverage};
use record::{Cause, Caveat, CaveatDetails, CaveatKind, SearchEnd};
use torment_diagnosis::{caveats, diagnose};

/// The caveat for an event loop with one processor available, or both, that has one for so long, waits for one for so long, and
/// neighbours that use this many.
fn said(allowed: f64, had: f64, waited: f64, theirs: f64) -> Option<Caveat> {
    let mut watched = WatchCoverage { subjects: watched().subjects[..1].to_vec(), ..watched() };
    let about = &mut watched.subjects[0];
    (about.name, about.java, about.cpus) = ("uvicorn".to_owned(), None, allowed);
    let asked = |rate: f64, answered: f64, full: f64, on_cpu: f64, ready: f64| {
        let group = ThreadGroup {
            full: Some(BusyThreads { threads: full, on_cpu_ns: ns(full * on_cpu) }),
            ..workers(on_cpu, ready, &[(ThreadWait::Running, 1.0)])
        };
        let mut window = second(vec![group]);
        let host = window.host.as_mut().expect("it is there");
        (host.idle_ns, host.neighbours_cpu_ns) = (0, ns(theirs));
        let of = |pid, name: &str, cpu| Neighbour { pid, name: name.to_owned(), cpu_ns: ns(cpu) };
        host.neighbours = vec![
            of(7, "rustc", 0.4 * theirs),
            of(8, "cc1", 0.31 * theirs),
            of(9, "rustc", 0.28 * theirs),
            of(1, "cron", 0.01 * theirs),
        ];
        load(rate, answered, 100.0, 10, window)
    };
    let well = asked(4000.0, 4000.0, 0.0, 0.5, 0.0);
    let recording = recorded(None, watched, vec![well, asked(9000.0, 7000.0, 1.0, had, waited)]);
    assert_eq!(diagnose(&recording).cause(), Some(Cause::Cpu));
    caveats(&recording, &came_to(SearchEnd::Converged, Vec::new()), Some(Cause::Cpu)).pop()
}

/// A uvicorn that shared its only processor with a compiler "keeps one processor busy all the time", of which it had 81 %; the compiler
/// was not mentioned.
#[test]
fn who_takes_a_part_of_what_the_target_waits_for_is_named() {
    for allowed in [1.0, 2.0] {
        let caveat = said(allowed, 0.81, 0.19, 1.1).expect("they took a fifth");
        assert_eq!(caveat.doubt, CaveatKind::OthersAtWork);
        let Some(CaveatDetails::Neighbours { names, used, waited }) = caveat.grounds else {
            panic!("{caveat:?}")
        };
        assert_eq!(
            names,
            ["rustc", "cc1"],
            "by all of their processes, and who did next to nothing is not named"
        );
        assert!((used - 1.1).abs() < 0.01 && (waited.0 - 0.19).abs() < 0.01, "{used} {waited:?}");
    }
}

#[test]
fn who_takes_nothing_from_it_is_not() {
    assert_eq!(said(1.0, 0.97, 0.03, 1.1), None, "it has its processor");
    assert_eq!(said(1.0, 0.81, 0.19, 0.05), None, "it waits for another one: torment, or itself");
    assert_eq!(said(1.0, 0.97, 3.0, 1.1), None, "its threads wait for each other");
}
