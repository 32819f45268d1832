//! What became of the load: counters over all trials, gauges of the last second.

use super::{Buckets, Samples, Value, families as family};
use crate::second::is_whole;
use record::{Outcome, Outcomes, Slice};
use std::collections::BTreeMap;
use units::{Nanos, Rate};

/// Everything counted of some seconds of load.
#[derive(Debug, Clone, Default)]
pub(super) struct Account {
    due: u64,
    sent: u64,
    outcomes: Outcomes,
    statuses: BTreeMap<u16, u64>,
    resent: u64,
    connects: u64,
    received_bytes: u64,
    response: Buckets,
    service: Buckets,
    lateness: Buckets,
    pacing: Buckets,
}

impl Account {
    /// Adds a second, or all of a trial.
    pub fn add(&mut self, slice: &Slice) {
        self.due += slice.due;
        self.sent += slice.sent;
        self.outcomes.merge(&slice.outcomes);
        self.status(&slice.statuses);
        self.resent += slice.resent;
        self.connects += slice.connects;
        self.received_bytes += slice.received_bytes;
        self.response.add(&slice.response);
        self.service.add(&slice.service);
        self.lateness.add(&slice.lateness);
        self.pacing.add(&slice.pacing);
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Self) {
        self.due += other.due;
        self.sent += other.sent;
        self.outcomes.merge(&other.outcomes);
        self.status(&other.statuses);
        self.resent += other.resent;
        self.connects += other.connects;
        self.received_bytes += other.received_bytes;
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.lateness.merge(&other.lateness);
        self.pacing.merge(&other.pacing);
    }

    fn status(&mut self, statuses: &BTreeMap<u16, u64>) {
        for (status, count) in statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
    }

    pub fn tell(&self, samples: &mut Samples) {
        samples.count(&family::DUE, &[], self.due);
        samples.count(&family::SENT, &[], self.sent);
        for outcome in Outcome::ALL {
            samples.count(&family::REQUESTS, &[outcome.name()], self.outcomes.get(outcome));
        }
        for (status, count) in &self.statuses {
            samples.count(&family::RESPONSES, &[&status.to_string()], *count);
        }
        samples.count(&family::RESENT, &[], self.resent);
        samples.count(&family::CONNECTS, &[], self.connects);
        samples.count(&family::RECEIVED, &[], self.received_bytes);
        for (family, times) in [
            (&family::RESPONSE, &self.response),
            (&family::SERVICE, &self.service),
            (&family::LATENESS, &self.lateness),
            (&family::PACING, &self.pacing),
        ] {
            samples.push(family, &[], Value::Times(Box::new(times.clone())));
        }
    }
}

/// The last second of load.
#[derive(Debug, Clone)]
pub(super) struct Last {
    /// Offered, achieved, done well.
    rates: Option<[Rate; 3]>,
    in_flight: u64,
    backlog: u64,
    connections: u64,
    response_max: Option<Nanos>,
}

impl Last {
    /// The rest of a second makes no rates: those of the second before it stay.
    pub fn of(slice: &Slice, before: Option<&Self>) -> Self {
        let counts = [slice.due, slice.sent, slice.outcomes.ok];
        let rates = counts.map(|count| Rate::of(count, slice.elapsed));
        Self {
            rates: if is_whole(slice.elapsed) { Some(rates) } else { before.and_then(|before| before.rates) },
            in_flight: slice.in_flight,
            backlog: slice.backlog,
            connections: slice.connections,
            response_max: slice.response.max(),
        }
    }

    pub fn tell(&self, samples: &mut Samples) {
        let names = [&family::OFFERED, &family::ACHIEVED, &family::GOODPUT];
        for (family, rate) in names.into_iter().zip(self.rates.into_iter().flatten()) {
            samples.number(family, &[], rate.0);
        }
        samples.count(&family::IN_FLIGHT, &[], self.in_flight);
        samples.count(&family::BACKLOG, &[], self.backlog);
        samples.count(&family::CONNECTIONS, &[], self.connections);
        if let Some(time) = self.response_max {
            samples.number(&family::RESPONSE_MAX, &[], time.as_secs_f64());
        }
    }
}
