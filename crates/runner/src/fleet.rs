//! Processes that make the load together, conducted as one engine is: each sends its part by the clock, tells every second what
//! it counted, and is judged by itself. One that is lost voids its trial and nothing else.

mod entrance;
mod hand;
mod ssh;

pub use entrance::Entrance;

use crate::conductor::Ready;
use crate::{Error, Stop, machine, preflight};
use engine::{Carrier, Endpoint, Job, LEAD, Moment, Wish};
use fleet::{Absence, Duty, FirstTry, Hello, Instruction, Ledger, Loops, Move, Muster, SLICE_LATE, Tidings};
use hand::Hand;
use link::{Duplex, News, Post};
use plan::{Load, Plan, Target, Task};
use record::{Caveat, Counted, Doubt, FleetMember, Grounds, LostMember, Slice, Worked};
use schedule::Offer;
use ssh::Passage;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use units::Nanos;

/// More processes on one machine only take processor time from each other.
pub const WORKERS_MOST: u32 = 64;
/// From a worker's start until it is ready: it joins, looks the target up, and starts its loops.
const READY_LIMIT: Duration = Duration::from_secs(30);
/// A program that is copied to another machine and gets no further for so long does not get there.
const COPIED_STALLS: Duration = Duration::from_secs(30);
/// For twenty exchanges with each, by which the clocks are compared before a trial.
const AGREE_LIMIT: Duration = Duration::from_secs(2);
/// How often is looked whether somebody wishes something.
const ASK: Duration = Duration::from_millis(50);
/// Who has not told so long after the limit that all is answered is not waited for.
const SETTLE_SPARE: Nanos = Nanos::from_secs(5);
/// One that does not come back so often is left alone.
const STARTS: u32 = 3;
/// This program, whatever its file is called by now.
const PROGRAM: &str = "/proc/self/exe";

/// Which processes make the load of a run, if it is not this one alone.
#[derive(Debug, Clone)]
pub enum FleetAsked {
    /// So many, on this machine.
    Here {
        /// From 1.
        workers: u32,
    },
    /// One on each of these hosts, by ssh.
    Ssh {
        /// As ssh takes them; one that is named twice has two.
        hosts: Vec<String>,
        /// Where torment is there, if that is said.
        binary: Option<String>,
    },
    /// So many, that others start.
    Join {
        /// From 1.
        workers: u32,
        /// Where they come in.
        entrance: Arc<Entrance>,
    },
}

impl FleetAsked {
    fn workers(&self) -> u32 {
        match self {
            Self::Here { workers } | Self::Join { workers, .. } => *workers,
            Self::Ssh { hosts, .. } => hosts.len() as u32,
        }
    }

    fn is_here(&self) -> bool {
        matches!(self, Self::Here { .. })
    }

    fn is_joined(&self) -> bool {
        matches!(self, Self::Join { .. })
    }

    /// Which of the workers on the same machine one of them is, and how many these are.
    fn among(&self, number: u32) -> (u32, u32) {
        match self {
            Self::Here { workers } => (number, *workers),
            Self::Ssh { hosts, .. } => {
                let same =
                    |hosts: &[String], host| hosts.iter().filter(|other| *other == host).count() as u32;
                let host = &hosts[number as usize];
                (same(&hosts[..number as usize], host), same(hosts, host))
            }
            // Whoever starts two on one machine divides it.
            Self::Join { .. } => (0, 1),
        }
    }
}

/// Workers, and the line to each.
pub(crate) struct Fleet {
    post: Post,
    plan: Plan,
    asked: FleetAsked,
    /// What is asked of the target; none where its name is known to others only.
    job: Option<Job>,
    /// By number.
    hands: BTreeMap<u32, Hand>,
    /// How often one was started in a row that did not come.
    starts: BTreeMap<u32, u32>,
    /// Those that are on their way, and how that ended.
    arriving: (Sender<Arrived>, Receiver<Arrived>),
    /// Nobody waits for these any more.
    given_up: Arc<AtomicBool>,
    /// What is doubtful about those that are ready, until it is told.
    caveats: Vec<Caveat>,
    /// Why one of them cannot do its part, until that is told.
    refusal: Option<String>,
    /// Who took part when that was told last.
    told: Vec<FleetMember>,
    /// Of what was begun last: it is never the same twice.
    trial: u64,
    /// Of the first arrival of the next trial, counted over the whole run.
    next_number: u64,
}

/// A worker's number, and the way to it, or why there is none.
type Arrived = (u32, Result<Duplex, String>);

/// One trial while it lasts.
struct Course {
    muster: Muster,
    ledger: Ledger,
    worked: BTreeMap<u32, Worked>,
    /// Those that were asked to go by others, and still tell what they counted: since when.
    leaving: BTreeMap<u32, (Nanos, String)>,
    /// All are ready, and it has not been told yet that it begins.
    begins: bool,
}

impl Fleet {
    /// Starts the workers, and waits until each of them could begin.
    ///
    /// Fails with what the first of them cannot do.
    pub fn ready(
        plan: &Plan,
        target: &Target,
        asked: &FleetAsked,
        stop: &Stop,
    ) -> Result<Ready<Self>, Error> {
        let job = match preflight::job(plan, target) {
            // It need not be known here.
            Err(Error::Engine(engine::Error::Resolve { .. })) if !asked.is_here() => None,
            job => Some(job?),
        };
        if let Some(job) = job.as_ref().filter(|_| asked.is_here() && *target != Target::Null) {
            // What this machine can reach, they can.
            preflight::first_answer(job)?;
        }
        let endpoint = job.as_ref().map_or_else(Endpoint::null, |job| job.endpoint.clone());
        let post =
            Post::open(crate::BUILD, &plan.generator.cores).map_err(|why| Error::Fleet(why.to_string()))?;
        let plan = Plan { target: target.clone(), ..plan.clone() };
        let connections = u64::from(plan.generator.connections);
        let mut fleet = Self {
            post,
            plan,
            job,
            hands: (0..asked.workers()).map(|number| (number, Hand::default())).collect(),
            asked: asked.clone(),
            starts: BTreeMap::new(),
            arriving: channel(),
            given_up: Arc::default(),
            caveats: Vec::new(),
            refusal: None,
            told: Vec::new(),
            trial: 0,
            next_number: 0,
        };
        if let FleetAsked::Join { entrance, .. } = asked {
            entrance.lead_to(&fleet.post)?;
        }
        fleet.start_missing(&|| stop.asked())?;
        if let (FleetAsked::Join { workers, .. }, there) = (asked, fleet.there().len() as u32)
            && there < *workers
        {
            return Err(Error::Fleet(fleet.nobody_comes(there, *workers)));
        }
        // Who is known to be gone says more than who was only waited for.
        let absent = || fleet.hands.iter().filter(|(_, hand)| !hand.is_there());
        if let Some((number, hand)) =
            absent().find(|(_, hand)| hand.gone.is_some()).or_else(|| absent().next())
        {
            let why = hand.gone.as_deref().unwrap_or("it was not ready in time");
            return Err(Error::Fleet(format!("{} did not start: {why}", fleet.called(*number))));
        }
        let mut caveats = std::mem::take(&mut fleet.caveats);
        if asked.is_here() {
            // What one of them lacks on a machine that all share, each lacks.
            caveats.truncate(1);
        }
        Ok(Ready { carrier: fleet, endpoint, connections, caveats })
    }

    /// A worker in words.
    fn called(&self, number: u32) -> String {
        match &self.asked {
            FleetAsked::Here { .. } => format!("worker {number}"),
            FleetAsked::Ssh { hosts, .. } => format!("the worker on {}", hosts[number as usize]),
            FleetAsked::Join { .. } => {
                let place = self.hands.get(&number).map_or("", |hand| hand.place.as_str());
                format!("worker {number} on {place}")
            }
        }
    }

    /// Starts one; how that goes on is heard.
    fn start(&mut self, number: u32) -> io::Result<()> {
        let hand = match &self.asked {
            FleetAsked::Here { .. } => {
                let theirs = self.post.pair(number).map_err(io::Error::other)?;
                Hand::start(&std::env::current_exe()?, theirs)?
            }
            FleetAsked::Ssh { hosts, binary } => {
                let (host, program) = (&hosts[number as usize], File::open(PROGRAM)?);
                let mut ssh = ssh::start(host, binary.as_deref(), program.metadata()?.len())?;
                let (passage, tell) = (Passage::of(&mut ssh, &self.given_up)?, self.arriving.0.clone());
                std::thread::Builder::new().name("arriving".to_owned()).spawn(move || {
                    let _ = tell.send((number, passage.board(&program)));
                })?;
                Hand::reached_by(ssh, host)?
            }
            FleetAsked::Join { .. } => {
                // Others do: its place is free.
                let hand = self.hands.get_mut(&number);
                if let Some(hand) = hand.filter(|hand| hand.gone.is_some() || hand.leaves.is_some()) {
                    *hand = Hand::default();
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
        let turned_away = self.post.turned_away().into_iter().last();
        let turned_away = turned_away.map_or(String::new(), |who| format!("; turned away: {who}"));
        format!(
            "{there} of {workers} workers came in time: start the others (torment worker --join FILE), ask for fewer, or wait for longer \
             (--wait){turned_away}"
        )
    }

    /// Starts those that are not there, and waits until they could begin, or it is known why not. The clocks are compared then.
    fn start_missing(&mut self, interrupted: &dyn Fn() -> bool) -> Result<(), Error> {
        let is_first = self.trial == 0;
        let tried = |starts: &BTreeMap<u32, u32>, number: &u32| starts.get(number).copied().unwrap_or(0);
        let missing: Vec<u32> = self
            .hands
            .iter()
            .filter(|(number, hand)| !hand.is_there() && tried(&self.starts, number) < STARTS)
            .map(|(number, _)| *number)
            .collect();
        for number in &missing {
            if !self.asked.is_joined() {
                *self.starts.entry(*number).or_default() += 1;
            }
            self.start(*number)
                .map_err(|why| Error::Fleet(format!("{} does not start: {why}", self.called(*number))))?;
        }
        let is_nobody_there = missing.len() == self.hands.len();
        let mut on_their_way = if matches!(self.asked, FleetAsked::Ssh { .. }) { missing.len() } else { 0 };
        let mut until = Instant::now()
            + match &self.asked {
                FleetAsked::Join { entrance, .. } if is_nobody_there => {
                    Duration::from_nanos(entrance.waits.0)
                }
                // The others go on without it; it may come for a later trial.
                FleetAsked::Join { .. } => Duration::ZERO,
                _ => READY_LIMIT,
            };
        let waits = |hands: &BTreeMap<u32, Hand>| {
            let has_failed = is_first && missing.iter().any(|number| hands[number].gone.is_some());
            !has_failed && missing.iter().any(|number| hands[number].is_pending())
        };
        while waits(&self.hands) && (on_their_way > 0 || Instant::now() < until) && !interrupted() {
            while let Ok((number, way)) = self.arriving.1.try_recv() {
                on_their_way = on_their_way.saturating_sub(1);
                until = Instant::now() + READY_LIMIT;
                self.has_arrived(number, way);
            }
            let news = self.post.next(ASK);
            if let (Some((_, News::Joined(_))), true) = (&news, self.asked.is_joined()) {
                until = until.max(Instant::now() + READY_LIMIT);
            }
            self.hear(news);
            if let Some(why) = self.refusal.take().filter(|_| is_first) {
                return Err(Error::Fleet(why));
            }
        }
        self.agree();
        Ok(())
    }

    /// The way to one of them is there, or is known not to be.
    fn has_arrived(&mut self, number: u32, way: Result<Duplex, String>) {
        let Some(hand) = self.hands.get_mut(&number).filter(|hand| hand.is_pending()) else { return };
        let taken = way.and_then(|way| self.post.take(number, way).map_err(|why| why.to_string()));
        if let Err(wrong) = taken {
            hand.did_not_come(&wrong);
        }
    }

    /// Tells one that has joined what it needs to get ready; else why it cannot take part.
    fn welcome(&mut self, number: u32, hello: Hello) -> Result<(), String> {
        if !self.hands.contains_key(&number) {
            // There are enough.
            self.post.send(number, Instruction::Leave);
            return Ok(());
        }
        let is_elsewhere = hello.machine != machine::start();
        if let Some(job) = self.job.as_ref().filter(|job| is_elsewhere && job.endpoint.is_local())
            && self.plan.target != Target::Null
        {
            let (place, at) = (&hello.place, job.endpoint.describe());
            return Err(format!(
                "{at} is this machine's own address, at which {place} finds itself: name the target by an address that \
                 {place} reaches, too"
            ));
        }
        let (parcel, cores) = self.share(number);
        let tries = match number {
            _ if self.asked.is_here() => FirstTry::Nothing,
            0 if self.trial == 0 => FirstTry::Request,
            _ => FirstTry::Connection,
        };
        self.post.send(number, Instruction::Welcome { member: number, parcel, cores, tries });
        if let Some(hand) = self.hands.get_mut(&number) {
            if self.asked.is_joined() {
                *hand = Hand::default();
            }
            (hand.place, hand.pid) = (hello.place, hello.pid);
        }
        Ok(())
    }

    /// Why one of them cannot do its part, in words.
    fn refused(&self, number: u32, why: &str, unreached: bool) -> String {
        if self.asked.is_here() {
            return why.to_owned();
        }
        let (called, place) = (self.called(number), &self.hands[&number].place);
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

    /// Compares the clocks.
    fn agree(&mut self) {
        self.post.agree(AGREE_LIMIT * self.hands.len() as u32);
        while let Some(news) = self.post.next(Duration::ZERO) {
            self.hear(Some(news));
        }
        let Self { post, hands, .. } = self;
        hands.iter_mut().for_each(|(number, hand)| hand.clock = post.reading(*number, now()));
    }

    /// What is heard between trials.
    fn hear(&mut self, news: Option<(u32, News)>) {
        let Some((number, news)) = news else { return };
        if let News::Joined(hello) = news {
            self.refusal = self.welcome(number, hello).err().or(self.refusal.take());
            return;
        }
        let refused = match &news {
            News::Told(Tidings::Refused { why, unreached }) => Some(self.refused(number, why, *unreached)),
            _ => None,
        };
        self.refusal = refused.clone().or(self.refusal.take());
        let may_come_again = self.asked.is_joined() && self.trial == 0;
        let is_elsewhere = !self.asked.is_here();
        let Some(hand) = self.hands.get_mut(&number) else { return };
        match news {
            News::Told(Tidings::Ready { loops, caveats, beside }) => {
                self.starts.remove(&number);
                hand.loops = loops;
                let beside =
                    Some(Grounds::Beside { place: hand.place.clone() }).filter(|_| beside && is_elsewhere);
                self.caveats.extend(beside.map(|grounds| Caveat::on(Doubt::BesideTarget, grounds)));
                self.caveats.extend(caveats);
            }
            News::Told(Tidings::Refused { .. }) => hand.gone = refused,
            News::Gone(_) if may_come_again => *hand = Hand::default(),
            News::Gone(why) => hand.has_gone(&why),
            News::Told(Tidings::Leaving { why }) => hand.leaves = Some(why),
            News::Joined(_) | News::Jumped(_) | News::Told(_) => {}
        }
    }

    /// What this worker is given: the plan with its share of what is limited, and its processors.
    fn share(&self, number: u32) -> (Box<plan::Parcel>, Vec<u32>) {
        let (count, mut plan) = (self.hands.len() as u32, self.plan.clone());
        let generator = &mut plan.generator;
        generator.connections = generator.connections.div_ceil(count);
        generator.outstanding = generator.outstanding.div_ceil(count);
        let (place, beside) = self.asked.among(number);
        let cores = dealt(&generator.cores, place, beside);
        if let Task::Run(Load::Closed { connections, .. }) = &mut plan.task {
            *connections = connections.div_ceil(count);
        }
        (Box::new(plan::Parcel::of(&plan)), cores)
    }

    /// Those that can take part.
    fn there(&self) -> BTreeMap<u32, u32> {
        let there = self.hands.iter().filter(|(_, hand)| hand.is_there());
        there.map(|(number, hand)| (*number, hand.loops)).collect()
    }

    fn tell_all(&self, what: impl Fn() -> Instruction) {
        for number in self.there().into_keys() {
            self.post.send(number, what());
        }
    }

    /// Does what the muster asks for.
    fn make(&mut self, what: Move, course: &mut Course, loops: &Loops, offer: &Offer, drain: Nanos) {
        match what {
            Move::Arm { trial, start } => {
                self.trial = trial;
                for (number, hand) in &self.hands {
                    let Some(clock) = hand.clock.filter(|_| !loops.of(*number).is_empty()) else { continue };
                    let duty = Duty {
                        trial,
                        offer: offer.clone(),
                        loops: loops.of(*number).to_vec(),
                        of: loops.all(),
                        first_number: self.next_number,
                        start: clock.theirs(start),
                        drain,
                    };
                    self.post.send(*number, Instruction::Arm(Box::new(duty)));
                }
            }
            Move::Cancel { trial } => self.tell_all(|| Instruction::Cancel { trial }),
            Move::Begin => course.begins = true,
            Move::Stop { trial, at } => {
                course.ledger.ends(at);
                self.tell_all(|| Instruction::Stop { trial, at });
            }
            Move::Lose { member } => {
                if let Some(hand) = self.hands.get_mut(&member) {
                    // One that hangs is ended: it must not wake up and go on.
                    hand.end();
                }
            }
        }
    }

    /// What is heard in a trial.
    fn take(&mut self, number: u32, news: News, course: &mut Course) {
        let now = now();
        let Course { muster, ledger, worked, leaving, .. } = course;
        let told_of = self.trial;
        match news {
            News::Told(Tidings::Armed { trial }) => muster.armed(number, trial, now),
            News::Told(Tidings::Slice { trial, slice }) if trial == told_of => {
                ledger.slice(number, &slice);
                muster.told(number, ledger.until(number));
                if let Some(second) = ledger.heard(number) {
                    self.post.send(number, Instruction::Heard { trial, second });
                }
            }
            News::Told(Tidings::Over { trial, at, slices, worked: mut did }) if trial == told_of => {
                did.member = number;
                did.clock = self.post.reading(number, now).map_or(Nanos::ZERO, |clock| clock.bound);
                worked.insert(number, *did);
                ledger.over(number, at, slices);
                muster.over(number, at);
            }
            News::Told(Tidings::Leaving { why }) => {
                leaving.insert(number, (now - muster.start(), why.clone()));
                self.hear(Some((number, News::Told(Tidings::Leaving { why }))));
                muster.stop(now);
            }
            News::Gone(why) => {
                self.hear(Some((number, News::Gone(why))));
                let why = self.hands.get(&number).and_then(|hand| hand.gone.clone()).unwrap_or_default();
                muster.lost(number, why, now);
            }
            News::Jumped(_) => muster.lost(number, "its clock was set".to_owned(), now),
            other => self.hear(Some((number, other))),
        }
    }

    /// Those of whom the trial has not all, or who would not have gone on.
    fn lost(&self, course: &Course) -> Vec<LostMember> {
        let Course { muster, ledger, leaving, .. } = course;
        let mut lost: BTreeMap<u32, (Nanos, String)> = leaving.clone();
        if self.there().is_empty() && muster.has_failed() {
            let why =
                |hand: &Hand| hand.gone.clone().unwrap_or_else(|| "it was not ready in time".to_owned());
            lost.extend(self.hands.iter().map(|(number, hand)| (*number, (Nanos::ZERO, why(hand)))));
        }
        for (member, absence) in muster.absent() {
            let (at, why) = match absence {
                Absence::Unready => (Nanos::ZERO, "it did not say in time that it would begin".to_owned()),
                Absence::Behind(until) => (*until, format!("it told of nothing for more than {SLICE_LATE}")),
                Absence::Gone(at, why) => (*at, why.clone()),
            };
            lost.entry(member).or_insert((at, why));
        }
        for (member, until) in muster.overran() {
            lost.entry(member).or_insert((until, "it went on with its load after it was to end".to_owned()));
        }
        let entry = |(member, (at, why)): (u32, (Nanos, String))| {
            let place = self.hands.get(&member).map_or(String::new(), |hand| hand.place.clone());
            let unaccounted = ledger.unaccounted(member);
            LostMember { member, place, at, unaccounted, why }
        };
        lost.into_iter().map(entry).collect()
    }
}

impl Carrier for Fleet {
    /// Who is lost meanwhile is started again for the next one: for what a target holds it does not matter how many ask, so that
    /// whoever is there makes it if that fails.
    fn trial(
        &mut self,
        offer: &Offer,
        drain: Nanos,
        on_begin: &mut dyn FnMut(Moment),
        on_slice: &mut dyn FnMut(&Slice),
        wish: &mut dyn FnMut(&Slice, Nanos) -> Wish,
    ) -> Counted {
        if self.there().len() < self.hands.len() {
            // Why one does not start again stands in its hand.
            let _ = self.start_missing(&|| false);
        } else {
            self.agree();
        }
        let there = self.there();
        let loops = Loops::dealt(there.clone());
        let round_trips = self.hands.values().filter_map(|hand| hand.clock).map(|clock| clock.round_trip);
        let muster =
            Muster::begin(self.trial + 1, there.into_keys(), round_trips.max().unwrap_or_default(), now());
        let mut course = Course {
            muster,
            ledger: Ledger::of(&loops, offer),
            worked: BTreeMap::new(),
            leaving: BTreeMap::new(),
            begins: false,
        };
        let mut wished = Wish::GoOn;
        loop {
            let mut lost = Vec::new();
            while let Some(what) = course.muster.next_move() {
                if let Move::Lose { member } = what {
                    lost.push(member);
                }
                self.make(what, &mut course, &loops, offer, drain);
            }
            // The end of the load first: what they owe ends with it.
            lost.into_iter().for_each(|member| course.ledger.lost(member));
            while let Some(slice) = course.ledger.next_whole() {
                on_slice(&slice);
            }
            if course.muster.has_failed() || course.muster.is_over() && course.ledger.is_over() {
                break;
            }
            let ahead = (course.muster.start() - LEAD).0.saturating_sub(now().0);
            if course.begins && ahead == 0 {
                course.begins = false;
                on_begin(Moment::now());
            }
            let patience = if course.begins { ASK.min(Duration::from_nanos(ahead)) } else { ASK };
            if let Some((number, news)) = self.post.next(patience) {
                self.take(number, news, &mut course);
            }
            let now = now();
            course.muster.tick(now);
            if wished == Wish::GoOn {
                wished = wish(course.ledger.total(), now - course.muster.start());
                if wished > Wish::GoOn {
                    course.muster.stop(now);
                }
            }
        }
        self.trial = course.muster.trial();
        let lost = self.lost(&course);
        let mut counted = course.ledger.end();
        // Those that were lost took numbers with them of which nobody told.
        let taken = match offer {
            Offer::Open(schedule) if !lost.is_empty() => schedule.expected().ceil() as u64,
            _ => 0,
        };
        self.next_number += counted.total.due.max(taken);
        counted.members = course.worked.into_values().collect();
        counted.lost = lost;
        counted
    }

    fn settle(&mut self, limit: Nanos, interrupted: &dyn Fn() -> bool) -> Option<Nanos> {
        let (began, trial) = (now(), self.trial);
        let mut awaited: Vec<u32> = self.there().into_keys().collect();
        self.tell_all(|| Instruction::Settle { limit });
        let mut in_time = true;
        while !awaited.is_empty() && now() - began <= limit + SETTLE_SPARE {
            let news = self.post.next(ASK);
            match &news {
                Some((number, News::Told(Tidings::Settled { trial: which }))) if *which == trial => {
                    awaited.retain(|member| member != number);
                }
                Some((number, News::Gone(_))) => awaited.retain(|member| member != number),
                _ => {}
            }
            self.hear(news);
            if in_time && (now() - began > limit || interrupted()) {
                in_time = false;
                self.tell_all(|| Instruction::Abandon);
            }
        }
        in_time.then(|| now() - began)
    }

    fn stands(&mut self) -> Option<Vec<FleetMember>> {
        let member = |(number, hand): (&u32, &Hand)| FleetMember {
            number: *number,
            place: hand.place.clone(),
            pid: hand.pid,
            loops: hand.loops,
            clock: hand.clock.map_or(Nanos::ZERO, |clock| clock.bound),
        };
        let members: Vec<FleetMember> =
            self.hands.iter().filter(|(_, hand)| hand.is_there()).map(member).collect();
        let same =
            |one: &FleetMember, other: &FleetMember| (one.number, one.pid) == (other.number, other.pid);
        let is_told =
            members.len() == self.told.len() && members.iter().zip(&self.told).all(|(a, b)| same(a, b));
        if is_told {
            return None;
        }
        self.told.clone_from(&members);
        Some(members)
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.given_up.store(true, Ordering::Relaxed);
        self.tell_all(|| Instruction::Leave);
        self.hands.values_mut().for_each(Hand::leave);
    }
}

fn now() -> Nanos {
    Nanos(sys::monotonic_ns())
}

/// The processors of one of `count` workers: those that are named are dealt out; where they are fewer than workers, some share one.
fn dealt(cores: &[u32], number: u32, count: u32) -> Vec<u32> {
    let own: Vec<u32> = cores.iter().copied().skip(number as usize).step_by(count as usize).collect();
    if own.is_empty() {
        cores.get(number as usize % cores.len().max(1)).copied().into_iter().collect()
    } else {
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_dealt_out() {
        let all = |cores: &[u32], count| (0..count).map(|n| dealt(cores, n, count)).collect::<Vec<_>>();
        assert_eq!(all(&[], 2), vec![Vec::<u32>::new(); 2]);
        assert_eq!(all(&[0, 1, 4, 5, 7], 2), [vec![0, 4, 7], vec![1, 5]]);
        assert_eq!(all(&[2, 3], 3), [vec![2], vec![3], vec![2]]);
    }

    #[test]
    fn those_on_one_machine_are_told_apart() {
        let ssh = FleetAsked::Ssh { hosts: ["b", "c", "b", "b"].map(str::to_owned).to_vec(), binary: None };
        assert_eq!((0..4).map(|n| ssh.among(n)).collect::<Vec<_>>(), [(0, 3), (0, 1), (1, 3), (2, 3)]);
        assert_eq!((FleetAsked::Here { workers: 4 }.among(3), ssh.workers()), ((3, 4), 4));
    }
}
