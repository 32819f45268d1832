//! Everything that is said of a run passes here: to the sink, and into the recording from which it is
//! judged what gave first. And the watch over the target, which is asked beside the load.

use crate::Sink;
use diagnosis::Recording;
use engine::Endpoint;
use observe::{Sighting, Watch, Where};
use record::watch::{Missing, Watched};
use record::{Cause, Event, NoFinding, Verdict};
use std::time::{Duration, Instant};

/// A closer look is waited for no longer than this: it is one more witness, not the verdict.
const LOOK_LIMIT: Duration = Duration::from_secs(4);
/// Closer looks in one run: each stops the target a moment.
const LOOKS: usize = 3;

/// The sink with its memory, and the watch.
pub(crate) struct Witness<'a> {
    sink: &'a mut dyn Sink,
    recording: Recording,
    watch: Option<Watch>,
    /// A virtual machine may be asked.
    attach: bool,
    /// For what it was looked at more closely.
    looked_for: Vec<Option<Cause>>,
    /// When a look was asked for that has not come.
    awaited: Option<Instant>,
    has_java: bool,
}

impl<'a> Witness<'a> {
    pub fn new(sink: &'a mut dyn Sink) -> Self {
        Self {
            sink,
            recording: Recording::default(),
            watch: None,
            attach: false,
            looked_for: Vec::new(),
            awaited: None,
            has_java: false,
        }
    }

    /// Of what is no matter of the recording.
    pub fn sink(&mut self) -> &mut dyn Sink {
        self.sink
    }

    pub fn event(&mut self, event: &Event) {
        self.recording.fold(event);
        self.sink.event(event);
    }

    /// Begins to watch what is at this address, as asked. That it is not possible ends no run: it is said.
    pub fn watch(&mut self, asked: &plan::Watch, endpoint: &Endpoint) {
        let place = match (endpoint.address(), endpoint.path()) {
            (Some(address), _) => Where::Tcp(vec![address]),
            (None, Some(path)) => Where::Unix(path.to_owned()),
            // There is no target.
            (None, None) => return,
        };
        if !asked.on {
            return;
        }
        self.attach = asked.attach;
        match observe::start(asked, &place) {
            Ok(watch) => self.watch = Some(watch),
            Err(why) => {
                let missing = vec![Missing::new("the target", format!("it cannot be watched: {why}"))];
                self.event(&Event::WatchStarted {
                    watched: Box::new(Watched { missing, ..Watched::default() }),
                });
            }
        }
    }

    pub fn begin(&mut self, trial: u32) {
        self.hear();
        if let Some(watch) = &self.watch {
            watch.begin(trial);
        }
    }

    pub fn end(&mut self) {
        if let Some(watch) = &self.watch {
            watch.end();
        }
        self.hear();
    }

    /// Passes on what the watch has seen since it was last asked.
    pub fn hear(&mut self) {
        let seen: Vec<Sighting> = self.watch.iter().flat_map(Watch::seen).collect();
        self.pass(seen);
    }

    fn pass(&mut self, seen: Vec<Sighting>) {
        for seen in seen {
            let event = match seen {
                Sighting::Watched(watched) => {
                    self.has_java = watched.subjects.first().is_some_and(|subject| subject.java.is_some());
                    Event::WatchStarted { watched }
                }
                Sighting::Window(trial, window) => Event::Observed { trial, window },
                Sighting::Look(trial, look) => {
                    self.awaited = None;
                    Event::Looked { trial, look }
                }
            };
            self.event(&event);
        }
    }

    /// The load is about to end, and the target still is as it made it: where it has become slow, threads of a
    /// virtual machine wait and nobody can see for what, the machine is asked, once for each cause that it looks like.
    pub fn look_closer(&mut self) {
        self.hear();
        let Some(watch) = self.watch.as_ref().filter(|_| self.attach && self.has_java) else { return };
        let glance = diagnosis::glance(&self.recording);
        let unclear = glance.none == Some(NoFinding::Unexplained)
            || glance.cause().is_some_and(|cause| {
                matches!(
                    cause,
                    Cause::Pool | Cause::Lock | Cause::Workers | Cause::Downstream | Cause::Inside
                )
            });
        if unclear && self.looked_for.len() < LOOKS && !self.looked_for.contains(&glance.cause()) {
            watch.look();
            self.looked_for.push(glance.cause());
            self.awaited = Some(Instant::now());
        }
    }

    /// What gave first, once all is measured.
    pub fn conclude(&mut self, came_to: &Verdict) {
        self.hear();
        while self.awaited.is_some_and(|since| since.elapsed() < LOOK_LIMIT) {
            std::thread::sleep(Duration::from_millis(20));
            self.hear();
        }
        let Some(watch) = self.watch.take() else { return };
        self.pass(watch.finish());
        self.recording.came_to(came_to);
        let diagnosis = Box::new(diagnosis::diagnose(&self.recording));
        self.event(&Event::Diagnosed { diagnosis });
    }
}
