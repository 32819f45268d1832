//! When workers on different machines begin, compared with the agreed time. This test is their coordinator, so it knows
//! that time, and their target, so it sees when requests arrive. Clocks, link and workers are torment's own.

use super::remote_workers::WorkerNetworks;
use crate::program::{LoadTurn, SOON, Sandbox, binary};
use fleet::{BuildStamp, FleetRole, Instruction, LoopAssignment, MemberReport, TargetCheck, TrialAssignment};
use link::{Authority, CoordinatorLink, JoinFile, MemberEvent};
use plan::{Draft, PortablePlan};
use schedule::{OfferedLoad, Schedule};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::spawn;
use std::time::{Duration, Instant};
use testbed::TestRelay;
use units::{Nanos, Rate};

/// Delay range in ms of each piece between a worker and the coordinator; `None`: no added delay.
const WAYS: [Option<(u64, u64)>; 4] = [None, None, Some((1, 2)), Some((1, 4))];
/// Each gives four starts.
const TRIALS: usize = 25;
/// From the order to the start.
const LEAD: Nanos = Nanos::from_millis(60);
/// Half of all starts are within this, beyond the clock's uncertainty.
const SPARE: Nanos = Nanos(300_000);
/// Attempts on a busy machine, with that many trials each.
const ATTEMPTS: usize = 4;

/// What the target saw of one request, by this machine's clock.
#[derive(Debug, Clone, Copy)]
struct ObservedRequest {
    number: u64,
    /// When it was read.
    read: u64,
    /// How long it had been there by then, by the kernel: whoever sleeps on an idle virtual processor takes up to a millisecond to wake.
    age: u64,
}

/// A target that reports the time of each request. Returns its port.
fn listen() -> (u16, Receiver<ObservedRequest>) {
    let listener = TcpListener::bind("0.0.0.0:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    let (observed, all) = channel();
    spawn(move || {
        for stream in listener.incoming().flatten() {
            sys::enable_receive_timestamps(&stream).expect("Linux has them");
            let observed = observed.clone();
            spawn(move || answer(stream, &observed));
        }
    });
    (port, all)
}

fn answer(mut stream: TcpStream, observed: &Sender<ObservedRequest>) {
    let mut request = [0; 4096];
    while let Ok((length @ 1.., age)) = sys::recv_with_age(&stream, &mut request) {
        let read = sys::monotonic_ns();
        let age = age.map_or(0, |age| age.as_nanos() as u64);
        let text = String::from_utf8_lossy(&request[..length]);
        let number = text.strip_prefix("GET /").and_then(|path| path.split(' ').next()?.parse().ok());
        let number = number.expect("its path is its number");
        let _ = observed.send(ObservedRequest { number, read, age });
        if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").is_err() {
            break;
        }
    }
}

/// The build of the program under test.
fn stamp() -> BuildStamp {
    let said = Command::new(binary()).arg("stamp").output().expect("it can be run").stdout;
    let said = String::from_utf8(said).expect("words");
    let [_, _, arch, digest] = said.split_whitespace().collect::<Vec<&str>>()[..] else { panic!("{said}") };
    BuildStamp { arch: arch.to_owned(), digest: digest.to_owned() }
}

/// How one worker began.
#[derive(Debug, Clone, Copy)]
struct MeasuredStart {
    /// Delay in ns from its first request's due time until it was read.
    read: i64,
    /// The same, until it arrived.
    late: i64,
    /// Uncertainty of its clock.
    bound: Nanos,
    /// Its own account of its delay.
    pacing: Nanos,
}

impl MeasuredStart {
    /// The part that its clock does not explain.
    fn beyond(&self) -> i64 {
        self.late.abs() - self.bound.0 as i64
    }
}

/// A coordinator with its workers, and the target.
struct TestFleet {
    post: CoordinatorLink,
    loops: LoopAssignment,
    trial: u64,
    came: Receiver<ObservedRequest>,
}

impl TestFleet {
    /// Admits one worker per entry of [`WAYS`], and has them prepare.
    fn gather(mut coordinator_link: CoordinatorLink, url: &str, observed: Receiver<ObservedRequest>) -> Self {
        let text = format!("target.url = '{url}'\nload.rate = 1");
        let mut none = |_: &str| Err("there is none".to_owned());
        let plan = Draft::from_toml("p.toml", &text)
            .and_then(|draft| draft.check(plan::PlanCommand::Run, &mut none));
        let parcel = PortablePlan::new(&plan.expect("it is a plan"), None);
        let (mut loops, began) = (BTreeMap::new(), Instant::now());
        while loops.len() < WAYS.len() {
            assert!(began.elapsed() < SOON * 2, "only {} are ready", loops.len());
            match coordinator_link.next(SOON) {
                Some((member, MemberEvent::Joined(_))) => {
                    let (parcel, tries) = (Box::new(parcel.clone()), TargetCheck::Connection);
                    let welcome = Instruction::Welcome { member, share: 1, parcel, cores: Vec::new(), tries };
                    coordinator_link.send(member, welcome);
                }
                Some((member, MemberEvent::Reported(MemberReport::Ready { loops: its, .. }))) => {
                    loops.insert(member, its);
                }
                other => assert_eq!(other, None),
            }
        }
        Self { post: coordinator_link, loops: LoopAssignment::deal(loops), trial: 0, came: observed }
    }

    /// How each begins in one more trial, which is ordered as by a fleet's coordinator.
    fn trial(&mut self) -> Vec<MeasuredStart> {
        self.trial += 1;
        let (trial, first_number, of) = (self.trial, 1_000 * self.trial, self.loops.total());
        let schedule = Schedule::constant(Rate::of(1_000, Nanos::from_secs(1)), Nanos::from_millis(20));
        self.post.compare_clocks(SOON);
        let now = Nanos(sys::monotonic_ns());
        let (start, mut clocks) = (now + LEAD, BTreeMap::new());
        for member in self.loops.members() {
            let clock = self.post.clock_reading(member, now).expect("it was asked");
            clocks.insert(member, clock.bound);
            let assignment = TrialAssignment {
                trial,
                offer: OfferedLoad::Open(schedule.clone()),
                loops: self.loops.of(member).to_vec(),
                of,
                first_number,
                start: clock.theirs(start),
                drain: Nanos::from_secs(1),
            };
            self.post.send(member, Instruction::Arm(Box::new(assignment)));
        }
        let (mut pacing, began) = (BTreeMap::new(), Instant::now());
        while pacing.len() < clocks.len() {
            assert!(began.elapsed() < SOON, "only {pacing:?} have told");
            match self.post.next(SOON) {
                Some((member, MemberEvent::Reported(MemberReport::Over { worked, .. }))) => {
                    pacing.insert(member, worked.pacing_p99.expect("it has sent something"));
                }
                Some((_, event @ (MemberEvent::Gone(_) | MemberEvent::Jumped(_)))) => panic!("{event:?}"),
                _ => {}
            }
        }
        let observed: BTreeMap<u64, ObservedRequest> =
            self.came.try_iter().map(|observed| (observed.number, observed)).collect();
        let started = |(member, bound): (u32, Nanos)| {
            let first = |index: &u32| schedule.arrivals(*index, of).next();
            let first = self.loops.of(member).iter().filter_map(first).min_by_key(|first| first.due);
            let first = first.expect("each has a part");
            let observed = observed[&(first_number + first.number)];
            let read = observed.read.wrapping_sub((start + first.due).0) as i64;
            MeasuredStart { read, late: read - observed.age as i64, bound, pacing: pacing[&member] }
        };
        clocks.into_iter().map(started).collect()
    }

    fn leave(&self) {
        for member in self.loops.members() {
            self.post.send(member, Instruction::Leave);
        }
    }
}

/// Median in milliseconds: a wrong clock shows in every start, and the rest is how a shared machine hands packets over.
fn median(values: impl Iterator<Item = i64>) -> f64 {
    let mut values: Vec<i64> = values.collect();
    values.sort_unstable();
    values.get(values.len() / 2).map_or(0.0, |ns| *ns as f64 / 1e6)
}

#[test]
fn workers_that_are_apart_begin_at_the_agreed_instant() {
    let Some(net) = WorkerNetworks::new() else { return };
    let (_turn, sandbox) = (LoadTurn::alone(), Sandbox::new());
    let file = |worker: u32| format!("{worker}.join");
    let fars = [0, 1, 2, 3].map(|worker| net.far(&sandbox, worker, "", &file(worker)));
    let coordinator_link = CoordinatorLink::open(env!("CARGO_PKG_VERSION"), &stamp(), FleetRole::Worker, &[])
        .expect("it is a thread");
    let authority = Authority::new(Duration::from_secs(3600)).expect("it signs");
    let credentials = |role| authority.issue(role).expect("it signs");
    let here = net.at(0, 0, 0).parse().expect("an address");
    let listener = TcpListener::bind((here, 0)).expect("a port is free");
    let door = listener.local_addr().expect("it is bound");
    coordinator_link.listen(listener, &credentials(FleetRole::Coordinator)).expect("it is let in by that");
    for (worker, way) in (0..).zip(WAYS) {
        let at = way.map_or(door, |(least, most)| {
            let relay = TestRelay::from(here, door);
            relay.delays(Duration::from_millis(least), Duration::from_millis(most));
            relay.address()
        });
        let lets_in = JoinFile { address: at.to_string(), credentials: credentials(FleetRole::Worker) };
        sandbox.write(&file(worker), &lets_in.to_text());
    }
    let (port, observed) = listen();
    sandbox.write("laid", "");
    let mut fleet = TestFleet::gather(
        coordinator_link,
        &format!("http://{}:{port}/{{counter}}", net.at(0, 1, 0)),
        observed,
    );
    // The first trial opens the connections.
    fleet.trial();
    // Only attempts that the machine had time for.
    let (mut holds, mut fails) = (false, 0);
    for _ in 0..ATTEMPTS {
        let trials: Vec<Vec<MeasuredStart>> = (0..TRIALS).map(|_| fleet.trial()).collect();
        let starts = || trials.iter().flatten();
        // However busy the machine, nothing is read before it is sent.
        assert!(starts().all(|start| start.read >= -(start.bound.0 as i64)), "too early: {trials:#?}");
        // A worker that reports its own delay is excused: such a trial does not count.
        let in_time: Vec<&MeasuredStart> = starts().filter(|start| start.pacing < SPARE).collect();
        if in_time.len() * 2 < starts().count() {
            continue;
        }
        let beyond = median(in_time.iter().map(|start| start.beyond()));
        let whole = trials.iter().filter(|trial| trial.iter().all(|start| start.pacing < SPARE));
        let spread = median(whole.map(|trial| {
            let late = || trial.iter().map(|start| start.late);
            late().max().zip(late().min()).map_or(0, |(last, first)| last - first)
        }));
        println!(
            "{} of {} starts in time by their own account; half of these within {:.3} ms from the agreed instant, {beyond:.3} ms beyond their clocks' \
             bounds; the last of a trial {spread:.3} ms after the first",
            in_time.len(),
            starts().count(),
            median(in_time.iter().map(|start| start.late.abs())),
        );
        holds = beyond <= SPARE.as_millis_f64();
        if holds {
            break;
        }
        fails += 1;
    }
    fleet.leave();
    for far in fars {
        far.process.end().expect(0);
    }
    if !holds && fails == 0 {
        eprintln!("SKIPPED: the machine is too busy to begin anything in time");
        return;
    }
    assert!(holds, "workers begin at another instant than their clocks explain");
}
