//! Closed loops: one small table for each figure, arms below each other, numbers of connections side by side.

use super::gave::{NAME, gave_first, measured};
use super::names::figure;
use super::words::{measure_words, median, value};
use super::{Names, WIDTH};
use crate::document::Table;
use crate::words::shortened;
use crate::{Text, Tone};
use plan::{At, Measure};
use units::{Bytes, grouped};

/// What the probes of one workload gave that are closed loops.
pub(super) fn lines(names: &Names<'_>, probes: &[usize]) -> Vec<Text> {
    let mut lines = Vec::new();
    for (with_spread, without) in tables(names, probes) {
        let with_spread = with_spread.lines();
        let fits = with_spread.iter().all(|line| line.width() <= WIDTH);
        lines.extend(if fits { with_spread } else { without.lines() });
        lines.push(Text::empty());
    }
    lines
}

/// A table for each figure: with how far its starts are apart, and without.
pub(super) fn tables(names: &Names<'_>, probes: &[usize]) -> Vec<(Table, Table)> {
    let mut probes: Vec<(u32, usize)> = probes.iter().map(|probe| (count(names, *probe), *probe)).collect();
    probes.sort_unstable();
    let Some((most, last)) = probes.last().copied() else { return Vec::new() };
    let workload = names.workload(last);
    let colon = if workload.is_empty() { "" } else { ": " };
    let counts = probes.iter().map(|(count, _)| grouped(u64::from(*count)));
    let places: Vec<usize> = probes.iter().map(|(_, probe)| *probe).collect();
    let arms = measured(names, &places);
    let asked = |measure| places.iter().any(|probe| names.is_asked(*probe, measure));
    let mut shown: Vec<Measure> = Vec::new();
    for measure in [Measure::Throughput, Measure::Memory, Measure::Threads, Measure::P50, Measure::P99]
        .into_iter()
        .chain([Measure::Max, Measure::Cpu])
    {
        let usual = matches!(measure, Measure::Throughput | Measure::Memory | Measure::Threads);
        if !(usual || asked(measure)) || !any(names, &arms, &places, measure) {
            continue;
        }
        shown.push(measure);
    }
    let mut tables = Vec::new();
    for measure in &shown {
        let title = match measure {
            Measure::Throughput => format!("{workload}{colon}throughput by connections"),
            Measure::Memory if probes.len() > 1 => "memory, and each connection more".to_owned(),
            measure => measure_words(*measure).to_owned(),
        };
        let mut heads: Vec<String> = std::iter::once(title).chain(counts.clone()).collect();
        // The narrowest table has room for it.
        let causes = match shown.contains(&Measure::Threads) {
            true => *measure == Measure::Threads,
            false => *measure == Measure::Throughput,
        };
        if causes {
            heads.push(format!("gave first at {}", grouped(u64::from(most))));
        }
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let drawn = |spread: bool| {
            let mut table = if causes { Table::with_text_last(&heads) } else { Table::new(&heads) };
            for arm in &arms {
                let cell = |place: usize| match measure {
                    Measure::Memory => memory(names, *arm, &probes, place),
                    measure => plain(names, *arm, places[place], *measure, spread),
                };
                let name = (shortened(names.arm(*arm), NAME), Tone::Strong);
                let cells = (0..places.len()).map(|place| (cell(place), Tone::Plain));
                let gave = causes.then(|| (gave_first(names, *arm, &[last]), Tone::Plain));
                table.row(std::iter::once(name).chain(cells).chain(gave));
            }
            table
        };
        tables.push((drawn(true), drawn(false)));
    }
    tables
}

fn count(names: &Names<'_>, probe: usize) -> u32 {
    match names.design.probes[probe].at {
        At::Connections(count) => count,
        At::Limit | At::Rate(_) | At::Share(_) => 0,
    }
}

fn any(names: &Names<'_>, arms: &[usize], probes: &[usize], measure: Measure) -> bool {
    let at = |arm: usize, probe: usize| names.taken(arm, probe).any(|t| figure(t, measure).is_some());
    arms.iter().any(|arm| probes.iter().any(|probe| at(*arm, *probe)))
}

/// The median; of several starts with how far the farthest is from it, where there is room.
fn plain(names: &Names<'_>, arm: usize, probe: usize, measure: Measure, spread: bool) -> String {
    let mut figures: Vec<f64> = names.taken(arm, probe).filter_map(|t| figure(t, measure)).collect();
    let Some(middle) = median(&mut figures) else { return "–".to_owned() };
    let farthest = figures.iter().map(|figure| (figure / middle - 1.0).abs()).fold(0.0, f64::max);
    if spread && figures.len() > 1 && measure != Measure::Threads {
        return format!("{} ±{:.0} %", value(measure, middle), farthest * 100.0);
    }
    value(measure, middle)
}

/// At the arm's fewest connections all of its memory; at more how much each connection beyond those adds. Both of
/// one and the same start, for another begins with other memory.
fn memory(names: &Names<'_>, arm: usize, probes: &[(u32, usize)], place: usize) -> String {
    let memory = |visit: &record::Visit, probe: usize| {
        visit.taken.iter().find(|taken| taken.probe == probe).and_then(|taken| figure(taken, Measure::Memory))
    };
    let (connections, probe) = probes[place];
    let fewest =
        probes.iter().find(|(_, probe)| names.starts(arm, *probe).any(|v| memory(v, *probe).is_some()));
    let Some((fewest, first)) = fewest.copied() else { return "–".to_owned() };
    if fewest == connections {
        let mut all: Vec<f64> = names.starts(arm, probe).filter_map(|visit| memory(visit, probe)).collect();
        return median(&mut all).map_or("–".to_owned(), |bytes| value(Measure::Memory, bytes));
    }
    let more = f64::from(connections) - f64::from(fewest);
    let growth = |visit| Some((memory(visit, probe)? - memory(visit, first)?) / more);
    match median(&mut names.starts(arm, probe).filter_map(growth).collect::<Vec<_>>()) {
        None => "–".to_owned(),
        Some(each) if each < 1.0 => "+0 B".to_owned(),
        Some(each) => format!("+{}", Bytes(each as u64)),
    }
}
