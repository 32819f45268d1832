//! Messages there and back, and messages one way.

use super::framing::{HttpFramed, LengthPrefixed};
use super::shared_memory::{SharedMailbox, SharedRing, WaitStrategy};
use super::stream::{MessageEnd, StreamEnd, pair};
use super::{MessageFraming, Transport};
use crate::block::BlockResult;
use crate::sides::{Placement, SideReport, SidesMemory, TaskKind, run_both};
use stats::Histogram;
use std::hint::black_box;
use std::io;
use std::time::Instant;
use sys::{SharedMemory, UsageScope, monotonic_ns, usage};
use units::{Bytes, Nanos};

/// One message in this many is sent before the clock starts.
const WARM: u64 = 10;
/// Clock readings used to price one; the price is subtracted where it exceeds this share of the figure.
const READINGS: u32 = 1000;
const MIN_CLOCK_SHARE: f64 = 0.01;
/// A message begins with its number.
const NUMBER_SIZE: usize = size_of::<u64>();

/// One-way latency of a message of this size: half the round trip, each timed.
pub fn latency(
    transport: Transport,
    size: Bytes,
    placement: Placement,
    operations: u64,
) -> io::Result<BlockResult> {
    let size = size.0 as usize;
    let echo = |wait| {
        let memory = SharedMemory::new(SharedMailbox::required_size(size))?;
        round_trips(SharedMailbox::pair(&memory, size, wait), size, placement, operations)
    };
    match transport {
        Transport::SharedAsleep => echo(WaitStrategy::Asleep),
        Transport::SharedBusy => echo(WaitStrategy::Busy),
        _ => round_trips(pair(transport, None)?, size, placement, operations),
    }
}

/// The same with protocol framing.
pub fn framed(
    framing: MessageFraming,
    transport: Transport,
    size: Bytes,
    placement: Placement,
    operations: u64,
) -> io::Result<BlockResult> {
    let (first, second): (StreamEnd, StreamEnd) = pair(transport, None)?;
    let size = size.0 as usize;
    match framing {
        MessageFraming::Rpc => round_trips(
            (LengthPrefixed::new(first), LengthPrefixed::new(second)),
            size,
            placement,
            operations,
        ),
        MessageFraming::Http => {
            round_trips((HttpFramed::client(first), HttpFramed::server(second)), size, placement, operations)
        }
    }
}

fn number_of(message: &[u8]) -> u64 {
    u64::from_ne_bytes(message[..NUMBER_SIZE].try_into().expect("it is cut to size"))
}

fn wrong_number(expected: u64, found: u64) -> io::Error {
    io::Error::other(format!("message {expected} was to come, and {found} came"))
}

fn round_trips<E: MessageEnd + Send>(
    (first, second): (E, E),
    size: usize,
    placement: Placement,
    operations: u64,
) -> io::Result<BlockResult> {
    let rounds = operations.div_ceil(2);
    let warmup = rounds / WARM + 1;
    let sides = SidesMemory::new()?;
    let mut message = vec![1_u8; size];
    // Counted afterwards, since counting takes longer than the fastest of them; touched before.
    let mut times = vec![u32::MAX; rounds as usize];
    // Each side owns its end, so that the other sees it close.
    let here = || {
        let mut first = first;
        let (mut before, mut began, mut last) = (usage(UsageScope::Thread), 0, 0);
        for round in 0..warmup + rounds {
            if round == warmup {
                before = usage(UsageScope::Thread);
                began = monotonic_ns();
                last = began;
            }
            message[..NUMBER_SIZE].copy_from_slice(&round.to_ne_bytes());
            first.send(&message)?;
            first.receive(&mut message)?;
            // The other process inverts it: proof of a round trip.
            if number_of(&message) != !round {
                return Err(wrong_number(!round, number_of(&message)));
            }
            if round >= warmup {
                let now = monotonic_ns();
                times[(round - warmup) as usize] = u32::try_from(now - last).unwrap_or(u32::MAX);
                last = now;
            }
        }
        Ok((last - began, usage(UsageScope::Thread).since(&before).switches))
    };
    let there = || {
        let (mut second, mut message) = (second, vec![2_u8; size]);
        let mut before = usage(UsageScope::Thread);
        for round in 0..warmup + rounds {
            if round == warmup {
                before = usage(UsageScope::Thread);
            }
            second.receive(&mut message)?;
            if number_of(&message) != round {
                return Err(wrong_number(round, number_of(&message)));
            }
            message[..NUMBER_SIZE].copy_from_slice(&(!round).to_ne_bytes());
            second.send(&message)?;
        }
        sides.store_report(SideReport {
            switches: usage(UsageScope::Thread).since(&before).switches,
            ..SideReport::default()
        });
        Ok(())
    };
    let (took, switches) = run_both(TaskKind::Processes, placement, &sides, here, there)?;
    let mut single = Histogram::default();
    times.iter().for_each(|time| single.record(Nanos(u64::from(*time) / 2)));
    let each = took as f64 / (2 * rounds) as f64;
    // One clock reading per round.
    let reading = clock_cost() / 2.0;
    let value = if reading > MIN_CLOCK_SHARE * each { (each - reading).max(0.0) } else { each };
    Ok(BlockResult {
        values: vec![value],
        single: vec![single],
        operations: 2 * rounds,
        switches: Some(switches + sides.load_report().switches),
        ..BlockResult::default()
    })
}

/// Cost of a clock reading, in nanoseconds.
fn clock_cost() -> f64 {
    let began = Instant::now();
    for _ in 0..READINGS {
        black_box(monotonic_ns());
    }
    began.elapsed().as_nanos() as f64 / f64::from(READINGS)
}

/// One-way throughput for messages of this size: bytes per second read by the other process, in whole messages, by its own clock:
/// from the end of the warm-up to its last byte.
pub fn throughput(
    transport: Transport,
    size: Bytes,
    buffer: Option<Bytes>,
    messages: u64,
) -> io::Result<BlockResult> {
    let size = size.0 as usize;
    let ring = |wait| {
        let memory = SharedMemory::new(SharedRing::required_size(size))?;
        one_way(SharedRing::pair(&memory, size, wait), size, messages)
    };
    match transport {
        Transport::SharedAsleep => ring(WaitStrategy::Asleep),
        Transport::SharedBusy => ring(WaitStrategy::Busy),
        _ => one_way(pair(transport, buffer)?, size, messages),
    }
}

fn one_way<E: MessageEnd + Send>(
    (first, second): (E, E),
    size: usize,
    messages: u64,
) -> io::Result<BlockResult> {
    let warmup = messages / WARM + 1;
    let sides = SidesMemory::new()?;
    let mut message = vec![1_u8; size];
    let here = || {
        let mut first = first;
        for number in 0..warmup + messages {
            message[..NUMBER_SIZE].copy_from_slice(&number.to_ne_bytes());
            first.send(&message)?;
        }
        Ok(())
    };
    let there = || {
        let (mut second, mut message) = (second, vec![2_u8; size]);
        let mut began = Instant::now();
        for number in 0..warmup + messages {
            if number == warmup {
                began = Instant::now();
            }
            second.receive(&mut message)?;
            if number_of(&message) != number {
                return Err(wrong_number(number, number_of(&message)));
            }
        }
        sides.store_report(SideReport { took: Nanos::from(began.elapsed()), ..SideReport::default() });
        Ok(())
    };
    run_both(TaskKind::Processes, Placement::Two, &sides, here, there)?;
    let took = sides.load_report().took.as_secs_f64();
    if took == 0.0 {
        return Err(io::Error::other("the other side has read nothing"));
    }
    Ok(BlockResult {
        values: vec![(messages * size as u64) as f64 / took],
        operations: messages,
        ..BlockResult::default()
    })
}
