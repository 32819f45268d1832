//! The known truths hold, whatever the machine does: nothing is ever answered early, and nothing
//! is lost or counted twice. How late answers are depends on the machine, and is not tested.

use crate::client;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::client::{Client, MODELS, service};
use torment_reference::{BuiltinService, ConcurrencyModel, ServiceConfig, WarmUpCurve};

/// Sends requests one after another on each of `connections`, for `time`. Returns the number of
/// answers with status 200 and the time from the first request to the last answer.
fn closed_loop(
    service: &BuiltinService,
    connections: usize,
    time: Duration,
    target: &str,
) -> (u64, Duration) {
    let (done, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..connections {
            scope.spawn(|| {
                let mut client = Client::of(service);
                while !over.load(Ordering::Relaxed) {
                    if client.get(target).status == 200 {
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        std::thread::sleep(time);
        over.store(true, Ordering::Relaxed);
    });
    (done.into_inner(), start.elapsed())
}

/// Every request that was answered is in the log, and nothing else.
fn check_log(service: &BuiltinService, pattern: &str, done: u64) {
    let truth = client::settled(service);
    let p = &truth["patterns"][pattern];
    for (name, expected) in [("received", done), ("answered", done), ("abandoned", 0), ("in_flight", 0)] {
        assert_eq!(p[name], expected, "{name} of {p:#}");
    }
    assert_eq!(p["statuses"]["200"], done);
    assert_eq!(p["service_us"]["count"], done);
}

#[test]
fn a_queue_never_exceeds_its_capacity() {
    for model in [
        ConcurrencyModel::POOL,
        ConcurrencyModel::Pool { workers: 3, queue: 1_000 },
        ConcurrencyModel::Threads,
        ConcurrencyModel::ASYNC,
    ] {
        let service = service(model);
        let (done, time) = closed_loop(&service, 32, Duration::from_secs(1), "/queue?us=500");
        let capacity = time.as_micros() as u64 / 500;
        assert!(done <= capacity, "{model:?}: {done} answers in {time:?}, more than {capacity}");
        assert!(done > 0);
        check_log(&service, "/queue", done);
    }
}

#[test]
fn a_pool_of_servers_never_exceeds_its_capacity() {
    for model in MODELS {
        let service = service(model);
        let (done, time) = closed_loop(&service, 32, Duration::from_millis(500), "/pool?size=10&ms=20");
        let capacity = 10 * (time.as_millis() as u64 / 20);
        assert!(done <= capacity, "{model:?}: {done} answers in {time:?}, more than {capacity}");
        check_log(&service, "/pool", done);
    }
}

#[test]
fn nothing_is_answered_early() {
    for model in MODELS {
        let service = service(model);
        let mut client = Client::of(&service);
        for ms in [0, 1, 7, 30, 120] {
            let start = Instant::now();
            assert_eq!(client.get(&format!("/delay?ms={ms}")).status, 200);
            assert!(
                start.elapsed() >= Duration::from_millis(ms),
                "{model:?}: {ms} ms in {:?}",
                start.elapsed()
            );
        }
        // Ten requests at once to one server of 10 ms: the n-th answer takes n times 10 ms.
        let mut clients: Vec<Client> = (0..10).map(|_| Client::of(&service)).collect();
        let start = Instant::now();
        for client in &mut clients {
            client.send(b"GET /queue?us=10000 HTTP/1.1\r\nHost: a\r\n\r\n");
        }
        let mut times: Vec<Duration> = std::thread::scope(|scope| {
            let waits: Vec<_> = clients
                .iter_mut()
                .map(|client| {
                    scope.spawn(move || {
                        client.answer();
                        start.elapsed()
                    })
                })
                .collect();
            waits.into_iter().map(|wait| wait.join().expect("an answer")).collect()
        });
        times.sort_unstable();
        for (n, time) in (1..).zip(&times) {
            assert!(*time >= Duration::from_millis(10) * n, "{model:?}: answer {n} after {time:?}");
        }
    }
}

#[test]
fn shedding_says_no_at_once() {
    for model in MODELS {
        let service = service(model);
        let mut clients: Vec<Client> = (0..8).map(|_| Client::of(&service)).collect();
        for client in &mut clients {
            client.send(b"GET /shed?us=1000000&limit=1 HTTP/1.1\r\nHost: a\r\n\r\n");
        }
        let mut statuses: Vec<u16> = clients.iter_mut().map(|client| client.answer().status).collect();
        statuses.sort_unstable();
        // One is served, one waits; a third could be admitted only a second later.
        assert_eq!(statuses, [200, 200, 503, 503, 503, 503, 503, 503], "{model:?}");
    }
}

#[test]
fn a_cold_service_is_slow_at_first() {
    let warming = Some(WarmUpCurve { factor: 20.0, requests: 10 });
    for model in MODELS {
        let service =
            BuiltinService::start(ServiceConfig { model, warm_up: warming, ..ServiceConfig::default() })
                .expect("a free port");
        let mut client = Client::of(&service);
        let start = Instant::now();
        for _ in 0..10 {
            client.get("/delay?ms=1");
        }
        // The sum of 20^(1 − k/10) for k from 0 to 9.
        let sum: f64 = (0..10).map(|k| 20_f64.powf(1.0 - f64::from(k) / 10.0)).sum();
        assert!(start.elapsed().as_secs_f64() * 1e3 >= sum, "{model:?}: {:?} < {sum} ms", start.elapsed());
    }
}

#[test]
fn the_log_is_reset_and_does_not_count_itself() {
    let service = service(ConcurrencyModel::ASYNC);
    let mut client = Client::of(&service);
    client.get("/healthz");
    client.get("/status/404");
    client::settled(&service);
    let before: serde_json::Value = serde_json::from_slice(&client.get("/truth?reset=1").body).expect("JSON");
    assert_eq!(before["patterns"]["/healthz"]["answered"], 1);
    assert_eq!(before["patterns"]["/status/{code}"]["statuses"]["404"], 1);
    assert_eq!(before["connections"]["open"], 1);
    assert_eq!(before["model"], "async");
    let after: serde_json::Value = serde_json::from_slice(&client.get("/truth").body).expect("JSON");
    assert_eq!(after["patterns"], serde_json::json!({}));
    assert_eq!((&after["connections"]["accepted"], &after["connections"]["peak"]), (&0.into(), &1.into()));
}

/// A client that leaves in the middle of its answer is neither answered nor lost.
#[test]
fn who_goes_away_is_counted() {
    for model in MODELS {
        let service = service(model);
        let mut client = Client::of(&service);
        client.send(b"GET /bytes?n=1000000000 HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(client.head().0, 200);
        drop(client);
        let p = &client::settled(&service)["patterns"]["/bytes"];
        assert_eq!((&p["received"], &p["abandoned"], &p["answered"]), (&1.into(), &1.into(), &0.into()));
    }
}
