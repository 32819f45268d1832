//! The engine against the reference service, where the truth is known by arithmetic or from its own log.

use crate::once_quiet;
use plan::{Origin, Target};
use record::{Outcomes, Silence, Slice};
use reference::{BuiltinService, ConcurrencyModel, ListenAddress, ServiceConfig};
use schedule::Schedule;
use std::net::TcpListener;
use torment_engine::{
    Engine, EngineConfig, LoadCommand, LoadGenerator, OfferedLoad, ResolvedTarget, exchanges_once,
};
use units::{Nanos, Rate};

const MS: Nanos = Nanos::from_millis(1);

fn serve(model: ConcurrencyModel) -> BuiltinService {
    BuiltinService::start(ServiceConfig { model, ..ServiceConfig::default() })
        .expect("the reference service starts")
}

fn job(service: &BuiltinService, path: &str) -> EngineConfig {
    let (host, port, unix_socket) = match service.address() {
        ListenAddress::Tcp(address) => (address.ip().to_string(), address.port(), None),
        ListenAddress::Unix(path) => ("localhost".to_owned(), 80, Some(path.clone())),
    };
    let origin = Origin { unix_socket, ..Origin::new(false, host, port) };
    EngineConfig::plain(
        ResolvedTarget::resolve(&Target::Http(origin)).expect("an address"),
        path,
        Nanos::from_secs(5),
    )
}

fn offer(job: &EngineConfig, rate: f64, time: Nanos) -> Slice {
    offered(job, rate, time).0
}

/// With the silences detected.
fn offered(job: &EngineConfig, rate: f64, time: Nanos) -> (Slice, Vec<Silence>) {
    let mut silences = Vec::new();
    let mut engine = Engine::start(job).expect("starts");
    let load = OfferedLoad::Open(Schedule::constant(Rate(rate), time));
    let counted = engine.run_trial(
        &load,
        Nanos::from_secs(6),
        &mut |_| {},
        &mut |slice| silences.extend(&slice.silences),
        &mut |_, _| LoadCommand::Continue,
    );
    assert_eq!(counted.total.outcomes.total(), counted.total.due, "every arrival has one outcome");
    engine.settle(Nanos::from_secs(6), &|| false).expect("everything is answered");
    (counted.total, silences)
}

fn near(found: Option<Nanos>, truth: Nanos, within: Nanos) -> Result<(), String> {
    let found = found.ok_or("nothing was recorded")?;
    let error = (found - truth).max(truth - found);
    if error <= within { Ok(()) } else { Err(format!("{found} instead of {truth} ± {within}")) }
}

/// Connections take longer to make than requests to send. When one was made for each waiting request before
/// arrivals were checked again, lateness kept growing: beside a Go service torment took itself for the limit at
/// half of what both could do.
#[test]
fn arrivals_are_taken_up_before_connections_are_made() {
    once_quiet(|| {
        // With an empty accept queue each time: a full one accepts none, and those fail quickly.
        let nobody_answers = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = nobody_answers.local_addr().expect("it is bound").port();
        let origin = Origin::new(false, "127.0.0.1".to_owned(), port);
        let endpoint = ResolvedTarget::resolve(&Target::Http(origin)).expect("an address");
        let job = EngineConfig::plain(endpoint, "/", Nanos::from_secs(1));
        let mut engine = Engine::start(&job).expect("starts");
        let load = OfferedLoad::Open(Schedule::constant(Rate(100_000.0), MS * 3));
        let total =
            engine.run_trial(&load, MS, &mut |_| {}, &mut |_| {}, &mut |_, _| LoadCommand::Continue).total;
        assert_eq!(total.due, 300);
        let late = total.pacing.quantile(0.5).ok_or("nothing was due")?;
        if late < MS / 4 { Ok(()) } else { Err(format!("{late} late, {} connections", total.connections)) }
    });
}

/// Frozen for 1 s in every 10 at a constant rate: a tenth of the arrivals waits for an evenly distributed part
/// of a second, so the (0.9 + s/10) quantile is s seconds. Tools that ignore due times say 2 ms.
#[test]
fn a_frozen_server_is_not_flattered() {
    once_quiet(|| {
        let service = serve(ConcurrencyModel::ASYNC);
        let (total, silences) = offered(&job(&service, "/stall"), 500.0, Nanos::from_secs(20));
        assert_eq!((total.due, total.outcomes.ok), (10_000, 10_000));
        // Requests that come meanwhile may have to wait for a connection, too.
        near(total.response.quantile(0.95), MS * 500, MS * 20)?;
        near(total.response.quantile(0.99), MS * 900, MS * 10)?;
        near(total.response.max(), MS * 1000, MS * 20)?;
        let [first, second] = silences[..] else { return Err(format!("{silences:?}")) };
        near(Some(second.to - first.to), MS * 10_000, MS * 20)?;
        is_silent(&first, 500.0, MS * 1000)
    });
}

/// Checks that it has this length, that all that came due in it waited, and that all were answered at its end.
fn is_silent(silence: &Silence, rate: f64, long: Nanos) -> Result<(), String> {
    near(Some(silence.to - silence.from), long, MS * 30)?;
    let waiting = rate * long.as_secs_f64();
    let all = |count: u64| (count as f64 / waiting - 1.0).abs() < 0.1;
    let is_so = all(silence.waiting) && silence.freed.is_some_and(all);
    if is_so { Ok(()) } else { Err(format!("{silence:?}, and {waiting} came due")) }
}

/// Two loops detect one common silence, and none if the target is merely slow: one of its answers always
/// arrives.
#[test]
fn loops_hear_a_silence_together() {
    once_quiet(|| {
        let service = serve(ConcurrencyModel::ASYNC);
        let with_two = |path: &str| {
            let mut job = job(&service, path);
            job.generator.cores = vec![0, 1];
            job
        };
        if sys::check_processors(&[0, 1]).is_err() {
            eprintln!("SKIPPED: there are no two processors");
            return Ok(());
        }
        let (_, silences) = offered(&with_two("/stall?every=2s&for=300ms"), 400.0, Nanos::from_secs(3));
        let [silence] = silences[..] else { return Err(format!("{silences:?}")) };
        // Each loop sends half.
        is_silent(&silence, 200.0, MS * 300)?;
        let (_, silences) = offered(&with_two("/delay?ms=400"), 100.0, Nanos::from_secs(2));
        if silences.is_empty() { Ok(()) } else { Err(format!("slow, not silent: {silences:?}")) }
    });
}

/// A silence at the end of the load is waited for, and then as long as answering the backlog takes; but not
/// forever.
#[test]
fn a_silence_at_the_end_is_waited_for() {
    let silent = |path: &str, load: Nanos| {
        let service = serve(ConcurrencyModel::ASYNC);
        let mut engine = Engine::start(&job(&service, path)).expect("starts");
        let load = OfferedLoad::Open(Schedule::constant(Rate(200.0), load));
        let mut silences: Vec<Silence> = Vec::new();
        let on_slice = &mut |slice: &Slice| silences.extend(&slice.silences);
        let outcomes = engine
            .run_trial(&load, MS * 100, &mut |_| {}, on_slice, &mut |_, _| LoadCommand::Continue)
            .total
            .outcomes;
        engine.settle(Nanos::from_secs(9), &|| false).expect("everything is answered");
        (outcomes, silences.last().copied())
    };
    once_quiet(|| {
        let (outcomes, last) = silent("/stall?every=2s&for=900ms", MS * 1500);
        let last = last.ok_or("none")?;
        match last.freed {
            Some(_) if outcomes.ok == 300 => near(Some(last.to - last.from), MS * 900, MS * 60),
            _ => Err(format!("{outcomes:?}, {last:?}")),
        }
    });
    once_quiet(|| {
        let (outcomes, last) = silent("/stall?every=8s&for=7500ms", MS * 1000);
        let last = last.ok_or("none")?;
        match last.freed {
            None if outcomes.unfinished + outcomes.timeout > 90 => {
                near(Some(last.to), MS * 1000 + record::MAX_CATCH_UP, MS * 60)
            }
            _ => Err(format!("{outcomes:?}, {last:?}")),
        }
    });
}

/// One server of 2 ms offered 600/s for 3 s: 1,500 are answered in time, the queue grows by 100/s.
#[test]
fn an_overloaded_queue_grows_as_it_must() {
    for model in [ConcurrencyModel::ASYNC, ConcurrencyModel::Threads, ConcurrencyModel::POOL] {
        once_quiet(|| {
            let service = serve(model);
            let total = offer(&job(&service, "/queue?us=2000"), 600.0, Nanos::from_secs(3));
            assert_eq!((total.due, total.outcomes.ok), (1800, 1800), "{model:?}");
            let last = total.outstanding.last().copied().unwrap_or(0.0);
            if (last - 297.0).abs() > 15.0 {
                return Err(format!("{model:?}: {last} outstanding at the end instead of 297"));
            }
            near(total.response.max(), MS * 600, MS * 30)
        });
    }
}

/// Bodies by length, by chunks and until close; interim answers; redirects and errors unchanged.
#[test]
fn every_kind_of_answer_is_counted() {
    let service = serve(ConcurrencyModel::ASYNC);
    for path in [
        "/bytes?n=100000",
        "/bytes?n=100000&chunked=1",
        "/bytes?n=100000&close=1",
        "/continue",
        "/status/302",
        "/status/204",
    ] {
        let total = offer(&job(&service, path), 100.0, Nanos::from_millis(500));
        let ok = Outcomes { ok: 50, ..Outcomes::default() };
        assert_eq!(total.outcomes, ok, "{path}: {:?}", total.failures);
    }
    let total = offer(&job(&service, "/status/503"), 100.0, Nanos::from_millis(500));
    assert_eq!((total.outcomes.failed, total.statuses.get(&503)), (50, Some(&50)));
    assert!(total.response.is_empty(), "failures do not improve the response times");
}

#[test]
fn what_the_target_logged_is_what_was_sent() {
    once_quiet(|| {
        let service = serve(ConcurrencyModel::ASYNC);
        let total = offer(&job(&service, "/delay?ms=20"), 250.0, Nanos::from_secs(2));
        assert_eq!(total.outcomes.ok, 500);
        assert_eq!(service.truth()["patterns"]["/delay"]["received"], 500);
        assert!(total.service.quantile(0.5) <= total.response.quantile(0.5));
        // 20 ms plus the wake-ups of both sides.
        near(total.response.quantile(0.5), MS * 20, MS * 2)
    });
}

#[test]
fn a_unix_socket_carries_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let listen = ListenAddress::Unix(folder.path().join("torment.sock"));
    let service = BuiltinService::start(ServiceConfig {
        listen,
        model: ConcurrencyModel::ASYNC,
        ..ServiceConfig::default()
    })
    .expect("starts");
    let total = offer(&job(&service, "/delay?ms=5"), 100.0, Nanos::from_secs(1));
    assert_eq!(total.outcomes.ok, 100);
}

#[test]
fn time_outs_are_counted_and_waited_for() {
    once_quiet(|| {
        let service = serve(ConcurrencyModel::ASYNC);
        let mut job = job(&service, "/delay?ms=2000");
        job.flows[0].steps[0].timeout = MS * 300;
        let mut engine = Engine::start(&job).expect("starts");
        let load = OfferedLoad::Open(Schedule::constant(Rate(50.0), Nanos::from_secs(1)));
        let counted =
            engine.run_trial(&load, MS * 1000, &mut |_| {}, &mut |_| {}, &mut |_, _| LoadCommand::Continue);
        assert_eq!((counted.total.due, counted.total.outcomes.timeout), (50, 50));
        near(counted.total.response.quantile(0.5), MS * 300, MS * 10)
    });
}

#[test]
fn what_is_open_at_the_end_is_unfinished() {
    let service = serve(ConcurrencyModel::ASYNC);
    let job = job(&service, "/delay?ms=1500");
    let mut engine = Engine::start(&job).expect("starts");
    let load = OfferedLoad::Open(Schedule::constant(Rate(100.0), Nanos::from_secs(1)));
    let counted =
        engine.run_trial(&load, MS * 100, &mut |_| {}, &mut |_| {}, &mut |_, _| LoadCommand::Continue);
    assert_eq!((counted.total.due, counted.total.outcomes.unfinished), (100, 100));
    engine.settle(Nanos::from_secs(5), &|| false).expect("all is answered in the end");
    // The connections are still good.
    let counted =
        engine.run_trial(&load, MS * 2000, &mut |_| {}, &mut |_| {}, &mut |_, _| LoadCommand::Continue);
    assert_eq!((counted.total.outcomes.ok, counted.total.connects), (100, 0));
}

#[test]
fn over_the_cap_arrivals_are_refused() {
    let service = serve(ConcurrencyModel::ASYNC);
    let mut job = job(&service, "/delay?ms=1000");
    job.generator.outstanding = 20;
    let total = offer(&job, 100.0, Nanos::from_millis(500));
    assert_eq!((total.outcomes.ok, total.outcomes.refused), (20, 30));
}

#[test]
fn a_target_that_goes_away_is_data() {
    // Nobody else listens at this address: the port stays free when it stops.
    let listen = ListenAddress::Tcp(([127, 0, 7, 2], 0).into());
    let config = ServiceConfig { model: ConcurrencyModel::ASYNC, listen, ..ServiceConfig::default() };
    let service = BuiltinService::start(config).expect("the reference service starts");
    let job = job(&service, "/delay?ms=1");
    assert!(exchanges_once(&job, true).expect("answers")[0].verdict.is_ok());
    service.stop();
    let error = exchanges_once(&job, true).expect_err("nothing listens").to_string();
    assert!(error.contains("refuses connections"), "{error}");
    let mut engine = Engine::start(&job).expect("starts");
    let load = OfferedLoad::Open(Schedule::constant(Rate(200.0), Nanos::from_millis(500)));
    let counted =
        engine.run_trial(&load, MS * 100, &mut |_| {}, &mut |_| {}, &mut |_, _| LoadCommand::Continue);
    assert_eq!((counted.total.due, counted.total.outcomes.failed), (100, 100), "{:?}", counted.total);
}

/// A listener whose accept queue is full drops packets: connections are never made. Once, a hundred pending
/// ones kept all later ones from being tried.
#[test]
fn connections_that_are_never_made_are_given_up() {
    let listener =
        rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None)
            .expect("a socket");
    let any = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    rustix::net::bind(&listener, &any).expect("a free port");
    rustix::net::listen(&listener, 0).expect("listens");
    let address =
        std::net::SocketAddr::try_from(rustix::net::getsockname(&listener).expect("a name")).expect("TCP");
    let service = serve(ConcurrencyModel::ASYNC);
    let mut job = job(&service, "/");
    let origin = Origin::new(false, address.ip().to_string(), address.port());
    job.endpoint = ResolvedTarget::resolve(&Target::Http(origin)).expect("an address");
    job.flows[0].steps[0].timeout = MS * 400;
    let total = offer(&job, 200.0, Nanos::from_secs(2));
    assert_eq!((total.due, total.outcomes.ok), (400, 0));
    assert!(total.outcomes.failed > 0, "some failed for lack of a connection: {:?}", total.outcomes);
    assert!(total.failures.keys().all(|why| why.to_string().contains("timed out")), "{:?}", total.failures);
}

/// Connections left by an overload would be closed by the target itself, all at once, in the middle of the next
/// trial.
#[test]
fn a_trial_inherits_the_connections_that_it_needs() {
    let service = serve(ConcurrencyModel::ASYNC);
    let after = |path: &str, rates: &[f64]| {
        let mut engine = Engine::start(&job(&service, path)).expect("starts");
        let mut trial = |rate: &f64| {
            let load = OfferedLoad::Open(Schedule::constant(Rate(*rate), Nanos::from_secs(2)));
            let mut most = 0;
            let on_slice = &mut |slice: &Slice| most = most.max(slice.connections);
            let total = engine
                .run_trial(&load, MS * 1000, &mut |_| {}, on_slice, &mut |_, _| LoadCommand::Continue)
                .total;
            engine.settle(Nanos::from_secs(20), &|| false).expect("everything is answered");
            (total.outcomes.bad() > 0, most, total.connects)
        };
        rates.iter().map(&mut trial).collect::<Vec<_>>()
    };
    // One server handles 200 a second.
    let queue = after("/queue?us=5000", &[50.0, 600.0, 50.0]);
    let [(false, ..), (true, overloaded, _), (false, later, _)] = queue[..] else { panic!("{queue:?}") };
    assert!(overloaded > 100 && later <= 100, "{queue:?}");
    // Two hundred are in use all the time: they stay.
    let delay = after("/delay?ms=500", &[400.0, 400.0]);
    let [(false, first, made), (false, _, anew)] = delay[..] else { panic!("{delay:?}") };
    assert!(first >= 200 && made >= 200 && anew <= 20, "{delay:?}");
}
