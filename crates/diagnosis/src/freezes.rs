//! Freezes of the target: a run's silences ▶ freezes, their period, and what the target did meanwhile.
//!
//! A silence is any stretch without an answer while requests were in flight; most are ordinary. What makes one a freeze, with the reason
//! for each bound, is described in `docs/method/freezes.md`. It has a fold of its own, within that of a run: whether a silence is one
//! shows only in the seconds around it.

mod activity;
mod period;
#[cfg(test)]
mod tests;
mod wording;

pub use activity::FreezeActivity;
pub use wording::{format_times, rounded_length};

use activity::WindowSigns;
use record::{Event, SLICE, Silence, Slice, freed_within};
use std::collections::BTreeMap;
use units::{Nanos, Rate, Share};

/// A freeze is longer than this many ordinary response times;
const MIN_RESPONSE_TIMES: u64 = 4;
/// and than this many, if there is little proof.
const MIN_RESPONSE_TIMES_WEAK: u64 = 10;
/// With this many missing answers a silence is a freeze by itself: with independent answers, such a lull occurs once in 3 million.
const MIN_MISSED: f64 = 15.0;
/// With fewer, but at least this many,
const MIN_MISSED_WEAK: f64 = 3.0;
/// this many similar ones are needed.
const MIN_REPEATED: usize = 3;
/// This share of the waiting requests is answered soon after, or of those the target answers in that time anyway, if fewer: the same
/// thing held them up. Requests that arrived meanwhile have to queue at a target with little capacity to spare;
const MIN_FREED_SHARE: f64 = 0.5;
/// in a closed loop none arrive meanwhile, and all of a few waiting ones are slow by chance now and then: there, little proof is none.
const MIN_FREED_SHARE_CLOSED: f64 = 0.9;
/// The neighbouring seconds define what is ordinary: this many before, and after.
const SECONDS_AROUND: usize = 5;
/// Freezes with little proof must explain this share of the answers that took at least half as long.
const MIN_EXPLAINED_SHARE: f64 = 0.5;
/// Thresholds for counting slow answers.
const SLOW_STEPS: [Nanos; 9] = [
    Nanos::from_millis(50),
    Nanos::from_millis(100),
    Nanos::from_millis(200),
    Nanos::from_millis(400),
    Nanos::from_millis(800),
    Nanos::from_millis(1_600),
    Nanos::from_millis(3_200),
    Nanos::from_millis(6_400),
    Nanos::from_millis(12_800),
];
/// A second shows the target's capacity if in each tenth of it this many times as many were outstanding as its fastest answers need;
const QUEUE_FACTOR: f64 = 2.0;
/// and this many seconds must.
const MIN_QUEUED_SECONDS: usize = 5;
/// Two freezes are one if a straggler was answered in between: the gap is at most this fraction (1 ÷ n) of both.
const MIN_GAP_DIVISOR: u64 = 10;
/// Seconds kept of one trial, the first: a day, some 3 MB;
const MAX_SECONDS: usize = 86_400;
/// silences, some 5 MB;
const MAX_SILENCES: usize = 100_000;
/// and windows, the last: an hour, some 5 MB.
const MAX_WINDOWS: usize = 3_600;

/// Detects a run's freezes: fold its events in order, then query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FreezeDetector {
    trials: Vec<Trial>,
    /// Median response time of the fastest second.
    fastest_median: Option<Nanos>,
    /// The observed place used for what the target did meanwhile: the first one reported.
    place: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
struct Trial {
    number: u32,
    at_unix_ms: u64,
    /// A closed loop: nothing arrives while others wait.
    closed: bool,
    /// Length of the load: as planned, or actual.
    load_length: Nanos,
    seconds: Vec<Second>,
    silences: Vec<Silence>,
    loops: u32,
    /// Answers that took longer than each of [`SLOW_STEPS`].
    slow_counts: [u64; SLOW_STEPS.len()],
    windows: Vec<WindowSigns>,
    /// The offered rate, if it was too much.
    failed_rate: Option<Rate>,
    /// More was offered than it could do.
    queue_grew: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Second {
    answers: u64,
    elapsed: Nanos,
    /// Median response time.
    p50: Option<Nanos>,
    /// Outstanding in its tenth with the fewest.
    outstanding: f64,
}

/// A silence that may be a freeze.
struct FreezeCandidate {
    freeze: Freeze,
    /// It is one by itself.
    proven: bool,
    /// How many waited in it.
    waited: u64,
}

/// One freeze.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freeze {
    /// Its trial.
    pub trial: u32,
    /// Since the trial began.
    pub from: Nanos,
    /// Since the trial began.
    pub to: Nanos,
    /// It was answered again while the trial lasted.
    pub ended: bool,
}

impl Freeze {
    /// Its duration.
    pub fn length(&self) -> Nanos {
        self.to - self.from
    }
}

/// Two rates within this factor are the same limit.
const SAME_LIMIT_FACTOR: f64 = 1.05;
/// A target that is frozen less than this share of the time holds as much for longer: whatever else varies is the limit's own.
const MIN_COSTLY_SHARE: f64 = 0.01;
/// A sustained rate is reported if the held rate exceeds it by this factor.
const MIN_EXCESS_FACTOR: f64 = 1.02;

/// All freezes of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Freezes {
    /// In order, at least one.
    pub each: Vec<Freeze>,
    /// Time under load in which they were looked for.
    pub loaded_time: Nanos,
    /// How much of that was frozen.
    pub frozen_time: Nanos,
    /// From the end of one to the end of the next, if regular.
    pub period: Option<Nanos>,
    /// What the target did in them.
    pub activity: FreezeActivity,
    /// Answered rate between them, in the median second with a permanent queue: it does no more then either. None if there were few such
    /// seconds.
    pub rate_between: Option<Rate>,
    /// Rates at which a trial was bad without one, ascending.
    pub failed_rates: Vec<Rate>,
}

impl Freezes {
    /// Median length.
    pub fn median(&self) -> Nanos {
        let mut lengths: Vec<Nanos> = self.each.iter().map(Freeze::length).collect();
        lengths.sort_unstable();
        lengths[(lengths.len() - 1) / 2]
    }

    /// The longest.
    pub fn longest(&self) -> Nanos {
        self.each.iter().map(Freeze::length).max().unwrap_or_default()
    }

    /// Whether the limit would be the same without them: between them the target answers no more, however long the queue, or fails at
    /// little more.
    pub fn leave_limit(&self, held_rate: Rate) -> bool {
        let limit = self.rate_between.or_else(|| self.fails_without(held_rate));
        limit.is_some_and(|most| {
            most.0 <= held_rate.0 * SAME_LIMIT_FACTOR && most.0 * SAME_LIMIT_FACTOR >= held_rate.0
        })
    }

    /// The rate held for longer than a trial, after which it has time to catch up: the answered rate between freezes, or else the held
    /// rate, if little more fails without one, times the share of the time they leave. None if that is no less than the held rate, or
    /// unknown, or if they take hardly any time.
    pub fn sustained_rate(&self, held_rate: Rate) -> Option<Rate> {
        let limit = self.rate_between.or_else(|| self.fails_without(held_rate).map(|_| held_rate))?;
        let share = self.time_share();
        let rate = limit.0 * (1.0 - share.0);
        (self.each.len() > 1 && share.0 >= MIN_COSTLY_SHARE && rate * MIN_EXCESS_FACTOR < held_rate.0)
            .then_some(Rate(rate))
    }

    /// The lowest rate above the held one at which a trial was bad without a freeze.
    pub fn fails_without(&self, held: Rate) -> Option<Rate> {
        self.failed_rates.iter().copied().find(|rate| rate.0 > held.0)
    }

    /// Long-term share of time frozen: from their period, if they have one, else as observed.
    pub fn time_share(&self) -> Share {
        match self.period {
            Some(period) => Share((self.median().as_secs_f64() / period.as_secs_f64()).min(1.0)),
            None => self.share(),
        }
    }

    /// Share of the time under load.
    pub fn share(&self) -> Share {
        Share(
            (self.frozen_time.as_secs_f64() / self.loaded_time.as_secs_f64().max(f64::MIN_POSITIVE)).min(1.0),
        )
    }
}

impl FreezeDetector {
    /// Folds the next event.
    pub fn fold(&mut self, event: &Event) {
        match event {
            // A target that warms up, or recovers from an overload, is not in its usual state.
            Event::TrialStarted { trial, purpose, rate, duration, at_unix_ms } if purpose.is_judged() => {
                self.trials.push(Trial {
                    number: *trial,
                    at_unix_ms: *at_unix_ms,
                    closed: rate.is_none(),
                    load_length: duration.unwrap_or(Nanos::MAX),
                    seconds: Vec::new(),
                    silences: Vec::new(),
                    loops: 1,
                    slow_counts: [0; SLOW_STEPS.len()],
                    windows: Vec::new(),
                    failed_rate: None,
                    queue_grew: false,
                });
            }
            Event::SliceDone { trial, slice } => {
                if let Some(trial) = self.trial(*trial).filter(|trial| trial.seconds.len() < MAX_SECONDS) {
                    let p50 = trial.add_slice(slice);
                    self.fastest_median = self.fastest_median.into_iter().chain(p50).min();
                }
            }
            Event::Observed { trial, place, window } => {
                let is_there = self.place.get_or_insert_with(|| place.clone()) == place;
                if let Some(trial) = self.trial(*trial).filter(|_| is_there) {
                    if trial.windows.len() == MAX_WINDOWS {
                        trial.windows.drain(..MAX_WINDOWS / 2);
                    }
                    trial.windows.push(WindowSigns::of(window));
                }
            }
            Event::TrialDone { trial, result, judgement } => {
                if let Some(trial) = self.trial(*trial) {
                    trial.load_length = result.loaded;
                    trial.queue_grew = judgement.growth_per_second.is_some();
                    trial.failed_rate =
                        (!judgement.good && judgement.invalid.is_empty()).then_some(result.rate);
                    if trial.silences.is_empty() {
                        // They will not be needed.
                        (trial.seconds, trial.windows) = (Vec::new(), Vec::new());
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether most requests that waited half as long waited in freezes: otherwise such waits are usual.
    fn explains_slow_answers(&self, candidates: &[FreezeCandidate]) -> bool {
        let shortest = candidates.iter().map(|found| found.freeze.length()).min().unwrap_or_default();
        let step = SLOW_STEPS.iter().rposition(|step| *step * 2 <= shortest).unwrap_or(0);
        let has_freeze = |trial: &&Trial| candidates.iter().any(|found| found.freeze.trial == trial.number);
        let slow: u64 = self.trials.iter().filter(has_freeze).map(|trial| trial.slow_counts[step]).sum();
        let waited: u64 = candidates.iter().map(|found| found.waited).sum();
        waited as f64 >= MIN_EXPLAINED_SHARE * slow as f64
    }

    /// The place observed meanwhile, if any.
    pub(crate) fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }

    fn trial(&mut self, number: u32) -> Option<&mut Trial> {
        self.trials.last_mut().filter(|trial| trial.number == number)
    }

    /// All freezes so far, if any.
    pub fn freezes(&self) -> Option<Freezes> {
        let candidates: Vec<FreezeCandidate> = self.trials.iter().flat_map(Trial::freezes).collect();
        let enough = candidates.len() >= MIN_REPEATED && self.explains_slow_answers(&candidates);
        let each = candidates.into_iter().filter(|found| enough || found.proven);
        let mut each: Vec<Freeze> = each.map(|found| found.freeze).collect();
        let mut activity = activity::infer_activity(&self.trials, &each);
        // Whoever shares full processors among thousands of requests answers none for a while, and then many: that is no freeze.
        if activity.code == "computing" {
            let queued = |number: u32| self.trials.iter().any(|t| t.number == number && t.queue_grew);
            each.retain(|freeze| !queued(freeze.trial));
            activity = activity::infer_activity(&self.trials, &each);
        }
        if each.is_empty() {
            return None;
        }
        let trials_by_number: BTreeMap<u32, &Trial> =
            self.trials.iter().map(|trial| (trial.number, trial)).collect();
        let moment = |trial: &Trial, at: Nanos| trial.at_unix_ms as f64 / 1e3 + at.as_secs_f64();
        let ends: Vec<f64> = each
            .iter()
            .filter(|freeze| freeze.ended)
            .map(|freeze| moment(trials_by_number[&freeze.trial], freeze.to))
            .collect();
        let longest = each.iter().map(|freeze| freeze.length().as_secs_f64()).fold(0.0, f64::max);
        // The periods in which a freeze would have been seen to end, had it been there from the beginning.
        let observed: Vec<(f64, f64)> = self
            .trials
            .iter()
            .map(|trial| (moment(trial, Nanos::ZERO) + longest, moment(trial, trial.loaded())))
            .collect();
        let quickest = self.fastest_median.unwrap_or_default();
        let mut saturated_rates: Vec<f64> =
            self.trials.iter().flat_map(|trial| trial.saturated_rates(&each, quickest)).collect();
        saturated_rates.sort_by(f64::total_cmp);
        let has_no_freeze = |trial: &&Trial| !each.iter().any(|freeze| freeze.trial == trial.number);
        let mut failed_rates: Vec<Rate> =
            self.trials.iter().filter(has_no_freeze).filter_map(|trial| trial.failed_rate).collect();
        failed_rates.sort_by(|a, b| a.0.total_cmp(&b.0));
        Some(Freezes {
            failed_rates,
            rate_between: saturated_rates
                .get(saturated_rates.len() / 2)
                .filter(|_| saturated_rates.len() >= MIN_QUEUED_SECONDS)
                .map(|most| Rate(*most)),
            period: period::find_period(&ends, &observed).map(Nanos::from_secs_f64),
            activity,
            loaded_time: self.trials.iter().fold(Nanos::ZERO, |sum, trial| sum + trial.loaded()),
            frozen_time: each.iter().fold(Nanos::ZERO, |sum, freeze| {
                let to = freeze.to.min(trials_by_number[&freeze.trial].load_length);
                sum + (to.max(freeze.from) - freeze.from)
            }),
            each,
        })
    }
}

impl Trial {
    /// Returns the median response time of that second.
    fn add_slice(&mut self, slice: &Slice) -> Option<Nanos> {
        self.loops = self.loops.max(slice.loops);
        let room = MAX_SILENCES - self.silences.len();
        self.silences.extend(slice.silences.iter().take(room));
        for (count, step) in self.slow_counts.iter_mut().zip(SLOW_STEPS) {
            *count += slice.response.count_above(step);
        }
        let p50 = slice.response.quantile(0.5);
        self.seconds.push(Second {
            answers: slice.outcomes.answered() + slice.outcomes.failed,
            elapsed: slice.elapsed,
            p50,
            outstanding: slice.outstanding.iter().copied().min_by(f64::total_cmp).unwrap_or(0.0),
        });
        p50
    }

    /// The answered rate in each whole second between freezes with a permanent queue.
    fn saturated_rates(&self, freezes: &[Freeze], quickest: Nanos) -> Vec<f64> {
        let frozen = |from: Nanos, to: Nanos| {
            let mut here = freezes.iter().filter(|freeze| freeze.trial == self.number);
            here.any(|freeze| freeze.from < to && from < freeze.to)
        };
        let of = |(place, second): (usize, &Second)| {
            let (from, to) = (SLICE * place as u64, SLICE * (place as u64 + 1));
            let is_whole = second.elapsed == SLICE && to <= self.load_length;
            let in_service = second.answers as f64 * quickest.as_secs_f64();
            // A few stuck requests, on a connection that the kernel retries, are no queue that others wait in.
            let waited =
                second.p50.is_some_and(|p50| p50.as_secs_f64() >= QUEUE_FACTOR * quickest.as_secs_f64());
            let queued = waited && second.outstanding >= QUEUE_FACTOR * in_service.max(1.0);
            (is_whole && queued && !frozen(from, to)).then_some(second.answers as f64)
        };
        let seconds = if self.closed { &[] } else { self.seconds.as_slice() };
        seconds.iter().enumerate().filter_map(of).collect()
    }

    /// Time under load so far.
    fn loaded(&self) -> Nanos {
        let lasted = self.seconds.iter().fold(Nanos::ZERO, |sum, second| sum + second.elapsed);
        if self.load_length == Nanos::MAX || !self.seconds.is_empty() {
            self.load_length.min(lasted)
        } else {
            self.load_length
        }
    }

    fn freezes(&self) -> Vec<FreezeCandidate> {
        let mut silences = self.silences.clone();
        silences.sort_unstable_by_key(|silence| silence.from);
        let mut candidates: Vec<FreezeCandidate> = Vec::new();
        for silence in &silences {
            let Some(proven) = self.is_freeze(silence) else { continue };
            let Silence { from, to, freed, waiting } = *silence;
            let waiting = waiting * u64::from(self.loops);
            let ended = freed.is_some();
            match candidates.last_mut() {
                Some(FreezeCandidate { freeze, proven: known, waited })
                    if (from - freeze.to) * MIN_GAP_DIVISOR <= to - freeze.from =>
                {
                    (freeze.to, freeze.ended, *known) = (to, ended, *known || proven);
                    *waited = (*waited).max(waiting);
                }
                _ => {
                    let freeze = Freeze { trial: self.number, from, to, ended };
                    candidates.push(FreezeCandidate { freeze, proven, waited: waiting });
                }
            }
        }
        candidates
    }

    /// Whether a silence is a freeze by itself, or only with others like it; none if it is ordinary.
    fn is_freeze(&self, silence: &Silence) -> Option<bool> {
        // After the load, in-flight requests are only waited for; but a silence that began before, and ended, counts in full.
        let to = if silence.freed.is_some() { silence.to } else { silence.to.min(self.load_length) };
        let length = (to > silence.from && silence.from < self.load_length).then(|| to - silence.from)?;
        let slice_index = |at: Nanos| (at.0 / SLICE.0) as usize;
        let (first, last) = (slice_index(silence.from), slice_index(to));
        let neighbourhood =
            first.saturating_sub(SECONDS_AROUND)..(last + 1 + SECONDS_AROUND).min(self.seconds.len());
        let ordinary =
            self.seconds.get(neighbourhood.clone())?.iter().filter_map(|second| second.p50).min()?;
        if length < ordinary * MIN_RESPONSE_TIMES {
            return None;
        }
        let in_load = self.load_length.0.div_ceil(SLICE.0) as usize;
        let rate = |from: usize, to: usize| {
            let seconds = self.seconds.get(from..to.min(in_load)).filter(|seconds| !seconds.is_empty())?;
            let time: f64 = seconds.iter().map(|second| second.elapsed.as_secs_f64()).sum();
            (time > 0.0).then(|| seconds.iter().map(|second| second.answers).sum::<u64>() as f64 / time)
        };
        let (before, after) = (rate(neighbourhood.start, first), rate(last + 1, neighbourhood.end));
        // A load of less than three seconds has nothing around it.
        let rate_around =
            before.into_iter().chain(after).min_by(f64::total_cmp).or_else(|| rate(0, in_load))?;
        let waited = (silence.waiting * u64::from(self.loops)) as f64;
        let missed = (rate_around * length.as_secs_f64()).min(waited);
        let min_share = if self.closed { MIN_FREED_SHARE_CLOSED } else { MIN_FREED_SHARE };
        let usually_freed =
            rate_around * length.as_secs_f64() / freed_within(self.closed) as f64 / f64::from(self.loops);
        let can_be_freed = if self.closed { f64::MAX } else { usually_freed.max(MIN_MISSED) };
        let freed_together = silence
            .freed
            .is_none_or(|freed| freed as f64 >= min_share * can_be_freed.min(silence.waiting as f64));
        match missed {
            _ if !freed_together => None,
            MIN_MISSED.. => Some(true),
            MIN_MISSED_WEAK..
                if !self.closed
                    && silence.freed.is_some()
                    && length >= ordinary * MIN_RESPONSE_TIMES_WEAK =>
            {
                Some(false)
            }
            _ => None,
        }
    }
}
