//! Requests wait in the service, and no thread shows for what.

use crate::builders::*;
use record::watch::{PeerConnections, ThreadWait, Window};
use record::{Cause, Diagnosis, Limit, LimitUnit, SearchEnd};
use torment_diagnosis::diagnose;

/// One thread that mostly waits for events.
fn idle() -> Window {
    second(vec![workers(0.05, 0.0, &[(ThreadWait::Events, 0.95), (ThreadWait::Running, 0.05)])])
}

fn at(rate: f64, answered: f64, outstanding: f64, response_ms: u64) -> Load {
    load(rate, answered, outstanding, response_ms, idle())
}

/// For a pool of ten, each of which takes 20 ms, only "requests wait inside" was reported, and readers had to calculate how many are
/// served.
#[test]
fn how_many_are_served_at_a_time_is_reckoned() {
    for (calm, bad, says) in [
        (
            at(250.0, 250.0, 5.0, 20),
            at(520.0, 495.0, 120.0, 240),
            "serves 10 requests at a time: 495/s is 20.2 ms each, and one alone takes 20 ms including the round trip",
        ),
        (
            at(50.0, 50.0, 0.5, 10),
            at(104.0, 99.0, 120.0, 1_200),
            "serves 1 request at a time: 99/s is 10.1 ms each, and one alone takes 10 ms including the round trip",
        ),
        // Neither one nor two: each takes longer the more there are, or the rate is limited.
        (at(70.0, 70.0, 0.7, 10), at(160.0, 140.0, 120.0, 900), "threads do not show"),
    ] {
        let found = judge(watched(), vec![calm, bad]);
        expect(&found, Cause::Inside);
        assert!(found.sentences[0].contains(says), "{:?}", found.sentences);
    }
}

/// Go with GOMAXPROCS=1: its threads take turns, none is always busy, and "a lock, a single worker" was all the advice.
#[test]
fn one_at_a_time_that_computes_is_told() {
    let go = |uses: f64| {
        let states = [(futex(None), 4.0 - uses), (ThreadWait::Running, uses)];
        let mut window = second(vec![workers(uses / 4.0, 0.0, &states)]);
        window.subjects[0].cpu_ns = ns(uses);
        window
    };
    let mut about = watched();
    about.subjects[0].is_go = true;
    let well = load(576.0, 576.0, 0.54, 1, go(0.5));
    let diagnosis = judge(about, vec![well, load(1_100.0, 980.0, 445.0, 400, go(0.96))]);
    expect(&diagnosis, Cause::Inside);
    assert!(diagnosis.sentences[0].ends_with("processors: it computes all that time."), "{diagnosis:#?}");
    assert!(diagnosis.next[0].contains("GOMAXPROCS"), "{:?}", diagnosis.next);
}

/// "A freeze, medium" was what gave first, beside a limit that freezes did not lower.
#[test]
fn what_sets_the_limit_is_looked_for_beside_freezes_that_leave_it() {
    let froze = |load: Load| Load { still: Some((200, 1_200)), ..load };
    let (calm, well) = (at(250.0, 250.0, 5.0, 20), froze(at(490.0, 490.0, 300.0, 200)));
    let fails = |load: Load| Load { good: false, ..load };
    let queues = froze(fails(at(510.0, 495.0, 480.0, 200)));
    // The queue is too short to show its capacity meanwhile; but nothing else made it fail.
    let without = [fails(at(506.0, 499.0, 19.0, 40)), froze(fails(at(554.0, 300.0, 130.0, 200)))];
    let found = ten_at_a_time(vec![calm.clone(), well.clone(), queues]);
    let freeze = found.findings.iter().find(|finding| finding.cause == Cause::Freeze).expect("it did freeze");
    assert!(
        freeze.sentence.ends_with(" After a trial it catches up; for longer it holds about 429/s."),
        "{}",
        freeze.sentence
    );
    ten_at_a_time([calm, well].into_iter().chain(without).collect());
}

fn ten_at_a_time(trials: Vec<Load>) -> Diagnosis {
    let mut recording = recorded(None, watched(), trials);
    let limit = Limit {
        goal: "nine-of-ten".to_owned(),
        held: Some(498.0),
        lower: Some(490.0),
        upper: Some(505.0),
        unit: LimitUnit::Requests,
        regular: true,
        good_trials: 1,
        bad_trials: 1,
        lower_due: 2_450,
        lower_bad: 0,
        throughput: None,
    };
    let before = diagnose(&recording);
    assert!(
        !before.sentences[0].contains("at a time"),
        "what it answers in the long run is not known yet: {before:#?}"
    );
    recording.set_verdict(&came_to(SearchEnd::Converged, vec![limit]));
    let found = diagnose(&recording);
    expect(&found, Cause::Inside);
    assert!(
        found.sentences[0]
            .contains("10 requests at a time: 498/s is 20.1 ms each, and one alone takes 20 ms "),
        "{:?}",
        found.sentences
    );
    found
}

/// Node with mysql2, whose ten connections lead to a database without rules: "10 at a time", and nothing said what those ten are.
#[test]
fn as_many_connections_as_are_served_are_a_pool() {
    let connected = |connections: f64, mut load: Load| {
        load.window.subjects[0].peers.push(PeerConnections {
            address: "127.0.0.1:3306".to_owned(),
            established: connections,
            least: connections as u32,
            most: connections as u32,
            time_wait: 0,
        });
        load
    };
    let judged = |connections: f64| {
        let well = connected(connections, at(119.0, 119.0, 5.95, 50));
        judge(watched(), vec![well, connected(connections, at(220.0, 197.0, 28.0, 130))])
    };
    let diagnosis = judged(10.0);
    expect(&diagnosis, Cause::Pool);
    let said = &diagnosis.sentences[0];
    assert!(said.contains("has 10 connections to 127.0.0.1:3306, all of them in use"), "{said}");
    assert!(diagnosis.arithmetic.as_ref().is_some_and(record::CapacityCheck::agrees), "{diagnosis:#?}");
    // Permits in front of them would look the same.
    assert_eq!(diagnosis.findings[0].confidence.word(), "medium", "{:#?}", diagnosis.findings[0]);
    // With more, some are idle.
    expect(&judged(20.0), Cause::Inside);
}
