//! Flows that do not come to their end, and why.

use super::{MS, counts, failures, job, offer, run};
use crate::flows::server::{Reply, Server};
use record::Failure;
use std::time::Duration;
use torment_engine::Engine;

/// A flow ends where it fails, whatever comes later; what failed is said in the plan's words.
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
            // One request alone is checked like a flow.
            let total = offer(&job(server.address.port(), &format!("[request]\n{keys}")), 20);
            assert_eq!((total.outcomes.failed, failures(&total)), (20, vec![(why.to_owned(), 20)]), "{keys}");
        }
    }
    assert!(server.heard().iter().all(|request| request.path != "/never"));
}

/// Silence at the second step: the flow is given up by that step's own time-out, others go on.
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

/// A trial that ends while users think, wait and queue: all are accounted for, and the next trial
/// begins with new users.
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
        think = "5s"
    "#;
    let mut engine = Engine::start(&job(server.address.port(), plan)).expect("starts");
    for _ in 0..2 {
        let total = run(&mut engine, 40, MS * 200);
        assert_eq!(total.outcomes.unfinished, 40, "{:?}", total.failures);
        assert_eq!(counts(&total), [(40, 40, 0), (40, 20, 20), (0, 0, 0)]);
    }
}
