//! Passes a run's events to the sink and to the recording from which the diagnosis is made, and collects events of
//! those that watch the target beside the load.

use crate::Sink;
use crate::fleet::Watchers;
use crate::profile::TargetSampler;
use diagnosis::{CompilerActivity, ObservedRun};
use engine::ResolvedTarget;
use observe::{TargetLocation, TargetWatch};
use record::watch::{MissingMeasure, WatchCoverage, WatchEvent};
use record::{Cause, Caveat, CaveatDetails, CaveatKind, Event, NoFinding, ProfiledLoad, Verdict};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use units::Nanos;

/// Longest wait for a closer look: it is additional evidence, not the verdict.
const LOOK_LIMIT: Duration = Duration::from_secs(4);
/// Longest wait for the last window of a load.
const LAST_WINDOW_LIMIT: Duration = Duration::from_millis(200);
/// Closer looks in one run: each stops the target for a moment.
const LOOKS_MOST: usize = 3;

/// The sink, the recording, and the watchers.
pub(crate) struct RunObserver<'a> {
    /// For events that are not to be recorded.
    pub sink: &'a mut dyn Sink,
    recording: ObservedRun,
    compiling: CompilerActivity,
    /// On this machine.
    watch: Option<TargetWatch>,
    /// On other machines.
    watchers: Option<Watchers>,
    /// Causes that a closer look was taken for.
    looked_causes: Vec<Option<Cause>>,
    /// When a pending look was requested.
    look_requested: Option<Instant>,
    /// Places where a process of the service is seen.
    service_places: BTreeSet<String>,
    /// Samples the target, if asked for.
    sampler: Option<TargetSampler>,
    /// Cause in the verdict, if it is on this machine.
    pub gave_first: Option<Cause>,
}

impl<'a> RunObserver<'a> {
    pub fn new(sink: &'a mut dyn Sink) -> Self {
        Self {
            sink,
            recording: ObservedRun::default(),
            compiling: CompilerActivity::default(),
            watch: None,
            watchers: None,
            looked_causes: Vec::new(),
            look_requested: None,
            service_places: BTreeSet::new(),
            sampler: None,
            gave_first: None,
        }
    }

    /// Permits sampling of the target during loads.
    pub fn enable_sampling(&mut self) {
        self.sampler = Some(TargetSampler::default());
    }

    /// Whether it can be sampled.
    ///
    /// # Errors
    /// If not: why.
    pub fn can_sample(&self) -> Result<(), String> {
        self.sampler.iter().try_for_each(TargetSampler::check_permitted)
    }

    /// Mean number of the target's threads that compiled its code during the last load, of length `loaded`.
    pub fn compiling(&mut self, loaded: Nanos) -> f64 {
        self.emit_all_seen();
        let since = Instant::now();
        while self.watch.is_some()
            && self.compiling.observed_time("") * 10 < loaded * 9
            && since.elapsed() < LAST_WINDOW_LIMIT
        {
            std::thread::sleep(Duration::from_millis(5));
            self.emit_seen();
        }
        self.compiling.busy_threads()
    }

    /// A load begins, to be sampled at `hz` on each processor.
    pub fn start_sampling(&mut self, hz: u32) {
        if let Some(Err(why)) = self.sampler.as_mut().map(|sampler| sampler.begin(hz)) {
            self.emit_not_profiled(&why);
        }
    }

    /// Why the target is not sampled.
    pub fn emit_not_profiled(&mut self, why: &str) {
        let grounds = CaveatDetails::Text(format!("the target is not profiled: {why}"));
        self.emit_caveat(Caveat::with_details(CaveatKind::NotProfiled, grounds));
    }

    /// Takes the profile of a judged load.
    pub fn finish_sampling(&mut self, load: ProfiledLoad, requests: u64) {
        if let Some(profile) = self.sampler.as_mut().and_then(|sampler| sampler.take_profile(load, requests))
        {
            self.event(&Event::Profiled { profile: Box::new(profile) });
        }
    }

    pub fn event(&mut self, event: &Event) {
        self.recording.fold(event);
        self.compiling.fold(event);
        self.sink.event(event);
    }

    pub fn emit_caveat(&mut self, caveat: Caveat) {
        self.event(&Event::Caveat { caveat });
    }

    /// Starts watching the target at this address, as asked. A failure ends no run, but is reported.
    pub fn watch(
        &mut self,
        settings: &plan::WatchPlan,
        endpoint: &ResolvedTarget,
        watchers: Option<Watchers>,
    ) {
        if watchers.is_some() {
            self.watchers = watchers;
            let (_, kept) = settings.split_secrets();
            if kept.has_database_or_metrics() {
                self.accept_watch(observe::start_without_processes(&kept), "what is asked with a password");
            }
            self.emit_seen();
            return;
        }
        let place = match (endpoint.address(), endpoint.path()) {
            (Some(address), _) => TargetLocation::Tcp(vec![address]),
            (None, Some(path)) => TargetLocation::Unix(path.to_owned()),
            // There is no target.
            (None, None) => return,
        };
        if settings.on {
            self.accept_watch(observe::start(settings, &place), "the target");
        }
    }

    fn accept_watch(&mut self, started: std::io::Result<TargetWatch>, what: &str) {
        match started {
            Ok(watch) => self.watch = Some(watch),
            Err(why) => {
                let missing = vec![MissingMeasure::new(what, format!("it cannot be watched: {why}"))];
                let watched = Box::new(WatchCoverage { missing, ..WatchCoverage::default() });
                self.event(&Event::WatchStarted { place: String::new(), watched });
            }
        }
    }

    /// A trial begins within [`engine::LEAD`].
    pub fn begin(&mut self, trial: u32) {
        self.emit_seen();
        self.watchers.iter_mut().for_each(|watchers| watchers.begin(trial));
        if let Some(watch) = &self.watch {
            watch.begin(trial);
        }
    }

    /// The load is over.
    pub fn end(&mut self) {
        self.sampler.iter_mut().for_each(TargetSampler::end);
        self.watchers.iter_mut().for_each(Watchers::end);
        if let Some(watch) = &self.watch {
            watch.end();
        }
        self.emit_seen();
    }

    /// Emits what was seen.
    pub fn emit_seen(&mut self) {
        let here = |seen| (String::new(), seen);
        let mut seen: Vec<_> = self.watch.iter().flat_map(TargetWatch::drain).map(here).collect();
        seen.extend(self.watchers.iter_mut().flat_map(Watchers::take_sightings));
        self.emit_sightings(seen);
    }

    /// The same, once all watchers have reported the finished load.
    pub fn emit_all_seen(&mut self) {
        self.watchers.iter_mut().for_each(Watchers::settle);
        self.emit_seen();
    }

    fn emit_sightings(&mut self, seen: Vec<(String, WatchEvent)>) {
        for (place, seen) in seen {
            let event = match seen {
                WatchEvent::Watched(watched) => {
                    if place.is_empty() {
                        self.sampler.iter_mut().for_each(|sampler| sampler.set_processes(&watched));
                    }
                    let is_seen = watched.subjects.first().is_some_and(|subject| subject.pid > 0);
                    if is_seen && watched.lost.is_none() {
                        self.service_places.insert(place.clone());
                    } else {
                        self.service_places.remove(&place);
                    }
                    Event::WatchStarted { place, watched }
                }
                WatchEvent::Window(trial, window) => Event::Observed { trial, place, window },
                WatchEvent::Look(trial, look) => {
                    self.look_requested = None;
                    Event::Looked { trial, place, look }
                }
            };
            self.event(&event);
        }
    }

    /// Shortly before the load ends, while the target still shows its effect: if it is slow and nobody can see what its
    /// threads wait for, looks at their stacks, once per suspected cause.
    pub fn look_closer(&mut self) {
        self.emit_seen();
        if self.service_places.is_empty() {
            return;
        }
        let diagnosis = diagnosis::diagnose_ongoing(&self.recording);
        let unclear = diagnosis.none == Some(NoFinding::Unexplained)
            || matches!(
                diagnosis.cause(),
                Some(Cause::Pool | Cause::Lock | Cause::Workers | Cause::Downstream | Cause::Inside)
            );
        if unclear
            && self.looked_causes.len() < LOOKS_MOST
            && !self.looked_causes.contains(&diagnosis.cause())
        {
            self.watch.iter().for_each(TargetWatch::look);
            self.watchers.iter().for_each(Watchers::look_closer);
            self.looked_causes.push(diagnosis.cause());
            self.look_requested = Some(Instant::now());
        }
    }

    /// Diagnoses what gave first, once all is measured.
    pub fn conclude(&mut self, verdict: &Verdict) {
        self.emit_seen();
        while self.look_requested.is_some_and(|since| since.elapsed() < LOOK_LIMIT) {
            std::thread::sleep(Duration::from_millis(20));
            self.emit_seen();
        }
        self.emit_all_seen();
        let (watch, watchers) = (self.watch.take(), self.watchers.take());
        if watch.is_none() && watchers.is_none() {
            return;
        }
        let here = |seen| (String::new(), seen);
        self.emit_sightings(watch.into_iter().flat_map(TargetWatch::finish).map(here).collect());
        self.recording.set_verdict(verdict);
        let diagnosis = Box::new(diagnosis::diagnose(&self.recording));
        self.gave_first = diagnosis.cause().filter(|_| diagnosis.place().is_empty());
        for caveat in diagnosis::caveats(&self.recording, verdict, diagnosis.cause()) {
            self.emit_caveat(caveat);
        }
        self.event(&Event::Diagnosed { diagnosis });
    }
}
