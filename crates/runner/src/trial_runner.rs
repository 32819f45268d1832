//! Conducts single trials: load, drain, recovery; and notices what voids them.

mod caveats;
mod recovery;

use crate::{DrainPolicy, Error, MeasureOptions, Profiling, ResetFn, RunObserver, Sink, StopFlag, preflight};
use caveats::find_caveats;
use engine::{
    ClockSample, ConnectionHolder, Engine, EngineConfig, HeldConnections, LoadCommand, LoadGenerator,
    OfferedLoad, ResolvedTarget,
};
use plan::{Plan, Target};
use record::{
    CatchUp, Cause, Caveat, CaveatDetails, CaveatKind, Event, Judgement, LoadSide, ProfiledLoad, Purpose,
    Recovery, Slice, SteadyResponse, TrialResult, Verdict,
};
use recovery::CalmBaseline;
use std::cell::RefCell;
use units::{Nanos, Rate};

/// How long before its planned end a load is given a closer look, if it looks bad.
const LOOK_BEFORE: Nanos = Nanos::from_millis(500);

/// A target that has not answered everything this long after its load was removed does not recover by itself in any
/// time a user would wait.
const RECOVERY_LIMIT: Nanos = Nanos::from_secs(30);
/// Samples a second at each processor, out of step with what happens a hundred times a second; and for a short load
/// made only for sampling.
const HZ: u32 = 99;
const HZ_BRIEFLY: u32 = 199;
/// What to offer, and its name.
pub(crate) struct PlannedTrial {
    pub purpose: Purpose,
    pub offer: OfferedLoad,
    /// Offered rate as planned; `None` for a closed loop.
    pub rate: Option<Rate>,
    pub duration: Option<Nanos>,
    pub drain: Nanos,
}

/// Result of a trial.
pub(crate) struct FinishedTrial {
    pub number: u32,
    pub result: TrialResult,
    /// Good answers during the load.
    pub answered: u64,
    /// The user interrupted it.
    pub interrupted: bool,
}

pub(crate) struct TrialRunner<'a, C = Engine> {
    engine: C,
    witness: RunObserver<'a>,
    stop: &'a StopFlag,
    reset: Option<ResetFn<'a>>,
    connections_limit: u64,
    /// How long a trial may go on after its load, for users to finish their pauses.
    pauses: Nanos,
    after: DrainPolicy,
    trials: u32,
    calm: CalmBaseline,
}

/// A load generator, ready to begin.
pub(crate) struct ReadyGenerator<C> {
    pub carrier: C,
    /// Where requests go.
    pub endpoint: ResolvedTarget,
    /// The most connections it can make.
    pub connections: u64,
    /// Its caveats.
    pub caveats: Vec<Caveat>,
}

impl ReadyGenerator<Engine> {
    /// Checks that the target answers, and starts the engine.
    pub fn here(plan: &Plan, target: &Target) -> Result<Self, Error> {
        let mut job: EngineConfig = preflight::job(plan, target)?;
        let caveats = preflight::fit_connections(&mut job)?;
        if *target != Target::Null {
            preflight::first_answer(&job)?;
        }
        let carrier = Engine::start(&job)?;
        let connections = u64::from(job.generator.connections);
        Ok(Self { carrier, endpoint: job.endpoint, connections, caveats })
    }
}

impl<C: ConnectionHolder> TrialRunner<'_, C> {
    /// The fewest connections that give every loop one.
    pub fn connections_least(&self) -> u32 {
        self.engine.min_connections()
    }

    /// Opens connections until this many are open, or the user interrupts; requests use them in turn.
    pub fn hold(&mut self, connections: u32) -> HeldConnections {
        self.engine.hold(connections, &|| self.stop.is_requested())
    }

    /// Closes them all.
    pub fn release(&mut self) {
        self.engine.release();
    }
}

impl<'a, C: LoadGenerator> TrialRunner<'a, C> {
    /// Wraps the generator of a plan's loads, and watches its target from now on.
    pub fn prepare(
        plan: &Plan,
        ready: ReadyGenerator<C>,
        sink: &'a mut dyn Sink,
        stop: &'a StopFlag,
        circumstances: MeasureOptions<'a>,
    ) -> Self {
        let MeasureOptions { reset, costs, watchers, profile, .. } = circumstances;
        let ReadyGenerator { carrier, endpoint, connections, caveats } = ready;
        let mut witness = RunObserver::new(sink);
        if let Some(costs) = costs {
            witness.event(&Event::Known { costs: costs.clone() });
        }
        for caveat in caveats {
            witness.event(&Event::Caveat { caveat });
        }
        if profile != Profiling::Never {
            witness.enable_sampling();
        }
        witness.watch(&plan.watch, &endpoint, watchers);
        let pauses = plan.longest_pauses();
        Self { reset, connections_limit: connections, pauses, ..Self::with(carrier, witness, stop) }
    }

    /// Wraps a generator without a target that could be watched.
    pub fn unwatched(carrier: C, sink: &'a mut dyn Sink, stop: &'a StopFlag) -> Self {
        Self::with(carrier, RunObserver::new(sink), stop)
    }

    fn with(engine: C, witness: RunObserver<'a>, stop: &'a StopFlag) -> Self {
        Self {
            engine,
            witness,
            stop,
            reset: None,
            connections_limit: u64::MAX,
            pauses: Nanos::ZERO,
            after: DrainPolicy::default(),
            trials: 0,
            calm: CalmBaseline::default(),
        }
    }

    pub fn emit(&mut self, event: &Event) {
        self.witness.event(event);
    }

    /// Emits what gave first.
    pub fn conclude(&mut self, came_to: &Verdict) {
        self.witness.conclude(came_to);
    }

    pub fn with_drain_policy(self, after: DrainPolicy) -> Self {
        Self { after, ..self }
    }

    /// How long to drain a load whose requests may take up to `longest`.
    pub fn drain(&self, longest: Nanos) -> Nanos {
        self.after.drain.map_or(longest, |drain| drain.min(longest))
    }

    /// Current time of the generator.
    pub fn now(&self) -> Nanos {
        self.engine.now().steady
    }

    /// Trials made so far.
    pub fn trials(&self) -> u32 {
        self.trials
    }

    pub fn is_interrupted(&self) -> bool {
        self.stop.is_requested()
    }

    /// The most connections that can be made from here.
    pub fn connections_limit(&self) -> u64 {
        self.connections_limit
    }

    /// Offers one load and waits until all of it is answered. `hopeless` is asked, with the results so far, whether
    /// going on can change anything.
    pub fn trial(&mut self, load: &PlannedTrial, hopeless: &dyn Fn(&Slice) -> bool) -> FinishedTrial {
        self.trials += 1;
        let number = self.trials;
        if load.purpose != Purpose::Recovery
            && let Some(reset) = &mut self.reset
            && let Err(why) = reset(self.witness.sink())
        {
            let grounds = CaveatDetails::NotReset { trial: number, why: why.to_string() };
            self.witness
                .event(&Event::Caveat { caveat: Caveat::with_details(CaveatKind::NotReset, grounds) });
        }
        if let Some(members) = self.engine.changed_members() {
            self.witness.event(&Event::FleetStands { members });
        }
        let began = |at: ClockSample| Event::TrialStarted {
            trial: number,
            purpose: load.purpose,
            rate: load.rate,
            duration: load.duration,
            at_unix_ms: at.unix_ms,
        };
        let (witness, stop) = (RefCell::new(&mut self.witness), self.stop);
        let (mut looked, mut over) = (load.purpose == Purpose::Recovery, false);
        let (mut begun, mut gave_up, mut answered) = (false, false, 0);
        let (mut catch_up, mut steady) = (CatchUp::default(), SteadyResponse::default());
        let counted = self.engine.run_trial(
            &load.offer,
            load.drain,
            &mut |at| {
                begun = true;
                let mut witness = witness.borrow_mut();
                witness.begin(number);
                witness.event(&began(at));
                match load.purpose {
                    Purpose::Load => witness.start_sampling(HZ),
                    Purpose::Profile => witness.start_sampling(HZ_BRIEFLY),
                    _ => {}
                }
            },
            &mut |slice| {
                let over = slice.silences.iter().filter(|silence| silence.freed.is_some());
                catch_up = over.map(CatchUp::after).fold(catch_up, CatchUp::and);
                steady.take(slice, load.duration.unwrap_or(Nanos::MAX));
                answered += slice.answered_within(load.duration.unwrap_or(Nanos::MAX));
                let mut witness = witness.borrow_mut();
                witness.event(&Event::SliceDone { trial: number, slice: Box::new(slice.clone()) });
                witness.emit_seen();
            },
            &mut |so_far, at| {
                gave_up |= hopeless(so_far);
                let ends = gave_up || stop.is_requested();
                let near = |before: Nanos| load.duration.is_some_and(|whole| at + before >= whole);
                if !looked && (ends || near(LOOK_BEFORE)) {
                    looked = true;
                    witness.borrow_mut().look_closer();
                }
                if !over && (ends || near(Nanos::ZERO)) {
                    over = true;
                    witness.borrow_mut().end();
                }
                match (stop.is_requested(), gave_up) {
                    (true, _) => LoadCommand::Kill,
                    (false, true) => LoadCommand::Stop,
                    (false, false) => LoadCommand::GoOn,
                }
            },
        );
        let asked = stop.is_requested();
        self.witness.end();
        self.emit_caveats();
        if !begun {
            // Not all members were ready to start.
            self.witness.event(&began(self.engine.now()));
        }
        for lost in &counted.lost {
            self.witness.event(&Event::WorkerLost { trial: number, lost: lost.clone() });
        }
        // Whether the target recovers does not matter after its last load.
        let leaves = self.after.leaves || load.purpose == Purpose::Profile;
        let settled = if leaves { None } else { self.engine.settle(RECOVERY_LIMIT, &|| stop.is_requested()) };
        let recovery = match settled {
            _ if leaves => Recovery::NotNeeded,
            Some(_) if counted.total.outcomes.bad() == 0 => Recovery::NotNeeded,
            Some(after) => Recovery::After(after),
            None if stop.is_requested() => Recovery::NotNeeded,
            None => Recovery::Not(RECOVERY_LIMIT),
        };
        let planned = load.duration.unwrap_or(counted.loaded);
        let drain = if gave_up { load.drain } else { steady.drain(load.drain) };
        let result = TrialResult {
            purpose: load.purpose,
            rate: load.rate.unwrap_or_else(|| Rate::of(counted.total.due, counted.loaded)),
            planned,
            loaded: counted.loaded,
            drain: catch_up.drain(drain, counted.loaded),
            hopeless: gave_up,
            caveats: find_caveats(&counted),
            recovery,
            total: counted.total,
            members: counted.members,
        };
        let whole = load.duration.is_some_and(|whole| result.loaded >= whole);
        // After the load, too, users are not waited for once the user interrupts.
        let cut = !whole || asked && result.total.outcomes.unfinished > 0;
        let interrupted = self.stop.is_requested() && !gave_up && cut;
        FinishedTrial { number, result, answered, interrupted }
    }

    /// Whether a repetition of the last load would have more generators, which might not be the limit.
    pub fn grow(&mut self) -> bool {
        let grows = self.engine.scale_up();
        self.emit_caveats();
        grows
    }

    fn emit_caveats(&mut self) {
        for caveat in self.engine.take_caveats() {
            self.witness.event(&Event::Caveat { caveat });
        }
    }

    /// What gave first, if that was on this machine.
    pub fn gave_first(&self) -> Option<Cause> {
        self.witness.gave_first()
    }

    /// Mean number of the target's threads that compiled its code in this load, the last one.
    pub fn compiling(&mut self, done: &FinishedTrial) -> f64 {
        self.witness.compiling(done.result.loaded)
    }

    /// Whether the target can be sampled.
    ///
    /// # Errors
    /// If not: why.
    pub fn can_sample(&self) -> Result<(), String> {
        self.witness.can_sample()
    }

    /// Emits the judgement of a trial.
    pub fn emit_judgement(&mut self, done: FinishedTrial, judgement: &Judgement) {
        let side = if judgement.good { LoadSide::Well } else { LoadSide::Above };
        self.emit_judgement_on(side, done, judgement);
    }

    /// The same for a trial known to be on this side of the limit.
    pub fn emit_judgement_on(&mut self, side: LoadSide, done: FinishedTrial, judgement: &Judgement) {
        let calm = judgement.good && judgement.invalid.is_empty() && done.result.purpose != Purpose::Recovery;
        if calm && let Some(median) = done.result.total.response.quantile(0.5) {
            self.calm.record(done.result.rate, median);
        }
        self.witness.emit_all_seen();
        let rate = Some(done.result.rate);
        self.witness.finish_sampling(ProfiledLoad { side, rate }, done.answered);
        self.witness.event(&Event::TrialDone {
            trial: done.number,
            result: Box::new(done.result),
            judgement: judgement.clone(),
        });
    }
}

#[cfg(test)]
mod tests;
