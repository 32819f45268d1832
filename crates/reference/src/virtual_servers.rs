//! Servers that exist only as arithmetic: from a request's arrival they compute when its answer
//! is due. Nothing here reads a clock or uses a processor, so their capacity is exact whatever
//! the machine does: a schedule advances from arrivals and from its own free times, never from
//! the moment some thread woke up.
//!
//! All instants are times since the service started.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use units::Nanos;

/// Maximum virtual servers of one service; each is kept until it ends.
const SERVERS_LIMIT: usize = 1_000;

/// A service that is slow at first, like a cold JVM.
///
/// The k-th request (k from 0) takes `factor^(1 − k/requests)` times its service time, and
/// exactly its service time from k = `requests` on: a straight line on a logarithmic scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WarmUpCurve {
    /// How many times slower the first request is; at least 1.
    pub factor: f64,
    /// After this many requests the service is warm.
    pub requests: u64,
}

impl WarmUpCurve {
    /// The service time of the `k`-th request, if a warm one takes `service`.
    pub fn service_time(self, service: Nanos, k: u64) -> Nanos {
        if k >= self.requests {
            return service;
        }
        let left = 1.0 - k as f64 / self.requests as f64;
        Nanos((service.0 as f64 * self.factor.powf(left)).round() as u64)
    }
}

/// Identical servers behind one queue, first come first served.
#[derive(Debug)]
struct VirtualServer {
    /// When each of them is free.
    free_at: BinaryHeap<Reverse<Nanos>>,
    served: u64,
    /// When those waiting at the last arrival start to be served, in order; only kept if their number is limited.
    starts: VecDeque<Nanos>,
}

impl VirtualServer {
    fn new(size: usize) -> Self {
        let free_at = std::iter::repeat_n(Reverse(Nanos::ZERO), size).collect();
        Self { free_at, served: 0, starts: VecDeque::new() }
    }

    /// When the answer is due: start = max(arrival, free); due = start + service. `None` if `limit` requests
    /// already wait.
    fn admit(&mut self, arrival: Nanos, service: Nanos, limit: Option<usize>) -> Option<Nanos> {
        let Reverse(free) = *self.free_at.peek().expect("there is at least one server");
        let start = arrival.max(free);
        if let Some(limit) = limit {
            while self.starts.front().is_some_and(|start| *start <= arrival) {
                self.starts.pop_front();
            }
            if start > arrival {
                if self.starts.len() >= limit {
                    return None;
                }
                self.starts.push_back(start);
            }
        }
        self.free_at.pop();
        self.free_at.push(Reverse(start + service));
        self.served += 1;
        Some(start + service)
    }
}

/// When an answer is due if the service freezes for the last `frozen` of every `every`.
pub(crate) fn after_freeze(arrival: Nanos, every: Nanos, frozen: Nanos) -> Nanos {
    let phase = arrival.0 % every.0;
    if phase >= every.0 - frozen.0 { arrival - Nanos(phase) + every } else { arrival }
}

/// Identifies a virtual server: one for each distinct set of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ServerKey {
    Queue { service: Nanos },
    Pool { size: usize, service: Nanos },
    Shed { service: Nanos, limit: usize },
    Warm { service: Nanos, factor_bits: u64, requests: u64 },
}

/// A virtual server's response to an arrival.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Due(Nanos),
    Shed,
    /// The maximum of virtual servers is reached.
    TooManyServers,
}

#[derive(Debug, Default)]
pub(crate) struct VirtualServers {
    servers: HashMap<ServerKey, VirtualServer>,
    warm_up: Option<WarmUpCurve>,
    delayed: u64,
}

impl VirtualServers {
    /// With `warming`, every server of the service is slow at first.
    pub(crate) fn new(warm_up: Option<WarmUpCurve>) -> Self {
        Self { warm_up, ..Self::default() }
    }

    /// Infinitely many servers: nobody waits.
    pub(crate) fn delay(&mut self, arrival: Nanos, service: Nanos) -> Nanos {
        self.delayed += 1;
        arrival + self.warm_up.map_or(service, |w| w.service_time(service, self.delayed - 1))
    }

    /// Admits a request to the server that `key` names.
    pub(crate) fn admit(&mut self, key: ServerKey, arrival: Nanos) -> Admission {
        if self.servers.len() >= SERVERS_LIMIT && !self.servers.contains_key(&key) {
            return Admission::TooManyServers;
        }
        let (size, service, limit, warm_up) = match key {
            ServerKey::Queue { service } => (1, service, None, self.warm_up),
            ServerKey::Pool { size, service } => (size, service, None, self.warm_up),
            ServerKey::Shed { service, limit } => (1, service, Some(limit), self.warm_up),
            ServerKey::Warm { service, factor_bits, requests } => {
                (1, service, None, Some(WarmUpCurve { factor: f64::from_bits(factor_bits), requests }))
            }
        };
        let server = self.servers.entry(key).or_insert_with(|| VirtualServer::new(size));
        let service = warm_up.map_or(service, |w| w.service_time(service, server.served));
        server.admit(arrival, service, limit).map_or(Admission::Shed, Admission::Due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Nanos = Nanos::from_micros;

    fn dues(key: ServerKey, arrivals_us: &[u64]) -> Vec<Option<u64>> {
        let mut servers = VirtualServers::default();
        let due = |a: &u64| match servers.admit(key, US(*a)) {
            Admission::Due(due) => Some(due.0 / 1_000),
            Admission::Shed => None,
            Admission::TooManyServers => panic!("one server is not too many"),
        };
        arrivals_us.iter().map(due).collect()
    }

    #[test]
    fn one_server_is_first_come_first_served() {
        let key = ServerKey::Queue { service: US(500) };
        assert_eq!(
            dues(key, &[0, 100, 200, 5_000, 5_499, 5_500]),
            [500, 1_000, 1_500, 5_500, 6_000, 6_500].map(Some)
        );
    }

    /// While requests wait, the n-th answer is due at exactly n service times, however late
    /// and out of order the arrivals are reported.
    #[test]
    fn a_busy_server_never_loses_time() {
        let mut servers = VirtualServers::default();
        let key = ServerKey::Queue { service: US(500) };
        for n in 1..=10_000_u64 {
            // Reported up to 7 of 32 service times late.
            let arrival = US((n.saturating_sub(32) * 500).saturating_sub(n % 7 * 500));
            assert_eq!(servers.admit(key, arrival), Admission::Due(US(n * 500)));
        }
    }

    #[test]
    fn many_servers_share_one_queue() {
        let key = ServerKey::Pool { size: 2, service: US(100) };
        assert_eq!(dues(key, &[0, 0, 0, 0, 150, 400]), [100, 100, 200, 200, 300, 500].map(Some));
        let one = ServerKey::Pool { size: 1, service: US(100) };
        assert_eq!(dues(one, &[0, 0, 150]), dues(ServerKey::Queue { service: US(100) }, &[0, 0, 150]));
    }

    #[test]
    fn shedding_keeps_at_most_the_limit_waiting() {
        let key = ServerKey::Shed { service: US(100), limit: 2 };
        assert_eq!(
            dues(key, &[0, 0, 0, 0, 99, 100, 100, 1_000]),
            [Some(100), Some(200), Some(300), None, None, Some(400), None, Some(1_100)]
        );
        let none_waits = ServerKey::Shed { service: US(100), limit: 0 };
        assert_eq!(dues(none_waits, &[0, 50, 100]), [Some(100), None, Some(200)]);
    }

    #[test]
    fn the_frozen_second_ends_each_period() {
        let (every, frozen) = (Nanos::from_secs(10), Nanos::from_secs(1));
        for (arrival_ms, due_ms) in
            [(0, 0), (8_999, 8_999), (9_000, 10_000), (9_999, 10_000), (10_000, 10_000), (19_500, 20_000)]
        {
            assert_eq!(
                after_freeze(Nanos::from_millis(arrival_ms), every, frozen),
                Nanos::from_millis(due_ms)
            );
        }
    }

    /// At an even 500/s over whole periods: a tenth of the arrivals wait, evenly over a second.
    #[test]
    fn a_frozen_service_has_the_quantiles_the_manual_promises() {
        let mut waits: Vec<u64> = (0..10_000)
            .map(|n| Nanos::from_millis(n * 2))
            .map(|a| (after_freeze(a, Nanos::from_secs(10), Nanos::from_secs(1)) - a).0 / 1_000_000)
            .collect();
        waits.sort_unstable();
        assert_eq!((waits[9_500 - 1], waits[9_900 - 1], waits[9_999]), (500, 900, 1_000));
    }

    #[test]
    fn warming_falls_from_factor_to_one() {
        let warming = WarmUpCurve { factor: 10.0, requests: 100 };
        assert_eq!(warming.service_time(US(500), 0), US(5_000));
        assert_eq!(warming.service_time(US(500), 50), Nanos(1_581_139));
        assert_eq!(warming.service_time(US(500), 100), US(500));
        assert_eq!(warming.service_time(US(500), u64::MAX), US(500));
        let mut servers = VirtualServers::new(Some(warming));
        assert_eq!(servers.delay(US(0), US(500)), US(5_000));
        let key = ServerKey::Queue { service: US(500) };
        assert_eq!(servers.admit(key, US(0)), Admission::Due(US(5_000)));
        for _ in 1..100 {
            servers.admit(key, US(0));
        }
        let Admission::Due(before) = servers.admit(key, US(0)) else { panic!("one server") };
        assert_eq!(servers.admit(key, US(0)), Admission::Due(before + US(500)));
    }

    #[test]
    fn there_is_a_limit_to_virtual_servers() {
        let mut servers = VirtualServers::default();
        for n in 0..SERVERS_LIMIT as u64 {
            assert_eq!(servers.admit(ServerKey::Queue { service: US(n) }, US(0)), Admission::Due(US(n)));
        }
        assert_eq!(servers.admit(ServerKey::Queue { service: US(5_000) }, US(0)), Admission::TooManyServers);
        assert_eq!(servers.admit(ServerKey::Queue { service: US(5) }, US(0)), Admission::Due(US(10)));
    }
}
