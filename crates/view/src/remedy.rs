//! What helps where torment was the limit.

use crate::RunView;
use record::{CaveatKind, GeneratorCapacity};

/// From this share of requests with a connection of their own on, connections dominate the cost.
const CONNECTION_SHARE: f64 = 0.5;
/// From this share of time that the loops wait for a processor on, others compete for it.
const WAIT_SHARE: f64 = 0.1;
/// Up to this many processors none can be set aside: the target, or others at work, need them.
const FEW_PROCESSORS: u32 = 2;

/// A clause: what can be done on this machine, given what torment lacks.
pub(crate) fn remedy(view: &RunView, capacity: Option<&GeneratorCapacity>) -> String {
    let cpus = view.started.as_ref().map_or(0, |started| started.machine.cpus);
    let waits = capacity.is_none_or(|capacity| capacity.waited >= WAIT_SHARE);
    if is_starved_by_host(view) {
        "repeat at a quieter time, or on a machine whose processors are its own: torment had too little of them"
            .to_owned()
    } else if capacity.is_some_and(is_of_connections) {
        "reuse connections (keep-alive): most requests open one of their own, which is most of that cost"
            .to_owned()
    } else if !view.fleet.is_empty() {
        "spread the load over more machines (--on)".to_owned()
    } else if (1..=FEW_PROCESSORS).contains(&cpus) {
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

/// Whether trials are void only because the hypervisor gave this machine's processors to others.
fn is_starved_by_host(view: &RunView) -> bool {
    let mut reasons = view.trials.iter().flat_map(|trial| trial.void_reasons()).peekable();
    reasons.peek().is_some() && reasons.all(|caveat| caveat.doubt == CaveatKind::Steal)
}

/// Which processors torment lacks, as [`remedy`] advises.
pub(crate) fn processors(view: &RunView) -> &'static str {
    let cpus = view.started.as_ref().map_or(0, |started| started.machine.cpus);
    if view.fleet.is_empty() && !(1..=FEW_PROCESSORS).contains(&cpus) {
        "each further processor for torment"
    } else {
        "each processor there"
    }
}

/// Whether its cost is mostly new connections.
pub(crate) fn is_of_connections(capacity: &GeneratorCapacity) -> bool {
    capacity.waited < WAIT_SHARE && capacity.connects >= CONNECTION_SHARE
}
