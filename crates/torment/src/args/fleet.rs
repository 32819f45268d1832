//! Who makes the load and who watches the target, if it is not this process alone.

use super::{Action, Level};
use clap::Args;
use plan::{Arrivals, Error, GivenAt, Load, Plan, Target, Task};
use runner::{Entrance, FleetAsked, WATCHERS_MOST, WORKERS_MOST, WatchersAsked};
use std::sync::Arc;
use units::{Nanos, ParseError, Rate};

/// How many make it, if nothing is said.
const WORKERS: u32 = 2;
/// Drawing one takes 15 ns: with more than this it takes a loop more than a thirtieth of its time.
const RANDOM_MOST: Rate = Rate(2e6);
/// How long they are waited for, if nothing is said.
const WAIT: Nanos = Nanos::from_secs(120);

/// Where the load is made.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Fleet")]
pub struct FleetArgs {
    /// Make the load from several processes: `here`, on this machine, or one on each of some hosts: ssh:HOST,USER@HOST,
    /// or such as are started by others: join, join:HOST:PORT
    #[arg(long, value_name = "WHERE", value_parser = place)]
    on: Option<Place>,
    /// How many processes make it, on this machine or by join; 4..16: 4 at first, and more before they are the limit [default: 2]
    #[arg(long, value_name = "COUNT", requires = "on", value_parser = head_count)]
    workers: Option<HeadCount>,
    /// Where torment is on the hosts of ssh [default: on their path; if it is not, it is copied for the run]
    #[arg(long, value_name = "PATH", value_parser = remote_path)]
    remote_binary: Option<String>,
    /// How long workers and watchers of join are waited for [default: 2min]
    #[arg(long, value_name = "TIME")]
    wait: Option<String>,
    /// Watch the target from its own machines, instead of from this one: ssh:HOST,USER@HOST, or by watchers that others start there: join,
    /// join:HOST:PORT
    #[arg(long, value_name = "WHERE", value_parser = watch_place, help_heading = "Watch")]
    watch_on: Option<Place>,
    /// How many watchers of join there are [default: 1]
    #[arg(long, value_name = "COUNT", requires = "watch_on", help_heading = "Watch", value_parser = clap::value_parser!(u32).range(1..=i64::from(WATCHERS_MOST)))]
    watchers: Option<u32>,
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

/// At the beginning, and at the most.
type HeadCount = (u32, u32);

fn head_count(text: &str) -> Result<HeadCount, String> {
    let count = |text: &str| text.trim().parse().ok().filter(|count| (1..=WORKERS_MOST).contains(count));
    let counts = match text.split_once("..") {
        None => count(text).map(|count| (count, count)),
        Some((least, most)) => count(least).zip(count(most)),
    };
    counts.filter(|(least, most)| least <= most).ok_or_else(|| {
        format!("expected how many, from 1 to {WORKERS_MOST}, or from how many to how many, such as 4..16")
    })
}

/// Where workers or watchers are.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Here,
    Ssh(Vec<String>),
    /// Where they come in, if that is said.
    Join(Option<String>),
}

const EXPECTED: &str =
    "expected here, for processes on this machine, ssh:HOST,USER@HOST, join, or join:HOST:PORT";

fn place(text: &str) -> Result<Place, String> {
    match text.split_once(':') {
        None if text == "here" => Ok(Place::Here),
        None if text == "join" => Ok(Place::Join(None)),
        Some(("join", at)) if !at.is_empty() => Ok(Place::Join(Some(at.to_owned()))),
        Some(("ssh", hosts)) => {
            let hosts: Vec<String> = hosts.split(',').map(|host| host.trim().to_owned()).collect();
            if let Some(host) = hosts.iter().find(|host| !is_host(host)) {
                return Err(format!(
                    "'{host}' is no host; expected names such as node2 or me@10.0.0.5, ports and keys in ~/.ssh/config"
                ));
            }
            if hosts.len() > WORKERS_MOST as usize {
                return Err(format!("expected at most {WORKERS_MOST} hosts"));
            }
            Ok(Place::Ssh(hosts))
        }
        _ if text.split(':').next() == Some("k8s") => Err(format!("this is still to come; {EXPECTED}")),
        _ => Err(EXPECTED.to_owned()),
    }
}

fn watch_place(text: &str) -> Result<Place, String> {
    let expected = "expected ssh:HOST,USER@HOST, join, or join:HOST:PORT";
    match place(text) {
        Ok(Place::Here) => Err(format!("this machine is watched anyway, where nobody else is; {expected}")),
        Ok(Place::Ssh(hosts)) => {
            let name = |host: &str| host.rsplit_once('@').map_or(host, |(_, host)| host).to_owned();
            let names: std::collections::BTreeSet<String> = hosts.iter().map(|host| name(host)).collect();
            if names.len() < hosts.len() {
                return Err("each machine is watched once: name each host once".to_owned());
            }
            if hosts.len() > WATCHERS_MOST as usize {
                return Err(format!("expected at most {WATCHERS_MOST} hosts"));
            }
            Ok(Place::Ssh(hosts))
        }
        Ok(join) => Ok(join),
        Err(_) if text.split(':').next() == Some("k8s") => Err(format!("this is still to come; {expected}")),
        Err(why) if why == EXPECTED => Err(expected.to_owned()),
        Err(why) => Err(why),
    }
}

/// Whether ssh takes it for a host, and for nothing else.
fn is_host(text: &str) -> bool {
    let inner = |c: char| c.is_alphanumeric() || "._-@:[]%".contains(c);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(inner)
}

/// It goes through a shell.
fn remote_path(text: &str) -> Result<String, String> {
    let inner = |c: char| c.is_alphanumeric() || "/._-+@~".contains(c);
    if text.is_empty() || text.starts_with('-') || !text.chars().all(inner) {
        return Err("expected a path of letters, digits, and / . _ - + @ ~".to_owned());
    }
    Ok(text.to_owned())
}

impl FleetArgs {
    /// Whether a fleet, or who watches elsewhere, was asked for.
    pub fn is_asked(&self) -> bool {
        self.on.is_some() || self.watch_on.is_some()
    }

    /// The fleet that was asked for, to carry this plan out. Where workers are let in, that is open from now on.
    ///
    /// # Errors
    /// If what was said of it does not go together, or nobody can be let in.
    pub fn asked(&self, plan: &Plan) -> anyhow::Result<Option<FleetAsked>> {
        let Self { on, workers, remote_binary, watch_on, .. } = self;
        let is_of = |is: fn(&Place) -> bool| on.iter().chain(watch_on).any(is);
        if !is_of(|place| matches!(place, Place::Ssh(_))) {
            said("--remote-binary", remote_binary.is_some(), "it is for the hosts of ssh: leave it out")?;
        }
        if !is_of(|place| matches!(place, Place::Join(_))) {
            said("--wait", self.wait.is_some(), "only those of join are waited for: leave it out")?;
        }
        let Some(on) = on else { return Ok(None) };
        said(
            "--on",
            at_random(plan) > RANDOM_MOST,
            "a fleet makes at most 2,000,000 arrivals a second at random: each of its loops draws all of them; ask for \
             fewer, or for --arrivals even",
        )?;
        let (least, most) = workers.unwrap_or((WORKERS, WORKERS));
        Ok(Some(match on {
            Place::Here => FleetAsked::Here { workers: least, most },
            Place::Ssh(hosts) => {
                said("--workers", workers.is_some(), "each host of ssh has one: name a host twice for two")?;
                FleetAsked::Ssh { hosts: hosts.clone(), binary: remote_binary.clone() }
            }
            Place::Join(at) => {
                let entrance = Entrance::for_workers(at.as_deref(), &plan.target, self.waits()?)?;
                FleetAsked::Join { workers: least, most, entrance: Arc::new(entrance) }
            }
        }))
    }

    /// Who watches the target of this plan, if that is not for this process. Where watchers are let in, that is open from now on.
    ///
    /// # Errors
    /// As [`FleetArgs::asked`].
    pub fn watchers(&self, plan: &Plan) -> anyhow::Result<Option<WatchersAsked>> {
        let Some(on) = &self.watch_on else { return Ok(None) };
        let watched = "nothing is watched, as was asked for: leave --watch-on or that out";
        said("--watch-on", !plan.watch.on, watched)?;
        said(
            "--watch-on",
            plan.target == Target::Null,
            "null is no target that could be watched: leave it out",
        )?;
        Ok(Some(match on {
            Place::Join(at) => {
                let entrance = Entrance::for_watchers(at.as_deref(), &plan.target, self.waits()?)?;
                WatchersAsked::Join { watchers: self.watchers.unwrap_or(1), entrance: Arc::new(entrance) }
            }
            Place::Ssh(hosts) => {
                said("--watchers", self.watchers.is_some(), "each host of ssh has one: leave it out")?;
                WatchersAsked::Ssh { hosts: hosts.clone(), binary: self.remote_binary.clone() }
            }
            // It is refused where it is read.
            Place::Here => return Ok(None),
        }))
    }

    fn waits(&self) -> Result<Nanos, Error> {
        self.wait.as_deref().map_or(Ok(WAIT), str::parse).map_err(|why: ParseError| Error {
            place: Some(GivenAt::Option("--wait")),
            message: why.to_string(),
        })
    }
}

/// What was said of an option that does not go with the others.
fn said(option: &'static str, is_said: bool, message: &str) -> Result<(), Error> {
    match is_said {
        true => Err(Error { place: Some(GivenAt::Option(option)), message: message.to_owned() }),
        false => Ok(()),
    }
}

/// The highest rate at which a plan has arrivals at random.
fn at_random(plan: &Plan) -> Rate {
    match &plan.task {
        Task::Find(find) if find.arrivals == Arrivals::Poisson => find.max,
        Task::Run(Load::Open { stages, arrivals: Arrivals::Poisson }) => {
            Rate(stages.iter().map(|stage| stage.from.0.max(stage.to.0)).fold(0.0, f64::max))
        }
        _ => Rate::ZERO,
    }
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
