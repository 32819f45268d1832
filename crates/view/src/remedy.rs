//! What helps where torment itself was the limit.

use crate::RunView;
use record::GeneratorCapacity;

/// From this share of the requests on that make a connection of their own, that is what they cost.
const CONNECTS: f64 = 0.5;
/// From this share of the time on that the loops wait for a processor, somebody else has it.
const WAITS: f64 = 0.1;
/// Of no more processors than this none can be set aside: the target, or whoever else is at work, needs them.
const FEW: u32 = 2;

/// As a clause: what can be done on this machine, by what torment lacks.
pub(crate) fn remedy(view: &RunView, making: Option<&GeneratorCapacity>) -> String {
    let cpus = view.started.as_ref().map_or(0, |started| started.machine.cpus);
    let waits = making.is_none_or(|making| making.waited >= WAITS);
    if making.is_some_and(is_of_connections) {
        "reuse connections (keep-alive): most requests open one of their own, which is most of that cost"
            .to_owned()
    } else if !view.fleet.is_empty() {
        "spread the load over more machines (--on)".to_owned()
    } else if (1..=FEW).contains(&cpus) {
        let s = if cpus == 1 { "" } else { "s" };
        format!("generate the load on another machine (--on ssh:HOST): this one has only {cpus} processor{s}")
    } else if waits {
        "give torment processors that nothing else uses (--cores), or generate the load on another machine (--on ssh:HOST)"
            .to_owned()
    } else {
        "give torment more processors (--cores), or generate the load on more machines (--on ssh:HOST,…)"
            .to_owned()
    }
}

/// Where the processors are that it lacks, as [`remedy`] says.
pub(crate) fn processors(view: &RunView) -> &'static str {
    let cpus = view.started.as_ref().map_or(0, |started| started.machine.cpus);
    if view.fleet.is_empty() && !(1..=FEW).contains(&cpus) {
        "each further processor for torment"
    } else {
        "each processor there"
    }
}

/// Whether what it spends goes into new connections.
pub(crate) fn is_of_connections(making: &GeneratorCapacity) -> bool {
    making.waited < WAITS && making.connects >= CONNECTS
}
