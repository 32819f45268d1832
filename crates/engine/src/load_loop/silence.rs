//! Detects how long the target sends nothing while requests are in flight.
//!
//! A *silence* is a stretch of at least [`record::SILENCE`] in which no request ended although some were in
//! flight, as seen by all loops together. Whether that is more than a slow answer is for `diagnosis` to judge.

use super::LoadLoop;
use record::{CatchUp, SILENCE, Silence, WAITED_FOR, freed_within};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use units::Nanos;

/// Shared by all loops.
#[derive(Default)]
pub(crate) struct TargetActivity {
    /// When any loop last heard from the target, on the monotonic clock; updated by each loop once a turn.
    last: AtomicU64,
    /// The catch-up time after this trial's silences: nanoseconds after the longest silence, and its end since
    /// the trial began.
    longest: AtomicU64,
    answered_by: AtomicU64,
    /// How long this trial drains, in nanoseconds, given how slow its answers generally are.
    steady: AtomicU64,
}

pub(crate) type SharedActivity = Arc<TargetActivity>;

impl TargetActivity {
    /// How long the load that began at `start` and ended at `ends` drains, as far as is known `now`; all on the
    /// monotonic clock.
    pub fn drain(&self, drain: Nanos, [start, ends, now]: [u64; 3]) -> Nanos {
        let last = self.last.load(Ordering::Relaxed);
        let goes_on = last >= start && last < ends && now.saturating_sub(last) >= SILENCE.0;
        let least = if goes_on { WAITED_FOR } else { Nanos::ZERO };
        let told = |of: &AtomicU64| Nanos(of.load(Ordering::Relaxed));
        let catch_up = CatchUp { longest: told(&self.longest), answered_by: told(&self.answered_by) };
        catch_up.drain(drain.max(told(&self.steady)), Nanos(ends - start)).max(least)
    }

    fn note_silence(&self, silence: &Silence) {
        let catch_up = CatchUp::after(silence);
        self.longest.fetch_max(catch_up.longest.0, Ordering::Relaxed);
        self.answered_by.fetch_max(catch_up.answered_by.0, Ordering::Relaxed);
    }

    /// Extends the drain, as the answers of one loop are generally slow.
    pub fn raise_drain(&self, steady: Nanos) {
        self.steady.fetch_max(steady.0, Ordering::Relaxed);
    }

    pub fn begin(&self) {
        self.longest.store(0, Ordering::Relaxed);
        self.answered_by.store(0, Ordering::Relaxed);
        self.steady.store(0, Ordering::Relaxed);
    }
}

/// While something is in flight a loop checks the clock this often, to know whether it stalled itself.
pub(super) const LOOK: Nanos = Nanos::from_millis(50);
/// A turn that begins this much later than planned is torment's own stall: sleeps are late by less.
const LATE: u64 = 10_000_000;

/// One loop's view. All times are nanoseconds of the monotonic clock.
pub(super) struct SilenceDetector {
    shared: SharedActivity,
    /// When this loop last heard from the target.
    heard: u64,
    /// The part of that already shared.
    passed_on: u64,
    /// Requests given up since, and when the earliest of them was sent.
    given_up: u64,
    given_up_sent: u64,
    /// When this loop's next turn is due, unless it stalls itself.
    turn_by: u64,
    /// How long it has stalled since it last heard from the target.
    still: u64,
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
            heard: 0,
            passed_on: 0,
            given_up: 0,
            given_up_sent: u64::MAX,
            turn_by: u64::MAX,
            still: 0,
            ended: None,
        }
    }

    /// The loop sleeps for at most this long; `None`: until there is an event.
    pub fn sleeps(&mut self, now: u64, at_most: Option<Nanos>) {
        self.turn_by = at_most.map_or(u64::MAX, |time| now.saturating_add(time.0));
    }

    /// A request sent at this time was given up.
    pub fn gave_up(&mut self, sent: u64) {
        self.given_up += 1;
        self.given_up_sent = self.given_up_sent.min(sent);
    }

    fn forget(&mut self) {
        (self.given_up, self.given_up_sent, self.still) = (0, u64::MAX, 0);
    }

    fn note_stall(&mut self, now: u64) {
        let late = now.saturating_sub(self.turn_by);
        if late > LATE {
            self.still += late;
            self.turn_by = now;
        }
    }
}

impl LoadLoop {
    /// A request due and sent at these moments of the trial has ended, by the target's doing; `None`: from an
    /// earlier trial. `at_ns` is when, on the monotonic clock; zero: now.
    pub(super) fn note_activity(&mut self, at_ns: u64, request: Option<[Nanos; 2]>) {
        let at = if at_ns == 0 { sys::monotonic_ns() } else { at_ns };
        if at >= self.hush.heard + SILENCE.0 {
            self.end_silence(at, request.map(|[_, sent]| sent), true);
        }
        self.hush.heard = self.hush.heard.max(at);
        self.hush.forget();
        if let Some(EndedSilence { silence, counts_until }) = &mut self.hush.ended
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
        self.hush.note_stall(sys::monotonic_ns());
        let before = self.hush.shared.last.fetch_max(at, Ordering::Relaxed).max(self.hush.heard);
        let (Some(present), Some(sent)) = (&self.present, sent) else { return };
        let (start, is_closed) = (present.trial.start_ns, present.trial.source.is_closed_loop());
        // A target that has not answered at all yet cannot fall silent.
        if before < start || at < before + SILENCE.0 {
            return;
        }
        let under_way = self.exchanges.iter_mut().filter(|(_, exchange)| !exchange.orphan);
        // Requests that came meanwhile and have no connection wait for the same end.
        let mut waiting = self.hush.given_up + u64::from(answered) + self.backlog.len() as u64;
        let mut earliest = self.hush.given_up_sent.min(start + sent.0);
        for (_, exchange) in under_way {
            let sent = start + exchange.sent.0;
            waiting += u64::from(sent < at);
            earliest = earliest.min(sent);
        }
        let from = before.max(earliest);
        let long = at.saturating_sub(from);
        if long.saturating_sub(self.hush.still) < SILENCE.0 {
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
            self.hush.shared.note_silence(&silence);
        }
        self.hush.ended = Some(EndedSilence { silence, counts_until: at + long / freed_within(is_closed) });
    }

    /// Records the last silence, once nothing can change it any more.
    pub(super) fn record_silence(&mut self) {
        if let Some(ended) = self.hush.ended.take()
            && let Some(present) = &mut self.present
        {
            present.recorder.record_silence(ended.silence);
        }
    }

    /// Shares what was heard in the previous turn with the other loops.
    pub(super) fn begin_turn(&mut self, now_ns: u64) {
        let hush = &mut self.hush;
        if hush.heard > hush.passed_on {
            hush.passed_on = hush.heard;
            hush.shared.last.fetch_max(hush.heard, Ordering::Relaxed);
        }
        hush.note_stall(now_ns);
        if self.hush.ended.as_ref().is_some_and(|ended| now_ns > ended.counts_until) {
            self.record_silence();
        }
    }

    /// The trial is over at this moment: later answers no longer count.
    pub(super) fn close_silence(&mut self, now: Nanos) {
        if let Some(start) = self.present.as_ref().map(|present| present.trial.start_ns)
            && self.hush.given_up > 0
        {
            let sent = Nanos(self.hush.given_up_sent.saturating_sub(start));
            self.end_silence(start + now.0, Some(sent), false);
        }
        self.record_silence();
        self.hush.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_knows_how_long_it_stood_still_itself() {
        let ms = |count: u64| count * 1_000_000;
        let mut hush = SilenceDetector::new(SharedActivity::default());
        hush.sleeps(ms(100), Some(Nanos::from_millis(50)));
        hush.note_stall(ms(155));
        assert_eq!(hush.still, 0, "sleeps end late by that much");
        hush.sleeps(ms(200), Some(Nanos::from_millis(50)));
        hush.note_stall(ms(950));
        hush.note_stall(ms(950));
        assert_eq!(hush.still, ms(700));
        // Only an event was to wake it.
        hush.sleeps(ms(1000), None);
        hush.note_stall(ms(9000));
        assert_eq!(hush.still, ms(700));
        hush.forget();
        assert_eq!(hush.still, 0);
    }
}
