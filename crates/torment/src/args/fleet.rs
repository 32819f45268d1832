//! Who makes the load, if it is not this process alone.

use super::{Action, Level};
use clap::Args;
use runner::{FleetAsked, WORKERS_MOST};

/// How many make it, if nothing is said.
const WORKERS: u32 = 2;

/// Where the load is made.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Fleet")]
pub struct FleetArgs {
    /// Make the load from several processes: here, on this machine
    #[arg(long, value_name = "WHERE", value_parser = place)]
    on: Option<Place>,
    /// How many processes make it [default: 2]
    #[arg(long, value_name = "COUNT", requires = "on", value_parser = clap::value_parser!(u32).range(1..=i64::from(WORKERS_MOST)))]
    workers: Option<u32>,
}

/// What does not take them knows them all the same, to say so in a sentence.
#[derive(Debug, Clone, Default, Args)]
pub struct NoFleetArgs {
    #[arg(long, value_name = "WHERE", hide = true)]
    on: Option<String>,
    #[arg(long, value_name = "COUNT", hide = true)]
    workers: Option<String>,
}

/// Where workers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Here,
}

fn place(text: &str) -> Result<Place, String> {
    let scheme = text.split(':').next().unwrap_or_default();
    match scheme {
        "here" if text == "here" => Ok(Place::Here),
        "ssh" | "join" | "k8s" => {
            Err("workers on other machines are still to come; expected here: processes on this machine"
                .to_owned())
        }
        _ => Err("expected here: processes on this machine".to_owned()),
    }
}

impl FleetArgs {
    /// The fleet that was asked for.
    pub fn asked(&self) -> Option<FleetAsked> {
        self.on.map(|Place::Here| FleetAsked { workers: self.workers.unwrap_or(WORKERS) })
    }
}

impl NoFleetArgs {
    fn is_asked(&self) -> bool {
        self.on.is_some() || self.workers.is_some()
    }
}

/// Why what was asked for cannot be made by a fleet, if it was to be.
pub fn no_fleet(action: &Action) -> Option<&'static str> {
    let storm =
        "--on: processes are started by this process alone, on this machine; leave --on and --workers out";
    match action {
        Action::Find(find) => match &find.level {
            Some(Level::Connections(args)) if args.fleet.is_asked() => Some(
                "--on: connections are held by this process alone, which has as many loops as they need; leave --on \
                 and --workers out",
            ),
            Some(Level::Processes(args)) if args.fleet.is_asked() => Some(storm),
            _ => None,
        },
        Action::Run(run) if run.storm.is_asked() && run.fleet.asked().is_some() => Some(storm),
        Action::Try(args) if args.fleet.is_asked() => {
            Some("--on: an experiment makes its loads in this process; leave --on and --workers out")
        }
        _ => None,
    }
}
