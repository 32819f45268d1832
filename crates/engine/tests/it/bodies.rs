//! Bodies of any size arrive whole, whichever side is slow, with and without TLS.

mod ends;
mod front;
mod server;

pub use front::TlsFront;
use plan::{Generator, HttpVersion, Origin, Payload, Target, Template};
use record::Slice;
use server::BYTES;
use std::net::SocketAddr;
use torment_engine::{
    Engine, EngineConfig, LoadCommand, LoadGenerator, OfferedLoad, ResolvedTarget, exchanges_once,
};
use units::Nanos;

/// Far longer than any of this takes: a hang shows as a timeout.
const TIMEOUT: Nanos = Nanos::from_secs(20);
/// Around what rustls accepts at once (64 KiB), what a socket accepts (some MiB), and beyond.
const SIZES: [usize; 6] = [60 << 10, 64 << 10, 65 << 10, 100_000, 1_300_000, 16 << 20];
const FRONTS: [(&str, TlsFront); 3] =
    [("no TLS", TlsFront::None), ("rustls", TlsFront::Rustls), ("OpenSSL", TlsFront::OpenSsl)];

/// Posts a body of this size to this path.
fn job(address: SocketAddr, tls: bool, http: HttpVersion, path: &str, size: usize) -> EngineConfig {
    let origin = Origin {
        insecure: true,
        http,
        streams: 2,
        ..Origin::new(tls, address.ip().to_string(), address.port())
    };
    let endpoint = ResolvedTarget::resolve(&Target::Http(origin)).expect("an address needs no look-up");
    let generator = Generator { cores: vec![0], ..Generator::default() };
    let mut job = EngineConfig { generator, ..EngineConfig::plain(endpoint, path, TIMEOUT) };
    if let Payload::Http(request) = &mut job.flows[0].steps[0].ask
        && size > 0
    {
        request.method = "POST".to_owned();
        request.body = Template::literal(&BYTES[..size]);
    }
    job
}

fn run(job: &EngineConfig, requests: u64) -> Slice {
    let mut engine = Engine::start(job).expect("starts");
    let offer = OfferedLoad::Closed { connections: 1, requests: Some(requests), duration: None };
    let total =
        engine.run_trial(&offer, TIMEOUT, &mut |_| {}, &mut |_| {}, &mut |_, _| LoadCommand::Continue).total;
    assert_eq!((total.due, total.outcomes.total()), (requests, requests), "{total:?}");
    total
}

/// All of it, by a single request and by a load.
fn arrives(name: &str, job: &EngineConfig, requests: u64) -> Slice {
    let once = exchanges_once(job, true).unwrap_or_else(|why| panic!("{name}: {why}"));
    assert_eq!((once[0].status, &once[0].verdict), (Some(200), &Ok(())), "{name}");
    let total = run(job, requests);
    assert_eq!(total.outcomes.ok, requests, "{name}: {:?} {:?}", total.outcomes, total.failures);
    total
}

/// rustls accepts 64 KiB at a time, and the rest waited for an event that never came, as the socket had never
/// been full. A single request waited only for an answer, not for room to write.
fn uploads(http: HttpVersion, server: impl Fn() -> SocketAddr) {
    for (front, open) in FRONTS {
        let Some(open) = open.open(server()) else { continue };
        for size in SIZES {
            let requests = if size > 1 << 20 { 1 } else { 3 };
            let job = job(open.address, open.tls, http, "/", size);
            arrives(&format!("{size} bytes, {front}"), &job, requests);
        }
        let slow = job(open.address, open.tls, http, "/slow", 16 << 20);
        arrives(&format!("slowly, {front}"), &slow, 1);
    }
}

#[test]
fn large_bodies_arrive_whole_by_http1() {
    uploads(HttpVersion::One, server::http1);
}

#[test]
fn large_bodies_arrive_whole_by_http2() {
    uploads(HttpVersion::Two, || server::http2(1 << 24, 1 << 20));
}

/// Windows that are used up again and again.
#[test]
fn large_bodies_arrive_whole_through_small_windows() {
    for (front, open) in FRONTS {
        let Some(open) = open.open(server::http2(65_535, 16_384)) else { continue };
        arrives(front, &job(open.address, open.tls, HttpVersion::Two, "/", 1_300_000), 2);
    }
}

#[test]
fn large_answers_are_read_to_their_end() {
    for (http, server) in
        [(HttpVersion::One, server::http1()), (HttpVersion::Two, server::http2(65_535, 16_384))]
    {
        for (front, open) in FRONTS {
            let Some(open) = open.open(server) else { continue };
            for size in [16_384, 65_536, 1_300_000, 16 << 20] {
                let path = format!("/answer/{size}");
                let name = format!("{size} bytes, {front}, {http:?}");
                let total = arrives(&name, &job(open.address, open.tls, http, &path, 0), 2);
                assert!(total.received_bytes > 2 * size as u64, "{name}: {}", total.received_bytes);
            }
        }
    }
}
