//! Experiments in the store: one entry each, with their measurements.

use crate::run_started::run_started;
use record::{
    ArmAnswer, Event, ExperimentEnd, ExperimentState, HypothesisAnswer, HypothesisResult, RunId, Verdict,
};
use std::time::{Duration, Instant};
use torment_store::{AnswerCounts, Error, Filter, Store};

fn started(id: &str, at_unix_ms: u64) -> Event {
    run_started("try", id, at_unix_ms)
}

fn part(id: &str, at_unix_ms: u64, of: &str) -> Event {
    let mut event = started(id, at_unix_ms);
    let Event::RunStarted(begun) = &mut event else { panic!("it is a start") };
    begun.part_of = Some(RunId(of.to_owned()));
    event
}

fn judged(hypothesis: Option<usize>, answer: HypothesisAnswer) -> HypothesisResult {
    HypothesisResult {
        hypothesis,
        name: "more threads".to_owned(),
        answer,
        ratio: None,
        some_effect: false,
        blocks: 4,
        expected: None,
        held: None,
        says: String::new(),
        caveats: Vec::new(),
    }
}

#[test]
fn an_experiment_is_one_line_and_takes_its_measurements_along() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let store = Store::open(&folder.path().join("t.db")).expect("opens");
    let run = |event: &Event| store.begin(event).expect("begins").finish().expect("is kept");
    run(&started("before", 1));
    let mut experiment = store.begin(&started("try", 2)).expect("begins");
    run(&part("p2", 4, "try"));
    run(&part("p1", 3, "try"));
    run(&part("other", 5, "another"));
    let id = RunId("try".to_owned());
    let so_far = ExperimentState {
        judged: vec![judged(Some(0), HypothesisAnswer::Better), judged(Some(1), HypothesisAnswer::Undecided)],
        ..ExperimentState::default()
    };
    let asked = |name: &str, arm: usize| plan::Hypothesis {
        name: name.to_owned(),
        contrast: vec![(arm, 1.0), (0, -1.0)],
        probe: 0,
        measure: plan::ArmMeasure::Throughput,
        effect: units::Share(0.1),
        relieves: Vec::new(),
    };
    let arm = |name: &str| record::DesignArm { name: name.to_owned(), changes: Vec::new() };
    let design = record::Design {
        arms: vec![arm("baseline"), arm("400 threads"), arm("pool of 50")],
        probes: Vec::new(),
        hypotheses: vec![asked("more threads", 1), asked("a larger pool", 2)],
        pilot: 2,
        least: 4,
        most: 4,
        budget: None,
        confidence: units::Share(0.95),
        seed: 1,
    };
    experiment.append(&Event::Designed { design: Box::new(design) }).expect("is taken");
    experiment.append(&Event::Stands { standing: Box::new(so_far.clone()) }).expect("is taken");
    let begin = Instant::now();
    while store.summary(&id).expect("is there").answers.is_none() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it was not committed on its own");
        std::thread::sleep(Duration::from_millis(20));
    }
    let summary = store.summary(&id).expect("is there");
    assert_eq!(summary.answers, Some(AnswerCounts { better: 1, undecided: 1, ..AnswerCounts::default() }));
    assert_eq!((summary.experiment_end, summary.part_of), (None, None));

    let mut standing = so_far;
    standing.judged[1].answer = HypothesisAnswer::NoDifference;
    standing.judged[0].ratio = Some(record::Interval { value: 1.38, low: 1.2, high: 1.5 });
    standing.judged.push(judged(None, HypothesisAnswer::NoDifference));
    standing.over = Some(ExperimentEnd::BudgetSpent);
    assert!(matches!(store.remove(&id), Err(Error::Running { .. })));
    let verdict = Some(Verdict::Answers { standing });
    let end = Event::RunEnded(Box::new(record::RunEnd { at_unix_ms: 9, verdict, exit_code: 0, error: None }));
    experiment.append(&end).expect("is taken");
    experiment.finish().expect("is kept");
    let summary = store.summary(&id).expect("is there");
    let expected = AnswerCounts { better: 1, no_difference: 1, ..AnswerCounts::default() };
    assert_eq!(summary.answers, Some(expected), "the placebo is no hypothesis");
    assert_eq!(summary.experiment_end.as_deref(), Some("budget-spent"));
    let arm = |arm: &str, answer, factor| ArmAnswer { arm: arm.to_owned(), answer, factor };
    let arms = [
        arm("400 threads", HypothesisAnswer::Better, Some(1.38)),
        arm("pool of 50", HypothesisAnswer::NoDifference, None),
    ];
    assert_eq!(summary.arms, arms, "which of them it was");
    // Rows of earlier versions do not have them; their events do.
    let db = rusqlite::Connection::open(store.path()).expect("opens");
    db.execute("UPDATE run SET arms = NULL WHERE id = ?1", [&id.0]).expect("ages");
    assert_eq!(store.summary(&id).expect("is there").arms, arms);
    assert_eq!(store.list(&Filter::default()).expect("lists")[0].arms, arms);

    let ids = |parts| -> Vec<String> {
        let filter = Filter { parts, ..Filter::default() };
        store.list(&filter).expect("lists").into_iter().map(|r| r.id.0).collect()
    };
    assert_eq!(ids(false), ["try", "before"]);
    assert_eq!(ids(true), ["other", "p2", "p1", "try", "before"]);
    assert_eq!(store.find("last").expect("finds"), id);
    assert_eq!(store.find("last~1").expect("finds").0, "before");
    assert_eq!(store.parts(&id).expect("reads"), [RunId("p1".to_owned()), RunId("p2".to_owned())]);
    assert_eq!(store.parts(&RunId("p1".to_owned())).expect("reads"), []);
    let part = store.summary(&RunId("p1".to_owned())).expect("is there");
    assert_eq!((part.part_of, part.answers), (Some(id.clone()), None));

    // Its measurements were cut short, here by this very process.
    for id in ["p1", "p2"] {
        let db = rusqlite::Connection::open(store.path()).expect("opens");
        db.execute("UPDATE run SET writer_start = 0 WHERE id = ?1", [id]).expect("ages");
    }
    store.remove(&id).expect("is removed");
    assert_eq!(ids(true), ["other", "before"]);
}

/// The first schema had no experiments.
#[test]
fn an_older_store_is_brought_up_to_date() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("t.db");
    let db = rusqlite::Connection::open(&path).expect("opens");
    db.execute_batch(include_str!("../../migrations/1.sql")).expect("makes the first tables");
    db.execute_batch("PRAGMA user_version = 1; PRAGMA application_id = 0x746f726d").expect("marks them");
    db.execute_batch(
        "INSERT INTO run (id, started_unix_ms, ended_unix_ms, command, target, goal, version, method,
         writer_boot, writer_pid, writer_start) VALUES ('old', 1, 2, 'find', 't', 'g', '0.1.0', 2, '', 1, 1);
         INSERT INTO event VALUES (1, 0, '{}')",
    )
    .expect("adds a run");
    drop(db);
    let store = Store::open(&path).expect("opens");
    let runs = store.list(&Filter::default()).expect("lists");
    assert_eq!((runs.len(), runs[0].id.0.as_str(), &runs[0].part_of), (1, "old", &None));
    store.begin(&part("p", 2, "old")).expect("begins").finish().expect("is kept");
    assert_eq!(store.parts(&runs[0].id).expect("reads").len(), 1);
    drop(store);
    Store::open(&path).expect("opens again");
}
