//! Where arms are started and loaded: processes and requests, or in tests a target in virtual time.

use crate::fleet::Fleet;
use crate::trial_runner::{ReadyGenerator, TrialRunner};
use crate::{DrainPolicy, Error, MeasureOptions, ResetFn, Sink, StopFlag, demo, load, measure, setup};
use engine::LoadGenerator;
use plan::{Load, Plan, Setup};
use record::{Event, Verdict};
use service::Guard;
use units::Nanos;

pub(super) trait Testbed {
    /// Starts an arm. Returns how long the service took to be ready, or without one all that is needed.
    fn up(&mut self, arm: &Setup, stop: &StopFlag) -> Result<Nanos, Error>;

    /// Restores the state before the next measurement, as the plan says.
    fn reset(&mut self, arm: &Setup, sink: &mut dyn Sink, stop: &StopFlag) -> Result<(), Error>;

    /// Stops everything and reports the logs. Returns the error of a program that had ended unasked.
    fn down(&mut self, sink: &mut dyn Sink) -> Option<Error>;

    /// Loads the arm until its response is level, for at most `most`.
    fn warm(&mut self, part: &Plan, load: &Load, most: Nanos, stop: &StopFlag) -> Result<(), Error>;

    /// One load or search. Returns the time spent restoring state before its trials.
    fn measure(
        &mut self,
        part: &Plan,
        arm: &Setup,
        after: DrainPolicy,
        sink: &mut dyn Sink,
        stop: &StopFlag,
    ) -> (Result<(Verdict, u8), Error>, Nanos);

    /// Current time, from an arbitrary origin.
    fn now(&self) -> Nanos;
}

/// Real processes and time.
pub(super) struct LocalTestbed {
    pub guard: Guard,
    /// Makes the loads, if not this process.
    pub fleet: Option<Fleet>,
}

impl Testbed for LocalTestbed {
    fn up(&mut self, arm: &Setup, stop: &StopFlag) -> Result<Nanos, Error> {
        Ok(self.guard.up(arm, &|| stop.is_requested())?)
    }

    fn reset(&mut self, arm: &Setup, sink: &mut dyn Sink, stop: &StopFlag) -> Result<(), Error> {
        setup::reset(&mut self.guard, arm, sink, stop)
    }

    fn down(&mut self, sink: &mut dyn Sink) -> Option<Error> {
        let ended = self.guard.take_end_error();
        setup::emit_logs(&mut self.guard, sink);
        ended.map(Error::from)
    }

    fn warm(&mut self, part: &Plan, load: &Load, most: Nanos, stop: &StopFlag) -> Result<(), Error> {
        let (_demo, target) = demo::start_if_asked(part)?;
        let Some(fleet) = &mut self.fleet else {
            warm_up_arm(ReadyGenerator::here(part, &target)?, part, load, most, stop);
            return Ok(());
        };
        let result = fleet.assign(part, &target).map(|ready| warm_up_arm(ready, part, load, most, stop));
        fleet.release_plan();
        result
    }

    fn measure(
        &mut self,
        part: &Plan,
        arm: &Setup,
        drain_policy: DrainPolicy,
        sink: &mut dyn Sink,
        stop: &StopFlag,
    ) -> (Result<(Verdict, u8), Error>, Nanos) {
        let mut spent = Nanos::ZERO;
        let reset = |sink: &mut dyn Sink| {
            let began = sys::monotonic_ns();
            let result = setup::reset_trial(&mut self.guard, arm, sink, stop);
            spent += Nanos(sys::monotonic_ns() - began);
            result
        };
        let (reset, fleet) = (Some(Box::new(reset) as ResetFn<'_>), self.fleet.as_mut());
        let circumstances = MeasureOptions { reset, fleet, drain_policy, ..MeasureOptions::default() };
        let result = measure(part, None, sink, stop, circumstances);
        (result, spent)
    }

    fn now(&self) -> Nanos {
        Nanos(sys::monotonic_ns())
    }
}

fn warm_up_arm<C: LoadGenerator>(
    ready: ReadyGenerator<C>,
    part: &Plan,
    load: &Load,
    most: Nanos,
    stop: &StopFlag,
) {
    let mut nobody = NullSink;
    let mut runner = TrialRunner::prepare(part, ready, &mut nobody, stop, MeasureOptions::default());
    load::warm_up(&mut runner, part, load, most);
}

struct NullSink;

impl Sink for NullSink {
    fn event(&mut self, _: &Event) {}
}
