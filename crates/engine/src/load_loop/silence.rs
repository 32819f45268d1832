//! Detects how long the target sends nothing while requests are in flight.
//!
//! A *silence* is a stretch of at least [`record::MIN_SILENCE`] in which no request ended although some were in
//! flight, as seen by all loops together. Whether that is more than a slow answer is for `diagnosis` to judge.

use super::LoadLoop;
use record::{CatchUp, MAX_CATCH_UP, MIN_SILENCE, Silence, freed_within};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use units::Nanos;

/// Shared by all loops.
#[derive(Default)]
pub(crate) struct TargetActivity {
    /// When any loop last heard from the target, on the monotonic clock; updated by each loop once a turn.
    last_ns: AtomicU64,
    /// The catch-up time after this trial's silences: nanoseconds after the longest silence, and its end since
    /// the trial began.
    longest: AtomicU64,
    answered_by: AtomicU64,
    /// How long this trial drains, in nanoseconds, given how slow its answers generally are.
    steady_drain: AtomicU64,
}

pub(crate) type SharedActivity = Arc<TargetActivity>;

impl TargetActivity {
    /// How long the load that began at `start` and ended at `ends` drains, as far as is known `now`; all on the
    /// monotonic clock.
    pub fn drain(&self, drain: Nanos, [start, ends, now]: [u64; 3]) -> Nanos {
        let last = self.last_ns.load(Ordering::Relaxed);
        let goes_on = last >= start && last < ends && now.saturating_sub(last) >= MIN_SILENCE.0;
        let least = if goes_on { MAX_CATCH_UP } else { Nanos::ZERO };
        let load = |of: &AtomicU64| Nanos(of.load(Ordering::Relaxed));
        let catch_up = CatchUp { longest: load(&self.longest), answered_by: load(&self.answered_by) };
        catch_up.drain(drain.max(load(&self.steady_drain)), Nanos(ends - start)).max(least)
    }

    fn note_silence(&self, silence: &Silence) {
        let catch_up = CatchUp::after(silence);
        self.longest.fetch_max(catch_up.longest.0, Ordering::Relaxed);
        self.answered_by.fetch_max(catch_up.answered_by.0, Ordering::Relaxed);
    }

    /// Extends the drain, as the answers of one loop are generally slow.
    pub fn raise_drain(&self, steady: Nanos) {
        self.steady_drain.fetch_max(steady.0, Ordering::Relaxed);
    }

    pub fn begin(&self) {
        self.longest.store(0, Ordering::Relaxed);
        self.answered_by.store(0, Ordering::Relaxed);
        self.steady_drain.store(0, Ordering::Relaxed);
    }
}

/// While something is in flight a loop checks the clock this often, to know whether it stalled itself.
pub(super) const CHECK_INTERVAL: Nanos = Nanos::from_millis(50);
/// A turn that begins this much later than planned is torment's own stall: sleeps are late by less.
const LATE_NS: u64 = 10_000_000;

/// One loop's view. All times are nanoseconds of the monotonic clock.
pub(super) struct SilenceDetector {
    shared: SharedActivity,
    /// When this loop last heard from the target.
    last_activity: u64,
    /// The part of that already shared.
    published: u64,
    /// Requests given up since, and when the earliest of them was sent.
    given_up: u64,
    given_up_sent: u64,
    /// When this loop's next turn is due, unless it stalls itself.
    wake_by: u64,
    /// How long it has stalled since it last heard from the target.
    stalled: u64,
    /// The last silence, while the requests that waited in it are being answered.
    ended: Option<EndedSilence>,
}

struct EndedSilence {
    silence: Silence,
    /// A request unanswered by then was not held up by this silence.
    counts_until: u64,
}

impl SilenceDetector {
    pub fn new(shared: SharedActivity) -> Self {
        Self {
            shared,
            last_activity: 0,
            published: 0,
            given_up: 0,
            given_up_sent: u64::MAX,
            wake_by: u64::MAX,
            stalled: 0,
            ended: None,
        }
    }

    /// The loop sleeps for at most this long; `None`: until there is an event.
    pub fn note_sleep(&mut self, now: u64, at_most: Option<Nanos>) {
        self.wake_by = at_most.map_or(u64::MAX, |time| now.saturating_add(time.0));
    }

    /// A request sent at this time was given up.
    pub fn note_given_up(&mut self, sent: u64) {
        self.given_up += 1;
        self.given_up_sent = self.given_up_sent.min(sent);
    }

    fn forget(&mut self) {
        (self.given_up, self.given_up_sent, self.stalled) = (0, u64::MAX, 0);
    }

    fn note_stall(&mut self, now: u64) {
        let late = now.saturating_sub(self.wake_by);
        if late > LATE_NS {
            self.stalled += late;
            self.wake_by = now;
        }
    }
}

impl LoadLoop {
    /// A request due and sent at these moments of the trial has ended, by the target's doing; `None`: from an
    /// earlier trial. `at_ns` is when, on the monotonic clock; zero: now.
    pub(super) fn note_activity(&mut self, at_ns: u64, request: Option<[Nanos; 2]>) {
        let at = if at_ns == 0 { sys::monotonic_ns() } else { at_ns };
        if at >= self.silence_detector.last_activity + MIN_SILENCE.0 {
            self.end_silence(at, request.map(|[_, sent]| sent), true);
        }
        self.silence_detector.last_activity = self.silence_detector.last_activity.max(at);
        self.silence_detector.forget();
        if let Some(EndedSilence { silence, counts_until }) = &mut self.silence_detector.ended
            && at <= *counts_until
            && request.is_some_and(|[due, _]| due < silence.to)
            && let Some(freed) = &mut silence.freed
        {
            *freed += 1;
        }
    }

    /// This loop has heard nothing for long. If no other has either, and something was in flight, that was a
    /// silence.
    fn end_silence(&mut self, at: u64, sent: Option<Nanos>, answered: bool) {
        let detector = &mut self.silence_detector;
        detector.note_stall(sys::monotonic_ns());
        let before = detector.shared.last_ns.fetch_max(at, Ordering::Relaxed).max(detector.last_activity);
        let (Some(running), Some(sent)) = (&self.running, sent) else { return };
        let (start, is_closed) = (running.trial.start_ns, running.trial.source.is_closed_loop());
        // A target that has not answered at all yet cannot fall silent.
        if before < start || at < before + MIN_SILENCE.0 {
            return;
        }
        let under_way = self.exchanges.iter_mut().filter(|(_, exchange)| !exchange.orphan);
        // Requests that came meanwhile and have no connection wait for the same end.
        let mut waiting = self.silence_detector.given_up + u64::from(answered) + self.backlog.len() as u64;
        let mut earliest = self.silence_detector.given_up_sent.min(start + sent.0);
        for (_, exchange) in under_way {
            let sent = start + exchange.sent.0;
            waiting += u64::from(sent < at);
            earliest = earliest.min(sent);
        }
        let from = before.max(earliest);
        let length = at.saturating_sub(from);
        if length.saturating_sub(self.silence_detector.stalled) < MIN_SILENCE.0 {
            return;
        }
        self.record_silence();
        let silence = Silence {
            from: Nanos(from - start),
            to: Nanos(at - start),
            waiting,
            freed: answered.then_some(0),
        };
        if answered {
            self.silence_detector.shared.note_silence(&silence);
        }
        self.silence_detector.ended =
            Some(EndedSilence { silence, counts_until: at + length / freed_within(is_closed) });
    }

    /// Records the last silence, once nothing can change it any more.
    pub(super) fn record_silence(&mut self) {
        if let Some(ended_silence) = self.silence_detector.ended.take()
            && let Some(running) = &mut self.running
        {
            running.recorder.record_silence(ended_silence.silence);
        }
    }

    /// Shares what was heard in the previous turn with the other loops.
    pub(super) fn begin_turn(&mut self, now_ns: u64) {
        let detector = &mut self.silence_detector;
        if detector.last_activity > detector.published {
            detector.published = detector.last_activity;
            detector.shared.last_ns.fetch_max(detector.last_activity, Ordering::Relaxed);
        }
        detector.note_stall(now_ns);
        if self.silence_detector.ended.as_ref().is_some_and(|ended| now_ns > ended.counts_until) {
            self.record_silence();
        }
    }

    /// The trial is over at this moment: later answers no longer count.
    pub(super) fn close_silence(&mut self, now: Nanos) {
        if let Some(start) = self.running.as_ref().map(|running| running.trial.start_ns)
            && self.silence_detector.given_up > 0
        {
            let sent = Nanos(self.silence_detector.given_up_sent.saturating_sub(start));
            self.end_silence(start + now.0, Some(sent), false);
        }
        self.record_silence();
        self.silence_detector.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_knows_how_long_it_stood_still_itself() {
        let ms = |count: u64| count * 1_000_000;
        let mut detector = SilenceDetector::new(SharedActivity::default());
        detector.note_sleep(ms(100), Some(Nanos::from_millis(50)));
        detector.note_stall(ms(155));
        assert_eq!(detector.stalled, 0, "sleeps end late by that much");
        detector.note_sleep(ms(200), Some(Nanos::from_millis(50)));
        detector.note_stall(ms(950));
        detector.note_stall(ms(950));
        assert_eq!(detector.stalled, ms(700));
        // Only an event was to wake it.
        detector.note_sleep(ms(1000), None);
        detector.note_stall(ms(9000));
        assert_eq!(detector.stalled, ms(700));
        detector.forget();
        assert_eq!(detector.stalled, 0);
    }
}
