//! Workers join: each is started or admitted, gets its share, and gets ready. Lost ones come again.

use super::config::{FleetConfig, assign_cores};
use super::member_state::{MemberState, READY_LIMIT};
use super::pods::REPLACED;
use super::ssh::MemberKind;
use super::{ASK, Fleet, now};
use crate::build::build_stamp;
use crate::{Error, machine};
use engine::ResolvedTarget;
use fleet::{Hello, Instruction, MemberReport, SLICE_LATE, TargetCheck};
use link::{Duplex, MemberEvent};
use plan::{Load, Target, Task};
use record::{Caveat, CaveatDetails, CaveatKind};
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

/// For twenty clock exchanges with each before a trial.
pub(super) const AGREE_LIMIT: Duration = Duration::from_secs(2);
/// Wait for a disconnected worker, as for one that does not report.
pub(super) const CUT_LIMIT: Duration = Duration::from_nanos(SLICE_LATE.0);
/// Failed starts before a worker is given up.
pub(super) const STARTS: u32 = 3;

impl Fleet {
    /// A worker, for people.
    fn describe_worker(&self, number: u32) -> String {
        match &self.asked {
            FleetConfig::Here { .. } => format!("worker {number}"),
            FleetConfig::Ssh { hosts, .. } => format!("the worker on {}", hosts[number as usize]),
            FleetConfig::Join { .. } | FleetConfig::Pods { .. } => {
                let place = self.hands.get(&number).map_or("", |hand| hand.place.as_str());
                format!("worker {number} on {place}")
            }
        }
    }

    /// Starts one; its progress arrives as events.
    fn start_worker(&mut self, number: u32) -> io::Result<()> {
        let hand = match &self.asked {
            FleetConfig::Here { .. } => {
                let theirs = self.post.socket_for(number).map_err(io::Error::other)?;
                MemberState::start(&std::env::current_exe()?, theirs)?
            }
            FleetConfig::Ssh { hosts, binary } => self.arriving.connect(
                number,
                &hosts[number as usize],
                binary.as_deref(),
                MemberKind::Worker,
            )?,
            FleetConfig::Join { .. } | FleetConfig::Pods { .. } => {
                // Others start them: its number is free.
                let hand = self.hands.get_mut(&number).filter(|hand| !hand.is_connected());
                if let Some(hand) = hand.filter(|hand| hand.gone.is_some() || hand.leaves.is_some()) {
                    *hand = MemberState::default();
                }
                return Ok(());
            }
        };
        if let Some(mut before) = self.hands.insert(number, hand) {
            before.end();
        }
        Ok(())
    }

    /// Why the run does not begin.
    fn nobody_comes(&self, there: u32, workers: u32) -> String {
        let turned_away = self.post.take_rejected().into_iter().last();
        let turned_away = turned_away.map_or(String::new(), |who| format!("; turned away: {who}"));
        if let Some(why) = self.waiting_pods() {
            return format!("{there} of {workers} workers came in time (--wait): {why}{turned_away}");
        }
        format!(
            "{there} of {workers} workers came in time: start the others (torment worker --join FILE), ask for fewer, or wait for longer \
             (--wait){turned_away}"
        )
    }

    /// Whether all are present; else who is not, and why. Later on, those present suffice, as for a trial.
    pub(super) fn check_complete(&self) -> Result<(), Error> {
        let (there, workers) = (self.there().len() as u32, self.asked.workers());
        if self.trial > 0 && there > 0 {
            return Ok(());
        }
        if self.asked.is_joined() {
            let enough = there >= workers;
            return if enough { Ok(()) } else { Err(Error::Fleet(self.nobody_comes(there, workers))) };
        }
        // A worker known to be gone explains more than one merely waited for.
        let absent = || self.hands.iter().filter(|(_, hand)| !hand.is_there());
        match absent().find(|(_, hand)| hand.gone.is_some()).or_else(|| absent().next()) {
            None => Ok(()),
            Some((number, hand)) => {
                let why = hand.gone.as_deref().unwrap_or("it was not ready in time");
                Err(Error::Fleet(format!("{} did not start: {why}", self.describe_worker(*number))))
            }
        }
    }

    /// Starts the missing workers, and waits until they are ready or have failed. Then compares clocks.
    pub(super) fn start_missing(&mut self, interrupted: &dyn Fn() -> bool) -> Result<(), Error> {
        let is_first = self.trial == 0;
        let tried = |starts: &BTreeMap<u32, u32>, number: &u32| starts.get(number).copied().unwrap_or(0);
        let missing: Vec<u32> = self
            .hands
            .iter()
            .filter(|(number, hand)| !hand.is_there() && tried(&self.starts, number) < STARTS)
            .map(|(number, _)| *number)
            .collect();
        let shares = |number: &u32| self.hands[number].shares;
        let sharing: Vec<u32> = missing.iter().copied().filter(shares).collect();
        for number in missing.iter().filter(|number| !sharing.contains(number)) {
            if self.workforce.is_some() || !self.asked.is_joined() {
                *self.starts.entry(*number).or_default() += 1;
            }
            self.start_worker(*number).map_err(|why| {
                Error::Fleet(format!("{} does not start: {why}", self.describe_worker(*number)))
            })?;
        }
        let is_nobody_there = missing.len() == self.hands.len() && sharing.is_empty();
        // Do not wait for one that others are to start; it may come for a later trial.
        let awaited: Vec<u32> = if matches!(self.asked, FleetConfig::Join { .. }) && !is_nobody_there {
            sharing
        } else {
            missing.clone()
        };
        let mut on_their_way = if matches!(self.asked, FleetConfig::Ssh { .. }) { missing.len() } else { 0 };
        let mut until = Instant::now()
            + match &self.asked {
                FleetConfig::Join { entrance, .. } | FleetConfig::Pods { entrance, .. }
                    if is_nobody_there =>
                {
                    Duration::from_nanos(entrance.waits.0)
                }
                FleetConfig::Pods { .. } => REPLACED,
                _ => READY_LIMIT,
            };
        // Those who joined in time may finish preparing.
        let mut ready_until = until;
        let is_in_time = |hands: &BTreeMap<u32, MemberState>, until: Instant, ready_until: Instant| {
            let now = Instant::now();
            let gets_ready = |number: &u32| hands[number].pid > 0 && hands[number].is_pending();
            now < until || now < ready_until && awaited.iter().any(gets_ready)
        };
        let waits = |hands: &BTreeMap<u32, MemberState>| {
            let has_failed = is_first && awaited.iter().any(|number| hands[number].gone.is_some());
            !has_failed && awaited.iter().any(|number| hands[number].is_pending())
        };
        while waits(&self.hands)
            && (on_their_way > 0 || is_in_time(&self.hands, until, ready_until))
            && !interrupted()
        {
            while let Some((number, way)) = self.arriving.next() {
                on_their_way = on_their_way.saturating_sub(1);
                until = Instant::now() + READY_LIMIT;
                self.has_arrived(number, way);
            }
            let news = self.post.next(ASK);
            if let Some((_, MemberEvent::Joined(_))) = &news {
                ready_until = Instant::now() + READY_LIMIT;
            }
            self.handle_news(news);
            let why = self.refusal.take().or_else(|| if is_first { self.pods_obstacle() } else { None });
            if let Some(why) = why.filter(|_| self.first.is_some()) {
                return Err(Error::Fleet(why));
            }
        }
        self.compare_clocks();
        Ok(())
    }

    /// Whether only its link is cut: then it is waited for.
    pub(super) fn mark_cut(&mut self, number: u32, why: &str) -> bool {
        let may = self.asked.is_joined() && self.trial > 0;
        let Some(hand) = self.hands.get_mut(&number).filter(|hand| may && hand.is_ready()) else {
            return false;
        };
        hand.cut.get_or_insert_with(|| (Instant::now(), why.to_owned()));
        true
    }

    /// Whether the joining worker is one whose link was cut.
    pub(super) fn resume_cut(&mut self, number: u32, hello: &Hello) -> bool {
        let hand = self.hands.get_mut(&number).filter(|hand| hand.cut.is_some() && hand.is_ready());
        let hand = hand.filter(|hand| hello.member == Some(number) && hello.pid == hand.pid);
        hand.is_some_and(|hand| hand.cut.take().is_some())
    }

    /// Waits for workers cut off a moment ago; those that do not return are gone.
    pub(super) fn await_reconnects(&mut self) {
        let is_near =
            |hand: &MemberState| hand.cut.as_ref().is_some_and(|(since, _)| since.elapsed() < CUT_LIMIT);
        while self.hands.values().any(|hand| hand.is_ready() && is_near(hand)) {
            let news = self.post.next(ASK);
            self.handle_news(news);
        }
        for hand in self.hands.values_mut() {
            if let Some((_, why)) = hand.cut.take() {
                hand.mark_gone(&why);
            }
        }
    }

    /// The connection to one is there, or has failed.
    fn has_arrived(&mut self, number: u32, way: Result<Duplex, String>) {
        let Some(hand) = self.hands.get_mut(&number).filter(|hand| hand.is_pending()) else { return };
        let taken = way.and_then(|way| self.post.accept(number, way).map_err(|why| why.to_string()));
        if let Err(wrong) = taken {
            hand.mark_failed(&wrong);
        }
    }

    /// Sends a newly joined worker what it needs; fails if it cannot take part.
    fn welcome(&mut self, number: u32, hello: Hello) -> Result<(), String> {
        if self.asked.is_joined() && number < self.asked.most() && !self.hands.contains_key(&number) {
            self.hands.insert(number, MemberState::default());
            self.are_more = true;
        }
        if !self.hands.contains_key(&number) {
            // There are enough.
            self.post.send(number, Instruction::Leave);
            return Ok(());
        }
        let place = self.describe_place(&hello.place);
        let is_elsewhere = hello.machine != machine::boot_id();
        if hello.stamp.arch != build_stamp().arch {
            let grounds =
                CaveatDetails::Unlike { place: place.clone(), arch: hello.stamp.arch, version: hello.build };
            self.caveats.push(Caveat::with_details(CaveatKind::OtherBuild, grounds));
        }
        if let Some(hand) = self.hands.get_mut(&number) {
            if self.asked.is_joined() {
                *hand = MemberState::default();
            }
            (hand.place, hand.host, hand.pid) = (place, hello.place, hello.pid);
            hand.is_elsewhere = is_elsewhere;
        }
        match self.job.as_ref().and_then(|job| self.own_address_problem(&job.endpoint)) {
            Some(why) => Err(why),
            None => {
                self.tell_share(number);
                Ok(())
            }
        }
    }

    /// Why the target is unsuitable for a worker, if so: at a loopback address, another machine finds only itself.
    pub(super) fn own_address_problem(&self, endpoint: &ResolvedTarget) -> Option<String> {
        if *endpoint.target() == Target::Null || !endpoint.is_local() {
            return None;
        }
        let place = &self.hands.values().find(|hand| hand.is_connected() && hand.is_elsewhere)?.host;
        Some(format!(
            "{} is this machine's own address, at which {place} finds itself: name the target by an address that {place} \
             reaches, too",
            endpoint.describe()
        ))
    }

    /// Why a worker cannot do its part, for people.
    fn refused(&self, number: u32, why: &str, unreached: bool) -> String {
        if self.asked.is_here() {
            return why.to_owned();
        }
        let (called, place) = (self.describe_worker(number), &self.hands[&number].place);
        let is_near = || self.job.as_ref().is_some_and(|job| engine::connect_once(job).is_ok());
        let hint = if unreached && is_near() {
            format!(
                "; this machine reaches it: name it by an address that {place} reaches, too, and look at firewalls"
            )
        } else {
            String::new()
        };
        format!("{called} cannot make the load: {why}{hint}")
    }

    /// Restarts lost workers, and compares clocks; for one that fails, its [`MemberState`] says why.
    pub(super) fn restart_lost(&mut self) {
        if self.there().len() < self.hands.len() {
            let stop = self.stop.clone();
            let _ = self.start_missing(&|| stop.is_requested());
        } else {
            self.compare_clocks();
        }
    }

    pub(super) fn compare_clocks(&mut self) {
        self.post.compare_clocks(AGREE_LIMIT * self.hands.len() as u32);
        while let Some(news) = self.post.next(Duration::ZERO) {
            self.handle_news(Some(news));
        }
        let Self { post, hands, .. } = self;
        hands.iter_mut().for_each(|(number, hand)| hand.clock = post.clock_reading(*number, now()));
    }

    /// Handles an event between trials.
    pub(super) fn handle_news(&mut self, news: Option<(u32, MemberEvent)>) {
        let Some((number, news)) = news else { return };
        if let MemberEvent::Joined(hello) = news {
            if self.resume_cut(number, &hello) {
                return;
            }
            self.refusal = self.welcome(number, hello).err().or(self.refusal.take());
            return;
        }
        if let MemberEvent::Told(MemberReport::Ready { share, .. } | MemberReport::Refused { share, .. }) =
            &news
            && *share != self.share
        {
            // It answers an outdated request.
            return;
        }
        let refused = match &news {
            MemberEvent::Told(MemberReport::Refused { why, unreached, .. }) => {
                Some(self.refused(number, why, *unreached))
            }
            _ => None,
        };
        self.refusal = refused.clone().or(self.refusal.take());
        let may_come_again = self.asked.is_joined() && self.trial == 0;
        let is_elsewhere = !self.asked.is_here();
        let Some(hand) = self.hands.get_mut(&number) else { return };
        match news {
            MemberEvent::Told(MemberReport::Ready { loops, connections, caveats, beside, .. }) => {
                self.starts.remove(&number);
                (hand.loops, hand.connections, hand.shares) = (loops, connections, false);
                let beside = Some(CaveatDetails::Beside { place: hand.place.clone() })
                    .filter(|_| beside && is_elsewhere);
                self.caveats
                    .extend(beside.map(|grounds| Caveat::with_details(CaveatKind::BesideTarget, grounds)));
                let place = &hand.place;
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
            MemberEvent::Told(MemberReport::Refused { .. }) => {
                (hand.gone, hand.has_refused) = (refused, true)
            }
            MemberEvent::Gone(_) if may_come_again => *hand = MemberState::default(),
            MemberEvent::Gone(why) => {
                if !self.mark_cut(number, &why)
                    && let Some(hand) = self.hands.get_mut(&number)
                {
                    hand.mark_gone(&why);
                }
            }
            MemberEvent::Told(MemberReport::Leaving { why }) => hand.leaves = Some(why),
            MemberEvent::Joined(_) | MemberEvent::Jumped(_) | MemberEvent::Told(_) => {}
        }
    }

    /// Sends a worker its share.
    fn tell_share(&self, number: u32) {
        let (parcel, cores) = self.share(number);
        let tries = match number {
            _ if self.asked.is_here() => TargetCheck::Nothing,
            number if self.first == Some(number) => TargetCheck::Request,
            _ => TargetCheck::Connection,
        };
        self.post
            .send(number, Instruction::Welcome { member: number, share: self.share, parcel, cores, tries });
    }

    /// Sends everybody a new share to prepare for: the members or the plan have changed.
    pub(super) fn redistribute_shares(&mut self) {
        self.share += 1;
        let in_touch = |(number, hand): (&u32, &MemberState)| hand.is_connected().then_some(*number);
        for number in self.hands.iter().filter_map(in_touch).collect::<Vec<u32>>() {
            self.tell_share(number);
            if let Some(hand) = self.hands.get_mut(&number) {
                (hand.loops, hand.shares) = (0, true);
                if std::mem::take(&mut hand.has_refused) {
                    hand.gone = None;
                }
            }
        }
    }

    /// A worker's share: the plan with its part of all limits, and its processors.
    fn share(&self, number: u32) -> (Box<plan::PortablePlan>, Vec<u32>) {
        let (count, mut plan) = (self.hands.len() as u32, self.plan.clone());
        let generator = &mut plan.generator;
        generator.connections = generator.connections.div_ceil(count);
        generator.outstanding = generator.outstanding.div_ceil(count);
        let (place, beside) = self.asked.among(number, count);
        let cores = assign_cores(&generator.cores, place, beside);
        if let Task::Run(Load::Closed { connections, .. }) = &mut plan.task {
            *connections = connections.div_ceil(count);
        }
        (Box::new(plan::PortablePlan::new(&plan, self.authorities.as_deref())), cores)
    }
}
