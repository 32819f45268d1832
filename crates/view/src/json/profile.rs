//! On-CPU profiles as JSON: shares with their intervals. The stacks are left to `export`.

use crate::RunView;
use crate::values::seconds;
use record::Profile;
use record::watch::CloserLook;
use serde_json::{Value, json};
use stacks::{SampleCount, Tally};

/// All functions and modules, by self time in descending order.
pub(super) fn profile(profile: &Profile) -> Value {
    let tally = Tally::of(profile);
    let module = |of: u32| profile.modules.get(of as usize);
    let share = |count: u64| {
        let share = tally.share(count);
        json!({
            "samples": count,
            "share": share.map(|share| share.value),
            "low": share.map(|share| share.low),
            "high": share.map(|share| share.high),
        })
    };
    let functions = tally.by_own().into_iter().filter_map(|SampleCount { index: of, own, total, .. }| {
        let function = profile.functions.get(of as usize)?;
        Some(json!({
            "name": function.name,
            "module": module(function.module).map(|module| &module.name),
            "file": function.file,
            "line": function.line,
            "own": share(own),
            "total": share(total),
        }))
    });
    let modules = tally.modules_by_own().into_iter().filter_map(|SampleCount { index: of, own, total, .. }| {
        let module = module(of)?;
        let nameless = &module.nameless;
        Some(json!({ "name": module.name, "nameless": nameless, "own": share(own), "total": share(total) }))
    });
    json!({
        "load": profile.load,
        "place": profile.place,
        "started_unix_ms": profile.at_unix_ms,
        "length_seconds": seconds(profile.length),
        "hz": profile.hz,
        "processes": profile.processes,
        "samples": profile.samples,
        "processor_seconds": seconds(profile.time_of(profile.samples)),
        "processor_seconds_by_kernel": profile.processor_time.map(seconds),
        "lost": profile.lost,
        "other": profile.other,
        "truncated": profile.truncated,
        "without_kernel": profile.without_kernel,
        "requests": profile.requests,
        "functions": functions.collect::<Vec<_>>(),
        "modules": modules.collect::<Vec<_>>(),
    })
}

/// Where threads waited, most first.
pub(super) fn waiting(view: &RunView) -> Value {
    let at = view.places.iter().flat_map(|place| &place.closer_looks).filter_map(|look| match look {
        CloserLook::Stacks { at, .. } => Some(at),
        _ => None,
    });
    at.flatten().map(|at| json!(at)).collect()
}
