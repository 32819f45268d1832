//! The order of starts, and the end.

use crate::fixtures::{StartRequest, StartResult, conduct, design, start_result, visit, wobble};
#[allow(dead_code, reason = "shared with the tests of verdicts")]
use record::{CaveatKind, ExperimentEnd, HypothesisAnswer, OngoingStart};
use torment_experiment::{Experiment, ExperimentStep, least_time};
use units::Nanos;

fn noisy(asked: StartRequest) -> StartResult {
    start_result(1000.0 * wobble(asked, 0.15).exp())
}

fn begin(design: &record::Design) -> Experiment {
    Experiment::new(design).expect("a design")
}

#[test]
fn the_pilot_comes_first_and_every_block_has_each_arm_and_the_placebo() {
    let mut experiment = begin(&design(3));
    let made = conduct(&mut experiment, noisy);
    assert!(made[..2].iter().all(|asked| (asked.block, asked.arm, asked.placebo) == (0, 0, false)));
    for (place, asked) in made.iter().enumerate() {
        assert_eq!(asked.number as usize, place + 1);
    }
    let mut orders = Vec::new();
    for (place, block) in made[2..].chunks(5).enumerate() {
        assert!(block.iter().all(|asked| asked.block as usize == place + 1));
        let order: Vec<(usize, bool)> = block.iter().map(|asked| (asked.arm, asked.placebo)).collect();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [(0, false), (0, true), (1, false), (2, false), (3, false)]);
        orders.push(order);
    }
    assert_eq!(orders.len(), 8);
    orders.sort_unstable();
    orders.dedup();
    assert!(orders.len() > 4, "blocks have orders of their own");
    assert_eq!(made, conduct(&mut begin(&design(3)), noisy), "the same seed, the same order");
    let other = record::Design { seed: 8, ..design(3) };
    assert_ne!(made, conduct(&mut begin(&other), noisy));
    assert_eq!(experiment.state().over, Some(ExperimentEnd::BlocksMade));
    assert_eq!(made, conduct(&mut begin(&other).reseeded(7), noisy));
}

#[test]
fn told_the_visits_that_were_kept_it_goes_on_as_without_the_interruption() {
    // With occasional void starts, and a dropped arm.
    let gives = |asked: StartRequest| StartResult {
        void: match (asked.arm, asked.block, asked.number % 7) {
            (3, 3.., _) => Some("no answer"),
            (_, _, 0) => Some("a neighbour"),
            _ => None,
        },
        ..noisy(asked)
    };
    let mut whole = begin(&design(3));
    let made = conduct(&mut whole, gives);
    assert!(whole.state().caveats.iter().any(|caveat| caveat.doubt == CaveatKind::ArmDropped));
    for cut in 0..made.len() {
        let mut again = begin(&design(3));
        for asked in &made[..cut] {
            again.add_start(&visit(*asked, gives(*asked)));
        }
        let rest = conduct(&mut again, gives);
        assert_eq!(made[cut..], rest, "cut after {cut}");
        assert_eq!(whole.state(), again.state());
    }
}

#[test]
fn a_block_that_would_not_fit_the_budget_is_not_begun() {
    // Blocks of two variants are four starts, of ten seconds each.
    let seconds = |seconds: f64| Some(Nanos::from_secs_f64(seconds));
    for (budget, visits) in [(19.0, 1), (20.0, 2), (59.0, 2), (60.0, 6), (99.9, 6), (100.0, 10)] {
        let mut experiment = begin(&record::Design { budget: seconds(budget), ..design(2) });
        let made = conduct(&mut experiment, noisy);
        assert_eq!(
            (made.len(), experiment.state().over),
            (visits, Some(ExperimentEnd::BudgetSpent)),
            "{budget}"
        );
    }
    assert_eq!(least_time(&design(2), Nanos::from_secs_f64(10.0)), Nanos::from_secs_f64(140.0));
}

#[test]
fn a_step_says_what_to_measure_and_how_long_it_should_take() {
    let mut asked = design(2);
    asked.probes.push(record::DesignMeasurement { arms: vec![2], ..asked.probes[0].clone() });
    let mut experiment = begin(&asked);
    let ExperimentStep::Start { start, probes } = experiment.next(Nanos(0)) else { panic!("a visit") };
    assert_eq!((probes, start.expected), (vec![0], None));
    experiment.add_start(&visit(
        StartRequest { number: 1, block: 0, arm: 0, placebo: false },
        start_result(1000.0),
    ));
    experiment.add_start(&visit(
        StartRequest { number: 2, block: 0, arm: 0, placebo: false },
        start_result(1100.0),
    ));
    assert_eq!(experiment.capacity("all"), Some(1050.0));
    assert_eq!(experiment.capacity("reads"), None);
    for _ in 0..4 {
        let ExperimentStep::Start { start, probes } = experiment.next(Nanos(0)) else { panic!("a visit") };
        let OngoingStart { number, block, arm, placebo, expected } = start;
        assert_eq!(probes, if arm == 2 { vec![0, 1] } else { vec![0] });
        assert_eq!(expected, Some(Nanos::from_secs_f64(10.0)));
        experiment.add_start(&visit(StartRequest { number, block, arm, placebo }, start_result(5000.0)));
    }
    assert_eq!(experiment.capacity("all"), Some(1050.0), "blocks do not move what shares refer to");
}

#[test]
fn a_void_visit_is_repeated_at_the_end_of_its_block() {
    let mut voids = 0;
    let mut experiment = begin(&design(2));
    let made = conduct(&mut experiment, |asked| {
        let void = asked.block == 2 && asked.arm == 1 && voids < 2;
        voids += u32::from(void);
        StartResult { void: void.then_some("a neighbour"), ..noisy(asked) }
    });
    let block: Vec<usize> = made.iter().filter(|asked| asked.block == 2).map(|asked| asked.arm).collect();
    assert_eq!((block.len(), &block[4..]), (6, [1, 1].as_slice()));
    assert_eq!(experiment.state().blocks, 8);
}

#[test]
fn an_arm_that_is_void_three_times_is_given_up_and_the_rest_goes_on() {
    let mut experiment = begin(&design(2));
    let made = conduct(&mut experiment, |asked| StartResult {
        void: (asked.arm == 1 && asked.block > 1).then_some("it does not start"),
        ..start_result(1000.0 * wobble(asked, 0.01).exp())
    });
    assert_eq!(made.iter().filter(|asked| asked.arm == 1).count(), 4);
    let standing = experiment.state();
    let [a, b] = &standing.judged[..2] else { panic!("{standing:?}") };
    assert_eq!(
        (a.answer, b.answer, standing.over),
        (HypothesisAnswer::NotMeasured, HypothesisAnswer::NoDifference, Some(ExperimentEnd::Decided))
    );
    assert!(a.says.contains("'a' was given up: it does not start"), "{}", a.says);
    assert_eq!(standing.blocks, 3, "blocks are complete without it");
}

#[test]
fn without_the_baseline_or_any_variant_there_is_nothing_to_compare() {
    for (lost, arms) in [("the baseline", 0..=0), ("all variants", 1..=2)] {
        for since in [0, 1, 2] {
            let mut experiment = begin(&design(2));
            conduct(&mut experiment, |asked| StartResult {
                void: (arms.contains(&asked.arm) && asked.block >= since).then_some("it does not start"),
                ..noisy(asked)
            });
            let standing = experiment.state();
            assert_eq!(standing.over, Some(ExperimentEnd::NothingToCompare), "{lost} since {since}");
            assert!(standing.judged.iter().all(|judged| judged.answer != HypothesisAnswer::Better));
        }
    }
}

#[test]
fn a_table_without_questions_makes_the_least_blocks_and_no_placebo() {
    let mut experiment = begin(&record::Design { hypotheses: Vec::new(), ..design(2) });
    let made = conduct(&mut experiment, noisy);
    assert_eq!((made.len(), experiment.state().over), (2 + 3 * 3, Some(ExperimentEnd::BlocksMade)));
    assert!(made.iter().all(|asked| !asked.placebo));
}

#[test]
fn who_interrupts_keeps_what_was_measured() {
    let mut experiment = begin(&design(1));
    let mut visits = 0;
    while let ExperimentStep::Start { start: OngoingStart { number, block, arm, placebo, .. }, .. } =
        experiment.next(Nanos(0))
    {
        if block == 3 {
            experiment.interrupt(ExperimentEnd::Interrupted);
            continue;
        }
        let asked = StartRequest { number, block, arm, placebo };
        experiment.add_start(&visit(asked, noisy(asked)));
        visits += 1;
    }
    let standing = experiment.state();
    assert_eq!((visits, standing.blocks, standing.over), (2 + 6, 2, Some(ExperimentEnd::Interrupted)));
    let judged = &standing.judged[0];
    assert_eq!((judged.answer, judged.blocks, judged.some_effect), (HypothesisAnswer::Undecided, 2, false));
    assert!(
        judged.ratio.is_some()
            && judged.caveats.iter().any(|caveat| caveat.doubt == CaveatKind::BeforeFirstLook)
    );
}
