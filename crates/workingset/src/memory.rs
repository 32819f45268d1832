//! Reads cache lines, each at an address that depends on the previous read: pure latency.

use crate::ReadMeasurement;
use crate::stopwatch::Stopwatch;
use crate::xorshift::Xorshift;
use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};
use sys::AnonymousMapping;
use units::random::one_of;
use units::{Bytes, Nanos};

/// A processor's fetch size, wherever we know it; where it is 128 bytes, half of the reads of a pair hit the same.
const LINE: u64 = 64;
/// Reads between two clock readings.
const STRETCH: u32 = 4096;
/// Parts of the time that are counted separately.
const BLOCKS: u32 = 8;

/// Memory with every page touched.
pub struct MemoryLines {
    memory: AnonymousMapping,
    draws: Xorshift,
    /// Cost of drawing an address.
    drawing: Duration,
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
        let mut draws = Xorshift::new(seed);
        stretch(&[0; 64], 1, &mut draws);
        let drawing = (0..64).map(|_| drawn(&mut draws)).min().unwrap_or_default();
        Ok(Self { memory, draws, drawing })
    }

    /// Reads in its first `set` bytes for this time. The cost of drawing is subtracted: in a dependent chain times add up.
    pub fn read(&mut self, set: Bytes, time: Nanos) -> ReadMeasurement {
        let set = &self.memory[..(set.0 as usize).clamp(LINE as usize, self.memory.len())];
        let lines = set.len() as u64 / LINE;
        // One sequential pass and a while at random, so that what fits is cached.
        black_box(set.iter().step_by(LINE as usize).fold(0_u8, |sum, byte| sum ^ byte));
        let part = time.to_duration() / BLOCKS;
        timed(set, lines, &mut self.draws, part);
        let mut reading = ReadMeasurement::default();
        for _ in 0..BLOCKS {
            let (stretches, took) = timed(set, lines, &mut self.draws, part);
            let took = took.saturating_sub(self.drawing * stretches).max(Duration::from_nanos(1));
            reading.blocks.push((u64::from(stretches) * u64::from(STRETCH), Nanos::from(took)));
        }
        reading
    }
}

/// Stretches until the time is over, and their total time.
fn timed(set: &[u8], lines: u64, draws: &mut Xorshift, time: Duration) -> (u32, Duration) {
    let (span, began, mut stretches) = (Stopwatch::begin(), Instant::now(), 0);
    while began.elapsed() < time || stretches == 0 {
        stretch(set, lines, draws);
        stretches += 1;
    }
    (stretches, span.elapsed())
}

fn stretch(set: &[u8], lines: u64, draws: &mut Xorshift) {
    let mut found = 0;
    for _ in 0..STRETCH {
        let line = one_of(draws.next_mixed(u64::from(found)), lines.into()) as u64;
        found = set[(line * LINE) as usize];
    }
    black_box(found);
}

/// A stretch without reads: the same chain, with a mask instead of the read.
fn drawn(draws: &mut Xorshift) -> Duration {
    let (nothing, mut found) = (black_box(0), 0);
    let began = Instant::now();
    for _ in 0..STRETCH {
        found = one_of(draws.next_mixed(found), 64) as u64 & nothing;
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
