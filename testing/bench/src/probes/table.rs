//! Results of the comparisons as a Markdown table.

use super::cases::{RatioGoal, ReferenceComparison};
use super::pairs::PairedResult;
use units::{Nanos, grouped};

/// The table's header.
pub fn table_header() -> String {
    "| | | torment | reference | torment ÷ reference | expected | |\n|---|---|---|---|---|---|---|".to_owned()
}

/// The rows of a comparison.
pub fn table_rows(case: &ReferenceComparison, measured: &PairedResult) -> String {
    let rows = case.figures.iter().zip(&measured.figures).map(|(name, figure)| {
        let ratio = figure.ratio;
        let goal = match case.goal {
            RatioGoal::Within(share) => format!("1 ± {share}"),
            RatioGoal::AtLeast(least) => format!("≥ {least}"),
            RatioGoal::Shown => String::new(),
        };
        let reached = match case.goal {
            RatioGoal::Shown => "",
            goal if goal.reached(ratio.median) => "yes",
            // The interval still includes the goal.
            goal if goal.reached(ratio.low) || goal.reached(ratio.high) => "not sure",
            _ => "**no**",
        };
        let value = |value: f64| value_of(case.goal, value);
        format!(
            "| {} | {name} | {} | {} | {:.3} ({:.3} … {:.3}) | {goal} | {reached} |",
            case.name,
            value(figure.ours),
            value(figure.reference),
            ratio.median,
            ratio.low,
            ratio.high
        )
    });
    rows.collect::<Vec<String>>().join("\n")
}

/// Rates have to be at least something; everything else here is a time.
fn value_of(goal: RatioGoal, value: f64) -> String {
    match goal {
        RatioGoal::AtLeast(_) => format!("{}/s", grouped(value.round() as u64)),
        RatioGoal::Within(_) | RatioGoal::Shown => Nanos(value.round() as u64).to_string(),
    }
}

/// Notes on the table.
pub fn table_note(pairs: u32) -> String {
    format!(
        "Medians of {pairs} blocks each, taken in pairs, first one side first and then the other; the ratio is the median of the pairs' \
         ratios with its 95 % interval (order statistics). Both sides run on the same processors. The programs that \
         `launch` is held against are made as large as torment's worker: as many touched pages, as many mappings."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::estimate_median;
    use crate::probes::cases::cases;
    use crate::probes::pairs::FigureRatio;

    #[test]
    fn a_row_says_whether_it_is_as_expected() {
        let mut case = cases().into_iter().next().expect("there are cases");
        let row_of = |case: &ReferenceComparison, ratios: &[f64]| {
            let ratio = estimate_median(ratios).expect("there are some");
            let figures = vec![FigureRatio { ours: 40_000.0, reference: 41_000.0, ratio }];
            table_rows(case, &PairedResult { figures, stolen: None })
        };
        assert_eq!(
            row_of(&case, &[0.98]),
            "| fork, 0 MiB | launch | 40 µs | 41 µs | 0.980 (0.980 … 0.980) | 1 ± 0.05 | yes |"
        );
        assert!(row_of(&case, &[1.2]).ends_with("**no** |"));
        assert!(row_of(&case, &[1.04, 1.06, 1.07]).ends_with("not sure |"));
        case.goal = RatioGoal::AtLeast(1.5);
        assert!(row_of(&case, &[1.6]).contains("| 40,000/s | 41,000/s | 1.600"));
        assert_eq!(table_header().lines().next().map(|line| line.matches('|').count()), Some(8));
    }
}
