//! Reads a metrics endpoint that answers in Prometheus' text format.
//!
//! A thread with its own connection asks once a second; the source takes the last answer and never waits
//! for it. An endpoint that does not answer in time is evidence: it often shares the workers, or the
//! processors, of the target.

mod address;
mod http;
pub(crate) mod prometheus;
#[cfg(test)]
mod tests;

use crate::watch_scope::WatchScope;
use address::MetricsAddress;
use http::Connection;
use record::watch::{Metrics, MissingMeasure, WatchCoverage, Window};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Interval between requests.
const EVERY: Duration = Duration::from_secs(1);
/// Timeout of a request, so that there is an answer for each window.
const PATIENCE: Duration = Duration::from_millis(900);

pub(crate) struct MetricsSource {
    results: Receiver<Metrics>,
    /// The thread runs until this is dropped.
    _stop_sender: Sender<()>,
    last: Option<Metrics>,
    /// The URL without user, password and query.
    url: String,
    missing: Vec<MissingMeasure>,
}

impl MetricsSource {
    /// Requests the URL once, and then every second.
    ///
    /// Fails, with the missing measure, if the URL cannot be used. An endpoint that does not answer yet is
    /// retried.
    pub fn open(url: &str) -> Result<Self, MissingMeasure> {
        let missing = |why: String| MissingMeasure::new("metrics", why);
        let endpoint = MetricsAddress::parse(url)
            .map_err(|why| missing(format!("the address of the metrics: {why}")))?;
        let redacted = endpoint.redacted.clone();
        let (stop_sender, stop) = channel();
        let (sender, results) = channel();
        let work = move || poll(endpoint, &stop, &sender);
        // Not joined: it may be waiting for an answer. It ends after that.
        let thread = std::thread::Builder::new().name("watch-metrics".to_owned()).spawn(work);
        thread.map_err(|e| missing(format!("no thread could be started to ask for metrics: {e}")))?;
        // The first answer shows whether this is the right place.
        let first = results.recv_timeout(PATIENCE * 2).ok();
        let why = match &first {
            Some(Metrics { error: Some(why), .. }) => Some(why.clone()),
            Some(Metrics { series, .. }) if series.is_empty() => Some(
                "it answers, but with no series of a pool, of threads or of requests that could be used"
                    .to_owned(),
            ),
            Some(_) => None,
            None => Some("it has not answered".to_owned()),
        };
        let missing = why.map(|why| missing(format!("{redacted}: {why}; it is asked again every second")));
        Ok(Self {
            results,
            _stop_sender: stop_sender,
            last: None,
            url: redacted,
            missing: missing.into_iter().collect(),
        })
    }
}

impl crate::source::Source for MetricsSource {
    fn interval(&self) -> Duration {
        EVERY
    }

    /// Drains the channel, so that answers do not pile up without cuts.
    fn read(&mut self, _: &WatchScope) {
        if let Some(last) = self.results.try_iter().last() {
            self.last = Some(last);
        }
    }

    /// A window in which no answer arrived has none: it is in the one before or after.
    fn cut(&mut self, scope: &WatchScope, window: &mut Window) {
        self.read(scope);
        window.metrics = self.last.take();
    }

    /// What the endpoint did not supply at the start.
    fn missing(&self) -> Vec<MissingMeasure> {
        self.missing.clone()
    }

    fn describe(&self, coverage: &mut WatchCoverage) {
        coverage.metrics = Some(self.url.clone());
    }
}

fn poll(place: MetricsAddress, stop: &Receiver<()>, sender: &Sender<Metrics>) {
    let connection = Connection::to(place, PATIENCE);
    loop {
        let began = Instant::now();
        let answer = connection.get();
        let took_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let metrics = match answer.and_then(|body| prometheus::parse_series(&body)) {
            Ok(series) => Metrics { took_ns, error: None, series },
            Err(why) => Metrics { took_ns, error: Some(why), series: Vec::new() },
        };
        if sender.send(metrics).is_err() {
            return;
        }
        let wait = (began + EVERY).saturating_duration_since(Instant::now());
        if let Err(RecvTimeoutError::Disconnected) = stop.recv_timeout(wait) {
            return;
        }
    }
}
