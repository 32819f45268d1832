//! Applies each event to a [`RunView`]: the one fold that handles every event. All other folds, here and in other crates, state at their
//! top what they need that a [`RunView`] lacks.

use super::{CurrentLoad, RunView, TimeSpan, WatchedPlace};
use crate::{LoadSecond, Trial};
use record::{Event, Slice, Verdict};
use units::Nanos;

/// Seconds kept for charts: a day of load takes at most some 15 MB.
const SECONDS_KEPT: usize = 86_400;

impl RunView {
    /// Folds the next event.
    pub fn fold(&mut self, event: &Event) {
        self.stillness.fold(event);
        match event {
            Event::RunStarted(started) => self.started = Some((**started).clone()),
            Event::TrialStarted { trial, purpose, rate, duration, at_unix_ms } => {
                let since = self.started.as_ref().map_or(*at_unix_ms, |started| started.at_unix_ms);
                let from = at_unix_ms.saturating_sub(since) as f64 / 1000.0;
                self.stretches.insert(*trial, TimeSpan { from, passed: Nanos::ZERO });
                self.current = Some(CurrentLoad {
                    number: *trial,
                    words: self.words(),
                    purpose: *purpose,
                    rate: *rate,
                    planned: *duration,
                    at_unix_ms: *at_unix_ms,
                    total: Slice::default(),
                });
            }
            Event::SliceDone { trial, slice } => {
                self.stretches.entry(*trial).or_default().passed += slice.elapsed;
                if let Some(current) = self.current.as_mut().filter(|c| c.number == *trial) {
                    current.total.merge_after(slice);
                }
                if self.seconds.len() == SECONDS_KEPT {
                    self.seconds.pop_front();
                }
                self.seconds.push_back(LoadSecond::of(*trial, slice));
            }
            Event::TrialDone { trial, result, judgement } => {
                if let Some(stretch) = self.stretches.get_mut(trial) {
                    stretch.passed = stretch.passed.max(result.loaded);
                }
                self.current = None;
                self.trials.push(Trial::done(*trial, self.words(), result, judgement));
            }
            Event::Bounds { limits, making } => {
                self.limits.clone_from(limits);
                self.making = *making;
            }
            Event::WatchStarted { place, watched } => self.seen_at(place).watched.clone_from(watched),
            Event::Observed { trial, place, window } => {
                self.seen_at(place).trials.entry(*trial).or_default().add(window);
            }
            Event::Looked { place, look, .. } => self.seen_at(place).looks.push(look.clone()),
            Event::Logged(log) => self.logs.push(log.clone()),
            Event::Resumed { .. } => self.end = None,
            Event::Designed { design } => self.design = Some((**design).clone()),
            Event::VisitStarted(visiting) => self.visiting = Some(*visiting),
            Event::Visited { visit } => {
                self.visiting = None;
                self.visits.push((**visit).clone());
            }
            Event::Stands { standing } => self.standing = Some((**standing).clone()),
            Event::Surveyed { conditions } => self.conditions = Some((**conditions).clone()),
            Event::Probing(probing) => self.probing.push(probing.clone()),
            Event::FleetStands { members } => self.fleet.clone_from(members),
            Event::WorkerLost { trial, lost } => self.lost.push((*trial, lost.clone())),
            // Shown where it explains something.
            Event::Known { .. } => {}
            Event::Measured { figure } => self.measured.push((**figure).clone()),
            Event::Noted { table, text } => self.notes.push((table.clone(), text.clone())),
            Event::Forecast { rooms } => self.rooms.clone_from(rooms),
            Event::Ramped(ramped) => self.ramp.push(*ramped),
            Event::Profiled { profile } => self.profiles.push((**profile).clone()),
            Event::Diagnosed { diagnosis } => self.diagnosis = Some((**diagnosis).clone()),
            Event::Caveat { caveat } => self.caveats.push(caveat.clone()),
            Event::RunEnded(end) => {
                match &end.verdict {
                    Some(Verdict::Limits { limits, .. }) => self.limits.clone_from(limits),
                    Some(Verdict::Answers { standing }) => self.standing = Some(standing.clone()),
                    _ => {}
                }
                self.end = Some((**end).clone());
            }
        }
    }

    fn seen_at(&mut self, place: &str) -> &mut WatchedPlace {
        let known = self.places.iter().position(|known| known.name == place);
        let index = known.unwrap_or_else(|| {
            self.places.push(WatchedPlace { name: place.to_owned(), ..WatchedPlace::default() });
            self.places.len() - 1
        });
        &mut self.places[index]
    }

    /// Folds all events.
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut view = Self::default();
        events.into_iter().for_each(|event| view.fold(event));
        view
    }
}
