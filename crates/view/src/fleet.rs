//! Who made a load together, and who was lost: nothing of a run that one process made.

use crate::{RunView, Text, Tone};
use record::{FleetMember, LostMember, Worked};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use units::{Share, grouped};

/// A line for the fleet, and one for each that was lost.
pub(crate) fn lines(view: &RunView) -> Vec<Text> {
    let Some(who) = stands(&view.fleet, busiest(view)) else { return Vec::new() };
    let lost = view.lost.iter().map(|(trial, lost)| {
        let LostMember { member, place, at, unaccounted, why } = lost;
        let unaccounted = grouped(*unaccounted);
        Text::empty().and(Tone::Warn, format!("worker {member} lost")).then(format!(
            " in trial {trial} (on {place}, after {at}): {why}; {unaccounted} arrivals unaccounted for; the trial does not count"
        ))
    });
    std::iter::once(Text::labelled("fleet", who)).chain(lost).collect()
}

/// Who takes part, and how much of its time the busiest of them worked; none if nobody does.
pub(crate) fn stands(members: &[FleetMember], busiest: Option<Share>) -> Option<String> {
    let clock = members.iter().map(|member| member.clock).max()?;
    let count = members.len();
    let workers = if count == 1 { "worker" } else { "workers" };
    let places: BTreeSet<&str> = members.iter().map(|member| member.place.as_str()).collect();
    let places = places.into_iter().collect::<Vec<_>>().join(", ");
    let busy = busiest.map_or(String::new(), |Share(share)| {
        format!(", the busiest at work {:.0} % of the time", 100.0 * share)
    });
    Some(format!("{count} {workers} on {places}{busy}; clocks agree within {clock}"))
}

/// How much of its time the busiest of them worked, in any trial.
fn busiest(view: &RunView) -> Option<Share> {
    let workers = view.trials.iter().flat_map(|trial| &trial.members);
    workers.map(|worked: &Worked| worked.busy().0).max_by(|a, b| a.0.total_cmp(&b.0))
}

/// The same for programs.
pub(crate) fn json(view: &RunView) -> Value {
    let member = |member: &FleetMember| {
        json!({
            "number": member.number,
            "place": member.place,
            "pid": member.pid,
            "loops": member.loops,
            "clock_within_us": member.clock.0 as f64 / 1000.0,
        })
    };
    let lost = |(trial, lost): &(u32, LostMember)| {
        json!({
            "trial": trial,
            "number": lost.member,
            "place": lost.place,
            "at_seconds": lost.at.as_secs_f64(),
            "unaccounted": lost.unaccounted,
            "why": lost.why,
        })
    };
    json!({
        "workers": view.fleet.iter().map(member).collect::<Vec<_>>(),
        "lost": view.lost.iter().map(lost).collect::<Vec<_>>(),
        "busiest_share": busiest(view).map(|share| share.0),
    })
}
