//! The way of a request, from its arrival to what gave first.

use super::pages::Pages;
use crate::Tone;
use crate::document::{Station, Text};
use crate::verdict::evidence;
use diagnosis::cause_name;
use record::{Cause, Diagnosis};

/// Facts of the station that gave first: more are in the evidence.
const FACTS: usize = 3;
/// The links that only say that something arrives.
const ARRIVALS: &str = "requests";

/// Nothing if nothing is known to have given.
pub(super) fn of(pages: &Pages) -> Vec<Station> {
    let Some(diagnosis) = &pages.diagnosis else { return Vec::new() };
    let Some(first) = diagnosis.findings.first() else { return Vec::new() };
    let mut links: Vec<String> = diagnosis.chain.iter().filter(|link| *link != ARRIVALS).cloned().collect();
    if links.is_empty() {
        links.push(cause_name(first.cause).to_owned());
    }
    let station = |name: String| Station { name, facts: Vec::new(), tone: Tone::Plain };
    let arrivals = Station { facts: arrivals(diagnosis), ..station(pages.words().arrivals().to_owned()) };
    let mut stations: Vec<Station> =
        std::iter::once(arrivals).chain(links.into_iter().map(station)).collect();
    // Behind workers, a pool or a lock the chain goes on to what these wait for.
    let gave = match first.cause {
        Cause::Workers => 1,
        Cause::Pool | Cause::Lock => 2,
        _ => stations.len() - 1,
    };
    if let Some(gave) = stations.get_mut(gave) {
        gave.facts = first.evidence.iter().take(FACTS).map(|fact| evidence(fact, diagnosis)).collect();
        gave.tone = Tone::Bad;
    }
    stations
}

/// At what rate all was well, and at what it was not.
fn arrivals(diagnosis: &Diagnosis) -> Vec<Text> {
    let bad = diagnosis
        .degraded_at
        .map(|rate| Text::empty().and(Tone::Bad, "degraded").then(format!(" at {rate}")));
    let well =
        diagnosis.well_at.map(|rate| Text::empty().and(Tone::Good, "well").then(format!(" at {rate}")));
    well.into_iter().chain(bad).collect()
}
