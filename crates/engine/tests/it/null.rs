//! The engine without a target: what it measures of itself.

use plan::{Arrivals, Generator};
use record::Slice;
use schedule::Schedule;
use torment_engine::{Engine, EngineConfig, LoadCommand, LoadGenerator, OfferedLoad, ResolvedTarget};
use units::{Nanos, Rate};

fn job(cores: Vec<u32>) -> EngineConfig {
    let generator = Generator { cores, ..Generator::default() };
    EngineConfig { generator, ..EngineConfig::plain(ResolvedTarget::null(), "/", Nanos::from_secs(5)) }
}

fn open(rate: f64, ms: u64) -> OfferedLoad {
    OfferedLoad::Open(Schedule::constant(Rate(rate), Nanos::from_millis(ms)))
}

#[test]
fn every_arrival_is_accounted_for_by_any_number_of_loops() {
    for cores in [vec![], vec![0], vec![0, 0, 0]] {
        let mut engine = Engine::start(&job(cores.clone())).expect("starts");
        for trial in 0..2 {
            let mut slices: Vec<Slice> = Vec::new();
            let counted = engine.run_trial(
                &open(2000.0, 1500),
                Nanos::from_millis(100),
                &mut |_| {},
                &mut |slice| slices.push(slice.clone()),
                &mut |_, _| LoadCommand::Continue,
            );
            engine.settle(Nanos::from_secs(1), &|| false).expect("nothing is open");
            let total = counted.total;
            assert_eq!((total.due, total.outcomes.ok), (3000, 3000), "{cores:?}, trial {trial}: {total:?}");
            assert_eq!(total.outcomes.total(), total.due);
            assert_eq!(slices.iter().map(|s| s.due).sum::<u64>(), 3000);
            assert_eq!(slices[0].elapsed, Nanos::from_secs(1));
            assert_eq!(counted.loaded, Nanos::from_millis(1500));
            assert_eq!(total.outstanding.len(), 15);
            assert_eq!(total.response.count(), 3000);
        }
    }
}

#[test]
fn poisson_arrivals_are_all_sent() {
    let stage = plan::Stage { duration: Nanos::from_secs(1), from: Rate(500.0), to: Rate(1500.0) };
    let schedule = Schedule::new(&[stage], Arrivals::Poisson, 7);
    let expected = schedule.arrivals(0, 1).count() as u64;
    let mut engine = Engine::start(&job(vec![])).expect("starts");
    let counted =
        engine.run_trial(&OfferedLoad::Open(schedule), Nanos::ZERO, &mut |_| {}, &mut |_| {}, &mut |_, _| {
            LoadCommand::Continue
        });
    assert_eq!(counted.total.outcomes.ok, expected);
}

#[test]
fn a_load_can_be_stopped_early() {
    let mut engine = Engine::start(&job(vec![])).expect("starts");
    let mut asked = 0;
    let counted =
        engine.run_trial(&open(1000.0, 60_000), Nanos::ZERO, &mut |_| {}, &mut |_| {}, &mut |_, _| {
            asked += 1;
            if asked > 10 { LoadCommand::Stop } else { LoadCommand::Continue }
        });
    assert!(counted.loaded < Nanos::from_secs(30), "{}", counted.loaded);
    assert!(counted.total.due > 0 && counted.total.due == counted.total.outcomes.total());
}

#[test]
fn a_closed_loop_makes_the_count_asked_for() {
    let mut engine = Engine::start(&job(vec![0, 0])).expect("starts");
    let offer = OfferedLoad::Closed { connections: 5, requests: Some(10_001), duration: None };
    let counted =
        engine.run_trial(&offer, Nanos::ZERO, &mut |_| {}, &mut |_| {}, &mut |_, _| LoadCommand::Continue);
    assert_eq!((counted.total.due, counted.total.outcomes.ok), (10_001, 10_001));
    let offer =
        OfferedLoad::Closed { connections: 3, requests: None, duration: Some(Nanos::from_millis(300)) };
    let counted = engine.run_trial(&offer, Nanos::from_millis(100), &mut |_| {}, &mut |_| {}, &mut |_, _| {
        LoadCommand::Continue
    });
    assert_eq!(counted.loaded, Nanos::from_millis(300));
    assert!(counted.total.outcomes.ok > 3 && counted.total.due == counted.total.outcomes.ok);
}

#[test]
fn a_processor_that_is_not_there_is_named() {
    let Err(error) = Engine::start(&job(vec![9999])) else { panic!("processor 9999 cannot be there") };
    assert!(error.to_string().contains("processor 9999 is not available"), "{error}");
}
