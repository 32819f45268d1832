//! Hidden commands: torment re-executed to guard what it started, or to measure where nothing else runs. Started by
//! torment itself, never typed.

use crate::interrupt;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

type HiddenCommand = fn() -> io::Result<()>;

const HIDDEN: [(&str, HiddenCommand); 9] = [
    // Starts and ends a plan's programs, and outlives torment to clean up.
    ("guard", service::guard),
    // Makes its part of a load for a coordinator.
    ("worker", || runner::work_over_pipes(pipes()?, &interrupt::stop_flag()?)),
    // Prints its build stamp, for a remote torment that looks for the same build.
    ("stamp", || writeln!(io::stdout(), "{}", runner::version_and_build())),
    // Conducts a run for its owner, as a pod of a cluster.
    ("coordinate", coordinate),
    // Removes a run's objects from a cluster once it is over.
    ("sweeper", || cluster::run_cleanup(io::stdin())),
    // Watches a target for a coordinator.
    ("watcher", || runner::watch_over_pipes(pipes()?, &interrupt::stop_flag()?)),
    // Measures the machine's costs.
    ("prober", probe::run_prober),
    // Holds the threads of `find threads`.
    ("crowd", tasks::run_crowd),
    // Reads the growing set of `find working-set`.
    ("reader", workingset::run_reader),
];

/// Where its pod's secret is mounted.
const COORDINATOR_SECRET: &str = "/run/torment/seat";

fn coordinate() -> io::Result<()> {
    let (credentials, stop) = (std::fs::read_to_string(COORDINATOR_SECRET)?, interrupt::stop_flag()?);
    let ports = (cluster::WORKERS_PORT, cluster::OWNER_PORT);
    runner::coordinate(&credentials, ports, &stop).map_err(io::Error::other)
}

/// Standard input and output.
fn pipes() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok((io::stdin().as_fd().try_clone_to_owned()?, io::stdout().as_fd().try_clone_to_owned()?))
}

/// Must come before anything else of torment is set up: they need a single thread and their own argument parsing.
pub fn run_hidden() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let word = arguments.next()?;
    let (name, command) = HIDDEN.iter().find(|(name, _)| word == *name)?;
    if arguments.next().is_some() {
        return None;
    }
    Some(match command() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // For two of them, a user with a join file means the public command.
            let by_hand = match *name {
                "worker" => ": by hand it is torment worker --join FILE",
                "watcher" => ": by hand it is torment watch --join FILE",
                _ => ", not by hand",
            };
            eprintln!("torment {name}: {why}; it is started by torment itself{by_hand}");
            ExitCode::FAILURE
        }
    })
}
