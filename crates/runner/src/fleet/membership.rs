//! Workers join: each is started or admitted, gets its share, and gets ready. Lost ones come again.

use super::config::{FleetConfig, assign_cores};
use super::member_state::{MemberState, READY_LIMIT};
use super::pods::POD_LIMIT;
use super::{Fleet, STOP_POLL, now};
use crate::build::build_stamp;
use crate::{Error, machine};
use engine::ResolvedTarget;
use fleet::{FleetRole, Hello, Instruction, MemberReport, SLICE_LATE, TargetCheck};
use link::{Duplex, MemberEvent};
use plan::{Load, Target, Task};
use record::{Caveat, CaveatDetails, CaveatKind};
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

/// For twenty clock exchanges with each before a trial.
pub(super) const CLOCKS_LIMIT: Duration = Duration::from_secs(2);
/// Wait for a disconnected worker, as for one that does not report.
pub(super) const RECONNECT_LIMIT: Duration = Duration::from_nanos(SLICE_LATE.0);
/// Failed starts before a worker is given up.
pub(super) const STARTS_MOST: u32 = 3;

impl Fleet {
    /// A worker, for people.
    fn describe_worker(&self, number: u32) -> String {
        match &self.config {
            FleetConfig::Local { .. } => format!("worker {number}"),
            FleetConfig::Ssh { hosts, .. } => format!("the worker on {}", hosts[number as usize]),
            FleetConfig::Join { .. } | FleetConfig::Pods { .. } => {
                format!("worker {number} on {}", self.place(number))
            }
        }
    }

    /// Starts one; its progress arrives as events.
    fn start_worker(&mut self, number: u32) -> io::Result<()> {
        let state = match &self.config {
            FleetConfig::Local { .. } => {
                let theirs = self.link.socket_for(number).map_err(io::Error::other)?;
                MemberState::start(&std::env::current_exe()?, theirs)?
            }
            FleetConfig::Ssh { hosts, binary } => {
                let host = &hosts[number as usize];
                self.connecting.connect(number, host, binary.as_deref(), FleetRole::Worker)?
            }
            FleetConfig::Join { .. } | FleetConfig::Pods { .. } => {
                // Others start them: its number is free.
                let state = self.members.get_mut(&number).filter(|state| !state.is_connected());
                let free = |state: &&mut MemberState| state.gone_reason.is_some() || state.leaving.is_some();
                if let Some(state) = state.filter(free) {
                    *state = MemberState::default();
                }
                return Ok(());
            }
        };
        if let Some(mut before) = self.members.insert(number, state) {
            before.end();
        }
        Ok(())
    }

    /// Why the run does not begin.
    fn describe_missing(&self, there: u32, workers: u32) -> String {
        let rejected = self.link.take_rejected().into_iter().last();
        let rejected = rejected.map_or(String::new(), |who| format!("; turned away: {who}"));
        if let Some(why) = self.waiting_pods() {
            return format!("{there} of {workers} workers joined in time (--wait): {why}{rejected}");
        }
        format!(
            "{there} of {workers} workers joined in time: start the others (torment worker --join FILE), ask for fewer, or wait for longer \
             (--wait){rejected}"
        )
    }

    /// Whether all are present; else who is not, and why. Later on, those present suffice, as for a trial.
    pub(super) fn check_complete(&self) -> Result<(), Error> {
        let (there, workers) = (self.present_loops().len() as u32, self.config.workers());
        if self.trial > 0 && there > 0 {
            return Ok(());
        }
        if self.config.is_joined() {
            let enough = there >= workers;
            return if enough { Ok(()) } else { Err(Error::Fleet(self.describe_missing(there, workers))) };
        }
        // A worker known to be gone explains more than one merely waited for.
        let absent = || self.members.iter().filter(|(_, state)| !state.is_there());
        match absent().find(|(_, state)| state.gone_reason.is_some()).or_else(|| absent().next()) {
            None => Ok(()),
            Some((number, state)) => {
                let why = state.gone_reason.as_deref().unwrap_or("it was not ready in time");
                Err(Error::Fleet(format!("{} did not start: {why}", self.describe_worker(*number))))
            }
        }
    }

    /// Starts the missing workers, and waits until they are ready or have failed. Then compares clocks.
    pub(super) fn start_missing(&mut self) -> Result<(), Error> {
        let is_first = self.trial == 0;
        let tried = |starts: &BTreeMap<u32, u32>, number: &u32| starts.get(number).copied().unwrap_or(0);
        let missing: Vec<u32> = self
            .members
            .iter()
            .filter(|(number, state)| !state.is_there() && tried(&self.failed_starts, number) < STARTS_MOST)
            .map(|(number, _)| *number)
            .collect();
        let shares = |number: &u32| self.members[number].is_preparing;
        let preparing: Vec<u32> = missing.iter().copied().filter(shares).collect();
        for number in missing.iter().filter(|number| !preparing.contains(number)) {
            if self.pods.is_some() || !self.config.is_joined() {
                *self.failed_starts.entry(*number).or_default() += 1;
            }
            self.start_worker(*number).map_err(|why| {
                Error::Fleet(format!("{} does not start: {why}", self.describe_worker(*number)))
            })?;
        }
        let is_nobody_there = missing.len() == self.members.len() && preparing.is_empty();
        // Do not wait for one that others are to start; it may come for a later trial.
        let awaited: Vec<u32> = if matches!(self.config, FleetConfig::Join { .. }) && !is_nobody_there {
            preparing
        } else {
            missing.clone()
        };
        let mut connecting = if matches!(self.config, FleetConfig::Ssh { .. }) { missing.len() } else { 0 };
        let mut until = Instant::now()
            + match &self.config {
                FleetConfig::Join { listener, .. } | FleetConfig::Pods { listener, .. }
                    if is_nobody_there =>
                {
                    listener.wait.to_duration()
                }
                FleetConfig::Pods { .. } => POD_LIMIT,
                _ => READY_LIMIT,
            };
        // Those who joined in time may finish preparing.
        let mut ready_until = until;
        let is_in_time = |members: &BTreeMap<u32, MemberState>, until: Instant, ready_until: Instant| {
            let now = Instant::now();
            let gets_ready = |number: &u32| members[number].pid > 0 && members[number].is_pending();
            now < until || now < ready_until && awaited.iter().any(gets_ready)
        };
        let waits = |members: &BTreeMap<u32, MemberState>| {
            let has_failed = is_first && awaited.iter().any(|number| members[number].gone_reason.is_some());
            !has_failed && awaited.iter().any(|number| members[number].is_pending())
        };
        while waits(&self.members)
            && (connecting > 0 || is_in_time(&self.members, until, ready_until))
            && !self.stop.is_requested()
        {
            while let Some((number, way)) = self.connecting.next() {
                connecting = connecting.saturating_sub(1);
                until = Instant::now() + READY_LIMIT;
                self.accept_connection(number, way);
            }
            let event = self.link.next(STOP_POLL);
            if let Some((_, MemberEvent::Joined(_))) = &event {
                ready_until = Instant::now() + READY_LIMIT;
            }
            self.handle_news(event);
            let why = self.refusal.take().or_else(|| if is_first { self.pods_obstacle() } else { None });
            if let Some(why) = why.filter(|_| self.checking_worker.is_some()) {
                return Err(Error::Fleet(why));
            }
        }
        self.compare_clocks();
        Ok(())
    }

    /// Whether only its link is cut: then it is waited for.
    pub(super) fn mark_cut(&mut self, number: u32, why: &str) -> bool {
        let may = self.config.is_joined() && self.trial > 0;
        let Some(state) = self.members.get_mut(&number).filter(|state| may && state.is_ready()) else {
            return false;
        };
        state.cut.get_or_insert_with(|| (Instant::now(), why.to_owned()));
        true
    }

    /// Whether the joining worker is one whose link was cut.
    pub(super) fn resume_cut(&mut self, number: u32, hello: &Hello) -> bool {
        let state = self.members.get_mut(&number).filter(|state| state.cut.is_some() && state.is_ready());
        let state = state.filter(|state| hello.member == Some(number) && hello.pid == state.pid);
        state.is_some_and(|state| state.cut.take().is_some())
    }

    /// Waits for workers cut off a moment ago; those that do not return are gone.
    pub(super) fn await_reconnects(&mut self) {
        let is_near = |state: &MemberState| {
            state.cut.as_ref().is_some_and(|(since, _)| since.elapsed() < RECONNECT_LIMIT)
        };
        while self.members.values().any(|state| state.is_ready() && is_near(state)) {
            let event = self.link.next(STOP_POLL);
            self.handle_news(event);
        }
        for state in self.members.values_mut() {
            if let Some((_, why)) = state.cut.take() {
                state.mark_gone(&why);
            }
        }
    }

    /// The connection to one is there, or has failed.
    fn accept_connection(&mut self, number: u32, way: Result<Duplex, String>) {
        let Some(state) = self.members.get_mut(&number).filter(|state| state.is_pending()) else { return };
        let taken = way.and_then(|way| self.link.accept(number, way).map_err(|why| why.to_string()));
        if let Err(wrong) = taken {
            state.mark_failed(&wrong);
        }
    }

    /// Sends a newly joined worker what it needs; fails if it cannot take part.
    fn welcome(&mut self, number: u32, hello: Hello) -> Result<(), String> {
        if self.config.is_joined() && number < self.config.most() && !self.members.contains_key(&number) {
            self.members.insert(number, MemberState::default());
            self.has_joined = true;
        }
        if !self.members.contains_key(&number) {
            // There are enough.
            self.link.send(number, Instruction::Leave);
            return Ok(());
        }
        let place = self.describe_place(&hello.place);
        let is_elsewhere = hello.machine != machine::boot_id();
        if hello.stamp.arch != build_stamp().arch {
            let grounds =
                CaveatDetails::Unlike { place: place.clone(), arch: hello.stamp.arch, version: hello.build };
            self.caveats.push(Caveat::with_details(CaveatKind::OtherBuild, grounds));
        }
        if let Some(state) = self.members.get_mut(&number) {
            if self.config.is_joined() {
                *state = MemberState::default();
            }
            (state.place, state.host, state.pid) = (place, hello.place, hello.pid);
            state.is_elsewhere = is_elsewhere;
        }
        self.check_not_own_address()?;
        self.send_share(number);
        Ok(())
    }

    /// Fails if the target is unsuitable for a worker.
    pub(super) fn check_not_own_address(&self) -> Result<(), String> {
        let endpoint = self.engine_config.as_ref().map(|config| &config.endpoint);
        endpoint.and_then(|endpoint| self.own_address_problem(endpoint)).map_or(Ok(()), Err)
    }

    /// Why the target is unsuitable for a worker, if so: at a loopback address, another machine finds only itself.
    pub(super) fn own_address_problem(&self, endpoint: &ResolvedTarget) -> Option<String> {
        if *endpoint.target() == Target::Null || !endpoint.is_local() {
            return None;
        }
        let place = &self.members.values().find(|state| state.is_connected() && state.is_elsewhere)?.host;
        Some(format!(
            "{} is this machine's own address, at which {place} finds itself: name the target by an address that {place} \
             reaches, too",
            endpoint.describe()
        ))
    }

    /// Why a worker cannot do its part, for people.
    fn describe_refusal(&self, number: u32, why: &str, unreached: bool) -> String {
        if self.config.is_here() {
            return why.to_owned();
        }
        let (worker, place) = (self.describe_worker(number), &self.members[&number].place);
        let is_near = || self.engine_config.as_ref().is_some_and(|job| engine::connect_once(job).is_ok());
        let mut refusal = format!("{worker} cannot make the load: {why}");
        if unreached && is_near() {
            refusal += &format!(
                "; this machine reaches it: name it by an address that {place} reaches, too, and look at firewalls"
            );
        }
        refusal
    }

    /// Restarts lost workers, and compares clocks; for one that fails, its [`MemberState`] says why.
    pub(super) fn restart_lost(&mut self) {
        if self.present_loops().len() < self.members.len() {
            let _ = self.start_missing();
        } else {
            self.compare_clocks();
        }
    }

    pub(super) fn compare_clocks(&mut self) {
        self.link.compare_clocks(CLOCKS_LIMIT * self.members.len() as u32);
        while let Some(event) = self.link.next(Duration::ZERO) {
            self.handle_news(Some(event));
        }
        let Self { link, members, .. } = self;
        members.iter_mut().for_each(|(number, state)| state.clock = link.clock_reading(*number, now()));
    }

    /// Handles an event between trials.
    pub(super) fn handle_news(&mut self, event: Option<(u32, MemberEvent)>) {
        let Some((number, event)) = event else { return };
        if let MemberEvent::Joined(hello) = event {
            if self.resume_cut(number, &hello) {
                return;
            }
            self.refusal = self.welcome(number, hello).err().or(self.refusal.take());
            return;
        }
        if let MemberEvent::Reported(MemberReport::Ready { share, .. } | MemberReport::Refused { share, .. }) =
            &event
            && *share != self.share
        {
            // It answers an outdated request.
            return;
        }
        let refused = match &event {
            MemberEvent::Reported(MemberReport::Refused { why, unreached, .. }) => {
                Some(self.describe_refusal(number, why, *unreached))
            }
            _ => None,
        };
        self.refusal = refused.clone().or(self.refusal.take());
        let may_come_again = self.config.is_joined() && self.trial == 0;
        let is_elsewhere = !self.config.is_here();
        let Some(state) = self.members.get_mut(&number) else { return };
        match event {
            MemberEvent::Reported(MemberReport::Ready { loops, connections, caveats, beside, .. }) => {
                self.failed_starts.remove(&number);
                (state.loops, state.connections, state.is_preparing) = (loops, connections, false);
                let beside = Some(CaveatDetails::Beside { place: state.place.clone() })
                    .filter(|_| beside && is_elsewhere);
                self.caveats
                    .extend(beside.map(|grounds| Caveat::with_details(CaveatKind::BesideTarget, grounds)));
                let place = &state.place;
                self.caveats.extend(caveats.into_iter().map(|caveat| match caveat.grounds {
                    Some(grounds) if is_elsewhere => {
                        let (place, grounds) = (place.clone(), Box::new(grounds));
                        Caveat::with_details(
                            caveat.doubt,
                            CaveatDetails::OfMember { member: number, place, grounds },
                        )
                    }
                    _ => caveat,
                }));
            }
            MemberEvent::Reported(MemberReport::Refused { .. }) => {
                (state.gone_reason, state.has_refused) = (refused, true)
            }
            MemberEvent::Gone(_) if may_come_again => *state = MemberState::default(),
            MemberEvent::Gone(why) => {
                if !self.mark_cut(number, &why)
                    && let Some(state) = self.members.get_mut(&number)
                {
                    state.mark_gone(&why);
                }
            }
            MemberEvent::Reported(MemberReport::Leaving { why }) => state.leaving = Some(why),
            MemberEvent::Joined(_) | MemberEvent::Jumped(_) | MemberEvent::Reported(_) => {}
        }
    }

    /// Sends a worker its share.
    fn send_share(&self, number: u32) {
        let (parcel, cores) = self.share(number);
        let tries = match number {
            _ if self.config.is_here() => TargetCheck::Nothing,
            number if self.checking_worker == Some(number) => TargetCheck::Request,
            _ => TargetCheck::Connection,
        };
        self.link
            .send(number, Instruction::Welcome { member: number, share: self.share, parcel, cores, tries });
    }

    /// Sends everybody a new share to prepare for: the members or the plan have changed.
    pub(super) fn redistribute_shares(&mut self) {
        self.share += 1;
        let in_touch = |(number, state): (&u32, &MemberState)| state.is_connected().then_some(*number);
        for number in self.members.iter().filter_map(in_touch).collect::<Vec<u32>>() {
            self.send_share(number);
            if let Some(state) = self.members.get_mut(&number) {
                (state.loops, state.is_preparing) = (0, true);
                if std::mem::take(&mut state.has_refused) {
                    state.gone_reason = None;
                }
            }
        }
    }

    /// A worker's share: the plan with its part of all limits, and its processors.
    fn share(&self, number: u32) -> (Box<plan::PortablePlan>, Vec<u32>) {
        let (count, mut plan) = (self.members.len() as u32, self.plan.clone());
        let generator = &mut plan.generator;
        generator.connections = generator.connections.div_ceil(count);
        generator.outstanding = generator.outstanding.div_ceil(count);
        let (place, beside) = self.config.among(number, count);
        let cores = assign_cores(&generator.cores, place, beside);
        if let Task::Run(Load::Closed { connections, .. }) = &mut plan.task {
            *connections = connections.div_ceil(count);
        }
        (Box::new(plan::PortablePlan::new(&plan, self.authorities.as_deref())), cores)
    }
}
