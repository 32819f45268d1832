//! Messages survive encoding, and are short.

use crate::simulated_machine::slices;
use plan::{Arrivals, Draft, PlanCommand, PortablePlan, Stage};
use record::watch::{
    CloserLook, FutexOp, Host, MissingMeasure, PostgresWindow, SessionCount, StackGroup, ThreadGroup,
    ThreadState, ThreadWait, TreeWindow, WatchCoverage, WatchEvent, WatchedProcesses, WatcherLost, Window,
};
use record::{Caveat, CaveatDetails, CaveatKind, Failure, MemberFigures, Slice};
use schedule::{OfferedLoad, Schedule};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use torment_fleet::{
    BuildStamp, FleetRole, FromMember, Hello, Instruction, MemberReport, OwnerRequest, OwnerUpdate, PROTOCOL,
    RunOrder, TargetCheck, ToMember, TrialAssignment, WatchAssignment,
};
use units::{Nanos, Rate};

fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(message: &T) -> usize {
    let bytes = rmp_serde::to_vec_named(message).expect("it can be written");
    let back: T = rmp_serde::from_slice(&bytes).unwrap_or_else(|why| panic!("{why}: {message:?}"));
    assert_eq!(back, *message);
    bytes.len()
}

fn commission() -> RunOrder {
    let plan = Draft::from_toml("p.toml", "target.url = 'http://h/'\nload.rate = 1")
        .and_then(|draft| draft.check(PlanCommand::Run, &mut |_| Err("there is none".to_owned())))
        .expect("it is a plan");
    RunOrder {
        parcel: PortablePlan { plan, authorities: None },
        workers: 3,
        waits: Nanos::from_secs(120),
        costs: Some("{}".to_owned()),
    }
}

fn schedule(arrivals: Arrivals) -> Schedule {
    let stage = |from, to| Stage { duration: Nanos::from_millis(700), from: Rate(from), to: Rate(to) };
    Schedule::new(&[stage(0.0, 100.0), stage(100.0, 33.3)], arrivals, 7)
}

#[test]
fn what_a_coordinator_says() {
    let mut text = |_: &str| Err("there is none".to_owned());
    let plan = "target = { url = 'http://h/{users.id}', bearer = '{env:T}' }\nload.rate = 1\ndata.users.file = 'u.csv'";
    let mut plan = Draft::from_toml("p.toml", plan)
        .and_then(|draft| draft.check(PlanCommand::Run, &mut text))
        .expect("it is a plan");
    plan.bind(|_| Ok("id\n1\n2\n".to_owned()), |_| Ok("geheim".to_owned())).expect("all is there");
    let parcel = Box::new(PortablePlan { plan, authorities: Some(vec![0, 255]) });
    let welcome =
        Instruction::Welcome { member: 3, share: 1, parcel, cores: vec![0, 2], tries: TargetCheck::Request };
    assert!(!format!("{welcome:?}").contains("geheim"));
    let closed = OfferedLoad::Closed { connections: 9, requests: Some(1), duration: None };
    for offer in
        [OfferedLoad::Open(schedule(Arrivals::Even)), OfferedLoad::Open(schedule(Arrivals::Poisson)), closed]
    {
        let start = Nanos(u64::MAX - 1);
        let drain = Nanos::MAX;
        let duty = TrialAssignment {
            trial: 2,
            offer,
            loops: vec![1, 5],
            of: 8,
            first_number: 1 << 40,
            start,
            drain,
        };
        check(&ToMember::Told(Instruction::Arm(Box::new(duty))));
    }
    for instruction in [
        welcome,
        Instruction::Cancel { trial: 1 },
        Instruction::Stop { trial: 1, at: Nanos(5) },
        Instruction::Settle { limit: Nanos(5) },
        Instruction::Abandon,
        Instruction::Heard { trial: 1, second: 2 },
        Instruction::Hold { connections: 9 },
        Instruction::HoldNoMore,
        Instruction::Release,
        Instruction::Rest,
        Instruction::Owner(OwnerUpdate::Event { number: 1 << 40, event: "{}".to_owned() }),
        Instruction::Owner(OwnerUpdate::Over { events: 7, exit_code: 92, error: Some("x".to_owned()) }),
        Instruction::Leave,
    ] {
        check(&ToMember::Told(instruction));
    }
    check(&ToMember::Welcome);
    check(&ToMember::Refused("you are another build".to_owned()));
    check(&ToMember::Time { asked: Nanos(1) });
    check(&ToMember::Alive);
}

#[test]
fn a_schedule_arrives_with_every_moment() {
    for arrivals in [Arrivals::Even, Arrivals::Poisson] {
        let schedule = schedule(arrivals);
        let bytes = rmp_serde::to_vec_named(&OfferedLoad::Open(schedule.clone())).expect("it can be written");
        let Ok(OfferedLoad::Open(back)) = rmp_serde::from_slice(&bytes) else { panic!("it is a schedule") };
        assert_eq!(back.arrivals(1, 3).collect::<Vec<_>>(), schedule.arrivals(1, 3).collect::<Vec<_>>());
    }
}

#[test]
fn what_a_member_tells() {
    let grounds = CaveatDetails::FewPorts { ports: 9 };
    let caveats = vec![Caveat::with_details(CaveatKind::FewPorts, grounds)];
    let worked = MemberFigures { member: 3, due: 9, pacing_p99: Some(Nanos(5)), ..MemberFigures::default() };
    for tidings in [
        MemberReport::Ready { share: 1, loops: 2, connections: 9, caveats, beside: true },
        MemberReport::Refused { share: 1, why: "no descriptor is left".to_owned(), unreached: false },
        MemberReport::Armed { trial: 1 },
        MemberReport::Over { trial: 1, at: Nanos(1), slices: 7, worked: Box::new(worked) },
        MemberReport::Settled { trial: 1 },
        MemberReport::Held { open: 7, refused: Some(Failure::Closed) },
        MemberReport::Leaving { why: "SIGTERM".to_owned() },
        MemberReport::Owner(OwnerRequest::From(7)),
        MemberReport::Owner(OwnerRequest::Begin(Box::new(commission()))),
    ] {
        check(&FromMember::Told(tidings));
    }
    for role in FleetRole::ALL {
        let (build, place, machine) = ("0.1.0".to_owned(), "b".to_owned(), "1f-2".to_owned());
        let stamp = BuildStamp { arch: "x86_64".to_owned(), digest: "1f".to_owned() };
        let hello = Hello { protocol: PROTOCOL, build, stamp, role, member: Some(3), place, machine, pid: 9 };
        check(&FromMember::Hello(hello));
        assert_eq!(rmp_serde::to_vec(&role).expect("it can be written")[1..], *role.name().as_bytes());
    }
    check(&FromMember::Time { asked: Nanos(1), heard: Nanos(2), told: Nanos(3) });
}

#[test]
fn what_watchers_are_told_and_tell() {
    let asked =
        plan::WatchPlan { pids: vec![7], command: Some("app.jar".to_owned()), ..plan::WatchPlan::default() };
    let at = vec!["10.0.0.5:80".parse().expect("an address"), "[::1]:80".parse().expect("an address")];
    let duty = WatchAssignment {
        asked,
        at,
        port: Some(80),
        path: Some("/run/s".into()),
        pods: vec!["1-2".to_owned()],
        inside: true,
    };
    for instruction in [
        Instruction::Watch(Box::new(duty)),
        Instruction::WatchFrom { trial: 1, at: Nanos::MAX },
        Instruction::WatchUntil { at: Nanos(5) },
        Instruction::LookCloser,
    ] {
        check(&ToMember::Told(instruction));
    }
    let lost = WatcherLost { trial: 2, at: None, why: "x".to_owned() };
    let subject =
        WatchedProcesses { pid: 9, java: Some("25".to_owned()), cpus: 0.5, ..WatchedProcesses::default() };
    let watched = WatchCoverage {
        subjects: vec![subject],
        missing: vec![MissingMeasure::new("a", "b")],
        on: "ssh:b".to_owned(),
        lost: Some(lost),
        ..WatchCoverage::default()
    };
    let other = || "x".to_owned();
    let waits = [
        ThreadWait::Running,
        ThreadWait::Futex { op: FutexOp::Other, within_s: Some(30), shared: true },
        ThreadWait::Peer { address: other() },
        ThreadWait::Client,
        ThreadWait::Accept,
        ThreadWait::Events,
        ThreadWait::Sleep,
        ThreadWait::Disk { what: other() },
        ThreadWait::PageFault,
        ThreadWait::Pipe,
        ThreadWait::Child,
        ThreadWait::Other { what: other() },
        ThreadWait::Unknown,
    ];
    let states = waits.map(|wait| ThreadState { wait, threads: 0.1 }).to_vec();
    let group = ThreadGroup { name: "exec-N".to_owned(), states, ..ThreadGroup::default() };
    let sessions = SessionCount { state: other(), wait_type: Some(other()), wait_event: None, count: 0.5 };
    let window = Window {
        subjects: vec![TreeWindow { groups: vec![group], cpu_ns: u64::MAX, ..TreeWindow::default() }],
        host: Some(Host { cpus: 2, ..Host::default() }),
        postgres: Some(PostgresWindow { sessions: vec![sessions], ..PostgresWindow::default() }),
        to: Nanos::from_secs(1),
        ..Window::default()
    };
    let at = StackGroup { group: other(), state: other(), frame: other(), asked_by: None, threads: 3 };
    let stacks = CloserLook::Stacks { pid: 7, took_ns: 5, at: vec![at.clone()] };
    let look = CloserLook::Threads { pid: 9, took_ns: 5, at: vec![at] };
    for seen in [
        WatchEvent::Watched(Box::new(watched)),
        WatchEvent::Window(3, Box::new(window)),
        WatchEvent::Look(3, look),
        WatchEvent::Look(3, stacks),
        WatchEvent::Look(3, CloserLook::Refused { of: other(), why: other() }),
    ] {
        check(&FromMember::Told(MemberReport::Seen(Box::new(seen))));
    }
    check(&FromMember::Told(MemberReport::SeenAll));
}

/// A second of 50,000 requests, with realistic service times.
#[test]
fn a_second_is_short() {
    let mut slice = Slice { index: 7, due: 50_000, sent: 50_000, loops: 2, ..Slice::default() };
    slice.outcomes.ok = 50_000;
    slice.statuses.insert(200, 49_999);
    slice.failures.insert(Failure::Connect("connection refused".to_owned()), 1);
    slice.outstanding = vec![0.1; 10];
    for number in 0..50_000_u64 {
        let draw = units::random::mix(7, number) % 1_000;
        let service = Nanos(900_000 + 400 * draw + if draw == 0 { 30_000_000 } else { 0 });
        slice.service.record(service);
        slice.response.record(service + Nanos(10_000 + draw));
        slice.lateness.record(Nanos(8_000 + 5 * draw));
        slice.pacing.record(Nanos(7_000 + 5 * draw));
    }
    let length = check(&FromMember::Told(MemberReport::Slice { trial: 1, slice: Box::new(slice.clone()) }));
    let json = serde_json::to_string(&slice).expect("it can be written").len();
    assert!(length < 20_000 && length < json, "{length} bytes, as JSON {json}");
    // An idle slice takes few bytes.
    let idle = slices(&Schedule::constant(Rate(0.0), Nanos::from_secs(1)), &[0], 1, Nanos::MAX).remove(0);
    let length = check(&FromMember::Told(MemberReport::Slice { trial: 1, slice: Box::new(idle) }));
    assert!(length < 1_000, "{length}");
}
