//! A token that goes back and forth, and the time of one handover.

use super::WakeMechanism;
use super::turn_takers::{
    CondvarEnd, EchoEnd, EventfdEnd, FutexEnd, PipeEnd, SocketEnd, TurnTaker, YieldEnd, pipe, read_bytes,
    write_bytes,
};
use crate::block::BlockResult;
use crate::sides::{Placement, SideReport, SidesMemory, TaskKind, bind_to_last_processor, run_both};
use rustix::io::Errno;
use rustix::thread::{futex, sched_getcpu, sched_yield};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use sys::{Condition, UsageScope, usage};

/// One round in this many is made before the clock starts,
const WARM: u64 = 10;
/// and both sides report where they run every this many.
const LOOK_INTERVAL: u64 = 64;

/// Handovers by both sides, in nanoseconds each.
pub fn handover(
    mechanism: WakeMechanism,
    kind: TaskKind,
    placement: Placement,
    handovers: u64,
) -> io::Result<BlockResult> {
    let sides = SidesMemory::new()?;
    let run = HandoverRun { kind, placement, rounds: handovers.div_ceil(2), sides: &sides };
    let counts = match mechanism {
        WakeMechanism::Pipe => run.run_pair(PipeEnd::pair()?),
        WakeMechanism::Eventfd => run.run_pair(EventfdEnd::pair()?),
        WakeMechanism::Socketpair => run.run_pair(SocketEnd::pair()?),
        WakeMechanism::Yield => run.run_pair((YieldEnd, YieldEnd)),
        WakeMechanism::Futex => {
            let flags = if kind == TaskKind::Threads { futex::Flags::PRIVATE } else { futex::Flags::empty() };
            run.run_pair((FutexEnd::new(sides.turn(), flags, 0), FutexEnd::new(sides.turn(), flags, 1)))
        }
        WakeMechanism::Condition => {
            let condition = Condition::new(kind == TaskKind::Processes)?;
            run.run(|| CondvarEnd::new(&condition, 0), || CondvarEnd::new(&condition, 1))
        }
    }?;
    let operations = 2 * run.rounds;
    Ok(counts.block(operations, counts.took.as_nanos() as f64 / operations as f64))
}

/// Round trips of four bytes between two threads, per second.
pub fn echo(placement: Placement, echoes: u64) -> io::Result<BlockResult> {
    let common = SidesMemory::new()?;
    let run = HandoverRun { kind: TaskKind::Threads, placement, rounds: echoes, sides: &common };
    let counts = run.run_pair(EchoEnd::pair()?)?;
    Ok(counts.block(echoes, echoes as f64 / counts.took.as_secs_f64()))
}

/// The system calls of a handover without another side, on the last processor; nanoseconds per pair.
pub fn alone(mechanism: WakeMechanism, pairs: u64) -> io::Result<BlockResult> {
    bind_to_last_processor()?;
    let took = match mechanism {
        WakeMechanism::Pipe => {
            let (read, write) = pipe()?;
            timed(pairs, || there_and_back(&write, &read))
        }
        WakeMechanism::Socketpair => {
            let (first, second) = UnixStream::pair()?;
            let (first, second) = (first.into(), second.into());
            timed(pairs, || there_and_back(&first, &second))
        }
        WakeMechanism::Eventfd => {
            let counter = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC)?;
            timed(pairs, || {
                write_bytes(&counter, &1_u64.to_ne_bytes())?;
                read_bytes::<8>(&counter).map(drop)
            })
        }
        WakeMechanism::Futex => {
            let word = AtomicU32::new(0);
            timed(pairs, || {
                futex::wake(&word, futex::Flags::PRIVATE, 1)?;
                // The word is not 1, so the wait returns at once.
                match futex::wait(&word, futex::Flags::PRIVATE, 1, None) {
                    Err(Errno::AGAIN) => Ok(()),
                    other => Err(io::Error::other(format!("a futex that has changed: {other:?}"))),
                }
            })
        }
        WakeMechanism::Yield => timed(pairs, || {
            sched_yield();
            Ok(())
        }),
        WakeMechanism::Condition => Err(io::Error::other("without another side it makes no system call")),
    }?;
    Ok(BlockResult {
        values: vec![took.as_nanos() as f64 / pairs as f64],
        operations: pairs,
        ..BlockResult::default()
    })
}

fn there_and_back(write: &OwnedFd, read: &OwnedFd) -> io::Result<()> {
    write_bytes(write, &[1])?;
    read_bytes::<1>(read).map(drop)
}

fn timed(operations: u64, mut operation: impl FnMut() -> io::Result<()>) -> io::Result<Duration> {
    for _ in 0..operations / WARM {
        operation()?;
    }
    let began = Instant::now();
    for _ in 0..operations {
        operation()?;
    }
    Ok(began.elapsed())
}

struct HandoverRun<'a> {
    kind: TaskKind,
    placement: Placement,
    rounds: u64,
    sides: &'a SidesMemory,
}

/// Counts from both sides.
struct HandoverCounts {
    took: Duration,
    switches: u64,
    looks: u64,
    apart: u64,
}

impl HandoverCounts {
    fn block(&self, operations: u64, value: f64) -> BlockResult {
        BlockResult {
            values: vec![value],
            operations,
            switches: Some(self.switches),
            looks: Some((self.looks, self.apart)),
            ..BlockResult::default()
        }
    }
}

impl HandoverRun<'_> {
    fn run_pair<S: TurnTaker + Send>(&self, (first, second): (S, S)) -> io::Result<HandoverCounts> {
        self.run(|| Ok(first), || Ok(second))
    }

    /// Each side is made where it is used.
    fn run<S: TurnTaker>(
        &self,
        first: impl FnOnce() -> io::Result<S>,
        second: impl FnOnce() -> io::Result<S> + Send,
    ) -> io::Result<HandoverCounts> {
        let (rounds, warm, common) = (self.rounds, self.rounds / WARM + 1, self.sides);
        let here = || {
            let mut side = first()?;
            for _ in 0..warm {
                side.pass_turn()?;
                side.await_turn()?;
            }
            let other = common.processor();
            let (mut looks, mut apart) = (0, 0);
            let (before, began) = (usage(UsageScope::Thread), Instant::now());
            for round in 0..rounds {
                side.pass_turn()?;
                side.await_turn()?;
                if round.is_multiple_of(LOOK_INTERVAL) {
                    looks += 1;
                    apart += u64::from(sched_getcpu() as u32 != other.load(Ordering::Relaxed));
                }
            }
            let took = began.elapsed();
            let switches = usage(UsageScope::Thread).since(&before).switches;
            Ok(HandoverCounts { took, switches, looks, apart })
        };
        let there = || {
            let mut side = second()?;
            let own = common.processor();
            own.store(sched_getcpu() as u32, Ordering::Relaxed);
            for _ in 0..warm {
                side.await_turn()?;
                side.pass_turn()?;
            }
            let before = usage(UsageScope::Thread);
            for round in 0..rounds {
                side.await_turn()?;
                if round.is_multiple_of(LOOK_INTERVAL) {
                    own.store(sched_getcpu() as u32, Ordering::Relaxed);
                }
                side.pass_turn()?;
            }
            let switches = usage(UsageScope::Thread).since(&before).switches;
            common.store_report(SideReport { switches, ..SideReport::default() });
            Ok(())
        };
        let mut counts = run_both(self.kind, self.placement, common, here, there)?;
        counts.switches += common.load_report().switches;
        Ok(counts)
    }
}
