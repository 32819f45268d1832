//! The live view of an experiment, on an in-memory terminal.

use crate::terminal::{STARTED, of, screen, started};
use plan::{ArmMeasure, Hypothesis, LoadLevel};
use record::{
    ArmStart, Design, DesignArm, DesignMeasurement, Event, ExperimentState, HypothesisAnswer,
    HypothesisResult, Interval, MeasurementResult, RunId,
};
use units::{Nanos, Share};

fn begun() -> Vec<Event> {
    let arm = |name: &str, changes: &[&str]| DesignArm {
        name: name.to_owned(),
        changes: changes.iter().map(|change| (*change).to_owned()).collect(),
    };
    let design = Design {
        arms: vec![arm("baseline", &[]), arm("400 threads", &["THREADS 200 → 400"])],
        probes: vec![DesignMeasurement {
            workload: "writes".to_owned(),
            at: LoadLevel::Limit,
            arms: vec![0, 1],
        }],
        hypotheses: vec![Hypothesis {
            name: "more threads help".to_owned(),
            contrast: vec![(1, 1.0), (0, -1.0)],
            probe: 0,
            measure: ArmMeasure::Capacity,
            effect: Share(0.1),
            relieves: Vec::new(),
        }],
        pilot: 1,
        least: 2,
        most: 6,
        budget: None,
        confidence: Share(0.95),
        seed: 1,
    };
    let started = started("try", "http://127.0.0.1:8088/");
    let expected = Some(Nanos::from_secs(80));
    let starts =
        Event::VisitStarted(record::OngoingStart { number: 2, block: 1, arm: 1, placebo: false, expected });
    vec![started, Event::Designed { design: Box::new(design) }, made(), starts]
}

/// The pilot.
fn made() -> Event {
    let measurement = MeasurementResult {
        probe: 0,
        run: RunId("20261120-161510-aaa".to_owned()),
        rate: None,
        figures: vec![(ArmMeasure::Capacity, 213.0)],
        at_least: false,
        cause: Some(record::Cause::Workers),
        says: String::new(),
        caveats: Vec::new(),
    };
    let start = ArmStart {
        number: 1,
        block: 0,
        arm: 0,
        placebo: false,
        at_unix_ms: STARTED,
        took: Nanos::from_secs(60),
        started_in: Nanos::from_secs(6),
        spent: record::StartTimes::default(),
        taken: vec![measurement],
        void: None,
    };
    Event::Visited { visit: Box::new(start) }
}

fn stands() -> Event {
    let result = HypothesisResult {
        hypothesis: Some(0),
        name: "more threads help".to_owned(),
        answer: HypothesisAnswer::NoDifference,
        ratio: Some(Interval { value: 1.01, low: 0.97, high: 1.05 }),
        some_effect: false,
        blocks: 2,
        expected: None,
        held: None,
        says: String::new(),
        caveats: Vec::new(),
    };
    let state = ExperimentState { blocks: 2, judged: vec![result], ..ExperimentState::default() };
    Event::Stands { standing: Box::new(state) }
}

#[test]
fn it_says_which_start_goes_on_and_what_is_answered() {
    let mut events = begun();
    let early = screen(&of(&events), (110, 30));
    for words in ["block 1", "400 threads", "no answer yet", "213/s"] {
        assert!(early.contains(words), "'{words}' is missing from\n{early}");
    }
    events.push(stands());
    let later = screen(&of(&events), (110, 30));
    for words in ["no difference", "more threads help", "×1.01"] {
        assert!(later.contains(words), "'{words}' is missing from\n{later}");
    }
    assert!(!later.contains("no answer yet"), "{later}");
}

#[test]
fn it_fits_into_any_window() {
    let mut events = begun();
    events.push(stands());
    let view = of(&events);
    for size in [(1, 1), (20, 5), (60, 12), (300, 90)] {
        let _ = screen(&view, size);
    }
    assert!(screen(&view, (60, 12)).contains("400 threads"));
}
