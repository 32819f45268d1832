//! Several observed machines: each is judged by itself, and the verdict names the place.

use crate::builders::*;
use record::watch::{
    AccessLevel, MissingMeasure, ThreadWait, WatchCoverage, WatchedProcesses, WatcherLost, Window,
};
use record::{Cause, NoFinding};
use torment_diagnosis::diagnose;
use units::Nanos;

fn burning() -> Window {
    second(vec![workers(
        1.85,
        95.0,
        &[(ThreadWait::Running, 97.0), (futex(None), 34.0), (futex(Some(60)), 69.0)],
    )])
}

fn idle() -> Window {
    second(vec![workers(0.45, 0.2, &[(ThreadWait::Running, 0.6), (futex(Some(60)), 199.4)])])
}

fn loads() -> Vec<Load> {
    vec![load(100.0, 100.0, 1.0, 10, idle()), load(600.0, 412.0, 400.0, 900, idle())]
}

fn seen(place: &'static str, windows: [Window; 2]) -> PlaceWindows {
    PlaceWindows { place, watched: watched(), windows: windows.into() }
}

#[test]
fn what_gave_is_said_with_where() {
    let places = vec![seen("db", [idle(), idle()]), seen("web", [idle(), burning()])];
    let diagnosis = diagnose(&recorded_at(None, places, loads()));
    expect(&diagnosis, Cause::Cpu);
    assert_eq!((diagnosis.place(), &diagnosis.findings[0].also_at), ("web", &Vec::new()));
    assert!(diagnosis.sentences[0].starts_with("On web: "), "{:?}", diagnosis.sentences);
    // The same observed by torment itself needs no place name.
    let diagnosis = diagnose(&recorded_at(None, vec![seen("", [idle(), burning()])], loads()));
    expect(&diagnosis, Cause::Cpu);
    assert_eq!(diagnosis.place(), "");
    assert!(!diagnosis.sentences[0].starts_with("On "), "{:?}", diagnosis.sentences);
}

#[test]
fn the_same_at_several_places_is_one_cause() {
    let all = ["a", "b", "c"];
    let places = all.map(|place| seen(place, [idle(), if place == "c" { idle() } else { burning() }]));
    let diagnosis = diagnose(&recorded_at(None, places.into(), loads()));
    expect(&diagnosis, Cause::Cpu);
    assert_eq!(diagnosis.findings.iter().filter(|found| found.cause == Cause::Cpu).count(), 1);
    assert_eq!((diagnosis.place(), diagnosis.findings[0].also_at.as_slice()), ("a", &["b".to_owned()][..]));
    assert!(
        diagnosis.sentences.iter().any(|said| said == "The same holds on b."),
        "{:?}",
        diagnosis.sentences
    );
}

/// Waits on one machine are explained by the cause on another.
#[test]
fn what_happens_on_one_machine_explains_another() {
    let web = || seen("web", [calm().window, pool_of_ten()]);
    let loads = || vec![calm(), load(600.0, 200.0, 400.0, 900, pool_of_ten())];
    let alone = diagnose(&recorded_at(None, vec![web()], loads()));
    expect(&alone, Cause::Pool);
    let both = diagnose(&recorded_at(None, vec![web(), seen("db", [idle(), burning()])], loads()));
    expect(&both, Cause::Cpu);
    assert_eq!(both.place(), "db");
    let pool = both.findings.iter().find(|found| found.cause == Cause::Pool).expect("it holds, too");
    assert_eq!((pool.place.as_str(), pool.follows_from), ("web", Some(Cause::Cpu)));
}

#[test]
fn what_nobody_saw_any_more_is_said() {
    let lost = WatcherLost { trial: 1, at: Some(Nanos::from_secs(3)), why: "the link broke".to_owned() };
    let blind = WatchCoverage { lost: Some(lost), ..watched() };
    let missing = vec![MissingMeasure::new("waits of threads", "run as root")];
    let web =
        PlaceWindows { watched: WatchCoverage { missing, ..watched() }, ..seen("web", [idle(), burning()]) };
    let db = PlaceWindows { watched: blind.clone(), ..seen("db", [idle(), idle()]) };
    let diagnosis = diagnose(&recorded_at(None, vec![web, db], loads()));
    expect(&diagnosis, Cause::Cpu);
    let since = "What happened on db is not known since 3 s into trial 1: the link broke.";
    assert!(diagnosis.sentences.iter().any(|said| said == since), "{:?}", diagnosis.sentences);
    assert!(diagnosis.unseen.iter().any(|said| said == since), "{:?}", diagnosis.unseen);
    assert!(diagnosis.unseen.iter().any(|said| said.starts_with("on web, waits of threads: ")));
    // No other place is observed.
    let nobody =
        WatchCoverage { level: AccessLevel::Outside, subjects: vec![WatchedProcesses::default()], ..blind };
    let db =
        PlaceWindows { place: "db", watched: nobody, windows: vec![Window::default(), Window::default()] };
    let diagnosis = diagnose(&recorded_at(None, vec![db], loads()));
    assert_eq!(diagnosis.none, Some(NoFinding::NotObservable), "{diagnosis:#?}");
    assert!(diagnosis.sentences.iter().any(|said| said == since), "{:?}", diagnosis.sentences);
}
