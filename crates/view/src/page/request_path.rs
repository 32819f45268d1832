//! A request's path from arrival to what gave first and what that waits for, with the occupancy of each station.

use crate::document::{Occupancy, StationBox, Text};
use crate::verdict::evidence;
use crate::wording::format_rate;
use crate::{RunView, Tone};
use record::{Cause, Diagnosis, Finding, StationKind, StationUse};

/// Facts shown for the station that gave first; the evidence has more.
const MAX_FACTS: usize = 2;
/// Links that merely say that requests arrive.
const ARRIVALS_LINK: &str = "requests";
/// The section with everything a verdict rests on.
const EVIDENCE_SECTION: &str = "evidence";

/// Empty if nothing is known to have given. Linked sections may not exist.
pub(super) fn stations(run: &RunView) -> Vec<StationBox> {
    let Some(diagnosis) = &run.diagnosis else { return Vec::new() };
    let Some(first) = diagnosis.findings.first() else { return Vec::new() };
    let arrivals = StationBox {
        name: run.arrival_kind().arrivals().to_owned(),
        facts: arrivals(diagnosis),
        section: Some("load".to_owned()),
        ..StationBox::default()
    };
    let known = match diagnosis.stations.as_slice() {
        [] => named(diagnosis, first.cause),
        known => known.to_vec(),
    };
    let behind = known.iter().map(|station| shown(station, first, diagnosis));
    std::iter::once(arrivals).chain(behind).collect()
}

/// Removes links to missing sections; what gave first links to its evidence if nothing else shows it.
pub(super) fn link_sections(stations: &mut [StationBox], there: impl Fn(&str) -> bool) {
    for station in stations {
        let evidence = (station.tone == Tone::Bad).then(|| EVIDENCE_SECTION.to_owned());
        let charts = station.section.take().filter(|id| there(id));
        station.section = charts.or(evidence.filter(|id| there(id)));
    }
}

fn shown(station: &record::Station, first: &Finding, diagnosis: &Diagnosis) -> StationBox {
    let facts = first.evidence.iter().take(if station.gave { MAX_FACTS } else { 0 });
    let side = |there: Option<StationUse>| there.map(|there| full(there, station.size));
    StationBox {
        name: station.name.clone(),
        facts: facts.map(|fact| evidence(fact, diagnosis)).collect(),
        well: side(station.well),
        degraded: side(station.degraded),
        section: section(station, first.cause).map(str::to_owned),
        tone: if station.gave { Tone::Bad } else { Tone::Plain },
    }
}

fn full(there: StationUse, size: Option<f64>) -> Occupancy {
    // A hundredth of a worker is noise.
    let count = |value: f64| format_rate((value * 100.0).round() / 100.0);
    let in_use = |used: f64| match size {
        Some(size) => format!("{} of {}", count(used), count(size)),
        None => format!("{} in use", count(used)),
    };
    let share = there.in_use.zip(size.filter(|size| *size > 0.0)).map(|(used, size)| (used / size).min(1.0));
    Occupancy {
        in_use: there.in_use.map(in_use),
        share,
        stay: there.stay.map(|stay| stay.to_string()),
        waiting: there.waiting.map(count),
    }
}

/// The rate at which all was well, and the degraded one.
fn arrivals(diagnosis: &Diagnosis) -> Vec<Text> {
    let bad = diagnosis
        .degraded_at
        .map(|rate| Text::new(Tone::Bad, "degraded").with_plain(format!(", at {rate} on average")));
    let well = diagnosis
        .well_at
        .map(|rate| Text::new(Tone::Good, "well").with_plain(format!(", at {rate} on average")));
    well.into_iter().chain(bad).collect()
}

/// Earlier versions stored only the names.
fn named(diagnosis: &Diagnosis, cause: Cause) -> Vec<record::Station> {
    let links = diagnosis.chain.iter().filter(|link| *link != ARRIVALS_LINK).cloned();
    let mut stations: Vec<record::Station> = links.map(record::Station::from).collect();
    if stations.is_empty() {
        stations.push(cause.words().to_owned().into());
    }
    // Behind workers, a pool or a lock follows what these wait for.
    let gave = match cause {
        Cause::Workers => 0,
        Cause::Pool | Cause::Lock => 1,
        _ => stations.len() - 1,
    };
    if let Some(gave) = stations.get_mut(gave) {
        gave.gave = true;
    }
    stations
}

/// The section with a station's charts.
fn section(station: &record::Station, cause: Cause) -> Option<&'static str> {
    Some(match station.place {
        StationKind::Generator => "machine",
        StationKind::Connections => "load",
        StationKind::Threads => "threads",
        StationKind::Peers => "sockets",
        StationKind::Database => "database",
        StationKind::Elsewhere if station.gave => charts(cause),
        StationKind::Elsewhere => return None,
    })
}

/// The section with a cause's charts.
fn charts(cause: Cause) -> &'static str {
    use Cause::*;
    match cause {
        Generator | Ports | OwnDescriptors | Neighbour | Disk => "machine",
        AcceptQueue | Retransmissions | PacketDrops | DelayedAcks | Tracking | Bandwidth => "sockets",
        TaskLimit | CpuQuota | Freeze | Cpu | Pool | Workers | Lock | Downstream | Inside => "threads",
        MemoryLimit => "memory",
        Gc | Safepoint | ColdJit => "jvm",
        PostgresWal
        | PostgresLock
        | PostgresCpu
        | PostgresReads
        | PostgresConnections
        | PostgresIdleInTransaction
        | PostgresCheckpoints => "database",
        Descriptors => EVIDENCE_SECTION,
    }
}
