//! Watchers: processes on other machines that observe the target as this one would, and report it. A lost one ends
//! nothing: its place is marked as unobserved since then.

use super::config::{WatchersConfig, watched_nodes, watched_pods};
use super::member_state::{MemberState, READY_LIMIT};
use super::membership::CLOCKS_LIMIT;
use super::pods::with_reach_advice;
use super::ssh::PendingConnections;
use super::{STOP_POLL, now};
use crate::build::{VERSION, build_stamp};
use crate::{Error, StopFlag};
use cluster::RunPods;
use engine::{LEAD, ResolvedTarget};
use fleet::{FleetRole, Hello, Instruction, MemberReport, WatchAssignment};
use link::{CoordinatorLink, MemberEvent};
use plan::{Plan, Target};
use record::watch::{WatchCoverage, WatchEvent, WatcherLost};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use units::Nanos;

/// Longest wait for reports of a load that is over.
const REPORT_LIMIT: Duration = Duration::from_secs(2);

/// Watchers, the link to each, and reports not yet taken.
pub(crate) struct Watchers {
    link: CoordinatorLink,
    /// Their pods, if in a cluster.
    pods: Option<RunPods>,
    config: WatchersConfig,
    assignment: WatchAssignment,
    /// By number.
    states: BTreeMap<u32, WatcherState>,
    connecting: PendingConnections,
    /// Why a watcher started here sees nothing, until reported.
    refusal: Option<String>,
    /// Before the first load: missing watchers are waited for.
    is_gathering: bool,
    trial: WatchedTrial,
    events: Vec<(String, WatchEvent)>,
}

#[derive(Default)]
struct WatcherState {
    member: MemberState,
    /// Name of its machine; empty before it joined.
    place: String,
    /// It is present and has said what it watches.
    is_watching: bool,
    coverage: WatchCoverage,
    /// How far it has reported the trial.
    reported_until: Nanos,
    /// It has not yet reported all of a load that is over.
    is_behind: bool,
}

/// The current load, or the last one.
#[derive(Default)]
struct WatchedTrial {
    /// 0 before the first.
    number: u32,
    start: Nanos,
    end: Option<Nanos>,
}

impl Watchers {
    /// Starts them, or waits for them, until each has said what it watches.
    ///
    /// Fails with the first one's problem.
    pub fn start(
        plan: &Plan,
        target: &Target,
        config: &WatchersConfig,
        stop: &StopFlag,
    ) -> Result<Self, Error> {
        let link = CoordinatorLink::open(VERSION, build_stamp(), FleetRole::Watcher, &plan.generator.cores)?;
        let mut assignment = watch_assignment(plan, target)?;
        let run_pods = match config {
            WatchersConfig::Pods { pods, inside, listener, site, deadline } => {
                let (file, seconds) = (listener.file(), deadline.0 / Nanos::from_secs(1).0);
                assignment.inside = *inside;
                Some(if *inside {
                    site.start_watchers_inside(watched_pods(pods), file, seconds)?
                } else {
                    assignment.pods = pods.iter().map(|pod| pod.uid.clone()).collect();
                    site.start_watchers(&watched_nodes(pods), file, seconds)?
                })
            }
            WatchersConfig::Ssh { .. } | WatchersConfig::Join { .. } => None,
        };
        let mut watchers = Self {
            pods: run_pods,
            link,
            config: config.clone(),
            assignment,
            states: (0..config.count()).map(|number| (number, WatcherState::default())).collect(),
            connecting: PendingConnections::new(),
            refusal: None,
            is_gathering: true,
            trial: WatchedTrial::default(),
            events: Vec::new(),
        };
        if let Some(listener) = config.entrance() {
            listener.admit_to(&watchers.link)?;
        }
        if let WatchersConfig::Ssh { hosts, binary } = config {
            for (number, host) in (0..).zip(hosts) {
                let member = watchers
                    .connecting
                    .connect(number, host, binary.as_deref(), FleetRole::Watcher)
                    .map_err(|why| Error::Fleet(format!("the watcher on {host} does not start: {why}")))?;
                let place = host.rsplit_once('@').map_or(host.as_str(), |(_, host)| host).to_owned();
                watchers.states.insert(number, WatcherState { member, place, ..WatcherState::default() });
            }
        }
        watchers.gather(stop)?;
        watchers.is_gathering = false;
        Ok(watchers)
    }

    fn gather(&mut self, stop: &StopFlag) -> Result<(), Error> {
        let (mut connecting, limit) = match self.config.entrance() {
            None => (self.config.count(), READY_LIMIT),
            Some(listener) => (0, listener.wait.to_duration()),
        };
        let mut until = Instant::now() + limit;
        // Those who joined in time may finish preparing.
        let mut ready_until = until;
        while self.states.values().any(|watcher| !watcher.is_watching) && !stop.is_requested() {
            while let Some((number, way)) = self.connecting.next() {
                connecting = connecting.saturating_sub(1);
                until = Instant::now() + READY_LIMIT;
                let taken = way.and_then(|way| self.link.accept(number, way).map_err(|why| why.to_string()));
                if let (Err(wrong), Some(watcher)) = (taken, self.states.get_mut(&number)) {
                    watcher.member.mark_failed(&wrong);
                }
            }
            if let Some((number, event)) = self.link.next(STOP_POLL) {
                if matches!(event, MemberEvent::Joined(_)) {
                    ready_until = Instant::now() + READY_LIMIT;
                }
                self.handle_news(number, event);
            }
            // One that others start on a machine where nothing can be seen can be started on another.
            let refusal = if self.is_joined() { None } else { self.refusal.take() };
            let refusal = refusal.or_else(|| self.absence_reason()).or_else(|| self.pods_obstacle());
            if let Some(why) = refusal {
                return Err(Error::Fleet(why));
            }
            let gets_ready = |watcher: &WatcherState| watcher.member.pid > 0 && !watcher.is_watching;
            let is_late = |until| Instant::now() > until;
            let looks_around = self.states.values().any(gets_ready) && !is_late(ready_until);
            if connecting == 0 && is_late(until) && !looks_around {
                return Err(Error::Fleet(self.describe_missing()));
            }
        }
        self.link.compare_clocks(CLOCKS_LIMIT * self.states.len() as u32);
        Ok(())
    }

    fn absence_reason(&self) -> Option<String> {
        let absent = self
            .states
            .iter()
            .find_map(|(number, watcher)| Some((number, watcher.member.gone_reason.as_ref()?)));
        absent.map(|(number, why)| format!("{} did not start: {why}", self.describe_watcher(*number)))
    }

    /// Why pods will not come, according to the cluster.
    fn pods_obstacle(&mut self) -> Option<String> {
        let run_pods = self.pods.as_mut()?;
        run_pods.refresh();
        let at = self.config.entrance().map_or("", |listener| listener.address.as_str());
        Some(with_reach_advice(run_pods.obstacle()?, at))
    }

    fn describe_missing(&self) -> String {
        let there = self.states.values().filter(|watcher| watcher.is_watching).count();
        if let Some(run_pods) = &self.pods {
            let runs = || format!("they run: see what they say, {}", run_pods.logs());
            let why = run_pods.describe_waiting().unwrap_or_else(runs);
            return format!("{there} of {} watchers joined in time: {why}", self.config.count());
        }
        if !self.is_joined() {
            let absent =
                self.states.iter().find(|(_, watcher)| !watcher.is_watching).map_or(0, |(number, _)| *number);
            return format!("{} did not say in time what it watches", self.describe_watcher(absent));
        }
        let rejected = self.link.take_rejected().into_iter().last();
        let rejected = rejected.map(|who| format!("; turned away: {who}"));
        let unfit = self.refusal.as_ref().map(|why| format!("; {why}"));
        let rejected = unfit.or(rejected).unwrap_or_default();
        format!(
            "{there} of {} watchers joined in time: start the others on the target's machines (torment watch --join FILE), ask for fewer \
             (--watchers), or wait for longer (--wait){rejected}",
            self.config.count()
        )
    }

    /// Whether others start them: people, or a cluster.
    fn is_joined(&self) -> bool {
        self.config.entrance().is_some()
    }

    fn describe_watcher(&self, number: u32) -> String {
        format!("the watcher on {}", self.states.get(&number).map_or("", |eye| eye.place.as_str()))
    }

    /// Handles a watcher's event.
    fn handle_news(&mut self, number: u32, event: MemberEvent) {
        let watcher_name = self.describe_watcher(number);
        match event {
            MemberEvent::Joined(hello) => self.welcome(number, hello),
            MemberEvent::Reported(MemberReport::Seen(watch_event)) => self.record_seen(number, *watch_event),
            MemberEvent::Reported(MemberReport::SeenAll) => {
                if let Some(watcher) = self.states.get_mut(&number) {
                    watcher.is_behind = false;
                }
            }
            MemberEvent::Reported(MemberReport::Refused { why, .. }) => {
                self.refusal = Some(format!("{watcher_name} sees nothing: {why}"));
                if self.is_joined() {
                    self.link.send(number, Instruction::Leave);
                }
            }
            MemberEvent::Reported(MemberReport::Leaving { why }) => {
                if let Some(watcher) = self.states.get_mut(&number) {
                    watcher.member.leaving = Some(why);
                }
            }
            MemberEvent::Gone(why) => self.mark_gone(number, &why),
            MemberEvent::Reported(_) | MemberEvent::Jumped(_) => {}
        }
    }

    /// Tells a newly joined watcher what to watch.
    fn welcome(&mut self, number: u32, hello: Hello) {
        let is_taken = |place: &str, eyes: &BTreeMap<u32, WatcherState>| {
            eyes.iter().any(|(other, watcher)| *other != number && watcher.place == place)
        };
        if !self.states.contains_key(&number) {
            // There are enough.
            self.link.send(number, Instruction::Leave);
            return;
        }
        let mut assignment = self.assignment.clone();
        if number > 0 {
            // Only one of them queries the database.
            assignment.asked = assignment.asked.processes_only();
        }
        let is_joined = self.is_joined();
        // A node says more than a pod's name.
        let node = self.pods.as_ref().and_then(|run_pods| run_pods.node(&hello.place));
        if let (WatchersConfig::Pods { pods, inside: false, .. }, Some(node)) = (&self.config, &node) {
            assignment.pods =
                pods.iter().filter(|pod| pod.node == *node).map(|pod| pod.uid.clone()).collect();
        }
        let name = node.unwrap_or_else(|| hello.place.clone());
        let numbered = |nth: u32| match nth {
            1 => name.clone(),
            nth => format!("{name} ({nth})"),
        };
        let place = (1..).map(numbered).find(|place| !is_taken(place, &self.states)).unwrap_or_default();
        if let Some(watcher) = self.states.get_mut(&number) {
            if is_joined {
                *watcher = WatcherState { place, ..WatcherState::default() };
            }
            (watcher.member.place, watcher.member.pid) = (watcher.place.clone(), hello.pid);
        }
        self.link.send(number, Instruction::Watch(Box::new(assignment)));
    }

    fn record_seen(&mut self, number: u32, mut watch_event: WatchEvent) {
        let Some(watcher) = self.states.get_mut(&number) else { return };
        match &mut watch_event {
            WatchEvent::Watched(watched) => {
                watched.on = self.config.on_option(number);
                watched.missing.extend(self.config.unwatched().filter(|_| number == 0));
                watcher.is_watching = true;
                watcher.coverage.clone_from(watched);
            }
            WatchEvent::Window(trial, window) if *trial == self.trial.number => {
                let lasted = self.trial.end.map_or(Nanos::MAX, |ended| ended - self.trial.start);
                if window.from + window.length() / 2 > lasted {
                    // It learned late that the load was over.
                    return;
                }
                watcher.reported_until = window.to;
            }
            WatchEvent::Window(..) | WatchEvent::Look(..) => {}
        }
        self.events.push((watcher.place.clone(), watch_event));
    }

    fn mark_gone(&mut self, number: u32, why: &str) {
        let is_joined = self.is_joined();
        let Some(watcher) = self.states.get_mut(&number) else { return };
        if self.is_gathering && is_joined {
            // It may come again.
            *watcher = WatcherState::default();
            return;
        }
        watcher.member.mark_gone(why);
        watcher.is_behind = false;
        if std::mem::take(&mut watcher.is_watching) {
            let at = self.trial.end.is_none().then_some(watcher.reported_until);
            let why = watcher.member.gone_reason.clone().unwrap_or_default();
            let lost = Some(WatcherLost { trial: self.trial.number, at, why });
            let watched = WatchCoverage { lost, ..watcher.coverage.clone() };
            self.events.push((watcher.place.clone(), WatchEvent::Watched(Box::new(watched))));
        }
    }

    /// A trial begins in [`LEAD`].
    pub fn begin(&mut self, trial: u32) {
        self.await_news(Duration::ZERO);
        let begins = now() + LEAD;
        self.trial = WatchedTrial { number: trial, start: begins, end: None };
        for (number, watcher) in self.states.iter_mut().filter(|(_, watcher)| watcher.is_watching) {
            // Its clock is not known yet if it joined a moment ago.
            let Some(clock) = self.link.clock_reading(*number, begins) else { continue };
            (watcher.reported_until, watcher.is_behind) = (Nanos::ZERO, false);
            self.link.send(*number, Instruction::WatchFrom { trial, at: clock.theirs(begins) });
        }
    }

    /// The load is over.
    pub fn end(&mut self) {
        if self.trial.number == 0 || self.trial.end.is_some() {
            return;
        }
        let ended = now();
        self.trial.end = Some(ended);
        for (number, watcher) in self.states.iter_mut().filter(|(_, watcher)| watcher.is_watching) {
            let Some(clock) = self.link.clock_reading(*number, ended) else { continue };
            watcher.is_behind = self.link.send(*number, Instruction::WatchUntil { at: clock.theirs(ended) });
        }
    }

    /// All take a closer look, once.
    pub fn look_closer(&self) {
        for (number, _) in self.states.iter().filter(|(_, watcher)| watcher.is_watching) {
            self.link.send(*number, Instruction::LookCloser);
        }
    }

    fn await_news(&mut self, mut patience: Duration) {
        while let Some((number, event)) = self.link.next(std::mem::take(&mut patience)) {
            self.handle_news(number, event);
        }
    }

    /// Takes reports and their places, without waiting.
    pub fn take_sightings(&mut self) -> Vec<(String, WatchEvent)> {
        self.await_news(Duration::ZERO);
        std::mem::take(&mut self.events)
    }

    /// Waits a limited time until everything seen of the finished load is reported.
    pub fn settle(&mut self) {
        let until = Instant::now() + REPORT_LIMIT;
        while self.states.values().any(|watcher| watcher.is_behind) && Instant::now() < until {
            self.await_news(STOP_POLL);
        }
    }
}

/// What to watch, without secrets.
fn watch_assignment(plan: &Plan, target: &Target) -> Result<WatchAssignment, Error> {
    let (asked, _) = plan.watch.split_secrets();
    let assignment = WatchAssignment { asked, ..WatchAssignment::default() };
    match ResolvedTarget::resolve(target) {
        Ok(endpoint) => Ok(WatchAssignment {
            at: endpoint.address().into_iter().collect(),
            port: endpoint.address().map(|at| at.port()),
            path: endpoint.path().map(ToOwned::to_owned),
            ..assignment
        }),
        // It need not resolve here.
        Err(engine::Error::Resolve { .. }) => {
            let port = match target {
                Target::Http(origin) => Some(origin.port),
                Target::Sql(database) => Some(database.port),
                Target::Demo | Target::Null => None,
            };
            Ok(WatchAssignment { port, ..assignment })
        }
        Err(why) => Err(why.into()),
    }
}

impl Drop for Watchers {
    fn drop(&mut self) {
        self.connecting.give_up();
        for number in self.states.keys() {
            self.link.send(*number, Instruction::Leave);
        }
        self.states.values_mut().for_each(|watcher| watcher.member.leave(watcher.is_watching));
    }
}
