//! What gave first at an arm's starts, and which arms a probe belongs to.

use super::DesignLookup;
use record::{Cause, MeasurementResult};
use std::collections::BTreeMap;

/// Width of an arm's name.
pub(super) const NAME_WIDTH: usize = 26;

/// The arms that these probes measure.
pub(super) fn probed_arms(lookup: &DesignLookup<'_>, group: &[usize]) -> Vec<usize> {
    let for_it = |arm: &usize| group.iter().any(|probe| lookup.design.probes[*probe].arms.contains(arm));
    (0..lookup.design.arms.len()).filter(for_it).collect()
}

/// What gave first at most of an arm's starts: at the limit, else at any load where something gave. If no start is valid, why nothing is
/// known.
pub(super) fn first_cause(lookup: &DesignLookup<'_>, arm: usize, group: &[usize]) -> String {
    if lookup.valid_starts(arm).next().is_none() {
        let void = lookup.all_starts.iter().rev().find(|start| start.arm == arm && start.void.is_some());
        return if void.is_some() { "no valid start".to_owned() } else { "not started yet".to_owned() };
    }
    group.iter().find_map(|probe| cause_under_load(lookup, arm, *probe)).unwrap_or_default()
}

/// What gave first at most of an arm's starts, under one probe's load.
pub(crate) fn cause_under_load(lookup: &DesignLookup<'_>, arm: usize, probe: usize) -> Option<String> {
    most(lookup.measurements(arm, probe))
}

/// The most frequent cause, with its count unless it is every time.
fn most<'a>(measurements: impl Iterator<Item = &'a MeasurementResult>) -> Option<String> {
    let (mut counts, mut all) = (BTreeMap::<Cause, usize>::new(), 0);
    for cause in measurements.map(|measurements| measurements.cause) {
        all += 1;
        if let Some(cause) = cause {
            *counts.entry(cause).or_default() += 1;
        }
    }
    let (cause, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let often = if count < all { format!(" ({count} of {all})") } else { String::new() };
    Some(format!("{}{often}", cause.words()))
}
