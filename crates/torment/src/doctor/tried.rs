//! Two workers in a cluster for ten seconds, against nothing: what only a run shows.

use crate::args::{PodArgs, fleet_of, nothing_plan};
use crate::{Failure, interrupt};
use record::{Allowance, Area, Bearing, Event, FleetMember, TrialResult};
use runner::{Around, Sink, Stop};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use units::Nanos;

/// The row that says that there were some.
pub const WORKERS: &str = "workers";
/// Arrivals are then no longer where they were to be, beside each other.
const APART: Nanos = Nanos(1_000_000);

/// What was heard of it.
#[derive(Default)]
struct Heard {
    members: Vec<FleetMember>,
    joined: Option<Duration>,
    began: Option<Instant>,
    result: Option<TrialResult>,
}

impl Sink for Heard {
    fn event(&mut self, event: &Event) {
        match event {
            Event::FleetStands { members } => {
                self.members.clone_from(members);
                self.joined = self.began.map(|began| began.elapsed());
            }
            Event::TrialDone { result, .. } => self.result = Some((**result).clone()),
            _ => {}
        }
    }
}

/// Makes them, and says what they came to.
pub fn tried(place: Option<&str>, pods: &PodArgs) -> Result<Vec<Allowance>, Failure> {
    let on = place.map_or("k8s".to_owned(), |place| format!("k8s:{place}"));
    let plan = nothing_plan(&on)?;
    let asked = fleet_of(&plan, pods)?;
    let stop = Stop::new(interrupt::asked_or_out()?);
    let mut heard = Heard { began: Some(Instant::now()), ..Heard::default() };
    let around = Around { fleet: asked.as_ref(), ..Around::default() };
    let outcome = runner::conduct(&plan, around, env!("CARGO_PKG_VERSION"), &mut heard, &stop);
    if let Some(why) = outcome.error {
        let found = why.to_string();
        return Ok(vec![row(WORKERS, Bearing::Hinders, found, Some("no run can be made there"))]);
    }
    Ok(judged(&heard))
}

fn row(name: &str, bearing: Bearing, found: String, means: Option<&str>) -> Allowance {
    Allowance {
        name: name.to_owned(),
        area: Area::Time,
        bearing,
        found,
        figures: BTreeMap::new(),
        means: means.map(str::to_owned),
        remedy: None,
    }
}

fn judged(heard: &Heard) -> Vec<Allowance> {
    let places: Vec<&str> = heard.members.iter().map(|member| member.place.as_str()).collect();
    let joined = heard.joined.unwrap_or_default().as_secs_f64();
    let apart = heard.members.iter().map(|member| member.clock).max().unwrap_or_default();
    let clocks = match apart > APART {
        true => (
            Bearing::Less,
            Some("the order of arrivals of different workers is not known so well; their rate is"),
        ),
        false => (Bearing::Fine, None),
    };
    let workers = format!("{} joined in {joined:.1} s: {}", places.len(), places.join(", "));
    let mut rows = vec![
        row(WORKERS, Bearing::Fine, workers, None),
        row("clocks", clocks.0, format!("they agree within {apart}"), clocks.1),
    ];
    let late =
        heard.result.iter().flat_map(|result| &result.members).filter_map(|member| member.lateness_p99).max();
    let doubts: Vec<String> =
        heard.result.iter().flat_map(|result| &result.caveats).map(ToString::to_string).collect();
    if let Some(late) = late {
        let found = format!("99 % of what was due was sent within {late}");
        rows.push(match doubts.as_slice() {
            [] => row("lateness", Bearing::Fine, found, None),
            doubts => row("lateness", Bearing::Hinders, found, Some(&doubts.join("; "))),
        });
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_heard_is_judged() {
        let member = |number, clock| FleetMember {
            number,
            place: format!("b{number}"),
            on: String::new(),
            pid: 1,
            loops: 1,
            clock: Nanos(clock),
        };
        let heard = Heard { members: vec![member(0, 90_000), member(1, 2_000_000)], ..Heard::default() };
        let rows = judged(&heard);
        assert_eq!(
            rows.iter().map(|row| row.bearing.clone()).collect::<Vec<_>>(),
            [Bearing::Fine, Bearing::Less]
        );
        assert!(rows[0].found.ends_with("b0, b1") && rows[1].found.contains("2 ms"), "{rows:?}");
    }
}
