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
        self.freeze_detector.fold(event);
        match event {
            Event::RunStarted(started) => self.started = Some((**started).clone()),
            Event::TrialStarted { trial, purpose, rate, duration, at_unix_ms } => {
                let since = self.started.as_ref().map_or(*at_unix_ms, |started| started.at_unix_ms);
                let from = at_unix_ms.saturating_sub(since) as f64 / 1000.0;
                self.trial_spans.insert(*trial, TimeSpan { from, length: Nanos::ZERO });
                self.current = Some(CurrentLoad {
                    number: *trial,
                    arrival_kind: self.arrival_kind(),
                    purpose: *purpose,
                    rate: *rate,
                    planned: *duration,
                    at_unix_ms: *at_unix_ms,
                    total: Slice::default(),
                });
            }
            Event::SliceDone { trial, slice } => {
                self.trial_spans.entry(*trial).or_default().length += slice.elapsed;
                if let Some(current) = self.current.as_mut().filter(|c| c.number == *trial) {
                    current.total.merge_after(slice);
                }
                if self.seconds.len() == SECONDS_KEPT {
                    self.seconds.pop_front();
                }
                self.seconds.push_back(LoadSecond::of(*trial, slice));
            }
            Event::TrialDone { trial, result, judgement } => {
                if let Some(stretch) = self.trial_spans.get_mut(trial) {
                    stretch.length = stretch.length.max(result.loaded);
                }
                self.current = None;
                self.trials.push(Trial::done(*trial, self.arrival_kind(), result, judgement));
            }
            Event::Bounds { limits, making } => {
                self.limits.clone_from(limits);
                self.generator_capacity = *making;
            }
            Event::WatchStarted { place, watched } => self.place_mut(place).coverage.clone_from(watched),
            Event::Observed { trial, place, window } => {
                self.place_mut(place).trials.entry(*trial).or_default().add(window);
            }
            Event::Looked { place, look, .. } => self.place_mut(place).closer_looks.push(look.clone()),
            Event::Logged(log) => self.logs.push(log.clone()),
            Event::Resumed { .. } => self.end = None,
            Event::Designed { design } => self.design = Some((**design).clone()),
            Event::VisitStarted(visiting) => self.ongoing_start = Some(*visiting),
            Event::Visited { visit } => {
                self.ongoing_start = None;
                self.starts.push((**visit).clone());
            }
            Event::Stands { standing } => self.experiment_state = Some((**standing).clone()),
            Event::Surveyed { conditions } => self.conditions = Some((**conditions).clone()),
            Event::Probing(probing) => self.table_starts.push(probing.clone()),
            Event::FleetStands { members } => self.fleet.clone_from(members),
            Event::WorkerLost { trial, lost } => self.lost_members.push((*trial, lost.clone())),
            // Shown where it explains something.
            Event::Known { .. } => {}
            Event::Measured { figure } => self.figures.push((**figure).clone()),
            Event::Noted { table, text } => self.notes.push((table.clone(), text.clone())),
            Event::Forecast { rooms } => self.system_limits.clone_from(rooms),
            Event::Ramped(ramped) => self.ramp.push(*ramped),
            Event::Profiled { profile } => self.profiles.push((**profile).clone()),
            Event::Diagnosed { diagnosis } => self.diagnosis = Some((**diagnosis).clone()),
            Event::Caveat { caveat } => self.caveats.push(caveat.clone()),
            Event::RunEnded(end) => {
                match &end.verdict {
                    Some(Verdict::Limits { limits, .. }) => self.limits.clone_from(limits),
                    Some(Verdict::Answers { standing }) => self.experiment_state = Some(standing.clone()),
                    _ => {}
                }
                self.end = Some((**end).clone());
            }
        }
    }

    fn place_mut(&mut self, place: &str) -> &mut WatchedPlace {
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
