//! Whole experiments in virtual time: how long a start takes, and that savings change no result.

use super::*;
use crate::DrainPolicy;
use crate::simulated::{EventCollector, SimulatedTarget};
use crate::trial_runner::TrialRunner;
use engine::LoadGenerator;
use plan::{Draft, Load, PlanCommand, Setup};
use record::{CaveatKind, StartTimes};

/// Time for the service to start, and to stop.
const STARTS: Nanos = Nanos::from_millis(800);
const STOPS: Nanos = Nanos::from_millis(300);
const HOLD: Nanos = Nanos::from_secs(5);

/// A target for each start, by whether it is a variant.
struct VirtualTestbed<'a> {
    make: &'a dyn Fn(bool) -> SimulatedTarget,
    target: SimulatedTarget,
}

impl VirtualTestbed<'_> {
    fn advance(&mut self, time: Nanos) {
        self.target.advance_to(self.target.now().monotonic + time);
    }
}

impl Testbed for VirtualTestbed<'_> {
    fn up(&mut self, arm: &Setup, _: &StopFlag) -> Result<Nanos, Error> {
        self.advance(STARTS);
        let variant = arm.service.as_ref().is_some_and(|service| !service.env.is_empty());
        let before = std::mem::replace(&mut self.target, (self.make)(variant));
        self.advance(before.now().monotonic);
        Ok(STARTS)
    }

    fn reset(&mut self, _: &Setup, _: &mut dyn Sink, _: &StopFlag) -> Result<(), Error> {
        Ok(())
    }

    fn down(&mut self, _: &mut dyn Sink) -> Option<Error> {
        self.advance(STOPS);
        None
    }

    fn warm(&mut self, part: &Plan, load: &Load, most: Nanos, stop: &StopFlag) -> Result<(), Error> {
        let mut collector = EventCollector::default();
        let mut runner = TrialRunner::unwatched(&mut self.target, &mut collector, stop);
        crate::load::warm_up(&mut runner, part, load, most);
        Ok(())
    }

    fn measure(
        &mut self,
        part: &Plan,
        _: &Setup,
        after: DrainPolicy,
        sink: &mut dyn Sink,
        stop: &StopFlag,
    ) -> (Result<(Verdict, u8), Error>, Nanos) {
        let mut runner = TrialRunner::unwatched(&mut self.target, sink, stop);
        runner.drain_policy = after;
        let result = match &part.task {
            Task::Run(load) => crate::load::run(&mut runner, part, load),
            Task::Find(find) => crate::find::find(
                &mut runner,
                part,
                find,
                record::LimitUnit::Requests,
                (false, units::Nanos::ZERO),
            ),
            Task::Try(_) => unreachable!("a part is no experiment"),
        };
        (Ok(result), Nanos::ZERO)
    }

    fn now(&self) -> Nanos {
        self.target.now().monotonic
    }
}

/// An experiment with one variant; `what` is measured in 14 starts.
fn experiment(what: &str, make: &dyn Fn(bool) -> SimulatedTarget) -> (Vec<ArmStart>, ExperimentState) {
    let text = format!(
        "target.url = 'http://127.0.0.1:9/'\nservice.command = '/bin/true'\n\
         [[variant]]\nname = 'other'\nenv = {{ OTHER = '1' }}\n[[hypothesis]]\nvariant = 'other'\n\
         [try]\npilot = 2\nleast = 4\nmost = 4\nhold = '5s'\n{what}"
    );
    let draft = Draft::from_toml("p.toml", &text).expect("well formed");
    let plan = draft.check(PlanCommand::Try, &mut |_| Err("no file".to_owned())).expect("a plan");
    let Task::Try(experiment) = &plan.task else { panic!("{:?}", plan.task) };
    let progress = Experiment::new(&design(&plan, experiment)).expect("a design");
    let (stop, mut collector) = (StopFlag::default(), EventCollector::default());
    let testbed = VirtualTestbed { make, target: make(false) };
    let id = id::new_id();
    let arm_runner = ArmRunner { id, plan: &plan, experiment, stop: &stop, testbed };
    let (verdict, _) = carry_out(arm_runner, progress, &[], &mut collector);
    let start = |event: &Event| match event {
        Event::Visited { visit } => Some((**visit).clone()),
        _ => None,
    };
    let starts: Vec<ArmStart> = collector.0.iter().filter_map(start).collect();
    let Verdict::Answers { standing: state } = verdict else { panic!("{verdict:?}") };
    (starts, state)
}

/// All of a start's time is accounted for, and what is not load is bounded.
#[track_caller]
fn assert_short(arm_start: &ArmStart, warm: f64) {
    let StartTimes { needs, reset, warm: warmed, load, again, drain, rest, stop } = arm_start.spent;
    let parts = [needs, arm_start.started_in, reset, warmed, load, again, drain, rest, stop];
    assert_eq!(parts.into_iter().fold(Nanos::ZERO, |sum, part| sum + part), arm_start.took, "{arm_start:?}");
    assert!(warmed.as_secs_f64() <= warm, "{arm_start:?}");
    let bound = STARTS + warmed + STOPS + HOLD + HOLD / 2;
    assert!(arm_start.took <= bound, "{} of at most {bound}: {arm_start:?}", arm_start.took);
}

fn answer(state: &ExperimentState) -> HypothesisAnswer {
    let asked = state.judged.iter().find(|judged| judged.hypothesis.is_some());
    asked.expect("one was asked").answer
}

const CLOSED: &str = "measure = 'throughput'\nconnections = [40]";

fn pool(variant: bool) -> SimulatedTarget {
    let servers = if variant { 20 } else { 10 };
    SimulatedTarget { servers: Some(servers), service: Nanos::from_millis(20), ..SimulatedTarget::queue() }
}

#[test]
fn a_start_takes_little_more_than_its_load() {
    let (starts, state) = experiment(CLOSED, &|_| pool(false));
    assert_eq!((starts.len(), answer(&state)), (14, HypothesisAnswer::NoDifference));
    starts.iter().for_each(|arm_start| assert_short(arm_start, 8.5));
    assert!(
        starts.iter().all(|visit| visit.spent.load == HOLD && visit.spent.drain < Nanos::from_millis(200))
    );
    // A difference still shows.
    let (starts, state) = experiment(CLOSED, &pool);
    assert_eq!(answer(&state), HypothesisAnswer::Better);
    starts.iter().for_each(|arm_start| assert_short(arm_start, 8.5));
}

#[test]
fn a_service_that_warms_up_is_given_the_time_it_needs_and_no_more() {
    let slow = |_| SimulatedTarget { warm_half_life: Some(Nanos::from_secs(4)), ..pool(false) };
    let (starts, state) = experiment(CLOSED, &slow);
    assert_eq!(answer(&state), HypothesisAnswer::NoDifference);
    for arm_start in &starts {
        assert_short(arm_start, 20.5);
        assert!(arm_start.spent.warm > Nanos::from_secs(12), "{arm_start:?}");
    }
    let (starts, _) = experiment(&format!("{CLOSED}\nwarm = '2s'"), &slow);
    starts.iter().for_each(|arm_start| assert_short(arm_start, 2.2));
    let (starts, _) = experiment(&format!("{CLOSED}\nwarm = '0s'"), &slow);
    assert!(starts.iter().all(|visit| visit.spent.warm == Nanos::ZERO));
}

#[test]
fn what_an_overloaded_service_leaves_is_not_waited_for() {
    // Twice its capacity: five seconds' backlog would take five more, and so would the warm-up.
    let at = "measure = 'p50'\nat = ['1000/s']\nwarm = '2s'";
    let (starts, _) = experiment(at, &|_| pool(false));
    assert_eq!(starts.len(), 14);
    for arm_start in &starts {
        assert_short(arm_start, 4.5);
        assert_eq!(arm_start.taken[0].figures.is_empty(), arm_start.void.is_some());
        assert!(
            arm_start.taken[0].caveats.iter().any(|caveat| caveat.doubt == CaveatKind::NotAnswered),
            "{arm_start:?}"
        );
    }
}
