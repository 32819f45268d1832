//! A case's runs as a Markdown table.

use crate::cases::{BenchCase, CaseColumn};
use crate::estimate::{MedianEstimate, estimate_median};
use crate::figures::{BenchRun, FigureFn};
use crate::rounds::{CaseRuns, ContestantRuns};
use std::cmp::Ordering;

/// Unknown.
const NONE: &str = "–";

/// The table; rows ordered by the first column, ascending.
pub fn markdown(case: &BenchCase, measured: &CaseRuns) -> String {
    let ours: Vec<&ContestantRuns> = measured.rows.iter().filter(|row| row.ours).collect();
    let mut header = vec!["".to_owned()];
    for column in case.columns {
        match column {
            CaseColumn::Median(name, ..) | CaseColumn::MedianInterval(name, ..) => {
                header.push((*name).to_owned())
            }
            CaseColumn::Ratio(name, _) if ours.len() == 1 => header.push((*name).to_owned()),
            CaseColumn::Ratio(name, _) => {
                header.extend(ours.iter().map(|our| name.replace("ours", &format!("`{}`", our.name))));
            }
        }
    }
    let mut rows: Vec<&ContestantRuns> = measured.rows.iter().collect();
    let first = |row: &ContestantRuns| match case.columns[0] {
        CaseColumn::Median(_, figure, _)
        | CaseColumn::MedianInterval(_, figure, _)
        | CaseColumn::Ratio(_, figure) => median_of(row, figure).map_or(f64::INFINITY, |e| e.median),
    };
    rows.sort_by(|a, b| first(a).partial_cmp(&first(b)).unwrap_or(Ordering::Equal));
    let mut lines = vec![line(&header), line(&vec!["---".to_owned(); header.len()])];
    lines.extend(rows.iter().map(|row| line(&cells(case, row, &ours))));
    lines.join("\n")
}

fn line(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | ")).replace("| ---", "|---").replace("--- |", "---|")
}

fn cells(case: &BenchCase, row: &ContestantRuns, ours: &[&ContestantRuns]) -> Vec<String> {
    let lost = row.rounds.iter().filter(|round| round.is_none()).count();
    let bold = if row.ours { "**" } else { "" };
    let lost = if lost == 0 { String::new() } else { format!(" ({lost} of {} lost)", row.rounds.len()) };
    let mut cells = vec![format!("{bold}{}{bold}{lost}", row.name)];
    for column in case.columns {
        match column {
            CaseColumn::Median(_, figure, words) => {
                cells.push(median_of(row, *figure).map_or(NONE.to_owned(), |e| words(e.median)));
            }
            CaseColumn::MedianInterval(_, figure, words) => {
                cells.push(with_interval(median_of(row, *figure), *words))
            }
            CaseColumn::Ratio(_, figure) => cells.extend(ours.iter().map(|our| {
                if our.name == row.name {
                    "1".to_owned()
                } else {
                    with_interval(ratio(our, row, *figure), two_digits)
                }
            })),
        }
    }
    cells
}

fn with_interval(estimate: Option<MedianEstimate>, format_value: fn(f64) -> String) -> String {
    estimate.map_or(NONE.to_owned(), |e| {
        format!("{} ({} … {})", format_value(e.median), format_value(e.low), format_value(e.high))
    })
}

fn two_digits(ratio: f64) -> String {
    if ratio < 0.1 { format!("{ratio:.3}") } else { format!("{ratio:.2}") }
}

fn figures(row: &ContestantRuns, figure: FigureFn) -> impl Iterator<Item = Option<f64>> {
    row.rounds.iter().map(move |round: &Option<Vec<BenchRun>>| figure(round.as_deref()?))
}

fn median_of(row: &ContestantRuns, figure: FigureFn) -> Option<MedianEstimate> {
    estimate_median(&figures(row, figure).flatten().collect::<Vec<f64>>())
}

/// Ours ÷ theirs, round by round.
pub fn ratio(our: &ContestantRuns, row: &ContestantRuns, figure: FigureFn) -> Option<MedianEstimate> {
    let both = figures(our, figure).zip(figures(row, figure));
    let ratios = both.filter_map(|(our, their)| Some(our? / their.filter(|their| *their > 0.0)?));
    estimate_median(&ratios.collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::CASES;
    use crate::child::ProcessUsage;
    use crate::generators::GeneratorReport;

    fn run(cpu: f64, answered: u64) -> Option<Vec<BenchRun>> {
        Some(vec![BenchRun {
            open: 64,
            asked_per_second: None,
            planned_seconds: 2,
            usage: ProcessUsage { user_seconds: 0.0, kernel_seconds: cpu, peak_bytes: None },
            said: GeneratorReport { answered, ..GeneratorReport::default() },
            code: Some(0),
            served: None,
            served_p50_us: None,
            others: 0.0,
            stolen: 0.0,
            doubts: Vec::new(),
        }])
    }

    fn row(name: &str, ours: bool, cpu: &[f64]) -> ContestantRuns {
        ContestantRuns {
            name: name.to_owned(),
            ours,
            rounds: cpu.iter().map(|cpu| run(*cpu, 100_000)).collect(),
        }
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        // A machine that slows down by half affects both: the ratio does not move.
        let ours = row("torment", true, &[0.8, 1.6, 0.8]);
        let theirs = row("wrk", false, &[1.0, 2.0, 1.0]);
        let e = ratio(&ours, &theirs, crate::figures::cpu_per_million).expect("three rounds");
        assert_eq!((e.median, e.low, e.high, e.count), (0.8, 0.8, 0.8, 3));
    }

    #[test]
    fn a_lost_round_counts_for_nobody_else() {
        let ours = row("torment", true, &[0.8, 0.8, 0.8]);
        let mut theirs = row("wrk", false, &[1.0, 2.0, 1.0]);
        theirs.rounds[1] = None;
        let e = ratio(&ours, &theirs, crate::figures::cpu_per_million).expect("two rounds");
        assert_eq!((e.median, e.count), (0.8, 2));
    }

    #[test]
    fn the_table_is_sorted_and_says_what_is_not_known() {
        let mut lost = row("h2load", false, &[1.0, 1.1]);
        lost.rounds[0] = None;
        let rows = vec![row("wrk", false, &[1.0, 2.0]), lost, row("torment", true, &[0.8, 1.2])];
        let measured = CaseRuns { orders: Vec::new(), rows, doubts: Vec::new() };
        let expected = "\
|  | CPU s per million | of it user | requests/s | peak memory | CPU, ours ÷ its | requests/s, ours ÷ its |
|---|---|---|---|---|---|---|
| **torment** | 10.00 | 0.00 | 50,000 | – | 1 | 1 |
| h2load (1 of 2 lost) | 11.00 | 0.00 | 50,000 | – | 1.09 (1.09 … 1.09) | 1.00 (1.00 … 1.00) |
| wrk | 15.00 | 0.00 | 50,000 | – | 0.70 (0.60 … 0.80) | 1.00 (1.00 … 1.00) |";
        assert_eq!(markdown(&CASES[0], &measured), expected);
    }
}
