//! Hidden commands: torment executed anew to guard what it started, or to measure where nothing else runs. torment
//! starts them itself; nobody types them.

use crate::interrupt;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

/// What one of them does.
type HiddenCommand = fn() -> io::Result<()>;

/// Each with what it does.
const HIDDEN: [(&str, HiddenCommand); 9] = [
    // Starts and ends what a plan names, and outlives torment to clean up.
    ("guard", service::guard),
    // Makes its part of a load, as a coordinator tells it.
    ("worker", worker),
    // Says which build it is, to one on another machine that looks for its like.
    ("stamp", stamp),
    // Carries a run out for whoever follows it, as a pod of a cluster.
    ("coordinate", coordinate),
    // Removes what a run has in a cluster once that is over.
    ("sweeper", || cluster::run_cleanup(io::stdin())),
    // Watches a target, as a coordinator tells it.
    ("watcher", watcher),
    // Measures what the machine costs.
    ("prober", probe::run_prober),
    // Has the threads of `find threads`.
    ("crowd", tasks::run_crowd),
    // Reads the growing set of `find working-set`.
    ("reader", workingset::run_reader),
];

/// Where the secret of its pod stands.
const SEAT: &str = "/run/torment/seat";

fn coordinate() -> io::Result<()> {
    let (pass, asked) = (std::fs::read_to_string(SEAT)?, interrupt::stop_flag()?);
    let ports = (cluster::WORKERS_PORT, cluster::OWNER_PORT);
    runner::coordinate(&pass, ports, env!("CARGO_PKG_VERSION"), &asked).map_err(io::Error::other)
}

fn worker() -> io::Result<()> {
    let (from, to) = ends()?;
    runner::work_over_pipes(from, to, &interrupt::stop_flag()?)
}

fn stamp() -> io::Result<()> {
    writeln!(io::stdout(), "{}", runner::version_and_build())
}

fn watcher() -> io::Result<()> {
    let (from, to) = ends()?;
    runner::watch_over_pipes(from, to, &interrupt::stop_flag()?)
}

/// The line to a coordinator.
fn ends() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok((io::stdin().as_fd().try_clone_to_owned()?, io::stdout().as_fd().try_clone_to_owned()?))
}

/// Before anything else of torment is set up: they must have one thread only, and no other reader of their arguments.
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
            // Two of them are what people mean who have a file of a run.
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
