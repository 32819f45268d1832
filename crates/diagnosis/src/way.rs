//! The way of a request: from torment to what does not wait for anything else, and how full it was on the way.

use crate::case::Case;
use crate::condition::{Condition, LoadThere};
use crate::found::Found;
use crate::words::count;
use record::{Cause, Place, Station, Use};
use units::Nanos;

/// Links that say no more than that something arrives: torment and its connections stand for them.
const ENTRANCE: [&str; 2] = ["requests", "connections"];

/// So many in use; how long each request stayed follows by Little's law.
pub(crate) fn used(in_use: f64, waiting: Option<f64>, load: &LoadThere) -> Use {
    let stay = in_use / load.answered;
    let stay = (stay > 0.0 && stay.is_finite()).then(|| Nanos::from_secs_f64(stay));
    Use { in_use: Some(in_use), stay, waiting }
}

/// A limit of something that requests do not hold one by one: how much of it was used up.
pub(crate) fn limit(name: String, in_use: f64, size: f64) -> Station {
    let degraded = Some(Use { in_use: Some(in_use), ..Use::default() });
    Station { size: Some(size), degraded, ..Station::from(name) }
}

/// All of it: torment, its connections, and what a rule knows of what is behind them.
pub(crate) fn whole(case: &Case<'_>, found: &Found) -> Vec<Station> {
    // Where torment gave, the rule's own links are of torment.
    let is_own = matches!(found.cause, Cause::Generator | Cause::Ports | Cause::OwnDescriptors);
    let before = if is_own { Vec::new() } else { entrance(case) };
    let before = before.into_iter().chain(case.front.map(|front| Place::Threads.named(front)));
    let links = found.chain.iter().filter(|link| !ENTRANCE.contains(&link.name.as_str()));
    let mut all: Vec<Station> = before.chain(links.cloned()).collect();
    if all.iter().all(|station| !station.gave)
        && let Some(last) = all.last_mut()
    {
        last.gave = true;
    }
    all
}

/// The names alone, of what the rule knows: behind the service, where the case is of somebody there.
pub(crate) fn names(case: &Case<'_>, found: &Found) -> Vec<String> {
    let mut names: Vec<String> = found.chain.iter().map(|link| link.name.clone()).collect();
    if let Some(front) = case.front {
        let at = names.iter().take_while(|name| ENTRANCE.contains(&name.as_str())).count();
        names.insert(at, front.to_owned());
    }
    names
}

/// torment and its connections, by its own account.
fn entrance(case: &Case<'_>) -> Vec<Station> {
    let load = &case.bad.load;
    let well = || case.well.as_ref().filter(|well| well.load.seconds > 0.0);
    let loops = |side: &Condition<'_>| used(side.load.loops_cpu, None, &side.load);
    let torment = Station {
        size: Some(load.loops),
        well: well().map(loops),
        degraded: Some(loops(&case.bad)),
        ..Place::Generator.named(format!("torment: {}", count(load.loops, "loop")))
    };
    // How many requests fit on a connection is not known here: HTTP/2 takes many.
    let under_way = |side: &Condition<'_>| used(side.load.in_flight, Some(side.load.backlog), &side.load);
    let connections = Station {
        well: well().map(under_way),
        degraded: Some(under_way(&case.bad)),
        ..Place::Connections.named(count(load.connections.round(), "connection"))
    };
    let torment = (load.loops > 0.0).then_some(torment);
    let connections = (load.connections >= 0.5).then_some(connections);
    torment.into_iter().chain(connections).collect()
}
