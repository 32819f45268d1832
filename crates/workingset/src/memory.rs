//! Reads cache lines, each at an address that depends on the previous read: pure latency.

use crate::stopwatch::Stopwatch;
use crate::xorshift::Xorshift;
use crate::{BLOCKS, ReadMeasurement};
use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};
use sys::AnonymousMapping;
use units::random::one_of;
use units::{Bytes, Nanos};

/// A processor's fetch size, wherever we know it; where it is 128 bytes, half of the reads of a pair hit the same.
const LINE_SIZE: u64 = 64;
/// Reads between two clock readings.
const STRETCH_READS: u32 = 4096;

/// Memory with every page touched.
pub struct MemoryLines {
    memory: AnonymousMapping,
    rng: Xorshift,
    /// Cost of drawing an address.
    rng_cost: Duration,
}

impl MemoryLines {
    /// This size, in huge or small pages.
    pub fn new(most: Bytes, huge: bool, seed: u64) -> io::Result<Self> {
        let mut memory = AnonymousMapping::private(most)?;
        if huge {
            memory.huge_pages()?
        } else {
            memory.small_pages()?
        }
        // Zeros: mixed in, they change no draw, and the processor does not know it.
        memory.fill(0);
        let mut rng = Xorshift::new(seed);
        read_stretch(&[0; 64], 1, &mut rng);
        let rng_cost = (0..64).map(|_| measure_rng_cost(&mut rng)).min().unwrap_or_default();
        Ok(Self { memory, rng, rng_cost })
    }

    /// Reads in its first `set` bytes for this time. The cost of drawing is subtracted: in a dependent chain times add up.
    pub fn read(&mut self, set: Bytes, time: Nanos) -> ReadMeasurement {
        let set = &self.memory[..(set.0 as usize).clamp(LINE_SIZE as usize, self.memory.len())];
        let lines = set.len() as u64 / LINE_SIZE;
        // One sequential pass and a while at random, so that what fits is cached.
        black_box(set.iter().step_by(LINE_SIZE as usize).fold(0_u8, |sum, byte| sum ^ byte));
        let part = time.to_duration() / BLOCKS;
        time_stretches(set, lines, &mut self.rng, part);
        let mut reading = ReadMeasurement::default();
        for _ in 0..BLOCKS {
            let (stretches, took) = time_stretches(set, lines, &mut self.rng, part);
            let took = took.saturating_sub(self.rng_cost * stretches).max(Duration::from_nanos(1));
            reading.blocks.push((u64::from(stretches) * u64::from(STRETCH_READS), Nanos::from(took)));
        }
        reading
    }
}

/// Stretches until the time is over, and their total time.
fn time_stretches(set: &[u8], lines: u64, rng: &mut Xorshift, time: Duration) -> (u32, Duration) {
    let (stopwatch, began, mut stretches) = (Stopwatch::begin(), Instant::now(), 0);
    while began.elapsed() < time || stretches == 0 {
        read_stretch(set, lines, rng);
        stretches += 1;
    }
    (stretches, stopwatch.elapsed())
}

fn read_stretch(set: &[u8], lines: u64, rng: &mut Xorshift) {
    let mut found = 0;
    for _ in 0..STRETCH_READS {
        let line = one_of(rng.next_mixed(u64::from(found)), lines.into()) as u64;
        found = set[(line * LINE_SIZE) as usize];
    }
    black_box(found);
}

/// A stretch without reads: the same chain, with a mask instead of the read.
fn measure_rng_cost(rng: &mut Xorshift) -> Duration {
    let (nothing, mut found) = (black_box(0), 0);
    let began = Instant::now();
    for _ in 0..STRETCH_READS {
        found = one_of(rng.next_mixed(found), 64) as u64 & nothing;
    }
    black_box(found);
    began.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read() {
        let mut lines = MemoryLines::new(Bytes(1 << 20), false, 1).expect("there is so much");
        for set in [Bytes(0), Bytes(16 << 10), Bytes(1 << 20), Bytes(1 << 30)] {
            let reading = lines.read(set, Nanos::from_millis(20));
            assert_eq!(reading.blocks.len(), 8);
            assert!(reading.rates().iter().all(|rate| *rate > 1e5), "{reading:?}");
            assert!(reading.missed_share().is_none());
        }
        assert!(MemoryLines::new(Bytes(1 << 20), true, 1).is_ok());
    }
}
