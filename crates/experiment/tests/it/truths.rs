//! The rows of the table in `docs/method/experiment.md`, with fewer seeds.

use crate::scenario::{Disturbance, Outcome, Requirement, Scenario, rows};
use record::HypothesisAnswer;
use torment_experiment::Experiment;

/// Seeds per row. The table has 2,000, and others.
const SEEDS: u64 = 100;

/// How far a share of [`SEEDS`] may be from the true one by chance: exceeded in one of some 200.
fn chance(share: f64) -> f64 {
    2.8 * (share * (1.0 - share) / SEEDS as f64).sqrt()
}

fn share(made: &[Outcome], of: impl Fn(&Outcome) -> bool) -> f64 {
    made.iter().filter(|made| of(made)).count() as f64 / made.len() as f64
}

fn run(row: &Scenario) -> Vec<Outcome> {
    let prepared = Experiment::new(&row.design()).expect("a design");
    (0..SEEDS).map(|seed| row.run(&prepared, seed)).collect()
}

#[test]
fn errors_are_as_rare_and_findings_as_frequent_as_said() {
    for row in rows() {
        let made = run(&row);
        let said = format!("{} {} {}", row.name, row.noise, row.disturbance.words());
        let different =
            |answer: &HypothesisAnswer| matches!(answer, HypothesisAnswer::Better | HypothesisAnswer::Worse);
        match row.requirement {
            Requirement::NothingFound => {
                let wrong = share(&made, |made| made.answers.iter().any(different));
                assert!(wrong <= 0.05, "{said}: {wrong} say different");
                let claimed = share(&made, |made| made.some_effect);
                assert!(claimed <= 0.07 + chance(0.07), "{said}: {claimed} claim some effect");
            }
            Requirement::Found => {
                let found = share(&made, |made| made.answers[0] == HypothesisAnswer::Better);
                assert!(found >= 0.9 - chance(0.9), "{said}: {found} found");
            }
            Requirement::Covered => {}
        }
        let covered = share(&made, |made| made.covered);
        assert!(
            covered >= 0.93 - chance(0.93) && covered <= 0.97 + chance(0.97),
            "{said}: {covered} covered"
        );
    }
}

#[test]
fn an_effect_that_is_called_visible_is_found_in_nine_of_ten() {
    for variants in [1, 4] {
        let row = Scenario {
            name: "visible",
            noise: 0.07,
            disturbance: Disturbance::None,
            ratios: vec![1.0; variants],
            is_factorial: false,
            max_blocks: 10,
            requirement: Requirement::Found,
        };
        let prepared = Experiment::new(&row.design()).expect("a design");
        let mut visible: Vec<f64> = (0..200).map(|seed| row.visible(&prepared, seed)).collect();
        visible.sort_unstable_by(f64::total_cmp);
        let visible = visible[100];
        let found = run(&Scenario { ratios: vec![visible; variants], ..row });
        let found = share(&found, |made| made.answers[0] == HypothesisAnswer::Better);
        assert!(
            (found - 0.92).abs() < 0.02 + chance(0.92),
            "{variants} variants, × {visible}: {found} found"
        );
    }
}
