//! Who makes the load and who watches the target, if it is not this process alone.

use super::request::{option_error, set};
use super::{Action, OtherLimit};
use clap::Args;
use cluster::{PodOptions, PodSite};
use plan::{Draft, FleetPlace, FleetPlan, Key, Load, Plan, Task};
use runner::{FleetConfig, FleetRole, JoinListener, JoinRoute, RemoteRunRequest, WatchersConfig};
use std::sync::Arc;
use units::Nanos;

/// Beyond the time that a run is to take, and where nothing says how long that is.
const SPARE: Nanos = Nanos::from_secs(30 * 60);
const UNSAID: Nanos = Nanos::from_secs(6 * 3600);

/// Where the load is made.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Fleet")]
pub struct WorkersArgs {
    /// Generate the load from several processes: `here`, on this machine; one on each host: ssh:HOST,USER@HOST;
    /// processes that others start: join, join:HOST:PORT; or pods, through your own kubectl: k8s, k8s:CONTEXT/NAMESPACE
    #[arg(long, value_name = "WHERE")]
    on: Option<String>,
    /// How many processes make it, on this machine, by join or as pods; 4..16: 4 at first, and more before they are the limit [default: 2]
    #[arg(long, value_name = "COUNT")]
    workers: Option<String>,
    /// How many processors each of them uses, one loop on each [default: as --cores says, or one]
    #[arg(long, value_name = "COUNT")]
    worker_cpus: Option<String>,
    /// Where torment is on the hosts of ssh [default: on their path; if it is not, it is copied for the run]
    #[arg(long, value_name = "PATH")]
    remote_binary: Option<String>,
    /// How long workers and watchers of join, or pods, are waited for [default: 2min]
    #[arg(long, value_name = "TIME")]
    wait: Option<String>,
}

/// The same, and where the target is watched.
#[derive(Debug, Clone, Default, Args)]
pub struct FleetArgs {
    #[command(flatten)]
    workers: WorkersArgs,
    /// What is said of pods.
    #[command(flatten)]
    pub pods: PodArgs,
    /// Watch the target from its own machines, instead of from this one: ssh:HOST,USER@HOST, by watchers that others start there: join,
    /// join:HOST:PORT, or, of a service in a cluster, by a pod on each of its nodes: k8s, k8s:CONTEXT/NAMESPACE, or in its own
    /// pods, where a container stays in the record of each: inside, inside:CONTEXT
    #[arg(long, value_name = "WHERE", help_heading = "Watch")]
    watch_on: Option<String>,
    /// How many watchers of join there are [default: 1]
    #[arg(long, value_name = "COUNT", help_heading = "Watch")]
    watchers: Option<String>,
}

/// What is said of pods.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Fleet")]
pub struct PodArgs {
    /// Where pods reach this machine [default: the address from which the way to the cluster's server begins]
    #[arg(long, value_name = "HOST:PORT")]
    pub(super) reach: Option<String>,
    /// What pods run [default: torment:VERSION, as torment image makes it]
    #[arg(long, value_name = "NAME")]
    pub(super) image: Option<String>,
    /// The service that is the target, as NAMESPACE/NAME, if the URL does not name it: workers stay away from its pods
    #[arg(long, value_name = "NAME", value_parser = service)]
    pub(super) target_service: Option<(String, String)>,
    /// Let workers be on the nodes of the target
    #[arg(long)]
    pub(super) beside_target: bool,
    /// Conduct the run in the cluster, too, near the workers: this process only follows it, and may disconnect
    #[arg(long, conflicts_with = "reach")]
    pub(super) conduct_there: bool,
    /// Print what would be created in the cluster, and create nothing
    #[arg(long)]
    pub(super) print_manifests: bool,
}

/// Takes only a place in a cluster.
pub(super) fn cluster_place(text: &str) -> Result<PodOptions, String> {
    let place = match text.split_once(':') {
        None if text == "k8s" => None,
        Some(("k8s", place)) if !place.is_empty() => Some(place.to_owned()),
        _ => return Err("expected k8s, or k8s:CONTEXT/NAMESPACE".to_owned()),
    };
    Ok(PodOptions { place, ..PodOptions::default() })
}

pub(super) fn service(text: &str) -> Result<(String, String), String> {
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
    #[arg(long, value_name = "WHERE", hide = true)]
    watch_on: Option<String>,
}

impl FleetArgs {
    /// Whether a fleet, or who watches elsewhere, was asked for.
    pub fn is_asked(&self) -> bool {
        self.workers.on.is_some() || self.watch_on.is_some()
    }

    pub(super) fn set(&self, draft: &mut Draft) {
        self.workers.set(draft);
        set(draft, Key::WatchOn, "--watch-on", &self.watch_on);
        set(draft, Key::Watchers, "--watchers", &self.watchers);
    }
}

impl WorkersArgs {
    pub(super) fn set(&self, draft: &mut Draft) {
        set(draft, Key::FleetOn, "--on", &self.on);
        set(draft, Key::Workers, "--workers", &self.workers);
        set(draft, Key::WorkerCpus, "--worker-cpus", &self.worker_cpus);
        set(draft, Key::RemoteBinary, "--remote-binary", &self.remote_binary);
        set(draft, Key::Wait, "--wait", &self.wait);
    }
}

impl PodArgs {
    /// A place in a cluster, as kubectl knows it.
    ///
    /// # Errors
    /// If it does not know it.
    pub fn site(&self, place: Option<&str>, worker_cpus: Option<u32>) -> Result<PodSite, cluster::Error> {
        let wanted = PodOptions {
            place: place.map(str::to_owned),
            image: self.image.clone(),
            worker_cpus,
            beside_target: self.beside_target,
            target_service: self.target_service.clone(),
        };
        PodSite::find(wanted, env!("CARGO_PKG_VERSION"))
    }

    /// Where pods that watch come in: at the host that was said, but not at the port if that is where those that make the load do.
    fn reach_of_watchers(&self, on: Option<&FleetPlace>) -> Option<String> {
        let reach = self.reach.as_ref()?;
        let is_taken = matches!(on, Some(FleetPlace::Pods(_)));
        let host = reach.rsplit_once(':').filter(|(host, _)| !host.contains(':') || host.ends_with(']'));
        Some(host.filter(|_| is_taken).map_or_else(|| reach.clone(), |(host, _)| host.to_owned()))
    }

    /// What was said although there are no pods.
    fn first_given(&self) -> Option<&'static str> {
        let said = [
            ("--reach", self.reach.is_some()),
            ("--image", self.image.is_some()),
            ("--target-service", self.target_service.is_some()),
            ("--beside-target", self.beside_target),
            ("--conduct-there", self.conduct_there),
            ("--print-manifests", self.print_manifests),
        ];
        said.into_iter().find(|(_, is_said)| *is_said).map(|(option, _)| option)
    }
}

/// The fleet that a plan asks for, with what was said of pods. Where workers are let in, that is open from now on.
///
/// # Errors
/// If nobody can be let in there, kubectl does not know the cluster, or what was said of pods is for nobody.
pub fn fleet_config(plan: &Plan, pods: &PodArgs) -> anyhow::Result<Option<FleetConfig>> {
    let fleet = &plan.fleet;
    let (workers, most) = workers(fleet);
    let is_of_pods =
        |place: &Option<FleetPlace>| matches!(place, Some(FleetPlace::Pods(_) | FleetPlace::Inside(_)));
    if let Some(option) =
        pods.first_given().filter(|_| !is_of_pods(&fleet.on) && !is_of_pods(&fleet.watch_on))
    {
        let message = "it is for pods (--on k8s, --watch-on k8s or inside): leave it out".to_owned();
        return Err(option_error(option, message).into());
    }
    if pods.print_manifests && !is_of_pods(&fleet.on) {
        let message = "it prints what makes the load: say --on k8s, too, or leave it out".to_owned();
        return Err(option_error("--print-manifests", message).into());
    }
    if pods.conduct_there {
        let message = "it is for find and run of requests, with --on k8s: leave it out".to_owned();
        return Err(option_error("--conduct-there", message).into());
    }
    let Some(on) = &fleet.on else { return Ok(None) };
    Ok(Some(match on {
        // Nobody works there: the plan takes it for watchers alone.
        FleetPlace::Inside(_) => return Ok(None),
        FleetPlace::Here => FleetConfig::Local { workers, most },
        FleetPlace::Ssh(hosts) => {
            FleetConfig::Ssh { hosts: hosts.clone(), binary: fleet.remote_binary.clone() }
        }
        FleetPlace::Join(at) => {
            let route = JoinRoute::Target(&plan.target);
            let listener = JoinListener::open(FleetRole::Worker, at.as_deref(), route, fleet.wait_time())?;
            FleetConfig::Join { workers, most, listener: Arc::new(listener) }
        }
        FleetPlace::Pods(place) => {
            let site = Arc::new(pods.site(place.as_deref(), fleet.worker_cpus)?);
            let (reach, route) = (pods.reach.as_deref(), JoinRoute::Cluster(site.server()));
            let listener = JoinListener::open(FleetRole::Worker, reach, route, fleet.wait_time())?;
            FleetConfig::Pods { workers, most, listener: Arc::new(listener), site, deadline: deadline(plan) }
        }
    }))
}

/// What a run of this plan would make in a cluster, if only that was asked for.
///
/// # Errors
/// If kubectl does not know the cluster.
pub fn render_manifests(plan: &Plan, pods: &PodArgs) -> Result<Option<String>, cluster::Error> {
    let (Some(FleetPlace::Pods(place)), true) = (&plan.fleet.on, pods.print_manifests) else {
        return Ok(None);
    };
    let (workers, _) = workers(&plan.fleet);
    let seconds = deadline(plan).0 / Nanos::from_secs(1).0;
    Ok(Some(pods.site(place.as_deref(), plan.fleet.worker_cpus)?.manifests(workers, seconds)))
}

/// The run that is to be conducted in a cluster, if that was asked for.
///
/// # Errors
/// If kubectl does not know the cluster, or what the plan wants is here alone.
pub fn remote_run_request(plan: &Plan, pods: &PodArgs) -> anyhow::Result<Option<RemoteRunRequest>> {
    let (Some(FleetPlace::Pods(place)), true) = (&plan.fleet.on, pods.conduct_there) else {
        return Ok(None);
    };
    let (workers, most) = workers(&plan.fleet);
    for (is_wanted, what) in [
        (workers < most, "more workers are asked for from here: say how many (--workers)"),
        (plan.fleet.watch_on.is_some(), "watchers come to this machine: leave --watch-on out"),
        (plan.setup.is_some(), "what a plan starts is on this machine"),
    ] {
        if is_wanted {
            let message = format!("a run that is conducted there needs nothing of this machine, but {what}");
            return Err(option_error("--conduct-there", message).into());
        }
    }
    Ok(Some(RemoteRunRequest {
        site: Arc::new(pods.site(place.as_deref(), plan.fleet.worker_cpus)?),
        id: cluster::new_id(),
        workers,
        wait: plan.fleet.wait_time(),
        deadline: deadline(plan),
    }))
}

/// How many processes make the load at first, and at most.
fn workers(fleet: &FleetPlan) -> (u32, u32) {
    fleet.workers.unwrap_or((FleetPlan::DEFAULT_WORKERS, FleetPlan::DEFAULT_WORKERS))
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

/// Who watches the target of a plan, if that is not for this process. Where watchers are let in, that is open from now on.
///
/// # Errors
/// As [`fleet_config`].
pub fn watchers_config(plan: &Plan, pods: &PodArgs) -> anyhow::Result<Option<WatchersConfig>> {
    let fleet = &plan.fleet;
    Ok(match &fleet.watch_on {
        // Watched anyway.
        None | Some(FleetPlace::Here) => None,
        Some(FleetPlace::Join(at)) => {
            let route = JoinRoute::Target(&plan.target);
            let listener = JoinListener::open(FleetRole::Watcher, at.as_deref(), route, fleet.wait_time())?;
            let watchers = fleet.watchers.unwrap_or(1);
            Some(WatchersConfig::Join { watchers, listener: Arc::new(listener) })
        }
        Some(FleetPlace::Ssh(hosts)) => {
            Some(WatchersConfig::Ssh { hosts: hosts.clone(), binary: fleet.remote_binary.clone() })
        }
        Some(on @ (FleetPlace::Pods(place) | FleetPlace::Inside(place))) => {
            let inside = matches!(on, FleetPlace::Inside(_));
            let site = Arc::new(pods.site(place.as_deref(), None)?);
            let pods_there = site.target_pods(plan.target.host().unwrap_or_default())?;
            // Where workers come in is one port, where watchers do another.
            let reach = pods.reach_of_watchers(fleet.on.as_ref());
            let route = JoinRoute::Cluster(site.server());
            let listener =
                JoinListener::open(FleetRole::Watcher, reach.as_deref(), route, fleet.wait_time())?;
            let (listener, deadline) = (Arc::new(listener), deadline(plan));
            Some(WatchersConfig::Pods { pods: pods_there, inside, listener, site, deadline })
        }
    })
}

impl NoFleetArgs {
    fn is_asked(&self) -> bool {
        self.on.is_some() || self.workers.is_some() || self.watch_on.is_some()
    }
}

/// Why what was asked for cannot be made by a fleet, if it was to be.
pub fn why_no_fleet(action: &Action) -> Option<&'static str> {
    let storm = "--on: processes are started by this process alone, on this machine; leave --on, --workers and --watch-on out";
    match action {
        Action::Find(find) => match &find.level {
            Some(OtherLimit::Processes(args)) if args.fleet.is_asked() => Some(storm),
            _ => None,
        },
        Action::Run(run) if run.storm.is_asked() && run.traffic.fleet.is_asked() => Some(storm),
        _ => None,
    }
}
