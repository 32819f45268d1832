//! Closed loops: a small table for each measure, with arms as rows and numbers of connections as columns.

use super::causes::{NAME_WIDTH, first_cause, probed_arms};
use super::design_lookup::figure;
use super::words::{measure_words, median, value};
use super::{DesignLookup, WIDTH};
use crate::document::TextTable;
use crate::wording::{or_dash, shortened};
use crate::{Text, Tone};
use plan::{ArmMeasure, LoadLevel};
use units::{Bytes, grouped};

/// The results of a workload's closed-loop probes.
pub(super) fn lines(lookup: &DesignLookup<'_>, probes: &[usize]) -> Vec<Text> {
    let mut lines = Vec::new();
    for (with_spread, without) in tables(lookup, probes) {
        let with_spread = with_spread.lines();
        let fits = with_spread.iter().all(|line| line.width() <= WIDTH);
        lines.extend(if fits { with_spread } else { without.lines() });
        lines.push(Text::empty());
    }
    lines
}

/// A table for each measure, with and without the spread between starts.
pub(super) fn tables(lookup: &DesignLookup<'_>, probes: &[usize]) -> Vec<(TextTable, TextTable)> {
    let mut probes: Vec<(u32, usize)> = probes.iter().map(|probe| (count(lookup, *probe), *probe)).collect();
    probes.sort_unstable();
    let Some((most, last)) = probes.last().copied() else { return Vec::new() };
    let workload = lookup.workload(last);
    let colon = if workload.is_empty() { "" } else { ": " };
    let counts = probes.iter().map(|(count, _)| grouped(u64::from(*count)));
    let places: Vec<usize> = probes.iter().map(|(_, probe)| *probe).collect();
    let arms = probed_arms(lookup, &places);
    let asked = |measure| places.iter().any(|probe| lookup.has_hypothesis(*probe, measure));
    let mut shown: Vec<ArmMeasure> = Vec::new();
    for measure in
        [ArmMeasure::Throughput, ArmMeasure::Memory, ArmMeasure::Threads, ArmMeasure::P50, ArmMeasure::P99]
            .into_iter()
            .chain([ArmMeasure::Max, ArmMeasure::Cpu])
    {
        let usual = matches!(measure, ArmMeasure::Throughput | ArmMeasure::Memory | ArmMeasure::Threads);
        if !(usual || asked(measure)) || !any(lookup, &arms, &places, measure) {
            continue;
        }
        shown.push(measure);
    }
    let mut tables = Vec::new();
    for measure in &shown {
        let title = match measure {
            ArmMeasure::Throughput => format!("{workload}{colon}throughput by connections"),
            ArmMeasure::Memory if probes.len() > 1 => "memory, and each connection more".to_owned(),
            measure => measure_words(*measure).to_owned(),
        };
        let mut heads: Vec<String> = std::iter::once(title).chain(counts.clone()).collect();
        // Only the narrowest table has room.
        let causes = match shown.contains(&ArmMeasure::Threads) {
            true => *measure == ArmMeasure::Threads,
            false => *measure == ArmMeasure::Throughput,
        };
        if causes {
            heads.push(format!("gave first at {}", grouped(u64::from(most))));
        }
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let drawn = |spread: bool| {
            let mut table = if causes { TextTable::with_text_last(&heads) } else { TextTable::new(&heads) };
            for arm in &arms {
                let cell = |place: usize| match measure {
                    ArmMeasure::Memory => memory(lookup, *arm, &probes, place),
                    measure => plain(lookup, *arm, places[place], *measure, spread),
                };
                let name = (shortened(lookup.arm(*arm), NAME_WIDTH), Tone::Strong);
                let cells = (0..places.len()).map(|place| (cell(place), Tone::Plain));
                let cause = causes.then(|| (first_cause(lookup, *arm, &[last]), Tone::Plain));
                table.push_row(std::iter::once(name).chain(cells).chain(cause));
            }
            table
        };
        tables.push((drawn(true), drawn(false)));
    }
    tables
}

fn count(lookup: &DesignLookup<'_>, probe: usize) -> u32 {
    match lookup.design.probes[probe].at {
        LoadLevel::Connections(count) => count,
        LoadLevel::Limit | LoadLevel::Rate(_) | LoadLevel::Share(_) => 0,
    }
}

fn any(lookup: &DesignLookup<'_>, arms: &[usize], probes: &[usize], measure: ArmMeasure) -> bool {
    let at = |arm: usize, probe: usize| lookup.measurements(arm, probe).any(|t| figure(t, measure).is_some());
    arms.iter().any(|arm| probes.iter().any(|probe| at(*arm, *probe)))
}

/// The median, and where there is room the largest deviation among several starts.
fn plain(lookup: &DesignLookup<'_>, arm: usize, probe: usize, measure: ArmMeasure, spread: bool) -> String {
    let mut figures: Vec<f64> = lookup.measurements(arm, probe).filter_map(|t| figure(t, measure)).collect();
    let Some(middle) = median(&mut figures) else { return "–".to_owned() };
    let farthest = figures.iter().map(|figure| (figure / middle - 1.0).abs()).fold(0.0, f64::max);
    if spread && figures.len() > 1 && measure != ArmMeasure::Threads {
        return format!("{} ±{:.0} %", value(measure, middle), farthest * 100.0);
    }
    value(measure, middle)
}

/// At the arm's fewest connections its total memory; above, the memory added per further connection. Both from the same start, as another
/// begins with different memory.
fn memory(lookup: &DesignLookup<'_>, arm: usize, probes: &[(u32, usize)], place: usize) -> String {
    let memory = |start: &record::ArmStart, probe: usize| {
        start
            .taken
            .iter()
            .find(|measurement| measurement.probe == probe)
            .and_then(|measurement| figure(measurement, ArmMeasure::Memory))
    };
    let (connections, probe) = probes[place];
    let fewest =
        probes.iter().find(|(_, probe)| lookup.starts(arm, *probe).any(|v| memory(v, *probe).is_some()));
    let Some((fewest, first)) = fewest.copied() else { return "–".to_owned() };
    if fewest == connections {
        let mut all: Vec<f64> = lookup.starts(arm, probe).filter_map(|start| memory(start, probe)).collect();
        return or_dash(median(&mut all).map(|bytes| value(ArmMeasure::Memory, bytes)));
    }
    let more = f64::from(connections) - f64::from(fewest);
    let growth = |start| Some((memory(start, probe)? - memory(start, first)?) / more);
    match median(&mut lookup.starts(arm, probe).filter_map(growth).collect::<Vec<_>>()) {
        None => "–".to_owned(),
        Some(each) if each < 1.0 => "+0 B".to_owned(),
        Some(each) => format!("+{}", Bytes(each as u64)),
    }
}
