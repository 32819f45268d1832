//! The generator's ceiling against a target, sought once its own trials are void repeatedly.
//!
//! Short looks close in on the highest rate at which it keeps its due times, starting from what it made when asked for more. A rate at
//! which it fell behind is looked at twice before it counts: a hiccup of the machine is no ceiling.

use crate::bounds::rounded;
use record::{GeneratorCapacity, Judgement, MemberFigures, TrialResult};
use units::Share;

/// The generator is assumed to make at most this multiple of what it made while it fell behind,
const MAX_GAIN: f64 = 1.05;
/// and is looked at first at this share of that.
const FIRST_LOOK: f64 = 0.9;
/// If it falls behind there too, the next look is at this share,
const NEXT_LOOK: f64 = 0.85;
/// and if it kept a rate only briefly, a whole trial this much below, and this much further below each time.
const CONFIRM_STEP: f64 = 0.02;
const CONFIRM_STEP_MORE: f64 = 0.02;
/// Above a rate that it kept after having fallen behind there, the ceiling is sought up to this multiple.
const MAX_RISE: f64 = 1.08;
/// A ceiling bracketed within this share is known.
const CLOSE_WIDTH: f64 = 0.04;
/// Most looks at one ceiling,
const MAX_LOOKS: u32 = 10;
/// and most whole trials in which it fell behind.
const MAX_FAILED: u32 = 6;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CeilingStep {
    /// A short trial.
    Look(f64),
    /// Full trials at the highest rate kept.
    Confirm(f64),
    /// It no longer falls behind: something had held it up.
    Gone,
    /// It kept no rate.
    Nothing,
}

/// The rates that the ceiling lies between.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ceiling {
    /// The highest void rate when this began.
    top: f64,
    /// The highest rate kept.
    pub low: Option<f64>,
    /// The lowest rate above it that was not kept.
    high: f64,
    /// `high` was void twice.
    is_confirmed: bool,
    /// It kept the initial rate.
    is_gone: bool,
    /// It has kept some rate.
    has_kept: bool,
    /// The initial rate was looked at once more, at the end.
    final_look_done: bool,
    looks: u32,
    /// Whole trials in which it fell behind.
    failed_trials: u32,
    /// The rate of the last whole trial, if kept.
    last_whole_rate: Option<f64>,
    /// The highest rate kept for a whole trial, and not failed since except by a hiccup.
    pub shown_rate: Option<f64>,
    /// What it can make, if it was itself the limit.
    pub capacity: Option<GeneratorCapacity>,
}

impl Ceiling {
    /// Trials at `rate` were void; `kept` is the rate kept before.
    pub fn new(rate: f64, capacity: Option<GeneratorCapacity>, kept_rate: Option<f64>) -> Self {
        Self { top: rate, low: kept_rate, high: rate, capacity, ..Self::default() }
    }

    /// The next step; no rate is below `floor`.
    pub fn next_step(&self, floor: f64) -> CeilingStep {
        let may_look = self.looks < MAX_LOOKS;
        let is_close = |low: f64| self.high <= low * (1.0 + CLOSE_WIDTH);
        match self.low {
            _ if self.is_gone => CeilingStep::Gone,
            // What held it up may be over.
            _ if self.looks == 0 => CeilingStep::Look(self.top),
            Some(low) if is_close(low) && !self.is_confirmed && may_look => CeilingStep::Look(self.high),
            Some(low) if is_close(low) || !may_look => CeilingStep::Confirm(low),
            Some(low) => {
                let near = self.high * FIRST_LOOK;
                let first = !self.has_kept && near > low;
                CeilingStep::Look(rounded(if first { near } else { (low * self.high).sqrt() }))
            }
            None if self.high <= floor => CeilingStep::Nothing,
            None if self.has_kept && self.failed_trials <= MAX_FAILED => CeilingStep::Confirm(
                rounded(self.high * (1.0 - CONFIRM_STEP - CONFIRM_STEP_MORE * f64::from(self.failed_trials)))
                    .max(floor),
            ),
            None if !may_look => CeilingStep::Nothing,
            None => {
                let part = if self.looks == 1 { FIRST_LOOK } else { NEXT_LOOK };
                CeilingStep::Look(rounded(self.high * part).max(floor))
            }
        }
    }

    /// Everything else is known: tries this rate once, in case what held it up is over.
    pub fn last(&mut self) -> Option<f64> {
        (!std::mem::replace(&mut self.final_look_done, true)).then_some(self.top)
    }

    /// It kept this rate.
    pub fn kept(&mut self, rate: f64) {
        self.looks += 1;
        self.has_kept = true;
        self.low = Some(self.low.map_or(rate, |low| low.max(rate)));
        if rate >= self.high {
            self.is_gone = rate >= self.top;
            (self.high, self.is_confirmed) = (self.top.min(rounded(rate * MAX_RISE)), false);
        }
    }

    /// It kept this rate for a whole trial.
    pub fn kept_whole(&mut self, rate: f64) {
        self.last_whole_rate = Some(rate);
        self.shown_rate = Some(self.shown_rate.map_or(rate, |shown| shown.max(rate)));
    }

    /// It fell behind in a whole trial at this rate. Once between two in which it kept it, that is a hiccup.
    pub fn failed(&mut self, rate: f64, capacity: Option<GeneratorCapacity>) {
        if self.last_whole_rate.take() == Some(rate) {
            self.note(capacity);
            return;
        }
        self.failed_trials += 1;
        self.shown_rate = self.shown_rate.filter(|shown| *shown < rate);
        self.fell_behind(rate, capacity);
    }

    /// It fell behind at this rate.
    pub fn fell_behind(&mut self, rate: f64, capacity: Option<GeneratorCapacity>) {
        self.looks += 1;
        self.note(capacity);
        let made = self.capacity.map_or(rate, |making| rounded(making.most * MAX_GAIN));
        // Twice at the same rate is no hiccup.
        if rate <= self.high || made < self.high {
            self.is_confirmed = rate >= self.high && made >= rate;
        }
        self.high = self.high.min(rate).min(made);
        self.low = self.low.filter(|low| *low < self.high);
    }

    /// The most it made is what it can make.
    fn note(&mut self, capacity: Option<GeneratorCapacity>) {
        let more = capacity.filter(|new| self.capacity.is_none_or(|most| new.most > most.most));
        self.capacity = more.or(self.capacity);
    }
}

/// What the generator made in a trial in which it was itself too slow; none if the trial is void for another reason.
pub fn generator_capacity(result: &TrialResult, judgement: &Judgement) -> Option<GeneratorCapacity> {
    let total = &result.total;
    let seconds = total.elapsed.as_secs_f64();
    let is_generator_bound = judgement.invalid.iter().any(|caveat| caveat.doubt.is_generator());
    (is_generator_bound && total.sent > 0 && seconds > 0.0).then(|| {
        let (worked, waited) = MemberFigures::from_slice(total, Share(0.0), None).busy_shares();
        let (sent, kernel) = (total.sent, total.kernel.min(total.cpu));
        GeneratorCapacity {
            most: sent as f64 / seconds,
            user: (total.cpu - kernel) / sent,
            kernel: kernel / sent,
            worked: worked.0,
            waited: waited.0,
            connects: total.connects as f64 / sent as f64,
        }
    })
}
