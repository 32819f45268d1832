//! A clock on another machine: how far it is from ours, how fast it goes, and how sure that is.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::Nanos;

/// Two clocks go apart by no more than this: the kernel steers none by more than 500 ppm (adjtimex(2), `MAXFREQ`).
const SPEED: f64 = 1_000e-6;
/// Their speeds change by no more than this in a second, by their temperature or because time servers steer them: what is older
/// says less, by the half of it times the square of its age.
const WANDER: f64 = 1e-6;
/// A clock is read in whole nanoseconds.
const ROUNDED: f64 = 1.0;
/// So many signals are kept: some hundred seconds of trials, after which the first of them say nothing any more.
const KEPT: usize = 128;
const SECOND: f64 = 1e9;

/// One question for the time, and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockExchange {
    /// When it was asked, by our clock.
    pub asked: Nanos,
    /// When that was heard, by theirs.
    pub heard: Nanos,
    /// When it was answered, by theirs.
    pub told: Nanos,
    /// When that arrived, by ours.
    pub answered: Nanos,
}

impl ClockExchange {
    /// Between question and answer, less what they took to answer.
    pub fn round_trip(&self) -> Nanos {
        (self.answered - self.asked) - (self.told - self.heard)
    }

    /// Theirs less ours is at least and at most this, in nanoseconds: nothing arrives before it was sent.
    fn bounds(&self) -> (i64, i64) {
        (difference(self.told, self.answered), difference(self.heard, self.asked))
    }
}

fn difference(one: Nanos, other: Nanos) -> i64 {
    one.0.wrapping_sub(other.0) as i64
}

/// It did what no clock does that only goes on: it was set, stood still, or changed its speed at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockJump {
    /// By so much at least.
    pub by: Nanos,
}

/// What is known of a clock on another machine at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClockReading {
    /// Theirs less ours, in nanoseconds.
    pub offset_ns: i64,
    /// That is true within this.
    pub bound: Nanos,
    /// How much faster theirs goes, in millionths.
    pub drift_ppm: f64,
    /// The shortest way there and back that was seen.
    pub round_trip: Nanos,
}

impl ClockReading {
    /// What theirs shows when ours shows `ours`.
    pub fn theirs(&self, ours: Nanos) -> Nanos {
        Nanos(ours.0.wrapping_add_signed(self.offset_ns))
    }
}

/// A clock on another machine, from signals there and back.
///
/// A signal proves bounds of the offset at its time (RFC 5905 section 8 has the same four times; it takes the middle of each). Offset and
/// speed together must respect the bounds of all signals: that leaves a region of the plane, convex, and what it extends over at a
/// moment is what can be said of the offset then. Delays may be as lopsided as they like. It assumes that two clocks go apart by
/// at most 1,000 ppm and change that by at most 1 ppm a second. A clock that does not is called jumped as soon as a signal
/// contradicts the others; a jump that is smaller than what was unsure before may go unseen, and is within that then.
#[derive(Debug, Clone, Default)]
pub struct RemoteClock {
    signals: VecDeque<ClockExchange>,
}

impl RemoteClock {
    /// Takes a signal.
    ///
    /// # Errors
    /// If it contradicts those before: they are forgotten, and what it says itself holds from now on.
    pub fn add(&mut self, signal: ClockExchange) -> Result<(), ClockJump> {
        let (least, most) = signal.bounds();
        // One that contradicts itself says nothing at all.
        if least > most {
            self.signals.clear();
            return Err(ClockJump { by: Nanos(least.abs_diff(most)) });
        }
        let before = self.region(signal.answered);
        if self.signals.len() == KEPT {
            self.signals.pop_front();
        }
        self.signals.push_back(signal);
        if self.region(signal.answered).is_some() {
            return Ok(());
        }
        self.signals.clear();
        self.signals.push_back(signal);
        let gap = before.map_or(0.0, |before| {
            let (low, high) = before.offsets();
            let shift = |bound: i64| bound.wrapping_sub(before.origin) as f64;
            (low - shift(most)).max(shift(least) - high).max(0.0)
        });
        Err(ClockJump { by: Nanos(gap as u64) })
    }

    /// What is known of it when ours shows `at`; none before any signal was heard.
    pub fn reading(&self, at: Nanos) -> Option<ClockReading> {
        let region = self.region(at)?;
        let (low, high) = region.offsets();
        let (slow, fast) = region.speeds();
        Some(ClockReading {
            offset_ns: region.origin.wrapping_add(((low + high) / 2.0).round() as i64),
            bound: Nanos(((high - low) / 2.0).ceil() as u64 + 1),
            drift_ppm: (slow + fast) / 2.0 * 1e6,
            round_trip: self.signals.iter().map(ClockExchange::round_trip).min().unwrap_or_default(),
        })
    }

    /// Which offsets at `at`, and speeds, all signals allow; none if there is none.
    fn region(&self, at: Nanos) -> Option<FeasibleRegion> {
        let newest = self.signals.back()?;
        let origin = newest.bounds().0;
        let mut region = FeasibleRegion { origin, corners: Vec::new() };
        // From the newest, which alone bounds the region: each of the others then cuts a piece of it off.
        for signal in self.signals.iter().rev() {
            let (least, most) = signal.bounds();
            let shift = |bound: i64| bound.wrapping_sub(origin) as f64;
            let age = difference(at, signal.answered) as f64 / SECOND;
            let way = difference(signal.answered, signal.asked) as f64;
            let slack = ROUNDED + SPEED * way + WANDER * SECOND * age * age / 2.0;
            let (least, most) = (shift(least) - slack, shift(most) + slack);
            // The offset was smaller then by what the speed made of it since.
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

/// A convex piece of the plane of speed and offset, by its corners in their order.
struct FeasibleRegion {
    /// What offsets are counted from: those of clocks that are days apart have too many digits.
    origin: i64,
    corners: Vec<(f64, f64)>,
}

impl FeasibleRegion {
    /// Leaves what is on the side of a line where `inside` is not negative (Sutherland and Hodgman, 1974).
    fn cut(&mut self, inside: impl Fn((f64, f64)) -> f64) {
        // Nearly every signal only says again what others said better.
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
