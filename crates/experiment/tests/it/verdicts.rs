//! Answers, expectations and caveats.

use crate::fixtures::{
    StartRequest, StartResult, capacity_hypothesis, conduct, design, start_result, visit, wobble,
};
#[allow(dead_code, reason = "shared with the tests of the course")]
use plan::{ArmMeasure, LoadLevel};
use record::{
    Cause, CaveatKind, Design, ExperimentEnd, ExperimentState, HypothesisAnswer, HypothesisResult,
    OngoingStart,
};
use torment_experiment::Experiment;
use units::{Rate, Share};

fn judge(design: &Design, gives: impl FnMut(StartRequest) -> StartResult) -> ExperimentState {
    let mut experiment = Experiment::new(design).expect("a design");
    conduct(&mut experiment, gives);
    experiment.state()
}

fn has(judged: &HypothesisResult, doubt: CaveatKind) -> bool {
    judged.caveats.iter().any(|caveat| caveat.doubt == doubt)
}

fn doubted(standing: &ExperimentState, doubt: CaveatKind) -> bool {
    standing.caveats.iter().any(|caveat| caveat.doubt == doubt)
}

/// A capacity of 1,000/s times the arm's ratio, in blocks that differ, with a little noise.
fn arms<'a>(ratios: &'a [f64], noise: f64) -> impl Fn(StartRequest) -> StartResult + 'a {
    move |asked| {
        let block = 1.0 + 0.3 * f64::from(asked.block % 3);
        start_result(1000.0 * ratios[asked.arm] * block * wobble(asked, noise).exp())
    }
}

#[test]
fn ratios_are_those_of_geometric_means_and_blocks_drop_out() {
    let standing = judge(&design(3), arms(&[1.0, 1.5, 0.5, 1.0], 0.01));
    let [a, b, c, placebo] = standing.judged.as_slice() else { panic!("{standing:?}") };
    for (judged, truth, answer) in [
        (a, 1.5, HypothesisAnswer::Better),
        (b, 0.5, HypothesisAnswer::Worse),
        (c, 1.0, HypothesisAnswer::NoDifference),
        (placebo, 1.0, HypothesisAnswer::NoDifference),
    ] {
        let ratio = judged.ratio.expect("an interval");
        assert!((ratio.value / truth - 1.0).abs() < 0.02, "{judged:?}");
        assert!(
            ratio.low <= ratio.value && ratio.value <= ratio.high && judged.answer == answer,
            "{judged:?}"
        );
    }
    assert!(a.some_effect && b.some_effect && placebo.hypothesis.is_none());
    assert_eq!((standing.over, standing.blocks), (Some(ExperimentEnd::Decided), 3));
}

#[test]
fn less_is_better_where_it_is() {
    let mut slower = design(1);
    slower.hypotheses[0].measure = ArmMeasure::P99;
    slower.probes[0].at = LoadLevel::Rate(Rate(500.0));
    let mut experiment = Experiment::new(&slower).expect("a design");
    while let torment_experiment::ExperimentStep::Start {
        start: OngoingStart { number, block, arm, placebo, .. },
        ..
    } = experiment.next(units::Nanos(0))
    {
        let asked = StartRequest { number, block, arm, placebo };
        let mut visit = visit(asked, start_result(0.0));
        visit.taken[0].figures = vec![(ArmMeasure::P99, [0.020, 0.040][arm] * wobble(asked, 0.01).exp())];
        experiment.add_start(&visit);
    }
    let judged = &experiment.state().judged[0];
    assert_eq!(judged.answer, HypothesisAnswer::Worse);
    assert!(judged.ratio.is_some_and(|ratio| (ratio.value - 2.0).abs() < 0.05));
}

#[test]
fn main_effects_and_interactions_are_recovered() {
    // Arms: neither, a, b, both; a gives 1.2, b 1.5, and both together a tenth more than that.
    let mut crossed = design(3);
    crossed.hypotheses = vec![
        capacity_hypothesis(vec![(0, -0.5), (1, 0.5), (2, -0.5), (3, 0.5)]),
        capacity_hypothesis(vec![(0, -0.5), (1, -0.5), (2, 0.5), (3, 0.5)]),
        capacity_hypothesis(vec![(0, 1.0), (1, -1.0), (2, -1.0), (3, 1.0)]),
    ];
    let standing = judge(&crossed, arms(&[1.0, 1.2, 1.5, 1.2 * 1.5 * 1.1], 1e-6));
    for (judged, truth) in standing.judged.iter().zip([1.2 * 1.1_f64.sqrt(), 1.5 * 1.1_f64.sqrt(), 1.1]) {
        let ratio = judged.ratio.expect("an interval");
        assert!((ratio.value - truth).abs() < 1e-4, "{truth}: {judged:?}");
    }
}

#[test]
fn figures_without_noise_give_an_interval_without_width_and_a_doubt() {
    let standing = judge(&design(1), |asked| start_result([200.0, 400.0][asked.arm]));
    let judged = &standing.judged[0];
    let ratio = judged.ratio.expect("an interval");
    assert!((ratio.value - 2.0).abs() < 1e-9 && ratio.high - ratio.low < 1e-9);
    assert!(judged.answer == HypothesisAnswer::Better && has(judged, CaveatKind::NoNoise), "{judged:?}");
    assert!(
        !doubted(&standing, CaveatKind::Drift) && !doubted(&standing, CaveatKind::PlaceboDiffers),
        "{:?}",
        standing.caveats
    );
}

#[test]
fn a_block_without_a_figure_does_not_count_and_an_arm_without_any_costs_the_others_nothing() {
    let gives = arms(&[1.0, 1.5, 1.0], 0.01);
    let one =
        judge(
            &design(2),
            |asked| if asked.block == 2 && asked.arm == 1 { start_result(0.0) } else { gives(asked) },
        );
    assert_eq!((one.judged[0].blocks, one.blocks), (3, 4), "the first look waits for three with all figures");
    let all = judge(&design(2), |asked| if asked.arm == 2 { start_result(f64::NAN) } else { gives(asked) });
    assert_eq!(
        (all.judged[0].answer, all.judged[1].answer),
        (HypothesisAnswer::Better, HypothesisAnswer::NotMeasured)
    );
    assert!(all.judged[1].says.contains("'b' gave no such figure"), "{}", all.judged[1].says);
    let none = judge(&design(2), |asked| if asked.arm == 0 { start_result(-1.0) } else { gives(asked) });
    assert_eq!(none.over, Some(ExperimentEnd::NothingToCompare));
    assert!(
        none.judged
            .iter()
            .all(|judged| judged.answer == HypothesisAnswer::NotMeasured && judged.ratio.is_none())
    );
}

#[test]
fn figures_that_are_only_bounds_are_a_doubt() {
    let mut experiment = Experiment::new(&design(1)).expect("a design");
    while let torment_experiment::ExperimentStep::Start {
        start: OngoingStart { number, block, arm, placebo, .. },
        ..
    } = experiment.next(units::Nanos(0))
    {
        let asked = StartRequest { number, block, arm, placebo };
        let mut visit = visit(asked, arms(&[1.0, 1.5], 0.01)(asked));
        visit.taken[0].at_least = arm == 1;
        experiment.add_start(&visit);
    }
    let standing = experiment.state();
    assert!(has(&standing.judged[0], CaveatKind::AtLeast) && !has(&standing.judged[1], CaveatKind::AtLeast));
}

#[test]
fn drift_and_an_arm_of_its_own_noise_are_told() {
    let long = Design { least: 8, ..design(2) };
    let drifting = judge(&long, |asked| {
        start_result(1000.0 * (-0.03 * f64::from(asked.block) + wobble(asked, 0.01)).exp())
    });
    let drift = drifting.caveats.iter().find(|caveat| caveat.doubt == CaveatKind::Drift).expect("a drift");
    let said = drift.to_string();
    assert!(
        ["−3 % a block", "−2.9 %"].iter().any(|by| said.starts_with(&format!("capacity drifts by {by}"))),
        "{said}"
    );
    let noisy =
        judge(&long, |asked| start_result(1000.0 * wobble(asked, [0.01, 0.01, 0.3][asked.arm]).exp()));
    let unequal =
        noisy.caveats.iter().find(|caveat| caveat.doubt == CaveatKind::UnequalNoise).expect("unequal noise");
    assert!(unequal.to_string().starts_with("'b' is noisier"), "{unequal}");
    assert!(!doubted(&noisy, CaveatKind::Drift) && !doubted(&drifting, CaveatKind::UnequalNoise));
}

#[test]
fn starts_of_the_same_that_differ_are_told() {
    let standing = judge(&design(1), |asked| {
        start_result(if asked.placebo { 1300.0 } else { 1000.0 } * wobble(asked, 0.02).exp())
    });
    let differs = standing.caveats.iter().find(|caveat| caveat.doubt == CaveatKind::PlaceboDiffers);
    let text = differs.expect("it is told").to_string();
    assert!(text.starts_with("starts of the same arm differ in capacity by more"), "{text}");
}

#[test]
fn the_noise_is_that_of_the_pilot_until_there_are_blocks() {
    let mut experiment = Experiment::new(&design(1)).expect("a design");
    assert!(experiment.state().noise.is_empty());
    for (number, figure) in [(1, 1000.0), (2, 1100.0)] {
        experiment.add_start(&visit(
            StartRequest { number, block: 0, arm: 0, placebo: false },
            start_result(figure),
        ));
    }
    let pilot = experiment.state().noise[0].clone();
    let deviation = 1.1_f64.ln() / 2.0_f64.sqrt();
    assert!(
        (pilot.deviation - deviation).abs() < 1e-9 && pilot.freedom == 1 && pilot.visible > 1.1,
        "{pilot:?}"
    );
    conduct(&mut experiment, arms(&[1.0, 1.15], 0.05));
    let later = experiment.state().noise[0].clone();
    assert!(later.freedom >= 4 && later.deviation < deviation && later.visible < pilot.visible, "{later:?}");
}

fn with_cause(relieves: &[&str], pilot: [Cause; 2], ratio: f64) -> HypothesisResult {
    let mut design = design(1);
    design.arms[1].name = "virtual threads".to_owned();
    design.hypotheses[0].relieves = relieves.iter().map(|word| (*word).to_owned()).collect();
    let standing = judge(&design, |asked| StartResult {
        cause: Some(match (asked.block, asked.arm) {
            (0, _) => pilot[asked.number as usize - 1],
            (_, 0) => pilot[0],
            _ => Cause::Pool,
        }),
        ..arms(&[1.0, ratio], 0.01)(asked)
    });
    standing.judged[0].clone()
}

#[test]
fn what_the_diagnosis_lets_expect() {
    let workers = [Cause::Workers; 2];
    for (relieves, pilot, ratio, expected, held) in [
        (vec!["workers"], workers, 1.5, Some(HypothesisAnswer::Better), Some(true)),
        (vec!["workers", "cpu-quota"], workers, 1.0, Some(HypothesisAnswer::Better), Some(false)),
        (vec!["pool"], workers, 1.0, Some(HypothesisAnswer::NoDifference), Some(true)),
        (vec!["pool"], workers, 0.5, Some(HypothesisAnswer::NoDifference), Some(false)),
        (vec![], workers, 1.0, None, None),
        (vec!["workers"], [Cause::Workers, Cause::Pool], 1.5, None, None),
    ] {
        let judged = with_cause(&relieves, pilot, ratio);
        let found = judged.expected.as_ref().expect("the pilot was told");
        assert_eq!((found.answer, judged.held), (expected, held), "{relieves:?}: {judged:?}");
        assert!(!found.why.is_empty());
    }
    let says = with_cause(&["pool"], workers, 1.0).says;
    for part in ["What gave first: ", "(8 of 8 starts) → with 'virtual threads' ", "(3 of 3)."] {
        assert!(says.contains(part), "{part}: {says}");
    }
}

#[test]
fn a_design_that_cannot_be_says_why() {
    let with = |change: &dyn Fn(&mut Design)| {
        let mut design = design(1);
        change(&mut design);
        Experiment::new(&design).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(with(&|_| ()), "");
    for (text, part) in [
        (
            with(&|d| d.hypotheses[0].relieves = vec!["cpu-qota".to_owned()]),
            "'cpu-qota', which no diagnosis does; 'cpu-quota'",
        ),
        (with(&|d| d.hypotheses[0].contrast[0].1 = -0.9), "its weights add up to 0.09"),
        (with(&|d| d.hypotheses[0].contrast = vec![(0, 0.0)]), "compares nothing"),
        (
            with(&|d| d.hypotheses[0].contrast = vec![(0, -1.0), (2, 1.0)]),
            "arm 2 is not measured at its probe",
        ),
        (with(&|d| d.hypotheses[0].probe = 4), "probe 4 is none of the 1"),
        (with(&|d| d.hypotheses[0].effect = Share(0.0)), "smallest effect is not above 0"),
        (with(&|d| d.least = 1), "1 blocks before the first look"),
        (with(&|d| d.most = 2), "2 blocks at most: expected 3"),
        (with(&|d| d.confidence = Share(1.0)), "a confidence of 100 %"),
        (with(&|d| d.probes[0].arms = vec![0, 9]), "measured of arm 9"),
        (with(&|d| d.arms.clear()), "no arms"),
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
