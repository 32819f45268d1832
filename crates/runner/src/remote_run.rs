//! Follows a run conducted elsewhere, near the workers: its events are passed on as if they happened here.

use crate::{Error, RunExit, Sink, StopFlag, exit, id};
use cluster::{PodSite, PortForward, RunPods};
use fleet::{FleetRole, Hello, Instruction, MemberReport, OwnerRequest, OwnerUpdate, RunOrder};
use link::{Authority, JoinFile, MemberLink};
use plan::{Plan, PortablePlan, Target};
use record::{Event, MachineCosts, RunId};
use std::sync::Arc;
use std::time::{Duration, Instant};
use units::Nanos;

/// How often to check for a stop.
const STOP_POLL: Duration = Duration::from_millis(100);
/// Interval between reconnects to the coordinator: the cluster may be unreachable for a while, as when a laptop sleeps.
const RECONNECT_INTERVAL: Duration = Duration::from_secs(2);
/// When to give up reconnecting; the run goes on regardless.
const RECONNECT_LIMIT: Duration = Duration::from_secs(600);
/// Longest wait for the run to end after it was asked to.
const END_LIMIT: Duration = Duration::from_secs(60);
/// Events per acknowledgement.
const EVENTS_PER_ACKNOWLEDGEMENT: u64 = 16;

/// A run carried out by pods of a cluster, from plan to last event.
#[derive(Debug, Clone)]
pub struct RemoteRunRequest {
    /// Where.
    pub site: Arc<PodSite>,
    /// ID of the run's objects, by which [`attach`] finds it.
    pub id: String,
    /// At least 1.
    pub workers: u32,
    /// How long to wait for them.
    pub wait: Nanos,
    /// Time limit of the pods, whatever happens.
    pub deadline: Nanos,
}

/// Join files of one run: for the cluster, and for the owner.
fn make_join_files(
    request: &RemoteRunRequest,
) -> Result<impl Fn(&str) -> Result<cluster::JoinFiles, String> + use<>, link::Error> {
    // As long as the run may last and its result is kept.
    let authority = Authority::new(request.deadline.to_duration() + Duration::from_secs(2 * 3600))?;
    Ok(move |service: &str| {
        let file = |role: FleetRole, at: String| {
            let credentials = authority.issue(role).map_err(|why| why.to_string())?;
            Ok::<_, String>(JoinFile { address: at, credentials }.to_text())
        };
        Ok(cluster::JoinFiles {
            coordinator: file(FleetRole::Coordinator, String::new())?,
            worker: file(FleetRole::Worker, format!("{service}:{}", cluster::WORKERS_PORT))?,
            owner: file(FleetRole::Owner, String::new())?,
        })
    })
}

/// Has a cluster conduct the run, and passes its events on as if it ran here.
pub fn conduct_remotely(
    plan: &Plan,
    request: &RemoteRunRequest,
    costs: Option<&MachineCosts>,
    sink: &mut dyn Sink,
    stop: &StopFlag,
) -> RunExit {
    let order = RunOrder {
        parcel: PortablePlan::new(plan, None),
        workers: request.workers,
        waits: request.wait,
        costs: costs.and_then(|costs| serde_json::to_string(costs).ok()),
    };
    follow(RemoteRun::begin(plan, request), Some(order), sink, stop)
}

/// Follows a run in a cluster from its first event.
pub fn attach(site: &PodSite, id: &str, sink: &mut dyn Sink, stop: &StopFlag) -> RunExit {
    let found = site.find_run(id).map_err(Error::from);
    follow(found.and_then(|(pods, owner)| RemoteRun::new(pods, &owner)), None, sink, stop)
}

/// Follows a run, and removes its pods once all of it is known.
fn follow(
    remote_run: Result<RemoteRun, Error>,
    order: Option<RunOrder>,
    sink: &mut dyn Sink,
    stop: &StopFlag,
) -> RunExit {
    let mut remote_run = match remote_run {
        Ok(remote_run) => remote_run,
        Err(error) => return RunExit { id: id::new_id(), exit_code: exit::ERROR, error: Some(error) },
    };
    let outcome = remote_run.follow(order, sink, stop);
    if remote_run.is_over {
        remote_run.pods.remove();
    }
    outcome
}

/// The remote run, as far as it is known here.
struct RemoteRun {
    pods: RunPods,
    /// The owner's join file, with the current address.
    file: JoinFile,
    /// Connection to the coordinator, while it holds.
    connection: Option<(PortForward, MemberLink)>,
    /// Number of the next event.
    next: u64,
    id: RunId,
    /// A load has begun.
    has_loaded: bool,
    /// The last event was received.
    is_over: bool,
}

impl RemoteRun {
    fn begin(plan: &Plan, request: &RemoteRunRequest) -> Result<Self, Error> {
        if plan.target == Target::Demo {
            return Err(crate::fleet::local_address_error("demo"));
        }
        if let Ok(job) = crate::preflight::engine_config(plan, &plan.target)
            && job.endpoint.is_local()
            && plan.target != Target::Null
        {
            return Err(crate::fleet::local_address_error(&job.endpoint.describe()));
        }
        if engine::ca_certificates(&plan.target)?.is_some() {
            let message = "SSL_CERT_FILE names authorities that a run conducted there is not told of: leave --conduct-there out";
            return Err(Error::Fleet(message.to_owned()));
        }
        let join_files = make_join_files(request)?;
        let host = plan.target.host().unwrap_or_default();
        let seconds = request.deadline.0 / Nanos::from_secs(1).0;
        let RemoteRunRequest { site, id, workers, .. } = request;
        let (pods, owner) = site.start_with_coordinator(id, *workers, &join_files, host, seconds)?;
        Self::new(pods, &owner)
    }

    fn new(pods: RunPods, owner: &str) -> Result<Self, Error> {
        let file: JoinFile = owner.parse()?;
        Ok(Self {
            pods,
            file,
            connection: None,
            next: 0,
            id: id::new_id(),
            has_loaded: false,
            is_over: false,
        })
    }

    /// Follows the run to its end. When stopped, it ends the run, and follows that, too.
    fn follow(&mut self, mut order: Option<RunOrder>, sink: &mut dyn Sink, stop: &StopFlag) -> RunExit {
        let (mut asked_to_end, mut unreached) = (None::<Instant>, Instant::now());
        loop {
            if stop.is_requested() && asked_to_end.is_none() {
                if order.is_some() {
                    // No load was made; everything is removed.
                    self.is_over = true;
                    return RunExit { id: self.id.clone(), exit_code: exit::INTERRUPTED, error: None };
                }
                asked_to_end = Some(Instant::now());
                self.send(OwnerRequest::End);
            }
            if asked_to_end.is_some_and(|asked| asked.elapsed() > END_LIMIT) {
                self.is_over = true;
                return self.lost_outcome("it did not end when it was asked to; it is removed");
            }
            if self.connection.is_none() {
                if let Some(why) = self.obstacle(order.is_some()) {
                    self.is_over = true;
                    return self.lost_outcome(&why);
                }
                match self.connect() {
                    Ok(()) => {
                        unreached = Instant::now();
                        self.send(match &order {
                            Some(begin) => OwnerRequest::Begin(Box::new(begin.clone())),
                            None => OwnerRequest::From(self.next),
                        });
                        if asked_to_end.is_some() {
                            self.send(OwnerRequest::End);
                        }
                    }
                    Err(why) if unreached.elapsed() > RECONNECT_LIMIT => return self.lost_outcome(&why),
                    Err(_) => std::thread::sleep(RECONNECT_INTERVAL),
                }
                continue;
            }
            if let Some(why) = self.obstacle(true).filter(|_| !self.has_loaded) {
                self.is_over = true;
                return self.lost_outcome(&why);
            }
            match self.next_update() {
                Some(OwnerUpdate::Event { number, event }) if number == self.next => {
                    self.next += 1;
                    order = None;
                    // It has begun, and goes on without us.
                    self.pods.detach();
                    if let Ok(event) = serde_json::from_str::<Event>(&event) {
                        sink.event(&self.enrich(event));
                    }
                    if self.next.is_multiple_of(EVENTS_PER_ACKNOWLEDGEMENT) {
                        self.send(OwnerRequest::From(self.next));
                    }
                }
                Some(OwnerUpdate::Over { events, exit_code, error }) if events == self.next => {
                    self.send(OwnerRequest::Thanks);
                    self.is_over = true;
                    let why = |error: String| match self.pods.describe_waiting().filter(|_| !self.has_loaded)
                    {
                        Some(why) => Error::Fleet(format!("{error}: {why}")),
                        None => Error::Fleet(error),
                    };
                    return RunExit { id: self.id.clone(), exit_code, error: error.map(why) };
                }
                Some(OwnerUpdate::Over { .. } | OwnerUpdate::Event { .. }) => {
                    self.send(OwnerRequest::From(self.next))
                }
                None => {}
            }
        }
    }

    /// An event, enriched with what the cluster knows better.
    fn enrich(&mut self, mut event: Event) -> Event {
        match &mut event {
            Event::RunStarted(started) => self.id = started.id.clone(),
            Event::TrialStarted { .. } => self.has_loaded = true,
            Event::FleetStands { members } => {
                for member in members {
                    member.place = self.describe_place(&member.place);
                    member.on = self.pods.on_option();
                }
            }
            Event::WorkerLost { lost, .. } => {
                if let Some(why) = self.pods.why_gone(&lost.place) {
                    lost.why = why;
                }
                lost.place = self.describe_place(&lost.place);
            }
            _ => {}
        }
        event
    }

    fn describe_place(&self, host: &str) -> String {
        self.pods.node(host).map_or_else(|| host.to_owned(), |node| format!("{node} ({host})"))
    }

    /// Why it cannot go on, according to the cluster.
    fn obstacle(&mut self, is_before: bool) -> Option<String> {
        if is_before && self.has_loaded {
            return None;
        }
        self.pods.refresh();
        self.pods.obstacle().or_else(|| self.pods.coordinator_ended().filter(|_| !is_before))
    }

    fn lost_outcome(&self, why: &str) -> RunExit {
        let error =
            Error::Fleet(format!("the run in {} is not followed any more: {why}", self.pods.describe()));
        RunExit { id: self.id.clone(), exit_code: exit::ERROR, error: Some(error) }
    }

    fn connect(&mut self) -> Result<(), String> {
        let forward = self.pods.forward().map_err(|why| why.to_string())?;
        self.file.address = forward.at().to_owned();
        let hello = Hello { member: Some(0), ..crate::worker::hello(FleetRole::Owner) };
        let link = MemberLink::join(&self.file, hello, &[]).map_err(|why| why.to_string())?;
        self.connection = Some((forward, link));
        Ok(())
    }

    fn send(&mut self, word: OwnerRequest) {
        if let Some((_, link)) = &self.connection
            && !link.send(MemberReport::Owner(word))
        {
            self.connection = None;
        }
    }

    fn next_update(&mut self) -> Option<OwnerUpdate> {
        let (_, link) = self.connection.as_mut()?;
        match link.next(STOP_POLL) {
            Ok(Some(Instruction::Owner(update))) => Some(update),
            Ok(_) => None,
            Err(_) => {
                self.connection = None;
                None
            }
        }
    }
}
