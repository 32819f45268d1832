//! Who makes the load and who watches the target, if it is not this process alone.

use super::request::set;
use super::{Action, Level};
use clap::Args;
use plan::{Draft, FleetPlace, FleetPlan, Key, Plan};
use runner::{Entrance, FleetAsked, WatchersAsked};
use std::sync::Arc;

/// Where the load is made, and where the target is watched.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Fleet")]
pub struct FleetArgs {
    /// Make the load from several processes: `here`, on this machine, or one on each of some hosts: ssh:HOST,USER@HOST,
    /// or such as are started by others: join, join:HOST:PORT
    #[arg(long, value_name = "WHERE")]
    on: Option<String>,
    /// How many processes make it, on this machine or by join; 4..16: 4 at first, and more before they are the limit [default: 2]
    #[arg(long, value_name = "COUNT")]
    workers: Option<String>,
    /// Where torment is on the hosts of ssh [default: on their path; if it is not, it is copied for the run]
    #[arg(long, value_name = "PATH")]
    remote_binary: Option<String>,
    /// How long workers and watchers of join are waited for [default: 2min]
    #[arg(long, value_name = "TIME")]
    wait: Option<String>,
    /// Watch the target from its own machines, instead of from this one: ssh:HOST,USER@HOST, or by watchers that others start there: join,
    /// join:HOST:PORT
    #[arg(long, value_name = "WHERE", help_heading = "Watch")]
    watch_on: Option<String>,
    /// How many watchers of join there are [default: 1]
    #[arg(long, value_name = "COUNT", help_heading = "Watch")]
    watchers: Option<String>,
}

/// What does not take them knows them all the same, to say so in a sentence.
#[derive(Debug, Clone, Default, Args)]
pub struct NoFleetArgs {
    #[arg(long, value_name = "WHERE", hide = true)]
    on: Option<String>,
    #[arg(long, value_name = "COUNT", hide = true)]
    workers: Option<String>,
    #[arg(long, value_name = "WHERE", hide = true)]
    watch_on: Option<String>,
}

impl FleetArgs {
    /// Whether a fleet, or who watches elsewhere, was asked for.
    pub fn is_asked(&self) -> bool {
        self.on.is_some() || self.watch_on.is_some()
    }

    pub(super) fn set(&self, draft: &mut Draft) {
        set(draft, Key::FleetOn, "--on", &self.on);
        set(draft, Key::Workers, "--workers", &self.workers);
        set(draft, Key::RemoteBinary, "--remote-binary", &self.remote_binary);
        set(draft, Key::Wait, "--wait", &self.wait);
        set(draft, Key::WatchOn, "--watch-on", &self.watch_on);
        set(draft, Key::Watchers, "--watchers", &self.watchers);
    }
}

/// The fleet that a plan asks for. Where workers are let in, that is open from now on.
///
/// # Errors
/// If nobody can be let in there.
pub fn fleet_of(plan: &Plan) -> Result<Option<FleetAsked>, runner::Error> {
    let fleet = &plan.fleet;
    let (workers, most) = fleet.workers.unwrap_or((FleetPlan::WORKERS, FleetPlan::WORKERS));
    let Some(on) = &fleet.on else { return Ok(None) };
    Ok(Some(match on {
        FleetPlace::Here => FleetAsked::Here { workers, most },
        FleetPlace::Ssh(hosts) => {
            FleetAsked::Ssh { hosts: hosts.clone(), binary: fleet.remote_binary.clone() }
        }
        FleetPlace::Join(at) => {
            let entrance = Entrance::for_workers(at.as_deref(), &plan.target, fleet.waits())?;
            FleetAsked::Join { workers, most, entrance: Arc::new(entrance) }
        }
    }))
}

/// Who watches the target of a plan, if that is not for this process. Where watchers are let in, that is open from now on.
///
/// # Errors
/// As [`fleet_of`].
pub fn watchers_of(plan: &Plan) -> Result<Option<WatchersAsked>, runner::Error> {
    let fleet = &plan.fleet;
    Ok(match &fleet.watch_on {
        // Watched anyway.
        None | Some(FleetPlace::Here) => None,
        Some(FleetPlace::Join(at)) => {
            let entrance = Entrance::for_watchers(at.as_deref(), &plan.target, fleet.waits())?;
            let watchers = fleet.watchers.unwrap_or(1);
            Some(WatchersAsked::Join { watchers, entrance: Arc::new(entrance) })
        }
        Some(FleetPlace::Ssh(hosts)) => {
            Some(WatchersAsked::Ssh { hosts: hosts.clone(), binary: fleet.remote_binary.clone() })
        }
    })
}

impl NoFleetArgs {
    fn is_asked(&self) -> bool {
        self.on.is_some() || self.workers.is_some() || self.watch_on.is_some()
    }
}

/// Why what was asked for cannot be made by a fleet, if it was to be.
pub fn no_fleet(action: &Action) -> Option<&'static str> {
    let storm = "--on: processes are started by this process alone, on this machine; leave --on, --workers and --watch-on out";
    match action {
        Action::Find(find) => match &find.level {
            Some(Level::Connections(args)) if args.fleet.is_asked() => Some(
                "--on: connections are held by this process alone, which has as many loops as they need; leave --on, \
                 --workers and --watch-on out",
            ),
            Some(Level::Processes(args)) if args.fleet.is_asked() => Some(storm),
            _ => None,
        },
        Action::Run(run) if run.storm.is_asked() && run.fleet.is_asked() => Some(storm),
        Action::Try(args) if args.fleet.is_asked() => Some(
            "--on: an experiment makes its loads in this process, and watches from it; leave --on, --workers and --watch-on out",
        ),
        _ => None,
    }
}
