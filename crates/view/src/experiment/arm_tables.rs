//! Each arm's results as tables: per workload its limit and rates, then its closed loops.

use super::causes::{NAME_WIDTH, first_cause, probed_arms};
use super::design_lookup::figure;
use super::words::{head, measure_words, median, range, value};
use super::{DesignLookup, WIDTH, connections};
use crate::document::TextTable;
use crate::wording::distinct;
use crate::wording::number_of;
use crate::wording::{or_dash, shortened};
use crate::{Text, Tone};
use plan::{ArmMeasure, LoadLevel};

pub(crate) fn lines(lookup: &DesignLookup<'_>) -> Vec<Text> {
    let mut lines = Vec::new();
    for workload in workloads(lookup) {
        let (closed, open) = of_workload(lookup, workload);
        for group in groups(lookup, &open) {
            lines.extend(table(lookup, &group));
        }
        lines.extend(connections::lines(lookup, &closed));
    }
    lines
}

/// Every table with all columns, however wide.
pub(crate) fn all(lookup: &DesignLookup<'_>) -> Vec<TextTable> {
    let mut tables = Vec::new();
    for workload in workloads(lookup) {
        let (closed, open) = of_workload(lookup, workload);
        for group in groups(lookup, &open) {
            tables.push(drawn(lookup, &group, &columns(lookup, &group)));
        }
        tables.extend(connections::tables(lookup, &closed).into_iter().map(|(with_spread, _)| with_spread));
    }
    tables
}

/// A workload's probes: closed loops, and the others.
fn of_workload(lookup: &DesignLookup<'_>, workload: &str) -> (Vec<usize>, Vec<usize>) {
    let probes = lookup.design.probes.iter().enumerate();
    let of_it = probes.filter(|(_, probe)| probe.workload == workload).map(|(index, _)| index);
    of_it.partition(|probe| matches!(lookup.design.probes[*probe].at, LoadLevel::Connections(_)))
}

/// In measuring order.
fn workloads<'a>(lookup: &DesignLookup<'a>) -> Vec<&'a str> {
    distinct(lookup.design.probes.iter().map(|probe| probe.workload.as_str()))
}

/// The limit and the first rate share a table; each further rate has its own.
fn groups(lookup: &DesignLookup<'_>, probes: &[usize]) -> Vec<Vec<usize>> {
    let is_limit = |probe: &usize| lookup.design.probes[*probe].at == LoadLevel::Limit;
    let (mut first, rates): (Vec<usize>, Vec<usize>) = probes.iter().partition(|probe| is_limit(probe));
    let mut rates = rates.into_iter();
    first.extend(rates.next());
    let first = (!first.is_empty()).then_some(first);
    first.into_iter().chain(rates.map(|probe| vec![probe])).collect()
}

/// A column: a probe's measure.
type ProbeMeasure = (usize, ArmMeasure);

fn table(lookup: &DesignLookup<'_>, group: &[usize]) -> Vec<Text> {
    let mut columns = columns(lookup, group);
    let mut left_out: Vec<&str> = Vec::new();
    loop {
        let mut lines = drawn(lookup, group, &columns).lines();
        let width = lines.iter().map(Text::width).max().unwrap_or(0);
        // If space is short, drop first what no hypothesis asks for.
        let spare =
            [ArmMeasure::P50, ArmMeasure::Threads, ArmMeasure::Memory, ArmMeasure::Cpu, ArmMeasure::Max];
        let least = spare.into_iter().find_map(|measure| {
            columns.iter().position(|(probe, m)| *m == measure && !lookup.has_hypothesis(*probe, measure))
        });
        match least {
            Some(least) if width > WIDTH => left_out.push(measure_words(columns.remove(least).1)),
            _ => {
                if !left_out.is_empty() {
                    let text = format!("  not shown: {}; see --format json", left_out.join(", "));
                    lines.push(Text::new(Tone::Faint, text));
                }
                lines.push(Text::empty());
                return lines;
            }
        }
    }
}

fn columns(lookup: &DesignLookup<'_>, group: &[usize]) -> Vec<ProbeMeasure> {
    let any = |probe: usize, measure| {
        (0..lookup.design.arms.len()).any(|arm| {
            lookup.measurements(arm, probe).any(|measurement| figure(measurement, measure).is_some())
        })
    };
    let shown = |probe: usize, measure: ArmMeasure| match lookup.design.probes[probe].at {
        LoadLevel::Limit => {
            measure == ArmMeasure::Capacity || lookup.has_hypothesis(probe, measure) || group.len() == 1
        }
        _ => measure != ArmMeasure::Throughput || lookup.has_hypothesis(probe, measure),
    };
    let all =
        group.iter().flat_map(|probe| ArmMeasure::ALL.into_iter().map(move |measure| (*probe, measure)));
    all.filter(|(probe, measure)| shown(*probe, *measure) && any(*probe, *measure)).collect()
}

fn drawn(lookup: &DesignLookup<'_>, group: &[usize], columns: &[ProbeMeasure]) -> TextTable {
    let mut heads = vec![title(lookup, group)];
    let limit = |probe: usize| lookup.design.probes[probe].at == LoadLevel::Limit;
    heads.extend(columns.iter().map(|(probe, measure)| match measure {
        ArmMeasure::Capacity => head(*measure).to_owned(),
        _ if limit(*probe) && group.len() > 1 => format!("{}, limit", head(*measure)),
        _ => head(*measure).to_owned(),
    }));
    heads.push("gave first".to_owned());
    let mut table = TextTable::with_text_last(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    for arm in probed_arms(lookup, group) {
        let starts = group.iter().map(|probe| lookup.measurements(arm, *probe).count()).max().unwrap_or(0);
        let figures = |column: &ProbeMeasure| -> Vec<f64> {
            lookup
                .measurements(arm, column.0)
                .filter_map(|measurement| figure(measurement, column.1))
                .collect()
        };
        let middle = |column: &ProbeMeasure| {
            let least = lookup.measurements(arm, column.0).any(|measurement| measurement.at_least);
            let sign = if least && column.1 == ArmMeasure::Capacity { "≥ " } else { "" };
            let text = or_dash(median(&mut figures(column)).map(|middle| value(column.1, middle)));
            (format!("{sign}{text}"), Tone::Plain)
        };
        let cause = (first_cause(lookup, arm, group), Tone::Plain);
        let name = (shortened(lookup.arm(arm), NAME_WIDTH), Tone::Strong);
        table.push_row(std::iter::once(name).chain(columns.iter().map(middle)).chain([cause]));
        if starts > 1 {
            let spread = |column: &ProbeMeasure| {
                let figures = figures(column);
                let low = figures.iter().copied().fold(f64::INFINITY, f64::min);
                let high = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                (if low < high { range(column.1, low, high) } else { String::new() }, Tone::Faint)
            };
            let count = (format!("  {}", number_of(starts, "start")), Tone::Faint);
            let none = (String::new(), Tone::Plain);
            table.push_row(std::iter::once(count).chain(columns.iter().map(spread)).chain([none]));
        }
    }
    table
}

/// `writes, at 106/s`: applies to all columns but the capacity.
fn title(lookup: &DesignLookup<'_>, group: &[usize]) -> String {
    let load = group.iter().map(|probe| lookup.load(*probe)).find(|load| !load.is_empty());
    let workload = lookup.workload(group[0]);
    match (workload, load) {
        ("", Some(load)) => load,
        (workload, Some(load)) => format!("{workload}, {load}"),
        (workload, None) => workload.to_owned(),
    }
}
