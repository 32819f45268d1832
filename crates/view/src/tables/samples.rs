//! What was seen in a window, a row for each measure.

use super::At;
use super::columns::Columns;
use super::measures::{
    CGROUP, DISKS, HOST, JVM, LISTENERS, METRICS, NEIGHBOURS, NETWORK, OWN, PEERS, POSTGRES, PROCESS, SERIES,
    SESSIONS, STATES, SWEEP, Source, THREADS, TITLES,
};
use crate::watched::session_words;
use record::watch::{Host, Postgres, Subject, SubjectWindow, Watched, Window};
use std::rc::Rc;

/// One measure of a window.
pub(super) struct Sample {
    at: Rc<(At, f64)>,
    place: Place,
    source: &'static str,
    measure: &'static str,
    unit: &'static str,
    value: f64,
}

/// Of what it is.
#[derive(Clone, Default)]
struct Place {
    subject: Option<Rc<str>>,
    pid: Option<u32>,
    item: Option<Rc<str>>,
    state: Option<Rc<str>>,
}

impl Place {
    fn item(&self, item: &str) -> Self {
        Self { item: Some(item.into()), ..self.clone() }
    }

    fn state(&self, state: &str) -> Self {
        Self { state: Some(state.into()), ..self.clone() }
    }
}

pub(super) fn columns() -> Columns<Sample> {
    let text = |text: &Option<Rc<str>>| text.as_ref().map(|text| text.to_string());
    Columns::new()
        .at(|s: &Sample| &s.at.0)
        .number("window_seconds", "how long the window is in which it was seen, about a second", |s| {
            Some(s.at.1)
        })
        .text("source", "what it was read from; see the measures below", |s| Some(s.source))
        .text("subject", "name of the process tree, such as `java`", move |s| text(&s.place.subject))
        .whole("pid", "its first process", |s| s.place.pid.map(u64::from))
        .text("item", "the group of threads, address, disk or series that it is of", move |s| {
            text(&s.place.item)
        })
        .text("state", "what those threads or sessions did", move |s| text(&s.place.state))
        .text("measure", "what was measured", |s| Some(s.measure))
        .text("unit", "`seconds`, `bytes`, `count`, `processors`, or `as given`", |s| Some(s.unit))
        .number("value", "how much; of a counter, by how much it grew within the window", |s| Some(s.value))
}

/// All that a window holds.
pub(super) fn of(at: &At, watched: Option<&Watched>, window: &Window) -> Vec<Sample> {
    let at = Rc::new((at.clone(), window.length().as_secs_f64()));
    let mut seen = Seen { at, samples: Vec::new() };
    for (number, subject) in window.subjects.iter().enumerate() {
        seen.subject(watched.and_then(|watched| watched.subjects.get(number)), subject);
    }
    window.host.iter().for_each(|host| seen.host(host));
    let whole = Place::default();
    window.network.iter().for_each(|network| seen.put(&NETWORK, &whole, network));
    window.postgres.iter().for_each(|postgres| seen.postgres(postgres));
    if let Some(metrics) = &window.metrics {
        seen.put(&METRICS, &whole, metrics);
        metrics.series.iter().for_each(|series| seen.put(&SERIES, &whole.item(&series.name), series));
    }
    // Nothing at all was read otherwise.
    if window.own.cpu_ns > 0 {
        seen.put(&OWN, &whole, &window.own);
    }
    seen.samples
}

struct Seen {
    at: Rc<(At, f64)>,
    samples: Vec<Sample>,
}

impl Seen {
    fn put<T>(&mut self, source: &Source<T>, place: &Place, of: &T) {
        for measure in source.measures {
            if let Some(value) = (measure.value)(of) {
                self.samples.push(Sample {
                    at: Rc::clone(&self.at),
                    place: place.clone(),
                    source: source.name,
                    measure: measure.name,
                    unit: measure.unit,
                    value,
                });
            }
        }
    }

    fn subject(&mut self, subject: Option<&Subject>, seen: &SubjectWindow) {
        if !seen.is_there() {
            return;
        }
        let place = Place {
            subject: subject.map(|subject| subject.name.as_str().into()),
            pid: subject.map(|subject| subject.pid),
            ..Place::default()
        };
        self.put(&PROCESS, &place, seen);
        seen.titles.iter().for_each(|title| self.put(&TITLES, &place.item(&title.0), title));
        seen.sweep.iter().for_each(|sweep| self.put(&SWEEP, &place, sweep));
        for group in &seen.groups {
            let place = place.item(&group.name);
            self.put(&THREADS, &place, group);
            group
                .states
                .iter()
                .for_each(|state| self.put(&STATES, &place.state(&state.wait.to_string()), state));
        }
        seen.cgroup.iter().for_each(|cgroup| self.put(&CGROUP, &place, cgroup));
        seen.listeners.iter().for_each(|l| self.put(&LISTENERS, &place.item(&l.address), l));
        seen.peers.iter().for_each(|peer| self.put(&PEERS, &place.item(&peer.address), peer));
        if let Some(jvm) = &seen.jvm {
            self.put(&JVM, &Place { pid: Some(jvm.pid), ..place.clone() }, jvm);
        }
    }

    fn host(&mut self, host: &Host) {
        let whole = Place::default();
        self.put(&HOST, &whole, host);
        host.disks.iter().for_each(|disk| self.put(&DISKS, &whole.item(&disk.name), disk));
        for neighbour in &host.neighbours {
            let place = Place { pid: Some(neighbour.pid), ..whole.item(&neighbour.name) };
            self.put(&NEIGHBOURS, &place, neighbour);
        }
    }

    fn postgres(&mut self, postgres: &Postgres) {
        let whole = Place::default();
        self.put(&POSTGRES, &whole, postgres);
        postgres.sessions.iter().for_each(|s| self.put(&SESSIONS, &whole.state(&session_words(s)), s));
    }
}
