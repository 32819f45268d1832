//! A token that goes back and forth, and what one handover takes.

use super::Medium;
use super::medium::{Conditioned, Counters, Echo, Partner, Pipes, Socket, Turns, Yields, get, pipe, put};
use crate::block::Block;
use crate::sides::{Common, Kind, Left, Placement, both};
use rustix::io::Errno;
use rustix::thread::{futex, sched_getcpu, sched_yield};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use sys::{Allowed, Condition, UsageOf, run_on, usage};

/// One round in so many is made before the clock starts,
const WARM: u64 = 10;
/// and after so many both sides say where they run.
const LOOK: u64 = 64;

/// Handovers of both sides, nanoseconds each.
pub fn handover(medium: Medium, kind: Kind, placement: Placement, handovers: u64) -> io::Result<Block> {
    let common = Common::new()?;
    let course = Course { kind, placement, rounds: handovers.div_ceil(2), common: &common };
    let seen = match medium {
        Medium::Pipe => course.between(Pipes::pair()?),
        Medium::Eventfd => course.between(Counters::pair()?),
        Medium::Socketpair => course.between(Socket::pair()?),
        Medium::Yield => course.between((Yields, Yields)),
        Medium::Futex => {
            let flags = if kind == Kind::Threads { futex::Flags::PRIVATE } else { futex::Flags::empty() };
            course.between((Turns::new(common.turn(), flags, 0), Turns::new(common.turn(), flags, 1)))
        }
        Medium::Condition => {
            let condition = Condition::new(kind == Kind::Processes)?;
            course.run(|| Conditioned::new(&condition, 0), || Conditioned::new(&condition, 1))
        }
    }?;
    let operations = 2 * course.rounds;
    Ok(seen.block(operations, seen.took.as_nanos() as f64 / operations as f64))
}

/// Round trips of four bytes between two threads, in a second.
pub fn echo(placement: Placement, echoes: u64) -> io::Result<Block> {
    let common = Common::new()?;
    let course = Course { kind: Kind::Threads, placement, rounds: echoes, common: &common };
    let seen = course.between(Echo::pair()?)?;
    Ok(seen.block(echoes, echoes as f64 / seen.took.as_secs_f64()))
}

/// The system calls of a handover with nobody to hand over to, on the last processor; nanoseconds a pair.
pub fn alone(medium: Medium, pairs: u64) -> io::Result<Block> {
    if let [.., last] = Allowed::now()?.list().as_slice() {
        run_on(&[*last])?;
    }
    let took = match medium {
        Medium::Pipe => {
            let (read, write) = pipe()?;
            timed(pairs, || there_and_back::<1>(&write, &read))
        }
        Medium::Socketpair => {
            let (first, second) = UnixStream::pair()?;
            let (first, second) = (first.into(), second.into());
            timed(pairs, || there_and_back::<1>(&first, &second))
        }
        Medium::Eventfd => {
            let counter = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC)?;
            timed(pairs, || {
                put(&counter, &1_u64.to_ne_bytes())?;
                get::<8>(&counter).map(drop)
            })
        }
        Medium::Futex => {
            let word = AtomicU32::new(0);
            timed(pairs, || {
                futex::wake(&word, futex::Flags::PRIVATE, 1)?;
                // It is not 1, so that there is nothing to wait for.
                match futex::wait(&word, futex::Flags::PRIVATE, 1, None) {
                    Err(Errno::AGAIN) => Ok(()),
                    other => Err(io::Error::other(format!("a futex that has changed: {other:?}"))),
                }
            })
        }
        Medium::Yield => timed(pairs, || {
            sched_yield();
            Ok(())
        }),
        Medium::Condition => Err(io::Error::other("without another side it makes no system call")),
    }?;
    Ok(Block { values: vec![took.as_nanos() as f64 / pairs as f64], operations: pairs, ..Block::default() })
}

fn there_and_back<const N: usize>(write: &OwnedFd, read: &OwnedFd) -> io::Result<()> {
    put(write, &[1; N])?;
    get::<N>(read).map(drop)
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

/// How a token goes.
struct Course<'a> {
    kind: Kind,
    placement: Placement,
    rounds: u64,
    common: &'a Common,
}

/// What was seen of both sides.
struct Switched {
    took: Duration,
    switches: u64,
    looks: u64,
    apart: u64,
}

impl Switched {
    fn block(&self, operations: u64, value: f64) -> Block {
        Block {
            values: vec![value],
            operations,
            switches: Some(self.switches),
            looks: Some((self.looks, self.apart)),
            ..Block::default()
        }
    }
}

impl Course<'_> {
    fn between<S: Partner + Send>(&self, (first, second): (S, S)) -> io::Result<Switched> {
        self.run(|| Ok(first), || Ok(second))
    }

    /// Each side is made where it is used.
    fn run<S: Partner>(
        &self,
        first: impl FnOnce() -> io::Result<S>,
        second: impl FnOnce() -> io::Result<S> + Send,
    ) -> io::Result<Switched> {
        let (rounds, warm, common) = (self.rounds, self.rounds / WARM + 1, self.common);
        let here = || {
            let mut side = first()?;
            for _ in 0..warm {
                side.give()?;
                side.take()?;
            }
            let other = common.processor();
            let (mut looks, mut apart) = (0, 0);
            let (before, began) = (usage(UsageOf::Thread), Instant::now());
            for round in 0..rounds {
                side.give()?;
                side.take()?;
                if round.is_multiple_of(LOOK) {
                    looks += 1;
                    apart += u64::from(sched_getcpu() as u32 != other.load(Ordering::Relaxed));
                }
            }
            let took = began.elapsed();
            let switches = usage(UsageOf::Thread).since(&before).switches();
            Ok(Switched { took, switches, looks, apart })
        };
        let there = || {
            let mut side = second()?;
            let own = common.processor();
            own.store(sched_getcpu() as u32, Ordering::Relaxed);
            for _ in 0..warm {
                side.take()?;
                side.give()?;
            }
            let before = usage(UsageOf::Thread);
            for round in 0..rounds {
                side.take()?;
                if round.is_multiple_of(LOOK) {
                    own.store(sched_getcpu() as u32, Ordering::Relaxed);
                }
                side.give()?;
            }
            let switches = usage(UsageOf::Thread).since(&before).switches();
            common.leave(Left { switches, ..Left::default() });
            Ok(())
        };
        let mut seen = both(self.kind, self.placement, common, here, there)?;
        seen.switches += common.left().switches;
        Ok(seen)
    }
}
