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
pub use join_listener::{JoinListener, JoinRoute};
pub(crate) use pods::local_address_error;
pub(crate) use watchers::Watchers;

use crate::StopFlag;
use crate::worker::SILENCE_LIMIT;
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
const STOP_POLL: Duration = Duration::from_millis(50);
/// Messages processed before anybody is judged by the clock.
const EVENTS_PER_TICK: usize = 4096;
/// Grace after the settle limit before a worker's report is given up on.
const SETTLE_GRACE: Nanos = Nanos::from_secs(5);
/// A worker whose link is cut ends its load after six seconds of silence. Its last report is at most a second older,
/// and so is the last message it received.
const OVERRUN_AFTER_CUT: Nanos = Nanos(SILENCE_LIMIT.0 + 2_000_000_000);

/// Workers, and the link to each.
pub(crate) struct Fleet {
    link: CoordinatorLink,
    /// The current plan.
    plan: Plan,
    /// Trusted authorities of this process, which the workers trust too.
    authorities: Option<Vec<u8>>,
    config: FleetConfig,
    /// Engine configuration for the target; `None` where only the workers can resolve its name.
    engine_config: Option<EngineConfig>,
    /// By number.
    members: BTreeMap<u32, MemberState>,
    /// Its pods, if in a cluster.
    pods: Option<RunPods>,
    /// Failed starts in a row, by number.
    failed_starts: BTreeMap<u32, u32>,
    /// Members being connected.
    connecting: PendingConnections,
    /// Caveats of ready workers, until reported.
    caveats: Vec<Caveat>,
    /// Caveats already reported for this plan's loads.
    reported_caveats: Vec<Caveat>,
    /// Why a worker cannot do its part, until reported.
    refusal: Option<String>,
    /// Ends all waiting.
    stop: StopFlag,
    /// What the last load cost its workers.
    cost: Option<WorkerCost>,
    /// Upper limit on workers.
    max_workers: u32,
    /// Some joined since shares were sent.
    has_joined: bool,
    /// The workers when shares were last sent.
    sent_members: Vec<FleetMember>,
    /// Workers are admitted.
    is_admitting: bool,
    /// Workers that hold connections.
    holders: Vec<u32>,
    /// Version of the shares last sent.
    share: u64,
    /// The worker to make the plan's first request; `None` after the first load.
    checking_worker: Option<u32>,
    /// Latest trial number, never reused.
    trial: u64,
    /// Trials cancelled lately, with the workers told so.
    cancelled: BTreeSet<(u64, u32)>,
    /// Number of the next trial's first arrival, counted over the whole run.
    next_number: u64,
}

/// A trial under way.
struct FleetTrial {
    coordinator: TrialCoordinator,
    ledger: Ledger,
    figures: BTreeMap<u32, MemberFigures>,
    /// Workers that others asked to leave and that still report: since when, and why.
    leaving: BTreeMap<u32, (Nanos, String)>,
    /// Arrivals sent by others than intended: the cancellation reached them too late.
    stray_arrivals: Vec<(u32, u64)>,
    /// All are ready, and the start is not reported yet.
    is_starting: bool,
}

impl Fleet {
    /// Workers that can take part, with their loops.
    fn present_loops(&self) -> BTreeMap<u32, u32> {
        let present = self.members.iter().filter(|(_, state)| state.is_there());
        present.map(|(number, state)| (*number, state.loops)).collect()
    }

    /// Where a worker runs, for people.
    fn place(&self, number: u32) -> &str {
        self.members.get(&number).map_or("", |state| state.place.as_str())
    }

    fn send_all(&self, what: impl Fn() -> Instruction) {
        for (number, _) in self.members.iter().filter(|(_, state)| state.is_connected()) {
            self.link.send(*number, what());
        }
    }

    /// Carries out the trial coordinator's action.
    fn carry_out(
        &mut self,
        action: TrialAction,
        fleet_trial: &mut FleetTrial,
        loops: &LoopAssignment,
        offer: &OfferedLoad,
        drain: Nanos,
    ) {
        match action {
            TrialAction::Arm { trial, start } => {
                self.trial = trial;
                self.cancelled = self.cancelled.split_off(&(trial.saturating_sub(2), 0));
                for (number, state) in &self.members {
                    let Some(clock) = state.clock.filter(|_| !loops.of(*number).is_empty()) else { continue };
                    let assignment = TrialAssignment {
                        trial,
                        offer: offer.clone(),
                        loops: loops.of(*number).to_vec(),
                        of: loops.total(),
                        first_number: self.next_number,
                        start: clock.theirs(start),
                        drain,
                    };
                    self.link.send(*number, Instruction::Arm(Box::new(assignment)));
                }
            }
            TrialAction::Cancel { trial } => {
                self.cancelled.extend(loops.members().map(|member| (trial, member)));
                self.send_all(|| Instruction::Cancel { trial });
            }
            TrialAction::Begin => fleet_trial.is_starting = true,
            TrialAction::Stop { trial, at } => {
                fleet_trial.ledger.end_load(at);
                self.send_all(|| Instruction::Stop { trial, at });
            }
            TrialAction::Lose { member } => {
                if let Some(state) = self.members.get_mut(&member) {
                    // One that hangs is killed: it must not wake up and go on.
                    state.end();
                }
            }
        }
    }

    /// Handles an event during a trial.
    fn handle_trial_news(&mut self, number: u32, event: MemberEvent, fleet_trial: &mut FleetTrial) {
        let now = now();
        let FleetTrial { coordinator, ledger, figures, leaving, stray_arrivals, .. } = fleet_trial;
        let current_trial = self.trial;
        match event {
            MemberEvent::Reported(MemberReport::Armed { trial }) => coordinator.armed(number, trial),
            MemberEvent::Reported(MemberReport::Slice { trial, slice }) if trial == current_trial => {
                ledger.add_slice(number, &slice);
                coordinator.member_reported(number, ledger.reported_until(number));
                if let Some(second) = ledger.acknowledge(number) {
                    self.link.send(number, Instruction::Heard { trial, second });
                }
            }
            MemberEvent::Reported(MemberReport::Over { trial, at, slices, worked: mut member_figures })
                if trial == current_trial =>
            {
                member_figures.member = number;
                let before = self.members.get(&number).and_then(|state| state.clock);
                let clock = self.link.clock_reading(number, now).or(before);
                member_figures.clock = clock.map_or(Nanos::ZERO, |clock| clock.bound);
                figures.insert(number, *member_figures);
                ledger.finish_member(number, at, slices);
                coordinator.member_over(number, at);
            }
            MemberEvent::Reported(MemberReport::Over { trial, worked: figures, .. })
                if self.cancelled.remove(&(trial, number)) =>
            {
                stray_arrivals.push((number, figures.sent));
            }
            MemberEvent::Reported(MemberReport::Leaving { why }) => {
                leaving.insert(number, (now - coordinator.start_time(), why.clone()));
                self.handle_news(Some((number, MemberEvent::Reported(MemberReport::Leaving { why }))));
                coordinator.stop(now);
            }
            // It may reconnect, and then report what it counted meanwhile.
            MemberEvent::Gone(why) if self.mark_cut(number, &why) => {}
            MemberEvent::Joined(hello) if self.resume_cut(number, &hello) => {
                if let Some(at) = coordinator.stopped() {
                    self.link.send(number, Instruction::Stop { trial: current_trial, at });
                }
            }
            MemberEvent::Gone(why) => {
                self.handle_news(Some((number, MemberEvent::Gone(why))));
                let why =
                    self.members.get(&number).and_then(|state| state.gone_reason.clone()).unwrap_or_default();
                coordinator.member_lost(number, why, now);
            }
            MemberEvent::Jumped(_) => coordinator.member_lost(number, "its clock was set".to_owned(), now),
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
        next_command: &mut dyn FnMut(&Slice, Nanos) -> LoadCommand,
    ) -> TrialCounts {
        self.await_reconnects();
        if self.holders.is_empty() {
            self.checking_worker = None;
            if std::mem::take(&mut self.has_joined) {
                self.redistribute_shares();
            }
            self.grow_for(offer);
            self.restart_lost();
        } else {
            // Held connections stay as they are.
            self.compare_clocks();
        }
        let present = self.present_loops();
        let lost_before = self.lost_holders();
        let loops = LoopAssignment::deal(present.clone());
        let round_trips = self.members.values().filter_map(|state| state.clock).map(|clock| clock.round_trip);
        let coordinator = TrialCoordinator::begin(
            self.trial + 1,
            present.into_keys(),
            round_trips.max().unwrap_or_default(),
            now(),
        );
        let mut fleet_trial = FleetTrial {
            coordinator,
            ledger: Ledger::new(&loops, offer),
            figures: BTreeMap::new(),
            leaving: BTreeMap::new(),
            stray_arrivals: Vec::new(),
            is_starting: false,
        };
        let mut command = LoadCommand::Continue;
        loop {
            let mut lost = Vec::new();
            while let Some(action) = fleet_trial.coordinator.next_action() {
                if let TrialAction::Lose { member } = action {
                    lost.push(member);
                }
                self.carry_out(action, &mut fleet_trial, &loops, offer, drain);
            }
            // The end of the load first: what they owe ends with it. One that was not started from here cannot be
            // killed.
            let goes_on = if self.config.is_joined() { OVERRUN_AFTER_CUT } else { Nanos::ZERO };
            lost.into_iter().for_each(|member| fleet_trial.ledger.lose_member(member, goes_on));
            while let Some(slice) = fleet_trial.ledger.next_complete() {
                on_slice(&slice);
            }
            if fleet_trial.coordinator.has_failed()
                || fleet_trial.coordinator.is_over() && fleet_trial.ledger.is_over()
            {
                break;
            }
            let begins = fleet_trial.coordinator.start_time() - LEAD;
            if fleet_trial.is_starting && now() >= begins {
                fleet_trial.is_starting = false;
                on_begin(ClockSample::now());
            }
            let wakes =
                if fleet_trial.is_starting { Some(begins) } else { fleet_trial.coordinator.decision_time() };
            let ahead = |moment: Nanos| Duration::from_nanos((moment - now()).0);
            let mut patience = wakes.map_or(STOP_POLL, |moment| STOP_POLL.min(ahead(moment)));
            for _ in 0..EVENTS_PER_TICK {
                let Some((number, event)) = self.link.next(patience) else { break };
                self.handle_trial_news(number, event, &mut fleet_trial);
                patience = Duration::ZERO;
            }
            let now = now();
            fleet_trial.coordinator.tick(now);
            if command == LoadCommand::Continue {
                command =
                    next_command(fleet_trial.ledger.total(), now - fleet_trial.coordinator.start_time());
                if command > LoadCommand::Continue {
                    fleet_trial.coordinator.stop(now);
                }
            }
        }
        self.trial = fleet_trial.coordinator.trial();
        let lost = [lost_before, self.lost_members(&fleet_trial, offer)].concat();
        let mut counted = fleet_trial.ledger.into_counts();
        // Lost workers took numbers that nobody reported.
        let taken = match offer {
            OfferedLoad::Open(schedule) if !lost.is_empty() => schedule.expected_arrivals().ceil() as u64,
            _ => 0,
        };
        self.next_number += counted.total.due.max(taken);
        counted.members = fleet_trial.figures.into_values().collect();
        self.cost = WorkerCost::of(offer, &counted.members).or(self.cost);
        counted.lost = lost;
        counted
    }

    fn settle(&mut self, limit: Nanos, interrupted: &dyn Fn() -> bool) -> Option<Nanos> {
        let (began, trial) = (now(), self.trial);
        let mut awaited: Vec<u32> = self.present_loops().into_keys().collect();
        self.send_all(|| Instruction::Settle { limit });
        let mut in_time = true;
        while !awaited.is_empty() && now() - began <= limit + SETTLE_GRACE {
            let event = self.link.next(STOP_POLL);
            match &event {
                Some((number, MemberEvent::Reported(MemberReport::Settled { trial: which })))
                    if *which == trial =>
                {
                    awaited.retain(|member| member != number);
                }
                Some((number, MemberEvent::Gone(why))) if !self.mark_cut(*number, why) => {
                    awaited.retain(|member| member != number);
                }
                // Its instructions may have been lost.
                Some((number, MemberEvent::Joined(_))) => {
                    self.link.send(*number, Instruction::Settle { limit });
                }
                _ => {}
            }
            self.handle_news(event);
            if in_time && (now() - began > limit || interrupted()) {
                in_time = false;
                self.send_all(|| Instruction::Abandon);
            }
        }
        in_time.then(|| now() - began)
    }

    fn changed_members(&mut self) -> Option<Vec<FleetMember>> {
        let member = |(number, state): (&u32, &MemberState)| FleetMember {
            number: *number,
            place: state.place.clone(),
            on: self.config.on_option(*number),
            pid: state.pid,
            loops: state.loops,
            clock: state.clock.map_or(Nanos::ZERO, |clock| clock.bound),
        };
        let members: Vec<FleetMember> =
            self.members.iter().filter(|(_, state)| state.is_there()).map(member).collect();
        // Every pod's process has the same PID.
        let same = |one: &FleetMember, other: &FleetMember| {
            (one.number, one.pid, &one.place) == (other.number, other.pid, &other.place)
        };
        if members.len() == self.sent_members.len()
            && members.iter().zip(&self.sent_members).all(|(one, other)| same(one, other))
        {
            return None;
        }
        self.sent_members.clone_from(&members);
        Some(members)
    }

    fn take_caveats(&mut self) -> Vec<Caveat> {
        // A caveat of a shared machine was reported with the first worker.
        let caveats = std::mem::take(&mut self.caveats);
        let is_news = |caveat: &Caveat| !self.config.is_here() && !self.reported_caveats.contains(caveat);
        let caveats: Vec<Caveat> = caveats.into_iter().filter(is_news).collect();
        self.reported_caveats.extend_from_slice(&caveats);
        caveats
    }

    fn scale_up(&mut self) -> bool {
        self.grow_after()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.connecting.give_up();
        self.send_all(|| Instruction::Leave);
        for state in self.members.values_mut() {
            state.leave(state.is_connected());
        }
    }
}

fn now() -> Nanos {
    Nanos(sys::monotonic_ns())
}
