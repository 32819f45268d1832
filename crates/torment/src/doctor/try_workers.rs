//! Two workers in a cluster for ten seconds, against nothing: what only a run shows.

use crate::args::{PodArgs, fleet_config, null_plan};
use crate::{CommandError, interrupt};
use record::{Area, Event, FleetMember, Prerequisite, Severity, TrialResult};
use runner::{RunOptions, Sink, StopFlag};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use units::Nanos;

/// Row for the workers found.
pub const WORKERS: &str = "workers";
/// Clock offset beyond which arrivals are no longer where they should be relative to each other.
const CLOCK_TOLERANCE: Nanos = Nanos(1_000_000);

#[derive(Default)]
struct TryRunSink {
    members: Vec<FleetMember>,
    joined_after: Option<Duration>,
    began: Option<Instant>,
    result: Option<TrialResult>,
}

impl Sink for TryRunSink {
    fn event(&mut self, event: &Event) {
        match event {
            Event::FleetStands { members } => {
                self.members.clone_from(members);
                self.joined_after = self.began.map(|began| began.elapsed());
            }
            Event::TrialDone { result, .. } => self.result = Some((**result).clone()),
            _ => {}
        }
    }
}

/// Starts them, and reports the result.
pub fn try_workers(place: Option<&str>, pods: &PodArgs) -> Result<Vec<Prerequisite>, CommandError> {
    let on = place.map_or("k8s".to_owned(), |place| format!("k8s:{place}"));
    let plan = null_plan(&on)?;
    let config = fleet_config(&plan, pods)?;
    let stop = StopFlag::new(interrupt::stop_flag_or_exit()?);
    let mut sink = TryRunSink { began: Some(Instant::now()), ..TryRunSink::default() };
    let around = RunOptions { fleet: config.as_ref(), ..RunOptions::default() };
    let outcome = runner::conduct(&plan, around, &mut sink, &stop);
    if let Some(why) = outcome.error {
        let found = why.to_string();
        return Ok(vec![row(WORKERS, Severity::Hinders, found, Some("no run can be made there"))]);
    }
    Ok(judge(&sink))
}

fn row(name: &str, bearing: Severity, found: String, means: Option<&str>) -> Prerequisite {
    Prerequisite {
        name: name.to_owned(),
        area: Area::Time,
        bearing,
        found,
        figures: BTreeMap::new(),
        means: means.map(str::to_owned),
        remedy: None,
    }
}

fn judge(sink: &TryRunSink) -> Vec<Prerequisite> {
    let places: Vec<&str> = sink.members.iter().map(|member| member.place.as_str()).collect();
    let joined = sink.joined_after.unwrap_or_default().as_secs_f64();
    let apart = sink.members.iter().map(|member| member.clock).max().unwrap_or_default();
    let clocks = match apart > CLOCK_TOLERANCE {
        true => (
            Severity::Less,
            Some("the order of arrivals of different workers is not known so well; their rate is"),
        ),
        false => (Severity::Fine, None),
    };
    let workers = format!("{} joined in {joined:.1} s: {}", places.len(), places.join(", "));
    let mut rows = vec![
        row(WORKERS, Severity::Fine, workers, None),
        row("clocks", clocks.0, format!("they agree within {apart}"), clocks.1),
    ];
    let late =
        sink.result.iter().flat_map(|result| &result.members).filter_map(|member| member.lateness_p99).max();
    let caveats: Vec<String> =
        sink.result.iter().flat_map(|result| &result.caveats).map(ToString::to_string).collect();
    if let Some(late) = late {
        let found = format!("99 % of what was due was sent within {late}");
        rows.push(match caveats.as_slice() {
            [] => row("lateness", Severity::Fine, found, None),
            caveats => row("lateness", Severity::Hinders, found, Some(&caveats.join("; "))),
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
        let sink =
            TryRunSink { members: vec![member(0, 90_000), member(1, 2_000_000)], ..TryRunSink::default() };
        let rows = judge(&sink);
        assert_eq!(
            rows.iter().map(|row| row.bearing.clone()).collect::<Vec<_>>(),
            [Severity::Fine, Severity::Less]
        );
        assert!(rows[0].found.ends_with("b0, b1") && rows[1].found.contains("2 ms"), "{rows:?}");
    }
}
