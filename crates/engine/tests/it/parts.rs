//! Several engines that make one load together: each its loops' part, from a common start.

use crate::flows::server::{Reply, Server};
use plan::{Arrivals, Origin, Target};
use record::Slice;
use schedule::Schedule;
use std::cell::Cell;
use std::sync::Barrier;
use torment_engine::{
    Engine, EngineConfig, LoadCommand, LoadGenerator, OfferedLoad, ResolvedTarget, TrialPart,
};
use units::{Nanos, Rate};

const MS: Nanos = Nanos::from_millis(1);

/// When a part started now begins: it sleeps until then.
fn ahead() -> u64 {
    sys::monotonic_ns() + 300_000_000
}

fn poisson() -> OfferedLoad {
    let stage = plan::Stage { duration: MS * 600, from: Rate(300.0), to: Rate(700.0) };
    OfferedLoad::Open(Schedule::new(&[stage], Arrivals::Poisson, 7))
}

#[test]
fn together_they_send_what_one_would_have_sent() {
    let server = Server::start(|_| Reply::ok(&[], "here"));
    let origin = Origin::new(false, "127.0.0.1", server.address.port());
    let endpoint = ResolvedTarget::resolve(&Target::Http(origin)).expect("an address");
    let job = EngineConfig::plain(endpoint, "/{counter}", Nanos::from_secs(5));
    let OfferedLoad::Open(schedule) = poisson() else { unreachable!("it is open") };
    // As a fleet deals them: every engine's first loop, then every engine's second.
    let (dealt, ready): (_, Barrier) = ([[0, 2], [1, 3]], Barrier::new(2));
    let mut counts = Vec::new();
    std::thread::scope(|scope| {
        let made = dealt.each_ref().map(|loops| {
            let (mut job, ready) = (job.clone(), &ready);
            job.generator.cores = vec![0, 0];
            scope.spawn(move || {
                let mut engine = Engine::start(&job).expect("starts");
                ready.wait();
                let start_ns = ahead();
                let part = TrialPart {
                    start_ns,
                    first_number: 1000,
                    loops,
                    total_loops: 4,
                    stop_at: &Cell::new(Nanos::ZERO),
                };
                engine.run_part(&poisson(), &part, MS * 5000, &mut |_| {}, &mut |_, _| LoadCommand::Continue)
            })
        });
        counts.extend(made.map(|made| made.join().expect("both are made").total.due));
    });
    let mut received: Vec<u64> =
        server.requests().iter().map(|request| request.path[1..].parse().expect("a number")).collect();
    received.sort_unstable();
    let due: Vec<u64> = schedule.arrivals(0, 1).map(|arrival| 1000 + arrival.number).collect();
    assert_eq!(received, due, "each number once, and no other");
    assert_eq!(counts.iter().sum::<u64>(), due.len() as u64);
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
}

#[test]
fn what_is_not_wanted_before_it_begins_does_not_begin() {
    let mut engine =
        Engine::start(&EngineConfig::plain(ResolvedTarget::null(), "/", MS * 5000)).expect("starts");
    let (calls, stop_at) = (Cell::new(0), Cell::new(Nanos::ZERO));
    let part =
        TrialPart { start_ns: ahead(), first_number: 0, loops: &[0], total_loops: 1, stop_at: &stop_at };
    let mut next_command = |_: &Slice, _| {
        calls.set(calls.get() + 1);
        if calls.get() > 2 { LoadCommand::Stop } else { LoadCommand::Continue }
    };
    let counted = engine.run_part(&poisson(), &part, MS * 100, &mut |_| {}, &mut next_command);
    assert_eq!((counted.total, counted.members.len()), (Slice::default(), 0));
    // And nothing is left of it: the next runs as usual.
    assert!(engine.settle(MS * 1000, &|| false).is_some());
    let counted =
        engine.run_trial(&poisson(), MS * 100, &mut |_| {}, &mut |_| {}, &mut |_, _| LoadCommand::Continue);
    assert!(counted.total.due > 100 && counted.total.due == counted.total.outcomes.ok);
}

#[test]
fn all_end_at_the_moment_that_was_said() {
    let mut engine =
        Engine::start(&EngineConfig::plain(ResolvedTarget::null(), "/", MS * 5000)).expect("starts");
    let stop_at = Cell::new(MS * 400);
    let offer = OfferedLoad::Open(Schedule::constant(Rate(1000.0), MS * 60_000));
    let part =
        TrialPart { start_ns: ahead(), first_number: 0, loops: &[1], total_loops: 2, stop_at: &stop_at };
    let mut next_command = |so_far: &Slice, at: Nanos| {
        assert!(so_far.due < 1000);
        if at > MS * 100 { LoadCommand::Stop } else { LoadCommand::Continue }
    };
    let counted = engine.run_part(&offer, &part, MS * 100, &mut |_| {}, &mut next_command);
    // On a machine that froze all that time, it is as soon as possible.
    assert!(counted.loaded >= MS * 400, "{}", counted.loaded);
    assert_eq!(counted.total.due, counted.total.outcomes.total());
}
