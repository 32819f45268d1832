//! Prints the table of `docs/method/experiment.md`: answers of experiments with known truth.
//!
//!     cargo run --release -p torment-experiment --example simulate [SEEDS]

#[allow(dead_code, reason = "shared with the tests")]
mod scenario;

use record::HypothesisAnswer;
use scenario::{Outcome, rows};
use std::io::Write;
use torment_experiment::Experiment;

/// The first seed: different from those the method's constants were chosen on.
const FIRST_SEED: u64 = 1_000_000;

fn main() -> std::io::Result<()> {
    let seeds: u64 =
        std::env::args().nth(1).map_or(2000, |text| text.parse().expect("a number of experiments"));
    let mut out = std::io::stdout();
    writeln!(
        out,
        "| truth | noise | trouble | blocks at most | different | better | no difference | undecided \
         | cover | some effect | placebo | blocks made | width |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|---|---|---|---|")?;
    for row in rows() {
        let experiment = Experiment::new(&row.design()).expect("a design");
        let outcomes: Vec<Outcome> =
            (FIRST_SEED..FIRST_SEED + seeds).map(|seed| row.run(&experiment, seed)).collect();
        let share = |of: &dyn Fn(&Outcome) -> bool| {
            format!("{:.1} %", 100.0 * outcomes.iter().filter(|made| of(made)).count() as f64 / seeds as f64)
        };
        let different =
            |answer: &HypothesisAnswer| matches!(answer, HypothesisAnswer::Better | HypothesisAnswer::Worse);
        let blocks = outcomes.iter().map(|made| f64::from(made.blocks)).sum::<f64>() / seeds as f64;
        let mut widths: Vec<f64> = outcomes.iter().map(|made| made.width).collect();
        widths.sort_unstable_by(f64::total_cmp);
        writeln!(
            out,
            "| {} | {:.0} % | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.1} | {:.2} |",
            row.name,
            row.noise * 100.0,
            row.disturbance.words(),
            row.max_blocks,
            share(&|made| made.answers.iter().any(different)),
            share(&|made| made.answers[0] == HypothesisAnswer::Better),
            share(&|made| made.answers[0] == HypothesisAnswer::NoDifference),
            share(&|made| made.answers[0] == HypothesisAnswer::Undecided),
            share(&|made| made.covered),
            share(&|made| made.some_effect),
            share(&|made| made.placebo_differs),
            blocks,
            widths[widths.len() / 2],
        )?;
        out.flush()?;
    }
    Ok(())
}
