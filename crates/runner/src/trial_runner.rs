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
    CatchUp, Caveat, CaveatDetails, CaveatKind, Event, Judgement, LoadSide, ProfiledLoad, Purpose, Recovery,
    Slice, SteadyResponse, TrialResult,
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
const SAMPLE_HZ: u32 = 99;
const SHORT_SAMPLE_HZ: u32 = 199;
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
    pub engine: C,
    pub observer: RunObserver<'a>,
    stop: &'a StopFlag,
    reset: Option<ResetFn<'a>>,
    /// The most connections that can be made from here.
    pub connections_limit: u64,
    /// How long a trial may go on after its load, for users to finish their pauses.
    pauses: Nanos,
    pub drain_policy: DrainPolicy,
    /// Trials made so far.
    pub trials: u32,
    baseline: CalmBaseline,
}

/// A load generator, ready to begin.
pub(crate) struct ReadyGenerator<C> {
    pub generator: C,
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
        let mut config: EngineConfig = preflight::engine_config(plan, target)?;
        let caveats = preflight::fit_connections(&mut config)?;
        if *target != Target::Null {
            preflight::check_first_answer(&config)?;
        }
        let generator = Engine::start(&config)?;
        let connections = u64::from(config.generator.connections);
        Ok(Self { generator, endpoint: config.endpoint, connections, caveats })
    }
}

impl<C: ConnectionHolder> TrialRunner<'_, C> {
    /// Opens connections until this many are open, or the user interrupts; requests use them in turn.
    pub fn hold(&mut self, connections: u32) -> HeldConnections {
        self.engine.hold(connections, &|| self.stop.is_requested())
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
        let MeasureOptions { reset, costs, watchers, profile, drain_policy, .. } = circumstances;
        let ReadyGenerator { generator, endpoint, connections, caveats } = ready;
        let mut observer = RunObserver::new(sink);
        if let Some(costs) = costs {
            observer.event(&Event::Known { costs: costs.clone() });
        }
        for caveat in caveats {
            observer.emit_caveat(caveat);
        }
        if profile != Profiling::Never {
            observer.enable_sampling();
        }
        observer.watch(&plan.watch, &endpoint, watchers);
        let pauses = plan.longest_pauses();
        let runner = Self::with(generator, observer, stop);
        Self { reset, connections_limit: connections, pauses, drain_policy, ..runner }
    }

    /// Wraps a generator without a target that could be watched.
    pub fn unwatched(generator: C, sink: &'a mut dyn Sink, stop: &'a StopFlag) -> Self {
        Self::with(generator, RunObserver::new(sink), stop)
    }

    fn with(engine: C, observer: RunObserver<'a>, stop: &'a StopFlag) -> Self {
        Self {
            engine,
            observer,
            stop,
            reset: None,
            connections_limit: u64::MAX,
            pauses: Nanos::ZERO,
            drain_policy: DrainPolicy::default(),
            trials: 0,
            baseline: CalmBaseline::default(),
        }
    }

    pub fn emit(&mut self, event: &Event) {
        self.observer.event(event);
    }

    /// How long to drain a load whose requests may take up to `longest`.
    pub fn drain(&self, longest: Nanos) -> Nanos {
        self.drain_policy.drain.map_or(longest, |drain| drain.min(longest))
    }

    /// Current time of the generator.
    pub fn now(&self) -> Nanos {
        self.engine.now().monotonic
    }

    pub fn is_interrupted(&self) -> bool {
        self.stop.is_requested()
    }

    /// Offers one load and waits until all of it is answered. `hopeless` is asked, with the results so far, whether
    /// going on can change anything.
    pub fn trial(&mut self, load: &PlannedTrial, hopeless: &dyn Fn(&Slice) -> bool) -> FinishedTrial {
        self.trials += 1;
        let number = self.trials;
        if load.purpose != Purpose::Recovery
            && let Some(reset) = &mut self.reset
            && let Err(why) = reset(self.observer.sink)
        {
            let grounds = CaveatDetails::NotReset { trial: number, why: why.to_string() };
            self.observer.emit_caveat(Caveat::with_details(CaveatKind::NotReset, grounds));
        }
        if let Some(members) = self.engine.changed_members() {
            self.observer.event(&Event::FleetStands { members });
        }
        let began = |at: ClockSample| Event::TrialStarted {
            trial: number,
            purpose: load.purpose,
            rate: load.rate,
            duration: load.duration,
            at_unix_ms: at.unix_ms,
        };
        let (observer, stop) = (RefCell::new(&mut self.observer), self.stop);
        let (mut looked, mut over) = (load.purpose == Purpose::Recovery, false);
        let (mut has_begun, mut gave_up, mut answered) = (false, false, 0);
        let (mut catch_up, mut steady) = (CatchUp::default(), SteadyResponse::default());
        let counted = self.engine.run_trial(
            &load.offer,
            load.drain,
            &mut |at| {
                has_begun = true;
                let mut observer = observer.borrow_mut();
                observer.begin(number);
                observer.event(&began(at));
                match load.purpose {
                    Purpose::Load => observer.start_sampling(SAMPLE_HZ),
                    Purpose::Profile => observer.start_sampling(SHORT_SAMPLE_HZ),
                    _ => {}
                }
            },
            &mut |slice| {
                let over = slice.silences.iter().filter(|silence| silence.freed.is_some());
                catch_up = over.map(CatchUp::after).fold(catch_up, CatchUp::and);
                steady.add_slice(slice, load.duration.unwrap_or(Nanos::MAX));
                answered += slice.answered_within(load.duration.unwrap_or(Nanos::MAX));
                let mut observer = observer.borrow_mut();
                observer.event(&Event::SliceDone { trial: number, slice: Box::new(slice.clone()) });
                observer.emit_seen();
            },
            &mut |so_far, at| {
                gave_up |= hopeless(so_far);
                let ends = gave_up || stop.is_requested();
                let near = |before: Nanos| load.duration.is_some_and(|whole| at + before >= whole);
                if !looked && (ends || near(LOOK_BEFORE)) {
                    looked = true;
                    observer.borrow_mut().look_closer();
                }
                if !over && (ends || near(Nanos::ZERO)) {
                    over = true;
                    observer.borrow_mut().end();
                }
                match (stop.is_requested(), gave_up) {
                    (true, _) => LoadCommand::Kill,
                    (false, true) => LoadCommand::Stop,
                    (false, false) => LoadCommand::Continue,
                }
            },
        );
        let was_stopped = stop.is_requested();
        self.observer.end();
        self.emit_caveats();
        if !has_begun {
            // Not all members were ready to start.
            self.observer.event(&began(self.engine.now()));
        }
        for lost in &counted.lost {
            self.observer.event(&Event::WorkerLost { trial: number, lost: lost.clone() });
        }
        // Whether the target recovers does not matter after its last load.
        let leaves = self.drain_policy.skips_recovery || load.purpose == Purpose::Profile;
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
        let cut = !whole || was_stopped && result.total.outcomes.unfinished > 0;
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
            self.observer.emit_caveat(caveat);
        }
    }

    /// Emits the judgement of a trial.
    pub fn emit_judgement(&mut self, finished: FinishedTrial, judgement: &Judgement) {
        let side = if judgement.good { LoadSide::Well } else { LoadSide::Above };
        self.emit_judgement_on(side, finished, judgement);
    }

    /// The same for a trial known to be on this side of the limit.
    pub fn emit_judgement_on(&mut self, side: LoadSide, finished: FinishedTrial, judgement: &Judgement) {
        let calm =
            judgement.good && judgement.invalid.is_empty() && finished.result.purpose != Purpose::Recovery;
        if calm && let Some(median) = finished.result.total.response.quantile(0.5) {
            self.baseline.record(finished.result.rate, median);
        }
        self.observer.emit_all_seen();
        let rate = Some(finished.result.rate);
        self.observer.finish_sampling(ProfiledLoad { side, rate }, finished.answered);
        self.observer.event(&Event::TrialDone {
            trial: finished.number,
            result: Box::new(finished.result),
            judgement: judgement.clone(),
        });
    }
}

#[cfg(test)]
mod tests;
