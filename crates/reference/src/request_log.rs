//! What really happened, as the service saw it: the standard for whoever measures us.
//!
//! Times run from the arrival of a request's first bytes at its socket to the moment the
//! last byte of its answer was handed to the kernel. The arrival is the kernel's own timestamp (see
//! [`sys::enable_receive_timestamps`]), so it includes the time before a busy service even looked, as does
//! what the client saw; on Unix sockets, which have none, times begin when the service
//! reads. An answer is logged right after that: for a
//! moment its client may have it while the log still says it is in flight.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use crate::route::Route;

/// Significant digits of quantiles.
const DIGITS: u8 = 3;
/// A day; anything longer is counted as a day.
const LONGEST_NS: u64 = 86_400_000_000_000;

/// Everything counted since the start or the last reset.
pub(crate) struct RequestLog {
    /// Wall-clock time and the matching monotonic instant.
    epoch: (Duration, Instant),
    routes: [Mutex<RouteStats>; Route::COUNT],
    pub(crate) connections: ServiceConnections,
    /// Invalid requests: answered 400, 413, 431 or 505.
    refused: AtomicU64,
}

/// Connections, and what prevented more.
#[derive(Default)]
pub(crate) struct ServiceConnections {
    accepted: AtomicU64,
    open: AtomicU64,
    peak: AtomicU64,
    /// Pauses of accepting because no descriptor was left.
    accept_pauses: AtomicU64,
    /// Connections closed at once because no thread could be started.
    without_thread: AtomicU64,
}

impl ServiceConnections {
    pub(crate) fn opened(&self) {
        self.accepted.fetch_add(1, Relaxed);
        let open = self.open.fetch_add(1, Relaxed) + 1;
        self.peak.fetch_max(open, Relaxed);
    }

    pub(crate) fn closed(&self) {
        self.open.fetch_sub(1, Relaxed);
    }

    pub(crate) fn accept_paused(&self) {
        self.accept_pauses.fetch_add(1, Relaxed);
    }

    pub(crate) fn without_thread(&self) {
        self.without_thread.fetch_add(1, Relaxed);
    }
}

#[derive(Default)]
struct RouteStats {
    received: u64,
    answered: u64,
    abandoned: u64,
    statuses: BTreeMap<u16, u64>,
    first: Option<Instant>,
    last: Option<Instant>,
    service: Option<Histogram<u64>>,
    lateness: Option<Histogram<u64>>,
}

impl RouteStats {
    fn in_flight(&self) -> u64 {
        self.received - self.answered - self.abandoned
    }
}

fn record(histogram: &mut Option<Histogram<u64>>, time: Duration) {
    let histogram =
        histogram.get_or_insert_with(|| Histogram::new(DIGITS).expect("three digits are allowed"));
    let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).min(LONGEST_NS);
    histogram.record(ns).expect("the histogram grows as needed");
}

fn microseconds(histogram: Option<&Histogram<u64>>) -> Value {
    let Some(h) = histogram else { return Value::Null };
    let at = |q| h.value_at_quantile(q) as f64 / 1e3;
    json!({
        "count": h.len(), "p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "p99_9": at(0.999),
        "max": h.max() as f64 / 1e3,
    })
}

impl RequestLog {
    pub(crate) fn new() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            epoch: (wall, Instant::now()),
            routes: std::array::from_fn(|_| Mutex::default()),
            connections: ServiceConnections::default(),
            refused: AtomicU64::new(0),
        }
    }

    fn route_stats(&self, route: Route) -> std::sync::MutexGuard<'_, RouteStats> {
        self.routes[route as usize].lock().expect("counting does not panic")
    }

    pub(crate) fn received(&self, route: Route, arrival: Instant) {
        let mut p = self.route_stats(route);
        p.received += 1;
        p.first.get_or_insert(arrival);
    }

    /// The last byte of an answer went to the kernel `now`.
    pub(crate) fn answered(
        &self,
        route: Route,
        status: u16,
        arrival: Instant,
        due: Option<Instant>,
        now: Instant,
    ) {
        let mut p = self.route_stats(route);
        p.answered += 1;
        *p.statuses.entry(status).or_default() += 1;
        p.last = Some(now);
        record(&mut p.service, now.saturating_duration_since(arrival));
        if let Some(due) = due {
            record(&mut p.lateness, now.saturating_duration_since(due));
        }
    }

    /// The client left before its answer was sent.
    pub(crate) fn abandoned(&self, route: Route) {
        self.route_stats(route).abandoned += 1;
    }

    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// The log as JSON. `reset` restarts the counts; requests in flight are carried over,
    /// so that received = answered + abandoned + in flight always holds.
    pub(crate) fn json(&self, model: &str, reset: bool) -> Value {
        let mut patterns = serde_json::Map::new();
        for (index, slot) in self.routes.iter().enumerate() {
            let mut p = slot.lock().expect("counting does not panic");
            if p.received > 0 && index != Route::Truth as usize {
                patterns.insert(Route::ALL[index].name().to_owned(), self.route_json(&p));
            }
            if reset {
                *p = RouteStats { received: p.in_flight(), ..RouteStats::default() };
            }
        }
        let c = &self.connections;
        let open = c.open.load(Relaxed);
        let value = json!({
            "model": model,
            "up_s": self.epoch.1.elapsed().as_secs_f64(),
            "refused": self.refused.load(Relaxed),
            "connections": {
                "accepted": c.accepted.load(Relaxed), "open": open, "peak": c.peak.load(Relaxed),
                "accept_pauses": c.accept_pauses.load(Relaxed),
                "without_thread": c.without_thread.load(Relaxed),
            },
            "patterns": patterns,
        });
        if reset {
            for counter in [&self.refused, &c.accepted, &c.accept_pauses, &c.without_thread] {
                counter.store(0, Relaxed);
            }
            c.peak.store(open, Relaxed);
        }
        value
    }

    fn route_json(&self, p: &RouteStats) -> Value {
        let unix = |at: Option<Instant>| {
            at.map(|at| (self.epoch.0 + at.saturating_duration_since(self.epoch.1)).as_secs_f64())
        };
        let statuses: serde_json::Map<_, _> =
            p.statuses.iter().map(|(status, n)| (status.to_string(), json!(n))).collect();
        json!({
            "received": p.received, "answered": p.answered, "abandoned": p.abandoned,
            "in_flight": p.in_flight(), "statuses": statuses,
            "first_unix_s": unix(p.first), "last_unix_s": unix(p.last),
            "service_us": microseconds(p.service.as_ref()),
            "late_us": microseconds(p.lateness.as_ref()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_carries_over_what_is_in_flight() {
        let (log, t) = (RequestLog::new(), Instant::now());
        let ms = Duration::from_millis;
        for _ in 0..5 {
            log.received(Route::Delay, t);
        }
        log.answered(Route::Delay, 200, t, Some(t + ms(1)), t + ms(2));
        log.answered(Route::Delay, 503, t, None, t + ms(4));
        log.abandoned(Route::Delay);
        let before = log.json("threads", true);
        let p = &before["patterns"]["/delay"];
        assert_eq!((p["received"].clone(), p["in_flight"].clone()), (json!(5), json!(2)));
        assert_eq!(p["statuses"], json!({"200": 1, "503": 1}));
        assert_eq!((p["service_us"]["count"].clone(), p["late_us"]["count"].clone()), (json!(2), json!(1)));
        let max = p["service_us"]["max"].as_f64().expect("a number");
        assert!((max - 4_000.0).abs() < 4.0, "{max}");

        log.answered(Route::Delay, 200, t, None, t + ms(1));
        let after = log.json("threads", false);
        let p = &after["patterns"]["/delay"];
        assert_eq!(
            (p["received"].clone(), p["answered"].clone(), p["in_flight"].clone()),
            (json!(2), json!(1), json!(1))
        );
    }

    #[test]
    fn asking_is_not_counted() {
        let log = RequestLog::new();
        log.received(Route::Truth, Instant::now());
        assert_eq!(log.json("pool", false)["patterns"], json!({}));
    }
}
