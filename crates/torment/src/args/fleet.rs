//! Who makes the load, if it is not this process alone.

use super::{Action, Level};
use clap::Args;
use cluster::{PodSite, PodsWanted};
use plan::{Arrivals, Error, GivenAt, Load, Plan, Task};
use runner::{Entrance, FleetAsked, WORKERS_MOST};
use std::sync::Arc;
use units::{Nanos, ParseError, Rate};

/// How many make it, if nothing is said.
const WORKERS: u32 = 2;
/// Drawing one takes 15 ns: with more than this it takes a loop more than a thirtieth of its time.
const RANDOM_MOST: Rate = Rate(2e6);
/// How long they are waited for, if nothing is said.
const WAIT: Nanos = Nanos::from_secs(120);

/// Beyond the time that a run is to take, and where nothing says how long that is.
const SPARE: Nanos = Nanos::from_secs(30 * 60);
const UNSAID: Nanos = Nanos::from_secs(6 * 3600);

/// Where the load is made.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Fleet")]
pub struct FleetArgs {
    /// Make the load from several processes: `here`, on this machine, or one on each of some hosts: ssh:HOST,USER@HOST,
    /// or such as are started by others: join, join:HOST:PORT; or pods, by your own kubectl: k8s, k8s:CONTEXT/NAMESPACE
    #[arg(long, value_name = "WHERE", value_parser = place)]
    on: Option<Place>,
    /// How many processes make it, on this machine, by join or as pods [default: 2]
    #[arg(long, value_name = "COUNT", requires = "on", value_parser = clap::value_parser!(u32).range(1..=i64::from(WORKERS_MOST)))]
    workers: Option<u32>,
    /// Where torment is on the hosts of ssh [default: on their path; if it is not, it is copied for the run]
    #[arg(long, value_name = "PATH", requires = "on", value_parser = remote_path)]
    remote_binary: Option<String>,
    /// How long workers of join, or pods, are waited for [default: 2min]
    #[arg(long, value_name = "TIME", requires = "on")]
    wait: Option<String>,
    #[command(flatten)]
    pods: PodArgs,
}

/// What is said of pods.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Fleet")]
struct PodArgs {
    /// Where pods reach this machine [default: the address from which the way to the cluster's server begins]
    #[arg(long, value_name = "HOST:PORT", requires = "on")]
    reach: Option<String>,
    /// What pods run [default: torment:VERSION, as torment image makes it]
    #[arg(long, value_name = "NAME", requires = "on")]
    image: Option<String>,
    /// The service that is the target, as NAMESPACE/NAME, if the URL does not name it: workers stay away from its pods
    #[arg(long, value_name = "NAME", requires = "on", value_parser = service)]
    target_service: Option<(String, String)>,
    /// Let workers be on the nodes of the target
    #[arg(long, requires = "on")]
    beside_target: bool,
    /// Print what would be made in the cluster, and make nothing
    #[arg(long, requires = "on")]
    print_manifests: bool,
}

/// What `doctor` is told of a cluster.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Fleet")]
pub struct DoctorFleetArgs {
    /// Ask a cluster instead, by your own kubectl: k8s, k8s:CONTEXT/NAMESPACE
    #[arg(long, value_name = "WHERE", value_parser = cluster_place)]
    on: Option<Place>,
    /// Also start two workers there for ten seconds, against nothing: the image, the way here, the clocks
    #[arg(long = "try", requires = "on")]
    tries: bool,
    /// Where pods reach this machine [default: the address from which the way to the cluster's server begins]
    #[arg(long, value_name = "HOST:PORT", requires = "tries")]
    reach: Option<String>,
    /// What pods run [default: torment:VERSION, as torment image makes it]
    #[arg(long, value_name = "NAME", requires = "on")]
    image: Option<String>,
}

impl DoctorFleetArgs {
    /// The same as for a run; and whether workers are to be tried.
    pub(super) fn fleet(&self) -> Option<(FleetArgs, bool)> {
        let Self { on, tries, reach, image } = self.clone();
        let pods = PodArgs { reach, image, ..PodArgs::default() };
        on.is_some().then_some((FleetArgs { on, pods, ..FleetArgs::default() }, tries))
    }
}

fn cluster_place(text: &str) -> Result<Place, String> {
    let asked = place(text).ok().filter(|place| matches!(place, Place::Pods(_)));
    asked.ok_or_else(|| "expected k8s, or k8s:CONTEXT/NAMESPACE".to_owned())
}

fn service(text: &str) -> Result<(String, String), String> {
    let is_name = |part: &str| {
        !part.is_empty()
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
            && !part.starts_with('-')
    };
    let parts = text.split_once('/').filter(|(namespace, name)| is_name(namespace) && is_name(name));
    let (namespace, name) = parts.ok_or("expected NAMESPACE/NAME, as in shop/clinic")?;
    Ok((namespace.to_owned(), name.to_owned()))
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
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Here,
    Ssh(Vec<String>),
    /// Where they come in, if that is said.
    Join(Option<String>),
    /// A context and a namespace, as far as they are said.
    Pods(Option<String>),
}

const EXPECTED: &str = "expected here, for processes on this machine, ssh:HOST,USER@HOST, join, join:HOST:PORT, k8s, or k8s:CONTEXT/NAMESPACE";

fn place(text: &str) -> Result<Place, String> {
    match text.split_once(':') {
        None if text == "here" => Ok(Place::Here),
        None if text == "join" => Ok(Place::Join(None)),
        None if text == "k8s" => Ok(Place::Pods(None)),
        Some(("k8s", place)) if !place.is_empty() => Ok(Place::Pods(Some(place.to_owned()))),
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
        _ => Err(EXPECTED.to_owned()),
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
    /// Whether a fleet was asked for.
    pub fn is_asked(&self) -> bool {
        self.on.is_some()
    }

    /// The fleet that was asked for, to carry this plan out. Where workers are let in, that is open from now on.
    ///
    /// # Errors
    /// If what was said of it does not go together, or nobody can be let in.
    pub fn asked(&self, plan: &Plan) -> anyhow::Result<Option<FleetAsked>> {
        let Self { on, workers, remote_binary, wait, pods } = self;
        let Some(on) = on else { return Ok(None) };
        let said = |option, is_said, message: &str| match is_said {
            true => Err(Error { place: Some(GivenAt::Option(option)), message: message.to_owned() }),
            false => Ok(()),
        };
        said(
            "--on",
            at_random(plan) > RANDOM_MOST,
            "a fleet makes at most 2,000,000 arrivals a second at random: each of its loops draws all of them; ask for \
             fewer, or for --arrivals even",
        )?;
        if !matches!(on, Place::Ssh(_)) {
            said("--remote-binary", remote_binary.is_some(), "it is for the hosts of ssh: leave it out")?;
        }
        if !matches!(on, Place::Join(_) | Place::Pods(_)) {
            said("--wait", wait.is_some(), "only workers of join, and pods, are waited for: leave it out")?;
        }
        if !matches!(on, Place::Pods(_)) {
            let only = "it is for pods (--on k8s): leave it out";
            said("--reach", pods.reach.is_some(), only)?;
            said("--image", pods.image.is_some(), only)?;
            said("--target-service", pods.target_service.is_some(), only)?;
            said("--beside-target", pods.beside_target, only)?;
            said("--print-manifests", pods.print_manifests, only)?;
        }
        let count = workers.unwrap_or(WORKERS);
        Ok(Some(match on {
            Place::Here => FleetAsked::Here { workers: count },
            Place::Ssh(hosts) => {
                said("--workers", workers.is_some(), "each host of ssh has one: name a host twice for two")?;
                FleetAsked::Ssh { hosts: hosts.clone(), binary: remote_binary.clone() }
            }
            Place::Join(at) => {
                let entrance = Arc::new(Entrance::open(at.as_deref(), &plan.target, self.waits()?)?);
                FleetAsked::Join { workers: count, entrance }
            }
            Place::Pods(place) => {
                let site = Arc::new(pods.site(place.as_deref())?);
                let entrance = Entrance::of_cluster(pods.reach.as_deref(), site.server(), self.waits()?)?;
                let deadline = deadline(plan);
                FleetAsked::Pods { workers: count, entrance: Arc::new(entrance), site, deadline }
            }
        }))
    }

    fn waits(&self) -> Result<Nanos, Error> {
        self.wait.as_deref().map_or(Ok(WAIT), str::parse).map_err(|why: ParseError| Error {
            place: Some(GivenAt::Option("--wait")),
            message: why.to_string(),
        })
    }

    /// The place in a cluster, if that is where the load is to be made.
    ///
    /// # Errors
    /// If kubectl does not know it.
    pub fn site(&self) -> Result<Option<PodSite>, cluster::Error> {
        match &self.on {
            Some(Place::Pods(place)) => self.pods.site(place.as_deref()).map(Some),
            _ => Ok(None),
        }
    }

    /// What a run of this plan would make in a cluster, if only that was asked for.
    ///
    /// # Errors
    /// As [`FleetArgs::asked`].
    pub fn manifests(&self, plan: &Plan) -> anyhow::Result<Option<String>> {
        let Some(site) = self.site()?.filter(|_| self.pods.print_manifests) else { return Ok(None) };
        let seconds = deadline(plan).0 / Nanos::from_secs(1).0;
        Ok(Some(site.manifests(self.workers.unwrap_or(WORKERS), seconds)))
    }
}

impl PodArgs {
    fn site(&self, place: Option<&str>) -> Result<PodSite, cluster::Error> {
        let wanted = PodsWanted {
            place: place.map(str::to_owned),
            image: self.image.clone(),
            beside_target: self.beside_target,
            target_service: self.target_service.clone(),
        };
        PodSite::find(wanted, env!("CARGO_PKG_VERSION"))
    }
}

/// After which a run of this plan is over, whatever happens.
fn deadline(plan: &Plan) -> Nanos {
    match &plan.task {
        Task::Find(find) => find.budget.map_or(UNSAID, |budget| budget + SPARE),
        Task::Run(Load::Open { stages, .. }) => {
            Nanos(stages.iter().map(|stage| stage.duration.0).sum::<u64>()) + SPARE
        }
        Task::Run(Load::Closed { .. }) | Task::Try(_) => UNSAID,
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
        Action::Run(run) if run.storm.is_asked() && run.fleet.is_asked() => Some(storm),
        Action::Try(args) if args.fleet.is_asked() => {
            Some("--on: an experiment makes its loads in this process; leave --on and --workers out")
        }
        _ => None,
    }
}
