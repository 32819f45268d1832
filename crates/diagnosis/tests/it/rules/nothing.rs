//! Nothing gave, or nothing can be said.

use crate::builders::*;
use record::watch::{ThreadWait, WatchCoverage, Window};
use record::{Caveat, CaveatKind, Event, NoFinding, SearchEnd};
use torment_diagnosis::diagnose;

/// After "the limit was not reached" stood "I do not know what gave first": one trial on the way had failed by chance.
#[test]
fn a_limit_that_was_not_reached_has_no_cause() {
    let odd =
        second(vec![workers(0.1, 0.1, &[(ThreadWait::Other { what: "io_uring_enter".to_owned() }, 20.0)])]);
    let trials = || {
        vec![
            load(50.0, 50.0, 1.0, 10, odd.clone()),
            load(100.0, 50.0, 90.0, 900, odd.clone()),
            load(100.0, 100.0, 1.0, 10, odd.clone()),
        ]
    };
    let before = judge(watched(), trials());
    assert_eq!(before.none, Some(NoFinding::Unexplained), "{before:#?}");
    let ended = Event::RunEnded(Box::new(record::RunEnd {
        at_unix_ms: 0,
        verdict: Some(came_to(SearchEnd::MaxReached, Vec::new())),
        exit_code: 0,
        error: None,
    }));
    let mut recording = recorded(None, watched(), trials());
    recording.fold(&ended);
    let diagnosis = diagnose(&recording);
    assert_eq!((diagnosis.cause(), diagnosis.none), (None, Some(NoFinding::NotSaturated)), "{diagnosis:#?}");
    let said =
        "Nothing gave: the target held the highest load allowed, 100/s; one bad trial at 100/s was chance.";
    assert_eq!(diagnosis.sentences, [said]);

    // A trial in which torment was late is void, not a bad moment of the target.
    let mut void = load(100.0, 50.0, 90.0, 900, odd.clone());
    void.invalid = vec![Caveat::new(CaveatKind::GeneratorLate, "late")];
    let mut recording = recorded(None, watched(), vec![void, load(100.0, 100.0, 1.0, 10, odd.clone())]);
    recording.fold(&ended);
    let diagnosis = diagnose(&recording);
    assert_eq!(diagnosis.sentences, ["Nothing gave: the target held the highest load allowed, 100/s."]);
    assert_eq!(diagnosis.degraded_at, None);
}

#[test]
fn nothing_gave() {
    let diagnosis = judge(watched(), vec![calm()]);
    assert_eq!((diagnosis.cause(), diagnosis.none), (None, Some(NoFinding::NotSaturated)));
}

#[test]
fn what_is_not_known_is_said() {
    // Outside only.
    let diagnosis = judge(WatchCoverage::default(), vec![load(100.0, 50.0, 90.0, 900, Window::default())]);
    assert_eq!((diagnosis.cause(), diagnosis.none), (None, Some(NoFinding::NotObservable)));
    // Observed, and nothing fits: half of the workers are in some unknown call.
    let odd =
        second(vec![workers(0.1, 0.1, &[(ThreadWait::Other { what: "io_uring_enter".to_owned() }, 20.0)])]);
    let diagnosis = judge(watched(), vec![load(100.0, 50.0, 10.0, 900, odd)]);
    assert_eq!((diagnosis.cause(), diagnosis.none), (None, Some(NoFinding::Unexplained)), "{diagnosis:#?}");
    assert!(diagnosis.sentences[0].contains("io_uring_enter"), "{:?}", diagnosis.sentences);
}
