//! Flows that do not complete, and why.

use super::{MS, counts, failures, job, offer, run, run_until};
use crate::flows::server::{Reply, Server};
use record::Failure;
use schedule::Schedule;
use std::time::{Duration, Instant};
use torment_engine::{Engine, LoadCommand, LoadGenerator, OfferedLoad};
use units::Rate;

/// A flow ends where it fails, whatever comes later; the failure is described in the plan's words.
#[test]
fn failed_checks_and_takes_are_counted_with_their_reasons() {
    let server = Server::start(|request| match request.path.as_str() {
        "/odd" => Reply::Answer(418, vec!["X-Id: 1".to_owned()], "{}".to_owned()),
        "/json" => Reply::ok(&["Set-Cookie: a=b"], format!("{{\"n\": {}, \"s\": \"x\"}}", request.number)),
        _ => Reply::ok(&[], "<p>Hello</p>"),
    });
    for (keys, why) in [
        ("url = '/'\nexpect_body = ['Hello', 'Welcome']", "check: the body does not contain \"Welcome\""),
        ("url = '/'\nexpect_header = { ETag = '' }", "check: header ETag is missing"),
        ("url = '/json'\nexpect_json = { '/n' = 'x' }", "check: /n is not \"x\""),
        ("url = '/'\nexpect_json = { '/n' = '1' }", "check: the body is not JSON"),
        ("url = '/odd'\nexpect_body = ['Welcome']", "status 418"),
        ("url = '/json'\ntake = { t = 'json:/m' }", "take t: no value at /m"),
        ("url = '/json'\ntake = { t = 'cookie:b' }", "take t: no cookie b is set"),
        ("url = '/'\ntake = { t = 'regex:[0-9]+' }", "take t: the body does not match \"[0-9]+\""),
    ] {
        let plan = format!("[[flow]]\n[[flow.step]]\n{keys}\n[[flow.step]]\nurl = '/never'");
        let total = offer(&job(server.address.port(), &plan), 20);
        assert_eq!((total.outcomes.failed, failures(&total)), (20, vec![(why.to_owned(), 20)]), "{keys}");
        assert_eq!(counts(&total), [(20, 0, 20), (0, 0, 0)], "{keys}");
        assert!(total.response.is_empty(), "failures do not improve the response times");
        if keys.contains("expect") {
            // A single request is checked like a flow.
            let total = offer(&job(server.address.port(), &format!("[request]\n{keys}")), 20);
            assert_eq!((total.outcomes.failed, failures(&total)), (20, vec![(why.to_owned(), 20)]), "{keys}");
        }
    }
    assert!(server.requests().iter().all(|request| request.path != "/never"));
}

/// Silence at the second step: the flow is given up by that step's own timeout, others go on.
#[test]
fn a_step_that_is_never_answered_ends_its_flow() {
    let server = Server::start(|request| match request.path.as_str() {
        "/two/1" => Reply::Silence,
        _ => Reply::ok(&["Set-Cookie: a=b"], ""),
    });
    let plan = r#"
        [[flow]]
        [[flow.step]]
        url = "/one"
        [[flow.step]]
        url = "/two/{1..2}"
        timeout = "300ms"
        think = "50ms"
        [[flow.step]]
        url = "/three"
    "#;
    let total = offer(&job(server.address.port(), plan), 40);
    assert_eq!((total.outcomes.ok, total.outcomes.timeout), (20, 20), "{:?}", total.failures);
    assert_eq!(counts(&total), [(40, 40, 0), (40, 20, 20), (20, 20, 0)]);
    let second = total.parts[1].response.max().expect("time-outs count");
    assert!(second >= MS * 300 && total.response.max() >= Some(MS * 300), "{second}");
    assert_eq!((total.response.count(), total.parts[1].response.count()), (40, 40));
}

/// The server closes: in the middle of an answer, after an answer, before any.
#[test]
fn connections_that_end_within_a_flow() {
    let server = Server::start(|request| match request.path.as_str() {
        "/one" => Reply::ok(&["Set-Cookie: a=b", "Connection: close"], "{\"t\": 7}"),
        "/two/1" => Reply::Break,
        path if path.starts_with("/two") && request.header("cookie") == "a=b" => Reply::ok(&[], ""),
        "/three/7" => Reply::ok(&["Connection: close"], ""),
        _ => Reply::Answer(500, Vec::new(), String::new()),
    });
    let plan = r#"
        [[flow]]
        [[flow.step]]
        url = "/one"
        take = { t = "json:/t" }
        [[flow.step]]
        url = "/two/{1..4}"
        [[flow.step]]
        url = "/three/{t}"
    "#;
    let total = offer(&job(server.address.port(), plan), 40);
    assert_eq!((total.outcomes.ok, total.outcomes.failed), (30, 10));
    assert_eq!(total.failures.get(&Failure::Closed), Some(&10), "{:?}", total.failures);
    assert_eq!(counts(&total), [(40, 40, 0), (40, 30, 10), (30, 30, 0)]);
    let port = server.address.port();
    drop(server);
    // What connects now may be the last that is accepted and closed; the rest is refused.
    let total = offer(&job(port, plan), 20);
    assert_eq!(total.outcomes.failed, 20, "{:?}", total.failures);
}

/// A trial stopped while users pause, wait and queue: all are accounted for, no pause is waited for, and the
/// next trial begins with new users.
#[test]
fn users_do_not_outlive_their_trial() {
    let server = Server::start(|request| match request.path.as_str() {
        "/two/1" => {
            std::thread::sleep(Duration::from_millis(900));
            Reply::ok(&[], "")
        }
        "/one" if !request.header("cookie").is_empty() => Reply::Answer(500, Vec::new(), String::new()),
        _ => Reply::ok(&[&format!("Set-Cookie: a={}", request.number)], ""),
    });
    let plan = r#"
        [[flow]]
        [[flow.step]]
        url = "/one"
        [[flow.step]]
        url = "/two/{1..2}"
        [[flow.step]]
        url = "/three"
        think = "60s"
    "#;
    let mut engine = Engine::start(&job(server.address.port(), plan)).expect("starts");
    for _ in 0..2 {
        let began = Instant::now();
        let total = run_until(&mut engine, 40, MS * 200, || began.elapsed() > Duration::from_millis(200));
        assert_eq!(total.outcomes.unfinished, 40, "{:?}", total.failures);
        assert_eq!(counts(&total), [(40, 40, 0), (40, 20, 20), (0, 0, 0)]);
        assert!(began.elapsed() < Duration::from_secs(20), "the pauses were waited for");
    }
}

/// Users who paused when the load ended, a little longer than the drain, once counted as failed by the target:
/// with pauses of seconds, every load had some.
#[test]
fn pauses_run_out_after_the_load() {
    let server = Server::start(|request| match request.path.as_str() {
        "/three/1" => {
            std::thread::sleep(Duration::from_millis(1500));
            Reply::ok(&[], "")
        }
        _ => Reply::ok(&[], ""),
    });
    let plan = r#"
        [[flow]]
        [[flow.step]]
        url = "/one"
        [[flow.step]]
        url = "/two"
        think = "400ms..600ms"
        [[flow.step]]
        url = "/three/{1..2}"
        think = "300ms"
    "#;
    let mut engine = Engine::start(&job(server.address.port(), plan)).expect("starts");
    let total = run(&mut engine, 40, MS * 500);
    // The last request has a drain of its own, from its due time; what is not answered by then is unfinished as
    // usual.
    assert_eq!((total.outcomes.ok, total.outcomes.unfinished), (20, 20), "{:?}", total.failures);
    assert_eq!(counts(&total), [(40, 40, 0), (40, 40, 0), (40, 20, 20)]);
    assert!(total.response.max().is_some_and(|longest| longest < MS * 1400), "{:?}", total.response.max());
}

/// A request with a short timeout once waited behind one with a minute, as long as that did.
#[test]
fn each_request_that_waits_has_its_own_time() {
    let server = Server::start(|_| Reply::Silence);
    let plan = r#"
        [[request]]
        url = "/patient"
        timeout = "60s"
        [[request]]
        url = "/hasty"
        timeout = "300ms"
    "#;
    let mut job = job(server.address.port(), plan);
    job.generator.connections = 1;
    let mut engine = Engine::start(&job).expect("starts");
    let load = OfferedLoad::Open(Schedule::constant(Rate(400.0), MS * 100));
    let total =
        engine.run_trial(&load, MS * 1500, &mut |_| {}, &mut |_| {}, &mut |_, _| LoadCommand::Continue).total;
    // Which of the two an arrival is, is random: about half each.
    let (hasty, patient) = (total.outcomes.timeout, total.outcomes.unfinished);
    assert!(hasty >= 8 && patient >= 8 && hasty + patient == 40, "{hasty} hasty, {patient} patient");
    let slower = total.response.count_above(MS * 1000);
    assert_eq!(slower, patient, "{slower} were given up late");
}
