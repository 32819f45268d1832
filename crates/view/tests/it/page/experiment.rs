//! An experiment.

use crate::page::support::{chart, document, golden, image, said, section, words};
use crate::synthetic::experiment::{ArmSpec, ExperimentBuilder, JudgedExt, asks, judged, noise, probe};
use plan::{ArmMeasure, LoadLevel};
use record::{Cause, Caveat, CaveatKind, Event, ExperimentEnd, ExperimentState, HypothesisAnswer};
use torment_view::Tone;
use torment_view::document::{Chart, ChartForm, PageFront};
use torment_view::page::PageBuilder;
use units::{Rate, Share};

/// Three arms, one of which cannot be measured.
fn experiment() -> ExperimentBuilder {
    let arm = |name, change, capacity: f64, p99: f64, cause| {
        let at_rate = vec![(ArmMeasure::P99, p99), (ArmMeasure::Memory, 4.2e8)];
        ArmSpec {
            name,
            change,
            probes: vec![(0, vec![(ArmMeasure::Capacity, capacity)], Some(cause)), (1, at_rate, None)],
        }
    };
    let arms = vec![
        arm("baseline", "", 212.0, 0.0142, Cause::Workers),
        arm("virtual threads", "VIRTUAL_THREADS false → true", 263.0, 0.0121, Cause::Pool),
        arm("pool of 50", "POOL_SIZE 10 → 50", 171.0, 0.0188, Cause::PostgresLock),
    ];
    let probes = vec![
        probe("writes", LoadLevel::Limit, &[0, 1, 2]),
        probe("writes", LoadLevel::Share(Share(0.5)), &[0, 1, 2]),
    ];
    let against = |arm| [(arm, 1.0), (0, -1.0)];
    let hypotheses = vec![
        asks("virtual threads", &against(1), 0, ArmMeasure::Capacity),
        asks("virtual threads answer faster", &against(1), 1, ArmMeasure::P99),
        asks("a pool of 50", &against(2), 0, ArmMeasure::Capacity),
    ];
    ExperimentBuilder::of(arms, probes, hypotheses)
}

fn answers() -> ExperimentState {
    ExperimentState {
        blocks: 4,
        judged: vec![
            judged(Some(0), "virtual threads", HypothesisAnswer::Better, Some((1.24, 1.15, 1.34)))
                .expected(
                    Some(HypothesisAnswer::NoDifference),
                    Some(false),
                    "behind the workers the pool would give",
                )
                .says("The workers no longer wait, the pool of connections does."),
            judged(
                Some(1),
                "virtual threads answer faster",
                HypothesisAnswer::Undecided,
                Some((0.86, 0.72, 1.03)),
            ),
            judged(Some(2), "a pool of 50", HypothesisAnswer::Worse, Some((0.81, 0.76, 0.86)))
                .doubt("first-above", "the generator used 71 % of its processor at this arm's limit"),
            judged(None, "placebo: capacity", HypothesisAnswer::Better, Some((1.2, 1.12, 1.31))),
            judged(None, "placebo: p99", HypothesisAnswer::NoDifference, Some((1.01, 0.94, 1.08))),
        ],
        noise: vec![noise(0, ArmMeasure::Capacity, 0.021, 1.042), noise(1, ArmMeasure::P99, 0.094, 1.21)],
        caveats: vec![Caveat::new(
            CaveatKind::Drift,
            "the baseline's capacity fell by 3.1 %: other work on the machine",
        )],
        over: None,
    }
}

#[test]
fn an_experiment() {
    let mut course = experiment().pilot();
    for block in 1..=4 {
        let void: &[(usize, &str)] =
            if block == 2 { &[(2, "not ready within 60 s; its log ends in: Killed")] } else { &[] };
        course = course.block(block, void);
    }
    let run = course.stands(&answers()).over(answers(), ExperimentEnd::BlocksMade, 0);
    let page = PageBuilder::from_events(&run.events);
    let document = document(&page);
    golden("experiment", &document);
    let front = &document.front;
    let words = words(front);
    assert_eq!(
        words[0],
        "better: “virtual threads” (VIRTUAL_THREADS false → true), writes: capacity ×1.24 (1.15–1.34); worse: “a pool of 50” (POOL_SIZE 10 → 50), writes: capacity ×0.81 (0.76–0.86); 95 % confidence in all answers together"
    );
    assert_eq!(words[1], "1 better, 1 worse, 1 undecided · 4 of at most 10 blocks");
    assert_eq!(
        words[2],
        "next: adopt VIRTUAL_THREADS false → true; to decide “virtual threads answer faster”, ask for more blocks (most and budget in [try])"
    );
    let experiment = section(front, "experiment");
    let starts = experiment.tables.iter().find(|table| table.title.starts_with("starts")).expect("a table");
    assert_eq!(starts.rows.len(), 3 + 4 * 4);
    assert!(starts.runs.iter().filter(|run| run.is_none()).count() == 1, "one start is void");
    assert!(said(experiment).contains("not as expected"), "{}", said(experiment));
    let about = |text: &str| front.doubts.iter().find(|doubt| doubt.text.contains(text)).expect("a doubt");
    assert_eq!(about("71 %").section.as_deref(), Some("experiment"));
    assert_eq!(about("do not trust this measure").section.as_deref(), Some("experiment"));
    assert!(front.phases[0].label.starts_with("start 1: baseline"));

    let mut page = PageBuilder::from_events(&experiment_begins().run.events);
    page.run.running = true;
    let front = page.front();
    assert_eq!(front.head.now.as_deref(), Some("pilot · baseline (start 1, about 80 s)"));
}

/// Twice as many workers answered twice as much, and all were busy; nothing suggested that still more would help.
#[test]
fn what_helped_and_still_gives_first_is_worth_more_of_it() {
    let next = |says: &str| {
        let mut course = experiment().pilot();
        for block in 1..=4 {
            course = course.block(block, &[]);
        }
        for event in &mut course.run.events {
            match event {
                Event::Designed { design } => design.hypotheses[0].relieves = vec!["workers".to_owned()],
                Event::Visited { visit } if visit.arm == 1 => {
                    let measurement = visit
                        .taken
                        .iter_mut()
                        .find(|measurement| measurement.probe == 0)
                        .expect("it was measured");
                    (measurement.cause, measurement.says) = (Some(Cause::Workers), says.to_owned());
                }
                _ => {}
            }
        }
        let run = course.stands(&answers()).over(answers(), ExperimentEnd::BlocksMade, 0);
        words(&document(&PageBuilder::from_events(&run.events)).front)[2].clone()
    };
    let said = next("All 400 workers of app are taken, and 9 sleep; 40 requests are outstanding.");
    let more = "next: adopt VIRTUAL_THREADS false → true (even then all 400 workers of app are taken); ";
    assert!(said.starts_with(more), "{said}");
    let said = next("");
    assert!(said.contains(" (it is still limited by the number of workers); "), "{said}");
}

/// Four blocks; the last start of the virtual threads was measured, but is void.
fn pictured() -> PageFront {
    let mut course = experiment().pilot();
    for block in 1..=4 {
        course = course.block(block, &[]);
    }
    let last = course.run.events.iter_mut().rev().find_map(|event| match event {
        Event::Visited { visit } if visit.arm == 1 => Some(visit),
        _ => None,
    });
    last.expect("a start").void = Some("the service could not be ended".to_owned());
    let run = course.stands(&answers()).over(answers(), ExperimentEnd::BlocksMade, 0);
    document(&PageBuilder::from_events(&run.events)).front
}

#[test]
fn the_picture_of_an_experiment_has_every_start_and_every_answer() {
    let front = pictured();
    let [capacity, p99] = front.pictures.as_slice() else { panic!("two pictures: {:?}", front.pictures) };
    assert_eq!(
        (capacity.form, capacity.title.as_str()),
        (ChartForm::Intervals, "writes: capacity (more is better)")
    );
    let rows: Vec<(&str, &str, Tone)> =
        capacity.rows.iter().map(|row| (row.name.as_str(), row.word.text.as_str(), row.word.tone)).collect();
    let expected = [
        ("baseline", "", Tone::Plain),
        ("placebo", "differs, but should not", Tone::Bad),
        ("“virtual threads”", "better", Tone::Good),
        ("“a pool of 50”", "worse", Tone::Bad),
    ];
    assert_eq!(rows, expected);
    let note = &capacity.rows[2].note;
    assert!(note.starts_with("VIRTUAL_THREADS false → true · limited by "), "{note}");
    let better = |chart: &Chart| {
        chart.bands.iter().find(|band| band.name == "better").map(|band| (band.from, band.to))
    };
    assert!(matches!(better(capacity), Some((Some(_), None))), "{:?}", capacity.bands);
    assert!(matches!(better(p99), Some((None, Some(_)))), "less is better: {:?}", p99.bands);
    assert!(p99.x.name.ends_with("better to the left"), "{}", p99.x.name);
    let [estimates, starts] = capacity.series.as_slice() else { panic!("{:?}", capacity.series) };
    let found: Vec<_> = estimates.points.iter().map(|point| (point.y.round(), point.x, point.low)).collect();
    assert_eq!(found, [(1.0, 1.2, Some(1.12)), (2.0, 1.24, Some(1.15)), (3.0, 0.81, Some(0.76))]);
    let of_row = |row: f64| starts.points.iter().filter(move |point| point.y.round() == row);
    assert_eq!([0.0, 1.0, 2.0, 3.0].map(|row| of_row(row).count()), [4; 4], "each start a point");
    let first = of_row(2.0).next().expect("a start");
    let (own, reference) = (263.0 * 0.985, 212.0 * (1.005_f64 * 1.0).sqrt());
    assert!((first.x - own / reference).abs() < 1e-9, "against both starts of the baseline: {first:?}");
    let void = of_row(2.0).next_back().expect("a start");
    assert_eq!((void.label.as_str(), void.tone), ("block 4, void", Tone::Warn));
    assert!(of_row(0.0).all(|point| (0.95..1.05).contains(&point.x)), "the baseline is around its mean");

    let bands = |chart: &Chart| -> Vec<(String, Option<f64>)> {
        chart.bands.iter().map(|band| (band.name.clone(), band.from)).collect()
    };
    let named = |name: &str, from| (name.to_owned(), from);
    let (low, high) = (Some(1.0 / 1.1), Some(1.1));
    assert_eq!(bands(capacity), [named("worse", None), named("no difference", low), named("better", high)]);
    assert_eq!(bands(p99), [named("better", None), named("no difference", low), named("worse", high)]);
    let words: Vec<&str> = p99.rows.iter().map(|row| row.word.text.as_str()).collect();
    assert_eq!(words, ["", "as it should be", "undecided"]);

    // Starts are drawn before anything is judged; nothing before the first.
    let front = PageBuilder::from_events(&experiment().pilot().run.events).front();
    let [pilot] = front.pictures.as_slice() else { panic!("one picture: {:?}", front.pictures) };
    assert_eq!(pilot.series.iter().map(|series| series.points.len()).collect::<Vec<_>>(), [0, 3]);
    assert!(PageBuilder::from_events(&experiment_begins().run.events).front().pictures.is_empty());
}

#[test]
fn the_picture_of_an_experiment_is_an_image() {
    let front = pictured();
    let picture = image(&front).expect("an experiment has effects");
    let marks = front.pictures.iter().flat_map(|chart| &chart.series).map(|series| series.points.len());
    assert_eq!(picture.matches("<g><title>").count(), marks.sum::<usize>());
    for said in [
        "<title>“virtual threads”, ×1.24 (×1.15–×1.34), better</title>",
        "<title>“virtual threads”, block 4, void, ×",
        ">as it should be<",
        ">undecided<",
        ">×0.8<",
        ">small: each start, hollow: void<",
        ">ratio to the baseline; better to the right<",
    ] {
        assert!(picture.contains(said), "no {said} in {picture}");
    }
    assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
    assert_eq!(picture.matches("<text ").count(), picture.matches("</text>").count());
    assert_eq!(picture.matches("<g>").count(), picture.matches("</g>").count());
}

#[test]
fn a_start_under_another_load_says_so_and_is_not_drawn_among_the_others() {
    let mut course = experiment().block(1, &[]).block(2, &[]);
    let first = course.run.events.iter_mut().find_map(|event| match event {
        Event::Visited { visit } => Some(visit),
        _ => None,
    });
    first.expect("a start").taken[1].rate = Some(Rate(120.0));
    let front = PageBuilder::from_events(&course.run.events).front();
    let starts = section(&front, "experiment").tables.iter().find(|table| table.title == "starts");
    let gave: Vec<&str> = starts.expect("a table").rows.iter().map(|row| row[3].text.as_str()).collect();
    assert!(gave[0].contains(" at 120/s"), "{gave:?}");
    assert!(gave[1..].iter().all(|gave| gave.contains(" at 106/s")), "{gave:?}");
    let drawn: usize = chart(&front, "starts-1").series.iter().map(|series| series.points.len()).sum();
    assert_eq!(drawn, gave.len() - 1);
}

pub fn experiment_begins() -> ExperimentBuilder {
    experiment().begins(0, 0, false)
}
