//! What the generator can make against a target: looked for once its own trials are void again and again.
//!
//! Short looks close in on the highest rate at which it keeps its due times, from what it made when it was asked for more. A rate at which
//! it fell behind is looked at a second time before it counts: a hiccup of the machine is no ceiling.

use crate::bounds::rounded;
use record::{GeneratorCapacity, Judgement, MemberFigures, TrialResult};
use units::Share;

/// The generator is said to make no more than this many times what it made while it fell behind,
const ABOVE: f64 = 1.05;
/// and is looked at first at this part of that.
const FIRST: f64 = 0.9;
/// Where it falls behind there too, the next look is so far below,
const DOWN: f64 = 0.85;
/// and where it kept a rate for a short time only, a whole trial so far below, and so much further below each time.
const DOWN_A_LITTLE: f64 = 0.02;
const FURTHER: f64 = 0.02;
/// Above a rate that it kept although it had fallen behind there, the ceiling is looked for up to here.
const UP: f64 = 1.08;
/// A ceiling within this share is known.
const CLOSE: f64 = 0.04;
/// Looks at one ceiling, whatever they say.
const LOOKS_MOST: u32 = 10;
/// Beside them, whole trials in which it fell behind.
const FAILED_MOST: u32 = 6;

/// What to look at next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CeilingStep {
    /// A short trial.
    Look(f64),
    /// Full trials at the highest rate that it kept.
    Confirm(f64),
    /// It falls behind no more: something had held it up.
    Gone,
    /// It has kept no rate.
    Nothing,
}

/// Between which rates the ceiling lies.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ceiling {
    /// The highest rate at which it was void when this began.
    top: f64,
    /// The highest rate that it kept.
    low: Option<f64>,
    /// The lowest above it that it did not.
    high: f64,
    /// That rate was void a second time.
    sure: bool,
    /// It kept the rate at which this began.
    gone: bool,
    /// It has kept some rate.
    kept: bool,
    /// The rate at which this began was looked at once more, after all else.
    asked: bool,
    looks: u32,
    /// Whole trials in which it fell behind.
    failed: u32,
    /// The rate of the last whole trial, if it kept it.
    whole: Option<f64>,
    /// The highest rate that it kept for a whole trial, and did not fail since but by a hiccup.
    shown: Option<f64>,
    most: Option<GeneratorCapacity>,
}

impl Ceiling {
    /// Trials at `rate` were void; `kept` is what it kept before.
    pub fn new(rate: f64, most: Option<GeneratorCapacity>, kept: Option<f64>) -> Self {
        Self { top: rate, low: kept, high: rate, most, ..Self::default() }
    }

    /// What to do next; no rate is below `floor`.
    pub fn aim(&self, floor: f64) -> CeilingStep {
        let may_look = self.looks < LOOKS_MOST;
        let is_close = |low: f64| self.high <= low * (1.0 + CLOSE);
        match self.low {
            _ if self.gone => CeilingStep::Gone,
            // What held it up may be over.
            _ if self.looks == 0 => CeilingStep::Look(self.top),
            Some(low) if is_close(low) && !self.sure && may_look => CeilingStep::Look(self.high),
            Some(low) if is_close(low) || !may_look => CeilingStep::Confirm(low),
            Some(low) => {
                let near = self.high * FIRST;
                let first = !self.kept && near > low;
                CeilingStep::Look(rounded(if first { near } else { (low * self.high).sqrt() }))
            }
            None if self.high <= floor => CeilingStep::Nothing,
            None if self.kept && self.failed <= FAILED_MOST => CeilingStep::Confirm(
                rounded(self.high * (1.0 - DOWN_A_LITTLE - FURTHER * f64::from(self.failed))).max(floor),
            ),
            None if !may_look => CeilingStep::Nothing,
            None => {
                let part = if self.looks == 1 { FIRST } else { DOWN };
                CeilingStep::Look(rounded(self.high * part).max(floor))
            }
        }
    }

    /// All else is known: whether what held it up is over by now is asked once, at this rate.
    pub fn last(&mut self) -> Option<f64> {
        (!std::mem::replace(&mut self.asked, true)).then_some(self.top)
    }

    /// It kept this rate.
    pub fn kept(&mut self, rate: f64) {
        self.looks += 1;
        self.kept = true;
        self.low = Some(self.low.map_or(rate, |low| low.max(rate)));
        if rate >= self.high {
            self.gone = rate >= self.top;
            (self.high, self.sure) = (self.top.min(rounded(rate * UP)), false);
        }
    }

    /// It kept this rate for a whole trial.
    pub fn kept_whole(&mut self, rate: f64) {
        self.whole = Some(rate);
        self.shown = Some(self.shown.map_or(rate, |shown| shown.max(rate)));
    }

    /// The highest rate that it has kept for a whole trial.
    pub fn shown(&self) -> Option<f64> {
        self.shown
    }

    /// It fell behind in a whole trial at this rate. Once between two in which it kept it, that is a hiccup.
    pub fn failed(&mut self, rate: f64, making: Option<GeneratorCapacity>) {
        if self.whole.take() == Some(rate) {
            self.note(making);
            return;
        }
        self.failed += 1;
        self.shown = self.shown.filter(|shown| *shown < rate);
        self.fell_behind(rate, making);
    }

    /// It fell behind at this rate.
    pub fn fell_behind(&mut self, rate: f64, making: Option<GeneratorCapacity>) {
        self.looks += 1;
        self.note(making);
        let made = self.most.map_or(rate, |making| rounded(making.most * ABOVE));
        // A second time at the same rate is no hiccup.
        if rate <= self.high || made < self.high {
            self.sure = rate >= self.high && made >= rate;
        }
        self.high = self.high.min(rate).min(made);
        self.low = self.low.filter(|low| *low < self.high);
    }

    /// What it made at most is what it can make.
    fn note(&mut self, making: Option<GeneratorCapacity>) {
        let more = making.filter(|new| self.most.is_none_or(|most| new.most > most.most));
        self.most = more.or(self.most);
    }

    /// The highest rate that it kept.
    pub fn low(&self) -> Option<f64> {
        self.low
    }

    /// What it can make, if it was its own doing.
    pub fn most(&self) -> Option<GeneratorCapacity> {
        self.most
    }
}

/// What the generator made in a trial in which it was itself too slow; none if that was not why it is void.
pub fn generator_capacity(result: &TrialResult, judgement: &Judgement) -> Option<GeneratorCapacity> {
    let total = &result.total;
    let seconds = total.elapsed.as_secs_f64();
    let ours = judgement.invalid.iter().any(|caveat| caveat.doubt.is_generator());
    (ours && total.sent > 0 && seconds > 0.0).then(|| {
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
