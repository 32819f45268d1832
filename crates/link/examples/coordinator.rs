//! What it costs to receive from many workers: a coordinator's link and ledger on one processor, and on another that
//! many workers, as threads that make no load but report as if they did, all at the same instant, over TLS. Store and
//! page cost extra, independent of the number of workers.
//!
//! `cargo run --release -p torment-link --example coordinator -- [WORKERS RATE SECONDS]` prints a table
//! (`docs/fleet.md`), or one row: that many workers, each reporting RATE requests every second.

use fleet::{
    BuildStamp, FleetRole, Hello, Instruction, Ledger, LoopAssignment, MemberReport, PROTOCOL, TrialAction,
    TrialAssignment, TrialCoordinator,
};
use record::{MemberFigures, SLICE, Slice};
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use schedule::{OfferedLoad, Schedule};
use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;
use torment_link::{Authority, CoordinatorLink, JoinFile, MemberEvent, MemberLink};
use units::random::mix;
use units::{Nanos, Rate};

const ROWS: [(u32, u64); 6] =
    [(64, 5_000), (64, 50_000), (256, 5_000), (256, 50_000), (1_000, 5_000), (1_000, 50_000)];
const SECONDS: u64 = 10;
/// Distinct slices, so that neighbouring workers report different times.
const KINDS: u64 = 16;
const BUILD: &str = "1.0";
/// Makes this program the workers: COUNT RATE follow, and the join file on standard input.
const WORKERS: &str = "workers";

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u64> = args.iter().filter_map(|word| word.parse().ok()).collect();
    match (args.first().map(String::as_str), numbers.as_slice()) {
        (Some(WORKERS), &[workers, rate]) => report(workers as u32, rate),
        (None, _) => {
            println!(
                "| workers | each tells of | coordinator's processor | reports | a second is whole after | memory |\n|---|---|---|---|---|---|"
            );
            ROWS.iter().try_for_each(|(workers, rate)| listen(*workers, *rate, SECONDS))
        }
        (_, &[workers, rate, seconds]) => listen(workers as u32, rate, seconds),
        _ => Err("usage: coordinator [WORKERS RATE SECONDS]".into()),
    }
}

/// Pins this process to one processor, if there are two.
fn alone(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    if let Err(why) = sched_setaffinity(None, &set) {
        eprintln!("processor {cpu} is not had alone: {why}");
    }
}

fn hello() -> Hello {
    Hello {
        protocol: PROTOCOL,
        build: BUILD.to_owned(),
        stamp: BuildStamp::default(),
        role: FleetRole::Worker,
        member: None,
        place: "here".to_owned(),
        machine: "1f-2".to_owned(),
        pid: std::process::id(),
    }
}

/// One row of the table.
fn listen(workers: u32, rate: u64, seconds: u64) -> Result<(), Box<dyn Error>> {
    let authority = Authority::new(Duration::from_secs(3600))?;
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let file = JoinFile {
        address: listener.local_addr()?.to_string(),
        credentials: authority.issue(FleetRole::Worker)?,
    };
    let mut command = Command::new(std::env::current_exe()?);
    command.args([WORKERS, &workers.to_string(), &rate.to_string()]).stdin(Stdio::piped());
    let mut others = command.spawn()?;
    others.stdin.take().ok_or("it was asked to be piped")?.write_all(file.to_text().as_bytes())?;
    alone(0);
    let mut coordinator_link = CoordinatorLink::open(BUILD, &BuildStamp::default(), FleetRole::Worker, &[])?;
    coordinator_link.listen(listener, &authority.issue(FleetRole::Coordinator)?)?;
    let mut joined = 0;
    while joined < workers {
        match coordinator_link.next(Duration::from_secs(60)) {
            Some((_, MemberEvent::Joined(_))) => joined += 1,
            other => return Err(format!("{joined} of {workers} have come, and then {other:?}").into()),
        }
    }
    coordinator_link.compare_clocks(Duration::from_secs(30));
    let offer =
        OfferedLoad::Open(Schedule::constant(Rate((rate * u64::from(workers)) as f64), SLICE * seconds));
    let loops = LoopAssignment::deal((0..workers).map(|member| (member, 1)));
    let (mut ledger, mut wholes) = (Ledger::new(&loops, &offer), Vec::new());
    let mut coordinator = TrialCoordinator::begin(1, 0..workers, SLICE, now());
    let mut before = Nanos::ZERO;
    while !(coordinator.is_over() && ledger.is_over()) {
        while let Some(next) = coordinator.next_action() {
            match next {
                TrialAction::Arm { trial, start } => {
                    for member in 0..workers {
                        let (offer, loops, of) = (offer.clone(), loops.of(member).to_vec(), loops.total());
                        let assignment =
                            TrialAssignment { trial, offer, loops, of, first_number: 0, start, drain: SLICE };
                        coordinator_link.send(member, Instruction::Arm(Box::new(assignment)));
                    }
                }
                TrialAction::Begin => before = spent()?,
                other => return Err(format!("it does not go on as it should: {other:?}").into()),
            }
        }
        if let Some((member, event)) = coordinator_link.next(Duration::from_millis(50)) {
            match event {
                MemberEvent::Reported(MemberReport::Armed { trial }) => coordinator.armed(member, trial),
                MemberEvent::Reported(MemberReport::Slice { trial, slice }) => {
                    ledger.add_slice(member, &slice);
                    coordinator.member_reported(member, ledger.reported_until(member));
                    if let Some(second) = ledger.acknowledge(member) {
                        coordinator_link.send(member, Instruction::Heard { trial, second });
                    }
                }
                MemberEvent::Reported(MemberReport::Over { at, slices, .. }) => {
                    ledger.finish_member(member, at, slices);
                    coordinator.member_over(member, at);
                }
                other => return Err(format!("worker {member}: {other:?}").into()),
            }
        }
        while let Some(whole) = ledger.next_complete() {
            wholes.push(now() - (coordinator.start_time() + SLICE * u64::from(whole.index + 1)));
        }
        coordinator.tick(now());
    }
    let spent = spent()? - before;
    let counted = ledger.into_counts().total;
    assert_eq!(counted.due, rate * u64::from(workers) * seconds, "what was told is in the books");
    wholes.sort_unstable();
    let bytes = slices(rate)[0].clone();
    let bytes = rmp_serde::to_vec_named(&bytes)?.len() as f64 * f64::from(workers);
    println!(
        "| {workers} | {rate}/s | {:.1} % | {:.1} MB/s | {}, at worst {} | {} MiB |",
        100.0 * spent.as_secs_f64() / seconds as f64,
        bytes / 1e6,
        wholes[wholes.len() / 2],
        wholes[wholes.len() - 1],
        memory()?,
    );
    drop(coordinator_link);
    others.wait()?;
    Ok(())
}

fn now() -> Nanos {
    Nanos(sys::monotonic_ns())
}

/// Processor time of this process so far.
fn spent() -> Result<Nanos, Box<dyn Error>> {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Ok(Nanos(u64::try_from(spent.tv_sec)? * 1_000_000_000 + u64::try_from(spent.tv_nsec)?))
}

/// Peak memory of this process, in MiB.
fn memory() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? / 1024)
}

/// Slices of `rate` requests with realistic times.
fn slices(rate: u64) -> Vec<Slice> {
    let slice = |kind: u64| {
        let mut slice =
            Slice { due: rate, sent: rate, loops: 1, elapsed: SLICE, cpu: SLICE / 5, ..Slice::default() };
        slice.outcomes.ok = rate;
        slice.statuses.insert(200, rate);
        slice.outstanding = vec![0.1; 10];
        for number in 0..rate {
            let draw = mix(kind, number) % 1_000;
            let service = Nanos(900_000 + 400 * draw + if draw == 0 { 30_000_000 } else { 0 });
            slice.service.record(service);
            slice.response.record(service + Nanos(10_000 + draw));
            slice.lateness.record(Nanos(8_000 + 5 * draw));
            slice.pacing.record(Nanos(7_000 + 5 * draw));
        }
        slice
    };
    (0..KINDS).map(slice).collect()
}

/// The workers: each joins, and from its start on reports what it would have counted.
fn report(workers: u32, rate: u64) -> Result<(), Box<dyn Error>> {
    alone(1);
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let (file, slices): (JoinFile, _) = (text.parse()?, slices(rate));
    let mut wires: Vec<MemberLink> =
        (0..workers).map(|_| MemberLink::join(&file, hello(), &[])).collect::<Result<_, _>>()?;
    let mut begun: Option<(u64, Nanos, u64)> = None;
    for member_link in &mut wires {
        let assignment = match member_link.next(Duration::from_secs(60))? {
            Some(Instruction::Arm(assignment)) => assignment,
            other => return Err(format!("expected an order, heard {other:?}").into()),
        };
        member_link.send(MemberReport::Armed { trial: assignment.trial });
        begun = Some((assignment.trial, assignment.start, assignment.offer.latest_end().0 / SLICE.0));
    }
    let (trial, start, seconds) = begun.ok_or("there are no workers")?;
    for second in 0..seconds {
        let ends = start + SLICE * (second + 1);
        std::thread::sleep(Duration::from_nanos((ends - now()).0));
        for (nth, member_link) in wires.iter_mut().enumerate() {
            // Instructions received meanwhile are not measured.
            while member_link.next(Duration::ZERO)?.is_some() {}
            let slice = Slice { index: second as u32, ..slices[nth % slices.len()].clone() };
            member_link.send(MemberReport::Slice { trial, slice: Box::new(slice) });
        }
    }
    for member_link in &wires {
        let worked = Box::new(MemberFigures::default());
        member_link.send(MemberReport::Over { trial, at: SLICE * seconds, slices: seconds as u32, worked });
    }
    // Until the other side has received everything.
    while wires[0].next(Duration::from_secs(60)).is_ok() {}
    Ok(())
}
