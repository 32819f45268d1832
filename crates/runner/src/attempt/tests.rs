//! Whole experiments in virtual time: what a start takes, and that what is cut from it changes no answer.

use super::*;
use crate::After;
use crate::conductor::Conductor;
use crate::simulated::{Simulated, Told};
use engine::Carrier;
use plan::{Command, Draft, Load, Setup};
use record::{Doubt, Spent};

/// Until the service is ready, and until it has ended.
const STARTS: Nanos = Nanos::from_millis(800);
const STOPS: Nanos = Nanos::from_millis(300);
const HOLD: Nanos = Nanos::from_secs(5);

/// A target for each start, by whether it is a variant.
struct Virtual<'a> {
    make: &'a dyn Fn(bool) -> Simulated,
    is: Simulated,
}

impl Virtual<'_> {
    fn passes(&mut self, time: Nanos) {
        self.is.passes(self.is.now().steady + time);
    }
}

impl Bench for Virtual<'_> {
    fn up(&mut self, arm: &Setup, _: &Stop) -> Result<Nanos, Error> {
        self.passes(STARTS);
        let variant = arm.service.as_ref().is_some_and(|service| !service.env.is_empty());
        let before = std::mem::replace(&mut self.is, (self.make)(variant));
        self.passes(before.now().steady);
        Ok(STARTS)
    }

    fn reset(&mut self, _: &Setup, _: &mut dyn Sink, _: &Stop) -> Result<(), Error> {
        Ok(())
    }

    fn down(&mut self, _: &mut dyn Sink) -> Option<Error> {
        self.passes(STOPS);
        None
    }

    fn warm(&mut self, part: &Plan, load: &Load, most: Nanos, stop: &Stop) -> Result<(), Error> {
        let mut told = Told::default();
        let mut conductor = Conductor::around(&mut self.is, &mut told, stop);
        crate::load::warm(&mut conductor, part, load, most);
        Ok(())
    }

    fn measure(
        &mut self,
        part: &Plan,
        _: &Setup,
        after: After,
        sink: &mut dyn Sink,
        stop: &Stop,
    ) -> (Result<(Verdict, u8), Error>, Nanos) {
        let mut conductor = Conductor::around(&mut self.is, sink, stop).and_after(after);
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

/// An experiment with a variant that is asked about; `what` is measured of 14 starts.
fn experiment(what: &str, make: &dyn Fn(bool) -> Simulated) -> (Vec<Visit>, Standing) {
    let text = format!(
        "target.url = 'http://127.0.0.1:9/'\nservice.command = '/bin/true'\n\
         [[variant]]\nname = 'other'\nenv = {{ OTHER = '1' }}\n[[hypothesis]]\nvariant = 'other'\n\
         [try]\npilot = 2\nleast = 4\nmost = 4\nhold = '5s'\n{what}"
    );
    let draft = Draft::from_toml("p.toml", &text).expect("well formed");
    let plan = draft.check(Command::Try, &mut |_| Err("no file".to_owned())).expect("a plan");
    let Task::Try(experiment) = &plan.task else { panic!("{:?}", plan.task) };
    let course = Course::new(&design(&plan, experiment)).expect("a design");
    let (stop, mut told) = (Stop::default(), Told::default());
    let bench = Virtual { make, is: make(false) };
    let id = id::new_id();
    let lab = Lab { id, plan: &plan, experiment, version: "", stop: &stop, bench };
    let (verdict, _) = carry_out(lab, course, &[], &mut told);
    let visits: Vec<Visit> = told.0.iter().filter_map(visited).cloned().collect();
    let Verdict::Answers { standing } = verdict else { panic!("{verdict:?}") };
    (visits, standing)
}

/// All that a start takes is told, and what is not load is bounded.
#[track_caller]
fn is_short(visit: &Visit, warm: f64) {
    let Spent { needs, reset, warm: warmed, load, again, drain, rest, stop } = visit.spent;
    let parts = [needs, visit.started_in, reset, warmed, load, again, drain, rest, stop];
    assert_eq!(parts.into_iter().fold(Nanos::ZERO, |sum, part| sum + part), visit.took, "{visit:?}");
    assert!(warmed.as_secs_f64() <= warm, "{visit:?}");
    let bound = STARTS + warmed + STOPS + HOLD + HOLD / 2;
    assert!(visit.took <= bound, "{} of at most {bound}: {visit:?}", visit.took);
}

fn answer(standing: &Standing) -> Answer {
    let asked = standing.judged.iter().find(|judged| judged.hypothesis.is_some());
    asked.expect("one was asked").answer
}

const CLOSED: &str = "measure = 'throughput'\nconnections = [40]";

fn pool(variant: bool) -> Simulated {
    let servers = if variant { 20 } else { 10 };
    Simulated { servers: Some(servers), service: Nanos::from_millis(20), ..Simulated::queue() }
}

#[test]
fn a_start_takes_little_more_than_its_load() {
    let (visits, standing) = experiment(CLOSED, &|_| pool(false));
    assert_eq!((visits.len(), answer(&standing)), (14, Answer::NoDifference));
    visits.iter().for_each(|visit| is_short(visit, 8.5));
    assert!(
        visits.iter().all(|visit| visit.spent.load == HOLD && visit.spent.drain < Nanos::from_millis(200))
    );
    // What differs still does.
    let (visits, standing) = experiment(CLOSED, &pool);
    assert_eq!(answer(&standing), Answer::Better);
    visits.iter().for_each(|visit| is_short(visit, 8.5));
}

#[test]
fn a_service_that_warms_up_is_given_the_time_it_needs_and_no_more() {
    let slow = |_| Simulated { warms: Some(Nanos::from_secs(4)), ..pool(false) };
    let (visits, standing) = experiment(CLOSED, &slow);
    assert_eq!(answer(&standing), Answer::NoDifference);
    for visit in &visits {
        is_short(visit, 20.5);
        assert!(visit.spent.warm > Nanos::from_secs(12), "{visit:?}");
    }
    let (visits, _) = experiment(&format!("{CLOSED}\nwarm = '2s'"), &slow);
    visits.iter().for_each(|visit| is_short(visit, 2.2));
    let (visits, _) = experiment(&format!("{CLOSED}\nwarm = '0s'"), &slow);
    assert!(visits.iter().all(|visit| visit.spent.warm == Nanos::ZERO));
}

#[test]
fn what_an_overloaded_service_leaves_is_not_waited_for() {
    // Twice what it takes: what piles up in five seconds would take it five more, and warming it up as long as that.
    let at = "measure = 'p50'\nat = ['1000/s']\nwarm = '2s'";
    let (visits, _) = experiment(at, &|_| pool(false));
    assert_eq!(visits.len(), 14);
    for visit in &visits {
        is_short(visit, 4.5);
        assert_eq!(visit.taken[0].figures.is_empty(), visit.void.is_some());
        assert!(visit.taken[0].caveats.iter().any(|caveat| caveat.doubt == Doubt::NotAnswered), "{visit:?}");
    }
}
