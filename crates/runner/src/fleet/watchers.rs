//! Watchers: processes on other machines that observe the target as this one would, and report it. A lost one ends
//! nothing: its place is marked as unobserved since then.

use super::config::{WatchersConfig, watched_nodes, watched_pods};
use super::member_state::{MemberState, READY_LIMIT};
use super::membership::AGREE_LIMIT;
use super::pods::with_reach_advice;
use super::ssh::{MemberKind, PendingConnections};
use super::{ASK, now};
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
const TOLD: Duration = Duration::from_secs(2);

/// Watchers, the link to each, and reports not yet taken.
pub(crate) struct Watchers {
    post: CoordinatorLink,
    /// Their pods, if in a cluster.
    workforce: Option<RunPods>,
    asked: WatchersConfig,
    duty: WatchAssignment,
    /// By number.
    eyes: BTreeMap<u32, WatcherState>,
    arriving: PendingConnections,
    /// Why a watcher started here sees nothing, until reported.
    refusal: Option<String>,
    /// Before the first load: missing watchers are waited for.
    is_gathering: bool,
    trial: WatchedTrial,
    told: Vec<(String, WatchEvent)>,
}

#[derive(Default)]
struct WatcherState {
    hand: MemberState,
    /// Name of its machine; empty before it joined.
    place: String,
    /// It is present and has said what it watches.
    watches: bool,
    watched: WatchCoverage,
    /// How far it has reported the trial.
    until: Nanos,
    /// It has not yet reported all of a load that is over.
    owes: bool,
}

/// The current load, or the last one.
#[derive(Default)]
struct WatchedTrial {
    /// 0 before the first.
    number: u32,
    begins: Nanos,
    ended: Option<Nanos>,
}

impl Watchers {
    /// Starts them, or waits for them, until each has said what it watches.
    ///
    /// Fails with the first one's problem.
    pub fn start(
        plan: &Plan,
        target: &Target,
        asked: &WatchersConfig,
        stop: &StopFlag,
    ) -> Result<Self, Error> {
        let post = CoordinatorLink::open(VERSION, build_stamp(), FleetRole::Watcher, &plan.generator.cores);
        let mut duty = duty(plan, target)?;
        let workforce = match asked {
            WatchersConfig::Pods { pods, inside, entrance, site, deadline } => {
                let (file, seconds) = (entrance.file(), deadline.0 / Nanos::from_secs(1).0);
                duty.inside = *inside;
                let raised = if *inside {
                    site.start_watchers_inside(watched_pods(pods), file, seconds)
                } else {
                    duty.pods = pods.iter().map(|pod| pod.uid.clone()).collect();
                    site.start_watchers(&watched_nodes(pods), file, seconds)
                };
                Some(raised.map_err(|why| Error::Fleet(why.to_string()))?)
            }
            WatchersConfig::Ssh { .. } | WatchersConfig::Join { .. } => None,
        };
        let mut watchers = Self {
            workforce,
            post: post.map_err(|why| Error::Fleet(why.to_string()))?,
            asked: asked.clone(),
            duty,
            eyes: (0..asked.count()).map(|number| (number, WatcherState::default())).collect(),
            arriving: PendingConnections::new(),
            refusal: None,
            is_gathering: true,
            trial: WatchedTrial::default(),
            told: Vec::new(),
        };
        match asked {
            WatchersConfig::Join { entrance, .. } | WatchersConfig::Pods { entrance, .. } => {
                entrance.admit_to(&watchers.post)?;
            }
            WatchersConfig::Ssh { hosts, binary } => {
                for (number, host) in (0..).zip(hosts) {
                    let hand =
                        watchers.arriving.connect(number, host, binary.as_deref(), MemberKind::Watcher);
                    let hand = hand.map_err(|why| {
                        Error::Fleet(format!("the watcher on {host} does not start: {why}"))
                    })?;
                    let place = host.rsplit_once('@').map_or(host.as_str(), |(_, host)| host).to_owned();
                    watchers.eyes.insert(number, WatcherState { hand, place, ..WatcherState::default() });
                }
            }
        }
        watchers.gather(stop)?;
        watchers.is_gathering = false;
        Ok(watchers)
    }

    fn gather(&mut self, stop: &StopFlag) -> Result<(), Error> {
        let (mut on_their_way, limit) = match &self.asked {
            WatchersConfig::Ssh { hosts, .. } => (hosts.len(), READY_LIMIT),
            WatchersConfig::Join { entrance, .. } | WatchersConfig::Pods { entrance, .. } => {
                (0, Duration::from_nanos(entrance.waits.0))
            }
        };
        let mut until = Instant::now() + limit;
        // Those who joined in time may finish preparing.
        let mut ready_until = until;
        while self.eyes.values().any(|eye| !eye.watches) && !stop.is_requested() {
            while let Some((number, way)) = self.arriving.next() {
                on_their_way = on_their_way.saturating_sub(1);
                until = Instant::now() + READY_LIMIT;
                let taken = way.and_then(|way| self.post.accept(number, way).map_err(|why| why.to_string()));
                if let (Err(wrong), Some(eye)) = (taken, self.eyes.get_mut(&number)) {
                    eye.hand.mark_failed(&wrong);
                }
            }
            if let Some((number, news)) = self.post.next(ASK) {
                if matches!(news, MemberEvent::Joined(_)) {
                    ready_until = Instant::now() + READY_LIMIT;
                }
                self.handle_news(number, news);
            }
            // One that others start on a machine where nothing can be seen can be started on another.
            let refusal = if self.is_joined() { None } else { self.refusal.take() };
            let refusal = refusal.or_else(|| self.who_did_not_come()).or_else(|| self.hindered());
            if let Some(why) = refusal {
                return Err(Error::Fleet(why));
            }
            let gets_ready = |eye: &WatcherState| eye.hand.pid > 0 && !eye.watches;
            let is_late = |until| Instant::now() > until;
            let looks_around = self.eyes.values().any(gets_ready) && !is_late(ready_until);
            if on_their_way == 0 && is_late(until) && !looks_around {
                return Err(Error::Fleet(self.nobody_comes()));
            }
        }
        self.post.compare_clocks(AGREE_LIMIT * self.eyes.len() as u32);
        Ok(())
    }

    fn who_did_not_come(&self) -> Option<String> {
        let absent = self.eyes.iter().find_map(|(number, eye)| Some((number, eye.hand.gone.as_ref()?)));
        absent.map(|(number, why)| format!("{} did not start: {why}", self.describe_watcher(*number)))
    }

    /// Why pods will not come, according to the cluster.
    fn hindered(&mut self) -> Option<String> {
        let workforce = self.workforce.as_mut()?;
        workforce.refresh();
        let why = workforce.obstacle()?;
        Some(match &self.asked {
            WatchersConfig::Pods { entrance, .. } => with_reach_advice(why, &entrance.at),
            WatchersConfig::Ssh { .. } | WatchersConfig::Join { .. } => why,
        })
    }

    fn nobody_comes(&self) -> String {
        let there = self.eyes.values().filter(|eye| eye.watches).count();
        if let Some(workforce) = &self.workforce {
            let runs = || format!("they run: see what they say, {}", workforce.logs());
            let why = workforce.describe_waiting().unwrap_or_else(runs);
            return format!("{there} of {} watchers came in time: {why}", self.asked.count());
        }
        if !self.is_joined() {
            let absent = self.eyes.iter().find(|(_, eye)| !eye.watches).map_or(0, |(number, _)| *number);
            return format!("{} did not say in time what it watches", self.describe_watcher(absent));
        }
        let turned_away = self.post.take_rejected().into_iter().last();
        let turned_away = turned_away.map(|who| format!("; turned away: {who}"));
        let unfit = self.refusal.as_ref().map(|why| format!("; {why}"));
        let turned_away = unfit.or(turned_away).unwrap_or_default();
        format!(
            "{there} of {} watchers came in time: start the others on the target's machines (torment watch --join FILE), ask for fewer \
             (--watchers), or wait for longer (--wait){turned_away}",
            self.asked.count()
        )
    }

    /// Whether others start them: people, or a cluster.
    fn is_joined(&self) -> bool {
        !matches!(self.asked, WatchersConfig::Ssh { .. })
    }

    fn describe_watcher(&self, number: u32) -> String {
        format!("the watcher on {}", self.eyes.get(&number).map_or("", |eye| eye.place.as_str()))
    }

    /// Handles a watcher's event.
    fn handle_news(&mut self, number: u32, news: MemberEvent) {
        let called = self.describe_watcher(number);
        match news {
            MemberEvent::Joined(hello) => self.welcome(number, hello),
            MemberEvent::Told(MemberReport::Seen(seen)) => self.see(number, *seen),
            MemberEvent::Told(MemberReport::SeenAll) => {
                if let Some(eye) = self.eyes.get_mut(&number) {
                    eye.owes = false;
                }
            }
            MemberEvent::Told(MemberReport::Refused { why, .. }) => {
                self.refusal = Some(format!("{called} sees nothing: {why}"));
                if self.is_joined() {
                    self.post.send(number, Instruction::Leave);
                }
            }
            MemberEvent::Told(MemberReport::Leaving { why }) => {
                if let Some(eye) = self.eyes.get_mut(&number) {
                    eye.hand.leaves = Some(why);
                }
            }
            MemberEvent::Gone(why) => self.is_gone(number, &why),
            MemberEvent::Told(_) | MemberEvent::Jumped(_) => {}
        }
    }

    /// Tells a newly joined watcher what to watch.
    fn welcome(&mut self, number: u32, hello: Hello) {
        let is_taken = |place: &str, eyes: &BTreeMap<u32, WatcherState>| {
            eyes.iter().any(|(other, eye)| *other != number && eye.place == place)
        };
        if !self.eyes.contains_key(&number) {
            // There are enough.
            self.post.send(number, Instruction::Leave);
            return;
        }
        let mut duty = self.duty.clone();
        if number > 0 {
            // Only one of them queries the database.
            duty.asked = duty.asked.processes_only();
        }
        let is_joined = self.is_joined();
        // A node says more than a pod's name.
        let node = self.workforce.as_ref().and_then(|workforce| workforce.node(&hello.place));
        if let (WatchersConfig::Pods { pods, inside: false, .. }, Some(node)) = (&self.asked, &node) {
            duty.pods = pods.iter().filter(|pod| pod.node == *node).map(|pod| pod.uid.clone()).collect();
        }
        let name = node.unwrap_or_else(|| hello.place.clone());
        let numbered = |nth: u32| match nth {
            1 => name.clone(),
            nth => format!("{name} ({nth})"),
        };
        let place = (1..).map(numbered).find(|place| !is_taken(place, &self.eyes)).unwrap_or_default();
        if let Some(eye) = self.eyes.get_mut(&number) {
            if is_joined {
                *eye = WatcherState { place, ..WatcherState::default() };
            }
            (eye.hand.place, eye.hand.pid) = (eye.place.clone(), hello.pid);
        }
        self.post.send(number, Instruction::Watch(Box::new(duty)));
    }

    fn see(&mut self, number: u32, mut seen: WatchEvent) {
        let Some(eye) = self.eyes.get_mut(&number) else { return };
        match &mut seen {
            WatchEvent::Watched(watched) => {
                watched.on = self.asked.on_option(number);
                watched.missing.extend(self.asked.unwatched().filter(|_| number == 0));
                eye.watches = true;
                eye.watched.clone_from(watched);
            }
            WatchEvent::Window(trial, window) if *trial == self.trial.number => {
                let lasted = self.trial.ended.map_or(Nanos::MAX, |ended| ended - self.trial.begins);
                if window.from + window.length() / 2 > lasted {
                    // It learned late that the load was over.
                    return;
                }
                eye.until = window.to;
            }
            WatchEvent::Window(..) | WatchEvent::Look(..) => {}
        }
        self.told.push((eye.place.clone(), seen));
    }

    fn is_gone(&mut self, number: u32, why: &str) {
        let is_joined = self.is_joined();
        let Some(eye) = self.eyes.get_mut(&number) else { return };
        if self.is_gathering && is_joined {
            // It may come again.
            *eye = WatcherState::default();
            return;
        }
        eye.hand.mark_gone(why);
        eye.owes = false;
        if std::mem::take(&mut eye.watches) {
            let at = self.trial.ended.is_none().then_some(eye.until);
            let why = eye.hand.gone.clone().unwrap_or_default();
            let lost = Some(WatcherLost { trial: self.trial.number, at, why });
            let watched = WatchCoverage { lost, ..eye.watched.clone() };
            self.told.push((eye.place.clone(), WatchEvent::Watched(Box::new(watched))));
        }
    }

    /// A trial begins in [`LEAD`].
    pub fn begin(&mut self, trial: u32) {
        self.await_news(Duration::ZERO);
        let begins = now() + LEAD;
        self.trial = WatchedTrial { number: trial, begins, ended: None };
        for (number, eye) in self.eyes.iter_mut().filter(|(_, eye)| eye.watches) {
            // Its clock is not known yet if it joined a moment ago.
            let Some(clock) = self.post.clock_reading(*number, begins) else { continue };
            (eye.until, eye.owes) = (Nanos::ZERO, false);
            self.post.send(*number, Instruction::WatchFrom { trial, at: clock.theirs(begins) });
        }
    }

    /// The load is over.
    pub fn end(&mut self) {
        if self.trial.number == 0 || self.trial.ended.is_some() {
            return;
        }
        let ended = now();
        self.trial.ended = Some(ended);
        for (number, eye) in self.eyes.iter_mut().filter(|(_, eye)| eye.watches) {
            let Some(clock) = self.post.clock_reading(*number, ended) else { continue };
            eye.owes = self.post.send(*number, Instruction::WatchUntil { at: clock.theirs(ended) });
        }
    }

    /// All take a closer look, once.
    pub fn look_closer(&self) {
        for (number, _) in self.eyes.iter().filter(|(_, eye)| eye.watches) {
            self.post.send(*number, Instruction::LookCloser);
        }
    }

    fn await_news(&mut self, mut patience: Duration) {
        while let Some((number, news)) = self.post.next(std::mem::take(&mut patience)) {
            self.handle_news(number, news);
        }
    }

    /// Takes reports and their places, without waiting.
    pub fn take_sightings(&mut self) -> Vec<(String, WatchEvent)> {
        self.await_news(Duration::ZERO);
        std::mem::take(&mut self.told)
    }

    /// Waits a limited time until everything seen of the finished load is reported.
    pub fn settle(&mut self) {
        let until = Instant::now() + TOLD;
        while self.eyes.values().any(|eye| eye.owes) && Instant::now() < until {
            self.await_news(ASK);
        }
    }
}

/// What to watch, without secrets.
fn duty(plan: &Plan, target: &Target) -> Result<WatchAssignment, Error> {
    let (asked, _) = plan.watch.split_secrets();
    let duty =
        WatchAssignment { asked, at: Vec::new(), port: None, path: None, pods: Vec::new(), inside: false };
    match ResolvedTarget::resolve(target) {
        Ok(endpoint) => Ok(WatchAssignment {
            at: endpoint.address().into_iter().collect(),
            port: endpoint.address().map(|at| at.port()),
            path: endpoint.path().map(ToOwned::to_owned),
            ..duty
        }),
        // It need not resolve here.
        Err(engine::Error::Resolve { .. }) => {
            let port = match target {
                Target::Http(origin) => Some(origin.port),
                Target::Sql(database) => Some(database.port),
                Target::Demo | Target::Null => None,
            };
            Ok(WatchAssignment { port, ..duty })
        }
        Err(why) => Err(why.into()),
    }
}

impl Drop for Watchers {
    fn drop(&mut self) {
        self.arriving.give_up();
        for number in self.eyes.keys() {
            self.post.send(*number, Instruction::Leave);
        }
        self.eyes.values_mut().for_each(|eye| eye.hand.leave(eye.watches));
    }
}
