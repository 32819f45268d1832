//! The path of a request: from torment to what waits for nothing else, and the utilisation along it.

use crate::case::Case;
use crate::finding::RuleFinding;
use crate::format::format_count;
use crate::part_summary::{LoadSummary, PartSummary};
use record::{Station, StationKind, StationUse};
use units::Nanos;

/// Links that only say that something arrives: torment and its connections replace them.
const ENTRANCE_NAMES: [&str; 2] = ["requests", "connections"];

/// The use of a station; the time each request stays follows by Little's law.
pub(crate) fn use_of(in_use: f64, waiting: Option<f64>, load: &LoadSummary) -> StationUse {
    let stay = in_use / load.answered;
    let stay = (stay > 0.0 && stay.is_finite()).then(|| Nanos::from_secs_f64(stay));
    StationUse { in_use: Some(in_use), stay, waiting }
}

/// A limit that requests do not use up one by one: how much of it was used.
pub(crate) fn limit_station(name: String, in_use: f64, size: f64) -> Station {
    let degraded = Some(StationUse { in_use: Some(in_use), ..StationUse::default() });
    Station { size: Some(size), degraded, ..Station::from(name) }
}

/// The full path: torment, its connections, and what a rule knows of what follows.
pub(crate) fn full_path(case: &Case<'_>, found: &RuleFinding) -> Vec<Station> {
    // If torment gave, the rule's own links are torment's.
    let before = if found.cause.is_of_torment() { Vec::new() } else { entrance(case) };
    let before = before.into_iter().chain(case.front.map(|front| StationKind::Threads.station(front)));
    let links = found.chain.iter().filter(|link| !ENTRANCE_NAMES.contains(&link.name.as_str()));
    let mut path: Vec<Station> = before.chain(links.cloned()).collect();
    if path.iter().all(|station| !station.gave)
        && let Some(last) = path.last_mut()
    {
        last.gave = true;
    }
    path
}

/// The names of the rule's own stations only: behind the service, if the case is about a downstream.
pub(crate) fn station_names(case: &Case<'_>, found: &RuleFinding) -> Vec<String> {
    let mut names: Vec<String> = found.chain.iter().map(|link| link.name.clone()).collect();
    if let Some(front) = case.front {
        let at = names.iter().take_while(|name| ENTRANCE_NAMES.contains(&name.as_str())).count();
        names.insert(at, front.to_owned());
    }
    names
}

/// torment and its connections, from its own figures.
fn entrance(case: &Case<'_>) -> Vec<Station> {
    let load = &case.degraded.load;
    let well = || case.well.as_ref().filter(|well| well.load.seconds > 0.0);
    let loops = |side: &PartSummary<'_>| use_of(side.load.loops_cpu, None, &side.load);
    let torment = Station {
        size: Some(load.loops),
        well: well().map(loops),
        degraded: Some(loops(&case.degraded)),
        ..StationKind::Generator.station(format!("torment: {}", format_count(load.loops, "loop")))
    };
    // How many requests fit on a connection is not known here: HTTP/2 takes many.
    let under_way = |side: &PartSummary<'_>| use_of(side.load.in_flight, Some(side.load.backlog), &side.load);
    let connections = Station {
        well: well().map(under_way),
        degraded: Some(under_way(&case.degraded)),
        ..StationKind::Connections.station(format_count(load.connections.round(), "connection"))
    };
    let torment = (load.loops > 0.0).then_some(torment);
    let connections = (load.connections >= 0.5).then_some(connections);
    torment.into_iter().chain(connections).collect()
}
