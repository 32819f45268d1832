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
    is: SimulatedTarget,
}

impl VirtualTestbed<'_> {
    fn passes(&mut self, time: Nanos) {
        self.is.advance_to(self.is.now().steady + time);
    }
}

impl Testbed for VirtualTestbed<'_> {
    fn up(&mut self, arm: &Setup, _: &StopFlag) -> Result<Nanos, Error> {
        self.passes(STARTS);
        let variant = arm.service.as_ref().is_some_and(|service| !service.env.is_empty());
        let before = std::mem::replace(&mut self.is, (self.make)(variant));
        self.passes(before.now().steady);
        Ok(STARTS)
    }

    fn reset(&mut self, _: &Setup, _: &mut dyn Sink, _: &StopFlag) -> Result<(), Error> {
        Ok(())
    }

    fn down(&mut self, _: &mut dyn Sink) -> Option<Error> {
        self.passes(STOPS);
        None
    }

    fn warm(&mut self, part: &Plan, load: &Load, most: Nanos, stop: &StopFlag) -> Result<(), Error> {
        let mut told = EventCollector::default();
        let mut conductor = TrialRunner::unwatched(&mut self.is, &mut told, stop);
        crate::load::warm_up(&mut conductor, part, load, most);
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
        let mut conductor = TrialRunner::unwatched(&mut self.is, sink, stop).with_drain_policy(after);
        let result = match &part.task {
            Task::Run(load) => crate::load::run(&mut conductor, part, load),
            Task::Find(find) => crate::find::find(
                &mut conductor,
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
        self.is.now().steady
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
    let course = Experiment::new(&design(&plan, experiment)).expect("a design");
    let (stop, mut told) = (StopFlag::default(), EventCollector::default());
    let bench = VirtualTestbed { make, is: make(false) };
    let id = id::new_id();
    let lab = ArmRunner { id, plan: &plan, experiment, version: "", stop: &stop, bench };
    let (verdict, _) = carry_out(lab, course, &[], &mut told);
    let visits: Vec<ArmStart> = told.0.iter().filter_map(visited).cloned().collect();
    let Verdict::Answers { standing } = verdict else { panic!("{verdict:?}") };
    (visits, standing)
}

/// All of a start's time is accounted for, and what is not load is bounded.
#[track_caller]
fn assert_short(visit: &ArmStart, warm: f64) {
    let StartTimes { needs, reset, warm: warmed, load, again, drain, rest, stop } = visit.spent;
    let parts = [needs, visit.started_in, reset, warmed, load, again, drain, rest, stop];
    assert_eq!(parts.into_iter().fold(Nanos::ZERO, |sum, part| sum + part), visit.took, "{visit:?}");
    assert!(warmed.as_secs_f64() <= warm, "{visit:?}");
    let bound = STARTS + warmed + STOPS + HOLD + HOLD / 2;
    assert!(visit.took <= bound, "{} of at most {bound}: {visit:?}", visit.took);
}

fn answer(standing: &ExperimentState) -> HypothesisAnswer {
    let asked = standing.judged.iter().find(|judged| judged.hypothesis.is_some());
    asked.expect("one was asked").answer
}

const CLOSED: &str = "measure = 'throughput'\nconnections = [40]";

fn pool(variant: bool) -> SimulatedTarget {
    let servers = if variant { 20 } else { 10 };
    SimulatedTarget { servers: Some(servers), service: Nanos::from_millis(20), ..SimulatedTarget::queue() }
}

#[test]
fn a_start_takes_little_more_than_its_load() {
    let (visits, standing) = experiment(CLOSED, &|_| pool(false));
    assert_eq!((visits.len(), answer(&standing)), (14, HypothesisAnswer::NoDifference));
    visits.iter().for_each(|visit| assert_short(visit, 8.5));
    assert!(
        visits.iter().all(|visit| visit.spent.load == HOLD && visit.spent.drain < Nanos::from_millis(200))
    );
    // A difference still shows.
    let (visits, standing) = experiment(CLOSED, &pool);
    assert_eq!(answer(&standing), HypothesisAnswer::Better);
    visits.iter().for_each(|visit| assert_short(visit, 8.5));
}

#[test]
fn a_service_that_warms_up_is_given_the_time_it_needs_and_no_more() {
    let slow = |_| SimulatedTarget { warms: Some(Nanos::from_secs(4)), ..pool(false) };
    let (visits, standing) = experiment(CLOSED, &slow);
    assert_eq!(answer(&standing), HypothesisAnswer::NoDifference);
    for visit in &visits {
        assert_short(visit, 20.5);
        assert!(visit.spent.warm > Nanos::from_secs(12), "{visit:?}");
    }
    let (visits, _) = experiment(&format!("{CLOSED}\nwarm = '2s'"), &slow);
    visits.iter().for_each(|visit| assert_short(visit, 2.2));
    let (visits, _) = experiment(&format!("{CLOSED}\nwarm = '0s'"), &slow);
    assert!(visits.iter().all(|visit| visit.spent.warm == Nanos::ZERO));
}

#[test]
fn what_an_overloaded_service_leaves_is_not_waited_for() {
    // Twice its capacity: five seconds' backlog would take five more, and so would the warm-up.
    let at = "measure = 'p50'\nat = ['1000/s']\nwarm = '2s'";
    let (visits, _) = experiment(at, &|_| pool(false));
    assert_eq!(visits.len(), 14);
    for visit in &visits {
        assert_short(visit, 4.5);
        assert_eq!(visit.taken[0].figures.is_empty(), visit.void.is_some());
        assert!(
            visit.taken[0].caveats.iter().any(|caveat| caveat.doubt == CaveatKind::NotAnswered),
            "{visit:?}"
        );
    }
}
