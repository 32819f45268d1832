//! `selftest`: the fault matrix, with a line per case as it runs, and the table at the end.

use crate::args::{CommonArgs, SelftestArgs};
use crate::{CommandError, interrupt, paper, print_result, usage_error};
use anyhow::{Context, anyhow};
use faults::{CaseOutcome, CaseProgress, CaseResult, CaseVerdict, ExpectedCause, FaultCase, SelftestReport};
use record::Event;
use runner::{StopFlag, exit};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use tui::print;
use view::{Text, Tone};

/// Width of the column of names.
const NAME_WIDTH: usize = 24;

pub fn selftest(args: &SelftestArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    let cases = select_cases(&args.cases).map_err(|why| usage_error(anyhow!(why)))?;
    if args.list {
        print_result(
            || cases.iter().flat_map(case_lines).collect(),
            || {
                cases
                    .iter()
                    .map(|case| {
                        json!({ "cell": case.name, "broken": case.fault,
                "expected": expected(case.expected), "why": case.why })
                    })
                    .collect()
            },
            common,
        )?;
        return Ok(exit::MET);
    }
    if let Some(folder) = &args.keep {
        std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    }
    // Always a clean stop, however often it is requested: what cases have started must end with them.
    let stop = StopFlag::new(interrupt::stop_flag()?);
    let mut warnings = Vec::new();
    let report = faults::run(&cases, args.repetitions, &stop, &mut |progress| {
        if let (CaseProgress::Ended { result, events }, Some(folder)) = (&progress, &args.keep)
            && let Err(error) = keep(folder, result, events)
        {
            warnings.push(format!("{} is not kept: {error}", result.case));
        }
        if !common.quiet {
            let line = live(&progress);
            let _ = print(&mut io::stderr(), &[line], paper(io::stderr().is_terminal(), common));
        }
    });
    print_result(|| table(&report), || as_json(&report), common)?;
    for doubt in warnings {
        eprintln!("torment: {doubt}");
    }
    Ok(match (stop.is_requested(), report.passes()) {
        (true, _) => exit::INTERRUPTED,
        (_, true) => exit::MET,
        (_, false) => exit::NOT_MET,
    })
}

/// The cases whose names begin with one of these words; without words, all.
fn select_cases(words: &[String]) -> Result<Vec<FaultCase>, String> {
    let all = faults::all_cases();
    for word in words {
        if !all.iter().any(|case| case.name.starts_with(word.as_str())) {
            return Err(format!("no case's name begins with '{word}'; see torment selftest --list"));
        }
    }
    // A full name selects only itself, even if another's prefix.
    let means = |word: &String, case: &FaultCase| {
        case.name == word
            || case.name.starts_with(word.as_str()) && !all.iter().any(|other| other.name == word)
    };
    Ok(all
        .iter()
        .filter(|case| words.is_empty() || words.iter().any(|word| means(word, case)))
        .cloned()
        .collect())
}

fn case_lines(case: &FaultCase) -> Vec<Text> {
    let head = Text::new(Tone::Strong, format!("{:NAME_WIDTH$}", case.name)).with_plain(case.fault);
    let mut truth = format!("{:NAME_WIDTH$}expected: {}", "", expected(case.expected));
    if !case.why.is_empty() {
        truth = format!("{truth}; {}", case.why);
    }
    vec![head, Text::new(Tone::Faint, truth)]
}

fn expected(expected: ExpectedCause) -> &'static str {
    match expected {
        ExpectedCause::First { cause, .. } => cause.name(),
        ExpectedCause::Nothing => "nothing",
    }
}

/// The n-th named cause; without any, the reason.
fn named(judged: &CaseVerdict, at: usize) -> String {
    match (judged.causes.get(at), at, judged.none) {
        (Some(cause), ..) => cause.name().to_owned(),
        (None, 0, Some(none)) => format!(
            "({})",
            serde_json::to_value(none).ok().and_then(|v| Some(v.as_str()?.to_owned())).unwrap_or_default()
        ),
        (None, 0, None) => "(no verdict)".to_owned(),
        _ => "-".to_owned(),
    }
}

fn live(progress: &CaseProgress<'_>) -> Text {
    match progress {
        CaseProgress::Began { case, repetition } => {
            Text::new(Tone::Faint, format!("{:NAME_WIDTH$}{} ({repetition})", case.name, case.fault))
        }
        CaseProgress::Ended { result, .. } => row(result),
    }
}

/// Cell, truth, diagnosis, confidence, and whether it is right.
fn row(result: &CaseResult) -> Text {
    let head = Text::plain(format!("{:NAME_WIDTH$}{:30}", result.case, expected(result.expected)));
    match &result.outcome {
        CaseOutcome::Judged(judged) => {
            let (tone, right) =
                match (judged.is_correct(result.expected), judged.is_in_first_two(result.expected)) {
                    (true, _) => (Tone::Good, "right"),
                    (false, true) => (Tone::Warn, "second"),
                    (false, false) if judged.is_confidently_wrong(result.expected) => {
                        (Tone::Bad, "WRONG, and sure")
                    }
                    (false, false) => (Tone::Bad, "wrong"),
                };
            let sure = judged.confidence.map_or(String::new(), |(value, word)| format!("{word} {value:.2}"));
            let said = format!("{:28}{:30}{sure:13}", named(judged, 0), named(judged, 1));
            head.with_plain(said).with_span(tone, right)
        }
        CaseOutcome::Skipped(why) => head.with_span(Tone::Faint, format!("skipped: {why}")),
        CaseOutcome::Failed(why) => head.with_span(Tone::Bad, format!("failed: {why}")),
    }
}

fn table(report: &SelftestReport) -> Vec<Text> {
    let head =
        format!("{:NAME_WIDTH$}{:30}{:28}{:30}{:13}", "case", "expected", "first", "second", "confidence");
    let mut lines = vec![Text::new(Tone::Strong, head)];
    lines.extend(report.results.iter().map(row));
    let judged = report.verdicts().count();
    let skipped =
        report.results.iter().filter(|result| matches!(result.outcome, CaseOutcome::Skipped(_))).count();
    lines.push(Text::empty());
    lines.push(Text::plain(format!(
        "{judged} judged: {} right, {} among the first two, {} wrong with high confidence; {skipped} skipped, {} failed",
        report.count_correct(),
        report.count_in_first_two(),
        report.count_confidently_wrong(),
        report.count_failed()
    )));
    lines
}

fn as_json(report: &SelftestReport) -> Value {
    let cases: Vec<Value> = report
        .results
        .iter()
        .map(|result| {
            let mut case = json!({ "cell": result.case, "repetition": result.repetition,
                "expected": expected(result.expected) });
            match &result.outcome {
                CaseOutcome::Judged(judged) => {
                    case["causes"] = judged.causes.iter().map(|cause| cause.name()).collect();
                    case["confidence"] = json!(judged.confidence.map(|(value, _)| value));
                    case["first_right"] = judged.is_correct(result.expected).into();
                    case["second_right"] = judged.is_in_first_two(result.expected).into();
                    case["sentences"] = json!(judged.sentences);
                }
                CaseOutcome::Skipped(why) => case["skipped"] = why.as_str().into(),
                CaseOutcome::Failed(why) => case["failed"] = why.as_str().into(),
            }
            case
        })
        .collect();
    json!({ "schema": 1, "cells": cases, "judged": report.verdicts().count(),
        "first_right": report.count_correct(), "second_right": report.count_in_first_two(),
        "wrong_with_high_confidence": report.count_confidently_wrong(), "passes": report.passes() })
}

/// Saves the events from which a verdict can be derived again: `CELL-REPETITION.ndjson`.
fn keep(folder: &Path, result: &CaseResult, events: &[Event]) -> io::Result<()> {
    if !matches!(result.outcome, CaseOutcome::Judged(_)) {
        return Ok(());
    }
    let name = format!("{}-{}.ndjson", result.case, result.repetition);
    let mut out = BufWriter::new(File::create(folder.join(name))?);
    for event in events {
        if let Event::WatchStarted { .. }
        | Event::TrialStarted { .. }
        | Event::SliceDone { .. }
        | Event::Observed { .. }
        | Event::Looked { .. }
        | Event::TrialDone { .. } = event
        {
            serde_json::to_writer(&mut out, event)?;
            writeln!(out)?;
        }
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_chosen_by_the_beginning_of_their_names() {
        let names = |words: &[&str]| -> Vec<&str> {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            select_cases(&words).expect("there are such").iter().map(|case| case.name).collect()
        };
        assert_eq!(names(&["cpu"]), ["cpu"], "and not cpu-quota");
        assert_eq!(names(&["both"]).len(), 4);
        assert_eq!(names(&[]).len(), faults::all_cases().len());
        assert!(select_cases(&["nonsense".to_owned()]).is_err());
    }
}
