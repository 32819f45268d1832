//! More connections than one descriptor table holds.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use crate::client::crowd::ClientCrowd;
use crate::client::{service, settled};
use rustix::process::{Resource, Rlimit, setrlimit};
use torment_reference::{ConcurrencyModel, ListenAddress};

const LIMIT: u64 = 300;
const CONNECTIONS: usize = 900;
/// Nothing here takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

fn wait_until(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < PATIENCE, "it does not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// All are held at once, each of their requests is answered and counted, and nothing else is; and
/// the service's times are those that its clients' sockets saw.
#[test]
fn the_tables_of_all_loops_add_up() {
    if !testbed::is_own_process("reach::the_tables_of_all_loops_add_up") {
        return;
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(LIMIT), maximum: Some(LIMIT) }).expect("lower");
    let model = ConcurrencyModel::for_connections(CONNECTIONS as u64);
    assert_eq!(model, ConcurrencyModel::Async { loops: 4 });
    let service = service(model);
    let ListenAddress::Tcp(address) = service.address().clone() else { panic!("a TCP address") };
    let request = b"GET /json?ms=20 HTTP/1.1\r\nHost: a\r\n\r\n";
    let crowd = ClientCrowd::new(address, CONNECTIONS, 4, request);
    let counts = crowd.run(|crowd| {
        // Full loops must leave the last ones to others.
        wait_until(|| service.truth()["connections"]["open"] == CONNECTIONS);
        wait_until(|| crowd.connected.load(Relaxed) == CONNECTIONS);
        crowd.recording.store(true, Relaxed);
        crowd.sending.store(true, Relaxed);
        wait_until(|| service.truth()["patterns"]["/json"]["answered"].as_u64() > Some(5_000));
    });
    let truth = settled(&service);
    let json = &truth["patterns"]["/json"];
    assert_eq!(counts.failed, 0);
    assert_eq!(json["statuses"], serde_json::json!({ "200": counts.answered }));
    assert_eq!(json["abandoned"], 0);
    assert_eq!(truth["connections"]["accepted"], CONNECTIONS);
    // The service times a subset of what the client does: from arrival there to sending back. Both
    // arrival timestamps are the kernel's, so neither includes time spent on other connections.
    let p50 = json["service_us"]["p50"].as_f64().expect("a number");
    let seen_p50 = counts.arrived.value_at_quantile(0.5) as f64 / 1e3;
    assert!((seen_p50 / p50 - 1.0).abs() < 0.1, "the service says {p50} µs, its clients {seen_p50} µs");
    service.stop();
}
