//! Who made a load together, and who was lost: empty if one process made the run.

use crate::values::{micros, rate_value, seconds};
use crate::{RunView, Text, Tone, WatchedPlace};
use record::{FleetMember, LostMember, MemberFigures};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use units::{Share, grouped};

/// One line for the fleet, after its label, and one for each lost member.
pub(crate) fn lines(view: &RunView, label: &str) -> Vec<Text> {
    let Some(who) = participation_words(&view.fleet, busiest(view)) else { return Vec::new() };
    let lost = view.lost_members.iter().map(|(trial, lost)| {
        let LostMember { member, place, at, unaccounted, why } = lost;
        let unaccounted = grouped(*unaccounted);
        Text::new(Tone::Warn, format!("worker {member} lost")).with_plain(format!(
            " in trial {trial} (on {place}, after {at}): {why}; {unaccounted} arrivals unaccounted for; the trial does not count"
        ))
    });
    std::iter::once(Text::new(Tone::Faint, label).with_plain(who)).chain(lost).collect()
}

/// The members, and the busiest one's utilisation; `None` without members.
pub(crate) fn participation_words(members: &[FleetMember], busiest: Option<Share>) -> Option<String> {
    let clock = members.iter().map(|member| member.clock).max()?;
    let who = size_words(members);
    let busy = busiest.map_or(String::new(), |Share(share)| {
        format!(", the busiest at work {:.0} % of the time", 100.0 * share)
    });
    Some(format!("{who}{busy}; clocks agree within {clock}"))
}

/// The fleet's size and places; one process if empty.
pub(crate) fn size_words(members: &[FleetMember]) -> String {
    let places: BTreeSet<&str> = members.iter().map(|member| member.place.as_str()).collect();
    let places = places.into_iter().collect::<Vec<_>>().join(", ");
    match members.len() {
        0 => "one process".to_owned(),
        1 => format!("1 worker on {places}"),
        count => format!("{count} workers on {places}"),
    }
}

/// Arguments for the same fleet; empty if one process made the run.
pub(crate) fn fleet_arguments(members: &[FleetMember]) -> String {
    let workers = members.len();
    let hosts: Vec<&str> = members.iter().filter_map(|member| member.on.strip_prefix("ssh:")).collect();
    match members.first().map(|first| first.on.as_str()) {
        None => String::new(),
        Some(_) if !hosts.is_empty() => format!(" --on ssh:{}", hosts.join(",")),
        Some("") => format!(" --on here --workers {workers}"),
        Some(on) => format!(" --on {on} --workers {workers}"),
    }
}

/// Arguments for the same watchers; empty if the load's maker watched.
pub(crate) fn watcher_arguments(places: &[WatchedPlace]) -> String {
    let hosts: Vec<&str> = places.iter().filter_map(|place| place.coverage.on.strip_prefix("ssh:")).collect();
    let joined = places.iter().filter(|place| place.coverage.on == "join").count();
    let other = places.iter().map(|place| place.coverage.on.as_str()).find(|on| !on.is_empty());
    match (hosts.is_empty(), joined) {
        (false, _) => format!(" --watch-on ssh:{}", hosts.join(",")),
        (true, 0) => other.map_or(String::new(), |on| format!(" --watch-on {on}")),
        (true, 1) => " --watch-on join".to_owned(),
        (true, count) => format!(" --watch-on join --watchers {count}"),
    }
}

/// The busiest member's utilisation, in any trial.
fn busiest(view: &RunView) -> Option<Share> {
    let workers = view.trials.iter().flat_map(|trial| &trial.members);
    workers.map(|worked: &MemberFigures| worked.busy_shares().0).max_by(|a, b| a.0.total_cmp(&b.0))
}

pub(crate) fn json(view: &RunView) -> Value {
    let member = |member: &FleetMember| {
        json!({
            "number": member.number,
            "place": member.place,
            "pid": member.pid,
            "loops": member.loops,
            "clock_within_us": micros(member.clock),
        })
    };
    let lost = |(trial, lost): &(u32, LostMember)| {
        json!({
            "trial": trial,
            "number": lost.member,
            "place": lost.place,
            "at_seconds": seconds(lost.at),
            "unaccounted": lost.unaccounted,
            "why": lost.why,
        })
    };
    json!({
        "workers": view.fleet.iter().map(member).collect::<Vec<_>>(),
        "lost": view.lost_members.iter().map(lost).collect::<Vec<_>>(),
        "busiest_share": busiest(view).map(|share| rate_value(share.0)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Event;
    use record::watch::WatchCoverage;
    use units::Nanos;

    fn member(number: u32, place: &str) -> FleetMember {
        let clock = Nanos::from_micros(20 + u64::from(number));
        FleetMember { number, place: place.to_owned(), on: String::new(), pid: 100 + number, loops: 2, clock }
    }

    fn fleet_lines(view: &RunView) -> Vec<String> {
        lines(view, "fleet      ").iter().map(ToString::to_string).collect()
    }

    #[test]
    fn who_watched_is_asked_for_again() {
        let place = |on: &str| {
            let watched = WatchCoverage { on: on.to_owned(), ..WatchCoverage::default() };
            WatchedPlace { coverage: watched, ..WatchedPlace::default() }
        };
        for (on, expected) in [
            (&[""][..], ""),
            (&["ssh:root@b", "ssh:c"], " --watch-on ssh:root@b,c"),
            (&["", "ssh:b"], " --watch-on ssh:b"),
            (&["join"], " --watch-on join"),
            (&["join", "join"], " --watch-on join --watchers 2"),
            (&["k8s:lab/watch", "k8s:lab/watch"], " --watch-on k8s:lab/watch"),
            (&["inside:lab"], " --watch-on inside:lab"),
        ] {
            let places: Vec<WatchedPlace> = on.iter().map(|on| place(on)).collect();
            assert_eq!(watcher_arguments(&places), expected);
        }
    }

    #[test]
    fn who_took_part_is_a_line_and_so_is_who_was_lost() {
        assert_eq!(fleet_lines(&RunView::default()), Vec::<String>::new());
        let members = vec![member(0, "b"), member(1, "c"), member(2, "b")];
        let (place, why) = ("c".to_owned(), "its process ended (signal: 9 (SIGKILL))".to_owned());
        let lost = LostMember { member: 1, place, at: Nanos::from_secs(3), unaccounted: 24_117, why };
        let view =
            RunView::from_events(&[Event::FleetStands { members }, Event::WorkerLost { trial: 7, lost }]);
        let lines = fleet_lines(&view);
        assert!(
            lines[0].starts_with("fleet")
                && lines[0].ends_with("3 workers on b, c; clocks agree within 22 µs"),
            "{lines:?}"
        );
        assert_eq!(
            lines[1..],
            [
                "worker 1 lost in trial 7 (on c, after 3 s): its process ended (signal: 9 (SIGKILL)); 24,117 arrivals \
              unaccounted for; the trial does not count"
            ]
        );
        let json = json(&view);
        assert_eq!(json["workers"][2]["clock_within_us"], 22);
        assert_eq!((&json["lost"][0]["trial"], &json["lost"][0]["unaccounted"]), (&7.into(), &24_117.into()));
    }
}
