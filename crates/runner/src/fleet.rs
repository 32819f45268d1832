//! Workers that together make the loads of one plan after another, conducted like a single engine: each sends its part
//! by the clock, reports its counts every second, and is judged by itself. A lost one voids its trial and nothing else.

mod config;
mod grow;
mod held_connections;
mod join_listener;
mod lifecycle;
mod losses;
mod member_state;
mod membership;
mod pods;
mod ssh;
mod ssh_stderr;
mod watchers;

pub use config::{FleetConfig, WatchersConfig};
pub use join_listener::JoinListener;
pub(crate) use pods::local_address_error;
pub(crate) use watchers::Watchers;

use crate::StopFlag;
use crate::worker::SILENT;
use cluster::RunPods;
use engine::{ClockSample, EngineConfig, LEAD, LoadCommand, LoadGenerator};
use fleet::{
    Instruction, Ledger, LoopAssignment, MemberReport, TrialAction, TrialAssignment, TrialCoordinator,
};
use grow::WorkerCost;
use link::{CoordinatorLink, MemberEvent};
use member_state::MemberState;
use plan::Plan;
use record::{Caveat, FleetMember, MemberFigures, Slice, TrialCounts};
use schedule::OfferedLoad;
use ssh::PendingConnections;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use units::Nanos;

/// How often to check for a stop.
const ASK: Duration = Duration::from_millis(50);
/// Messages processed before anybody is judged by the clock.
const HEARD: usize = 4096;
/// Grace after the settle limit before a worker's report is given up on.
const SETTLE_SPARE: Nanos = Nanos::from_secs(5);
/// A worker whose link is cut ends its load after six seconds of silence. Its last report is at most a second older,
/// and so is the last message it received.
const GOES_ON: Nanos = Nanos(SILENT.0 + 2_000_000_000);

/// Workers, and the link to each.
pub(crate) struct Fleet {
    post: CoordinatorLink,
    /// The current plan.
    plan: Plan,
    /// Trusted authorities of this process, which the workers trust too.
    authorities: Option<Vec<u8>>,
    asked: FleetConfig,
    /// Engine configuration for the target; `None` where only the workers can resolve its name.
    job: Option<EngineConfig>,
    /// By number.
    hands: BTreeMap<u32, MemberState>,
    /// Its pods, if in a cluster.
    workforce: Option<RunPods>,
    /// Failed starts in a row, by number.
    starts: BTreeMap<u32, u32>,
    /// Members being connected.
    arriving: PendingConnections,
    /// Caveats of ready workers, until reported.
    caveats: Vec<Caveat>,
    /// Caveats already reported for this plan's loads.
    doubted: Vec<Caveat>,
    /// Why a worker cannot do its part, until reported.
    refusal: Option<String>,
    /// Ends all waiting.
    stop: StopFlag,
    /// What the last load cost its workers.
    cost: Option<WorkerCost>,
    /// Upper limit on workers.
    most: u32,
    /// Some joined since shares were sent.
    are_more: bool,
    /// The workers when shares were last sent.
    told: Vec<FleetMember>,
    /// Workers are admitted.
    is_open: bool,
    /// Workers that hold connections.
    holders: Vec<u32>,
    /// Version of the shares last sent.
    share: u64,
    /// The worker to make the plan's first request; `None` after the first load.
    first: Option<u32>,
    /// Latest trial number, never reused.
    trial: u64,
    /// Trials cancelled lately, with the workers told so.
    called_off: BTreeSet<(u64, u32)>,
    /// Number of the next trial's first arrival, counted over the whole run.
    next_number: u64,
}

/// A trial under way.
struct FleetTrial {
    muster: TrialCoordinator,
    ledger: Ledger,
    worked: BTreeMap<u32, MemberFigures>,
    /// Workers that others asked to leave and that still report: since when, and why.
    leaving: BTreeMap<u32, (Nanos, String)>,
    /// Arrivals sent by others than intended: the cancellation reached them too late.
    strays: Vec<(u32, u64)>,
    /// All are ready, and the start is not reported yet.
    begins: bool,
}

impl Fleet {
    /// Workers that can take part, with their loops.
    fn there(&self) -> BTreeMap<u32, u32> {
        let there = self.hands.iter().filter(|(_, hand)| hand.is_there());
        there.map(|(number, hand)| (*number, hand.loops)).collect()
    }

    fn send_all(&self, what: impl Fn() -> Instruction) {
        for (number, _) in self.hands.iter().filter(|(_, hand)| hand.is_connected()) {
            self.post.send(*number, what());
        }
    }

    /// Carries out the trial coordinator's action.
    fn make(
        &mut self,
        what: TrialAction,
        course: &mut FleetTrial,
        loops: &LoopAssignment,
        offer: &OfferedLoad,
        drain: Nanos,
    ) {
        match what {
            TrialAction::Arm { trial, start } => {
                self.trial = trial;
                self.called_off = self.called_off.split_off(&(trial.saturating_sub(2), 0));
                for (number, hand) in &self.hands {
                    let Some(clock) = hand.clock.filter(|_| !loops.of(*number).is_empty()) else { continue };
                    let duty = TrialAssignment {
                        trial,
                        offer: offer.clone(),
                        loops: loops.of(*number).to_vec(),
                        of: loops.total(),
                        first_number: self.next_number,
                        start: clock.theirs(start),
                        drain,
                    };
                    self.post.send(*number, Instruction::Arm(Box::new(duty)));
                }
            }
            TrialAction::Cancel { trial } => {
                self.called_off.extend(loops.members().map(|member| (trial, member)));
                self.send_all(|| Instruction::Cancel { trial });
            }
            TrialAction::Begin => course.begins = true,
            TrialAction::Stop { trial, at } => {
                course.ledger.end_load(at);
                self.send_all(|| Instruction::Stop { trial, at });
            }
            TrialAction::Lose { member } => {
                if let Some(hand) = self.hands.get_mut(&member) {
                    // One that hangs is killed: it must not wake up and go on.
                    hand.end();
                }
            }
        }
    }

    /// Handles an event during a trial.
    fn handle_trial_news(&mut self, number: u32, news: MemberEvent, course: &mut FleetTrial) {
        let now = now();
        let FleetTrial { muster, ledger, worked, leaving, strays, .. } = course;
        let told_of = self.trial;
        match news {
            MemberEvent::Told(MemberReport::Armed { trial }) => muster.armed(number, trial),
            MemberEvent::Told(MemberReport::Slice { trial, slice }) if trial == told_of => {
                ledger.add_slice(number, &slice);
                muster.member_reported(number, ledger.reported_until(number));
                if let Some(second) = ledger.acknowledge(number) {
                    self.post.send(number, Instruction::Heard { trial, second });
                }
            }
            MemberEvent::Told(MemberReport::Over { trial, at, slices, worked: mut did })
                if trial == told_of =>
            {
                did.member = number;
                let before = self.hands.get(&number).and_then(|hand| hand.clock);
                let clock = self.post.clock_reading(number, now).or(before);
                did.clock = clock.map_or(Nanos::ZERO, |clock| clock.bound);
                worked.insert(number, *did);
                ledger.finish_member(number, at, slices);
                muster.member_over(number, at);
            }
            MemberEvent::Told(MemberReport::Over { trial, worked, .. })
                if self.called_off.remove(&(trial, number)) =>
            {
                strays.push((number, worked.sent));
            }
            MemberEvent::Told(MemberReport::Leaving { why }) => {
                leaving.insert(number, (now - muster.start_time(), why.clone()));
                self.handle_news(Some((number, MemberEvent::Told(MemberReport::Leaving { why }))));
                muster.stop(now);
            }
            // It may reconnect, and then report what it counted meanwhile.
            MemberEvent::Gone(why) if self.mark_cut(number, &why) => {}
            MemberEvent::Joined(hello) if self.resume_cut(number, &hello) => {
                if let Some(at) = muster.stopped() {
                    self.post.send(number, Instruction::Stop { trial: told_of, at });
                }
            }
            MemberEvent::Gone(why) => {
                self.handle_news(Some((number, MemberEvent::Gone(why))));
                let why = self.hands.get(&number).and_then(|hand| hand.gone.clone()).unwrap_or_default();
                muster.member_lost(number, why, now);
            }
            MemberEvent::Jumped(_) => muster.member_lost(number, "its clock was set".to_owned(), now),
            other => self.handle_news(Some((number, other))),
        }
    }
}

impl LoadGenerator for Fleet {
    /// Workers lost meanwhile are restarted for the next trial; if that fails, those present make it, since the target
    /// does not care how many ask.
    fn run_trial(
        &mut self,
        offer: &OfferedLoad,
        drain: Nanos,
        on_begin: &mut dyn FnMut(ClockSample),
        on_slice: &mut dyn FnMut(&Slice),
        wish: &mut dyn FnMut(&Slice, Nanos) -> LoadCommand,
    ) -> TrialCounts {
        self.await_reconnects();
        if self.holders.is_empty() {
            self.first = None;
            if std::mem::take(&mut self.are_more) {
                self.redistribute_shares();
            }
            self.grow_for(offer);
            self.restart_lost();
        } else {
            // Held connections stay as they are.
            self.compare_clocks();
        }
        let there = self.there();
        let lost_before = self.lost_holders();
        let loops = LoopAssignment::dealt(there.clone());
        let round_trips = self.hands.values().filter_map(|hand| hand.clock).map(|clock| clock.round_trip);
        let muster = TrialCoordinator::begin(
            self.trial + 1,
            there.into_keys(),
            round_trips.max().unwrap_or_default(),
            now(),
        );
        let mut course = FleetTrial {
            muster,
            ledger: Ledger::new(&loops, offer),
            worked: BTreeMap::new(),
            leaving: BTreeMap::new(),
            strays: Vec::new(),
            begins: false,
        };
        let mut wished = LoadCommand::GoOn;
        loop {
            let mut lost = Vec::new();
            while let Some(what) = course.muster.next_action() {
                if let TrialAction::Lose { member } = what {
                    lost.push(member);
                }
                self.make(what, &mut course, &loops, offer, drain);
            }
            // The end of the load first: what they owe ends with it. One that was not started from here cannot be
            // killed.
            let goes_on = if self.asked.is_joined() { GOES_ON } else { Nanos::ZERO };
            lost.into_iter().for_each(|member| course.ledger.lose_member(member, goes_on));
            while let Some(slice) = course.ledger.next_whole() {
                on_slice(&slice);
            }
            if course.muster.has_failed() || course.muster.is_over() && course.ledger.is_over() {
                break;
            }
            let begins = course.muster.start_time() - LEAD;
            if course.begins && now() >= begins {
                course.begins = false;
                on_begin(ClockSample::now());
            }
            let wakes = if course.begins { Some(begins) } else { course.muster.decision_time() };
            let ahead = |moment: Nanos| Duration::from_nanos((moment - now()).0);
            let mut patience = wakes.map_or(ASK, |moment| ASK.min(ahead(moment)));
            for _ in 0..HEARD {
                let Some((number, news)) = self.post.next(patience) else { break };
                self.handle_trial_news(number, news, &mut course);
                patience = Duration::ZERO;
            }
            let now = now();
            course.muster.tick(now);
            if wished == LoadCommand::GoOn {
                wished = wish(course.ledger.total(), now - course.muster.start_time());
                if wished > LoadCommand::GoOn {
                    course.muster.stop(now);
                }
            }
        }
        self.trial = course.muster.trial();
        let lost = [lost_before, self.lost_members(&course, offer)].concat();
        let mut counted = course.ledger.into_counted();
        // Lost workers took numbers that nobody reported.
        let taken = match offer {
            OfferedLoad::Open(schedule) if !lost.is_empty() => schedule.expected_arrivals().ceil() as u64,
            _ => 0,
        };
        self.next_number += counted.total.due.max(taken);
        counted.members = course.worked.into_values().collect();
        self.cost = WorkerCost::of(offer, &counted.members).or(self.cost);
        counted.lost = lost;
        counted
    }

    fn settle(&mut self, limit: Nanos, interrupted: &dyn Fn() -> bool) -> Option<Nanos> {
        let (began, trial) = (now(), self.trial);
        let mut awaited: Vec<u32> = self.there().into_keys().collect();
        self.send_all(|| Instruction::Settle { limit });
        let mut in_time = true;
        while !awaited.is_empty() && now() - began <= limit + SETTLE_SPARE {
            let news = self.post.next(ASK);
            match &news {
                Some((number, MemberEvent::Told(MemberReport::Settled { trial: which })))
                    if *which == trial =>
                {
                    awaited.retain(|member| member != number);
                }
                Some((number, MemberEvent::Gone(why))) if !self.mark_cut(*number, why) => {
                    awaited.retain(|member| member != number);
                }
                // Its instructions may have been lost.
                Some((number, MemberEvent::Joined(_))) => {
                    self.post.send(*number, Instruction::Settle { limit });
                }
                _ => {}
            }
            self.handle_news(news);
            if in_time && (now() - began > limit || interrupted()) {
                in_time = false;
                self.send_all(|| Instruction::Abandon);
            }
        }
        in_time.then(|| now() - began)
    }

    fn changed_members(&mut self) -> Option<Vec<FleetMember>> {
        let member = |(number, hand): (&u32, &MemberState)| FleetMember {
            number: *number,
            place: hand.place.clone(),
            on: self.asked.on_option(*number),
            pid: hand.pid,
            loops: hand.loops,
            clock: hand.clock.map_or(Nanos::ZERO, |clock| clock.bound),
        };
        let members: Vec<FleetMember> =
            self.hands.iter().filter(|(_, hand)| hand.is_there()).map(member).collect();
        // Every pod's process has the same PID.
        let same = |one: &FleetMember, other: &FleetMember| {
            (one.number, one.pid, &one.place) == (other.number, other.pid, &other.place)
        };
        let is_told =
            members.len() == self.told.len() && members.iter().zip(&self.told).all(|(a, b)| same(a, b));
        if is_told {
            return None;
        }
        self.told.clone_from(&members);
        Some(members)
    }

    fn take_caveats(&mut self) -> Vec<Caveat> {
        // A caveat of a shared machine was reported with the first worker.
        let caveats = std::mem::take(&mut self.caveats);
        let is_news = |caveat: &Caveat| !self.asked.is_here() && !self.doubted.contains(caveat);
        let caveats: Vec<Caveat> = caveats.into_iter().filter(is_news).collect();
        self.doubted.extend_from_slice(&caveats);
        caveats
    }

    fn scale_up(&mut self) -> bool {
        self.grow_after()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.arriving.give_up();
        self.send_all(|| Instruction::Leave);
        for hand in self.hands.values_mut() {
            hand.leave(hand.is_connected());
        }
    }
}

fn now() -> Nanos {
    Nanos(sys::monotonic_ns())
}
