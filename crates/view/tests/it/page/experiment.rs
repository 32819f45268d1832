//! An experiment.

use crate::hand::experiment::{Arm, Course, Says, asks, judged, noise, probe};
use crate::page::kit::{chart, document, golden, said, section, words};
use plan::{At, Measure};
use record::{Answer, Cause, Caveat, Doubt, Event, ExperimentEnd, Standing};
use torment_view::document::Form;
use torment_view::page::Pages;
use units::{Rate, Share};

/// Three arms, of which one cannot be measured.
fn experiment() -> Course {
    let arm = |name, change, capacity: f64, p99: f64, cause| {
        let at_rate = vec![(Measure::P99, p99), (Measure::Memory, 4.2e8)];
        Arm {
            name,
            change,
            probes: vec![(0, vec![(Measure::Capacity, capacity)], Some(cause)), (1, at_rate, None)],
        }
    };
    let arms = vec![
        arm("baseline", "", 212.0, 0.0142, Cause::Workers),
        arm("virtual threads", "VIRTUAL_THREADS false → true", 263.0, 0.0121, Cause::Pool),
        arm("pool of 50", "POOL_SIZE 10 → 50", 171.0, 0.0188, Cause::PostgresLock),
    ];
    let probes =
        vec![probe("writes", At::Limit, &[0, 1, 2]), probe("writes", At::Share(Share(0.5)), &[0, 1, 2])];
    let against = |arm| [(arm, 1.0), (0, -1.0)];
    let hypotheses = vec![
        asks("virtual threads", &against(1), 0, Measure::Capacity),
        asks("virtual threads answer faster", &against(1), 1, Measure::P99),
        asks("a pool of 50", &against(2), 0, Measure::Capacity),
    ];
    Course::of(arms, probes, hypotheses)
}

fn answers() -> Standing {
    Standing {
        blocks: 4,
        judged: vec![
            judged(Some(0), "virtual threads", Answer::Better, Some((1.24, 1.15, 1.34)))
                .expected(Some(Answer::NoDifference), Some(false), "behind the workers the pool would give")
                .says("The workers no longer wait, the pool of connections does."),
            judged(Some(1), "virtual threads answer faster", Answer::Undecided, Some((0.86, 0.72, 1.03))),
            judged(Some(2), "a pool of 50", Answer::Worse, Some((0.81, 0.76, 0.86)))
                .doubt("first-above", "the generator used 71 % of its processor at this arm's limit"),
            judged(None, "placebo: capacity", Answer::Better, Some((1.2, 1.12, 1.31))),
        ],
        noise: vec![noise(0, Measure::Capacity, 0.021, 1.042), noise(1, Measure::P99, 0.094, 1.21)],
        caveats: vec![Caveat::new(
            Doubt::Drift,
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
    let pages = Pages::of(&run.events);
    let document = document(&pages);
    golden("experiment", &document);
    let front = &document.front;
    let words = words(front);
    assert_eq!(words[0], "1 better, 1 worse, 1 undecided · 4 blocks of 4 to 10");
    assert_eq!(words[1], "better: virtual threads ×1.24 (1.15–1.34); worse: a pool of 50 ×0.81 (0.76–0.86)");
    let effects = chart(front, "effects-0");
    assert_eq!(effects.form, Form::Intervals);
    let points = &effects.series[0].points;
    assert_eq!((points[0].x, points[0].low, points[0].high), (1.24, Some(1.15), Some(1.34)));
    assert!(points[1].label.starts_with("a pool of 50 (writes: capacity"), "{points:?}");
    assert!(effects.bounds.iter().any(|b| b.name == "better" && (b.at - 1.1).abs() < 1e-9 && b.along_x));
    let faster = chart(front, "effects-1");
    assert!(faster.bounds.iter().any(|b| b.name == "better" && b.at < 1.0), "less is better");
    let experiment = section(front, "experiment");
    let starts = experiment.tables.iter().find(|table| table.title.starts_with("starts")).expect("a table");
    assert_eq!(starts.rows.len(), 3 + 4 * 4);
    assert!(starts.runs.iter().filter(|run| run.is_none()).count() == 1, "one start is void");
    assert!(said(experiment).contains("not as expected"), "{}", said(experiment));
    let about = |text: &str| front.doubts.iter().find(|doubt| doubt.text.contains(text)).expect("a doubt");
    assert_eq!(about("71 %").section.as_deref(), Some("experiment"));
    assert_eq!(about("do not trust this measure").section.as_deref(), Some("experiment"));
    assert!(front.phases[0].label.starts_with("start 1: baseline"));

    let mut pages = Pages::of(&experiment_begins().run.events);
    pages.running = true;
    let front = pages.front();
    assert_eq!(front.head.now.as_deref(), Some("pilot · baseline (start 1, about 80 s)"));
}

#[test]
fn a_start_under_another_load_says_so_and_is_not_drawn_among_the_others() {
    let mut course = experiment().block(1, &[]).block(2, &[]);
    let first = course.run.events.iter_mut().find_map(|event| match event {
        Event::Visited { visit } => Some(visit),
        _ => None,
    });
    first.expect("a start").taken[1].rate = Some(Rate(120.0));
    let front = Pages::of(&course.run.events).front();
    let starts = section(&front, "experiment").tables.iter().find(|table| table.title == "starts");
    let gave: Vec<&str> = starts.expect("a table").rows.iter().map(|row| row[3].text.as_str()).collect();
    assert!(gave[0].contains(" at 120/s"), "{gave:?}");
    assert!(gave[1..].iter().all(|gave| gave.contains(" at 106/s")), "{gave:?}");
    let drawn: usize = chart(&front, "starts-1").series.iter().map(|series| series.points.len()).sum();
    assert_eq!(drawn, gave.len() - 1);
}

pub fn experiment_begins() -> Course {
    experiment().begins(0, 0, false)
}
