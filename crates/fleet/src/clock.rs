//! A clock on another machine: its offset from ours, its drift, and how certain both are.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::Nanos;

/// The most two clocks drift apart: the kernel steers none by more than 500 ppm (adjtimex(2), `MAXFREQ`).
const SPEED: f64 = 1_000e-6;
/// The most their rates change per second, by temperature or steering: an older exchange is less certain by half of
/// this times its age squared.
const DRIFT_CHANGE_MOST: f64 = 1e-6;
/// Clocks are read in whole nanoseconds.
const ROUNDED: f64 = 1.0;
/// Exchanges kept: about a hundred seconds of trials, after which the oldest carry no information.
const EXCHANGES_KEPT: usize = 128;
const SECOND: f64 = 1e9;

/// One clock query and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockExchange {
    /// When the query was sent, by our clock.
    pub asked: Nanos,
    /// When it arrived, by theirs.
    pub heard: Nanos,
    /// When the answer was sent, by theirs.
    pub told: Nanos,
    /// When the answer arrived, by ours.
    pub answered: Nanos,
}

impl ClockExchange {
    /// From query to answer, less the time taken to answer.
    pub fn round_trip(&self) -> Nanos {
        (self.answered - self.asked) - (self.told - self.heard)
    }

    /// Least and greatest possible offset (theirs less ours) in nanoseconds: nothing arrives before it was sent.
    fn bounds(&self) -> (i64, i64) {
        (difference(self.told, self.answered), difference(self.heard, self.asked))
    }
}

fn difference(one: Nanos, other: Nanos) -> i64 {
    one.0.wrapping_sub(other.0) as i64
}

/// The clock did not run steadily: it was set, stood still, or changed its rate at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockJump {
    /// The least it jumped by.
    pub by: Nanos,
}

/// What is known of a remote clock at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClockReading {
    /// Theirs less ours, in nanoseconds.
    pub offset_ns: i64,
    /// Error bound of the offset.
    pub bound: Nanos,
    /// How much faster theirs runs, in ppm.
    pub drift_ppm: f64,
    /// Shortest round trip seen.
    pub round_trip: Nanos,
}

impl ClockReading {
    /// What their clock shows when ours shows `ours`.
    pub fn theirs(&self, ours: Nanos) -> Nanos {
        Nanos(ours.0.wrapping_add_signed(self.offset_ns))
    }
}

/// A clock on another machine, estimated from exchanges.
///
/// An exchange bounds the offset at its time (RFC 5905 section 8 uses the same four timestamps and takes the middle).
/// Offset and drift must satisfy the bounds of all exchanges; they form a convex region of the plane, and its extent at
/// a moment bounds the offset then. Delays may be arbitrarily asymmetric. Two clocks are assumed to drift apart by at
/// most 1,000 ppm and to change that by at most 1 ppm a second. A clock that does not is reported as jumped as soon as
/// an exchange contradicts the others; a jump smaller than the uncertainty before it may go unnoticed, and is then
/// within it.
#[derive(Debug, Clone, Default)]
pub struct RemoteClock {
    exchanges: VecDeque<ClockExchange>,
}

impl RemoteClock {
    /// Adds an exchange.
    ///
    /// # Errors
    /// If it contradicts the earlier ones: they are dropped, and only it counts from now on.
    pub fn add(&mut self, exchange: ClockExchange) -> Result<(), ClockJump> {
        let (least, most) = exchange.bounds();
        // It contradicts itself, so it tells nothing.
        if least > most {
            self.exchanges.clear();
            return Err(ClockJump { by: Nanos(least.abs_diff(most)) });
        }
        let before = self.region(exchange.answered);
        if self.exchanges.len() == EXCHANGES_KEPT {
            self.exchanges.pop_front();
        }
        self.exchanges.push_back(exchange);
        if self.region(exchange.answered).is_some() {
            return Ok(());
        }
        self.exchanges.clear();
        self.exchanges.push_back(exchange);
        let gap = before.map_or(0.0, |before| {
            let (low, high) = before.offsets();
            let shift = |bound: i64| bound.wrapping_sub(before.origin) as f64;
            (low - shift(most)).max(shift(least) - high).max(0.0)
        });
        Err(ClockJump { by: Nanos(gap as u64) })
    }

    /// What is known when our clock shows `at`; `None` before the first exchange.
    pub fn reading(&self, at: Nanos) -> Option<ClockReading> {
        let region = self.region(at)?;
        let (low, high) = region.offsets();
        let (slow, fast) = region.speeds();
        Some(ClockReading {
            offset_ns: region.origin.wrapping_add(((low + high) / 2.0).round() as i64),
            bound: Nanos(((high - low) / 2.0).ceil() as u64 + 1),
            drift_ppm: (slow + fast) / 2.0 * 1e6,
            round_trip: self.exchanges.iter().map(ClockExchange::round_trip).min().unwrap_or_default(),
        })
    }

    /// The offsets at `at` and drifts that all exchanges allow; `None` without exchanges.
    fn region(&self, at: Nanos) -> Option<FeasibleRegion> {
        let newest = self.exchanges.back()?;
        let origin = newest.bounds().0;
        let mut region = FeasibleRegion { origin, corners: Vec::new() };
        // Start with the newest, which alone bounds the region; each of the others cuts a piece off.
        for exchange in self.exchanges.iter().rev() {
            let (least, most) = exchange.bounds();
            let shift = |bound: i64| bound.wrapping_sub(origin) as f64;
            let age = difference(at, exchange.answered) as f64 / SECOND;
            let way = difference(exchange.answered, exchange.asked) as f64;
            let slack = ROUNDED + SPEED * way + DRIFT_CHANGE_MOST * SECOND * age * age / 2.0;
            let (least, most) = (shift(least) - slack, shift(most) + slack);
            // Back then the offset was smaller by the drift since.
            let gained = age * SECOND;
            if region.corners.is_empty() {
                region.corners = vec![
                    (-SPEED, least - SPEED * gained),
                    (SPEED, least + SPEED * gained),
                    (SPEED, most + SPEED * gained),
                    (-SPEED, most - SPEED * gained),
                ];
            } else {
                region.cut(|(speed, offset)| most - (offset - speed * gained));
                region.cut(|(speed, offset)| (offset - speed * gained) - least);
            }
            if region.corners.is_empty() {
                return None;
            }
        }
        Some(region)
    }
}

/// A convex region of the drift–offset plane, as its corners in order.
struct FeasibleRegion {
    /// Subtracted from offsets: those of clocks days apart have too many digits.
    origin: i64,
    corners: Vec<(f64, f64)>,
}

impl FeasibleRegion {
    /// Keeps what is on the side of a line where `inside` is not negative (Sutherland and Hodgman, 1974).
    fn cut(&mut self, inside: impl Fn((f64, f64)) -> f64) {
        // Nearly every exchange only repeats what others bound better.
        if self.corners.iter().all(|corner| inside(*corner) >= 0.0) {
            return;
        }
        let mut left = Vec::with_capacity(self.corners.len() + 1);
        for (index, &to) in self.corners.iter().enumerate() {
            let from = self.corners[(index + self.corners.len() - 1) % self.corners.len()];
            let (before, after) = (inside(from), inside(to));
            if (before < 0.0) != (after < 0.0) {
                let share = before / (before - after);
                left.push((from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1)));
            }
            if after >= 0.0 {
                left.push(to);
            }
        }
        self.corners = left;
    }

    fn offsets(&self) -> (f64, f64) {
        extent(self.corners.iter().map(|corner| corner.1))
    }

    fn speeds(&self) -> (f64, f64) {
        extent(self.corners.iter().map(|corner| corner.0))
    }
}

fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)))
}

#[cfg(test)]
mod tests;
