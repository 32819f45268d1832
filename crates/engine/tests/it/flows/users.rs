//! What one user is given and sends back.

use super::{MS, counts, failures, job, offer};
use crate::flows::server::{ReceivedRequest, Reply, Server};
use crate::once_quiet;
use record::Failure;
use reference::{BuiltinService, ConcurrencyModel, ListenAddress, ServiceConfig};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use torment_engine::{Engine, LoadCommand, LoadGenerator, OfferedLoad, exchanges_once};
use units::Nanos;

const SHOP: &str = r#"
    [[flow]]
    name = "buy"
    [[flow.step]]
    name = "login"
    url = "/login"
    method = "POST"
    form = { user = "{uuid}" }
    expect_header = { Content-Type = "json" }
    expect_json = { "/ok" = "true" }
    take = { token = "json:/access/token", sid = "cookie:sid" }
    [[flow.step]]
    name = "cart"
    url = "/cart/{token}?sid={sid}"
    headers = { Authorization = "Bearer {token}" }
    expect_body = ["Welcome"]
    take = { csrf = "regex:name=\"csrf\" value=\"([^\"]*)\"", etag = "header:ETag" }
    [[flow.step]]
    name = "pay"
    url = "/pay"
    form = { csrf = "{csrf}", etag = "{etag}" }
"#;

/// A login returns a number, and everything later must be that user's own.
fn shop(request: &ReceivedRequest) -> Reply {
    let number = request.number;
    match request.path.as_str() {
        "/login" => Reply::ok(
            &[
                "Content-Type: application/json",
                &format!("Set-Cookie: sid=s{number}; Path=/; HttpOnly"),
                "Set-Cookie: gone=1; Max-Age=0",
            ],
            format!("{{\"ok\": true, \"access\": {{\"token\": \"t/{number} \\u00fc\"}}}}"),
        ),
        "/pay" => Reply::ok(&[], "paid"),
        _ => {
            let user = request.header("cookie").trim_start_matches("sid=s").to_owned();
            Reply::ok(
                &[
                    &format!("Set-Cookie: cart=c{user}; Path=/cart"),
                    &format!("Set-Cookie: theme=dark{user}"),
                    "ETag: e&1",
                ],
                format!("<p>Welcome</p><input name=\"csrf\" value=\"x+{user}\">"),
            )
        }
    }
}

#[test]
fn what_a_user_is_given_comes_back_from_that_user() {
    let server = Server::start(shop);
    let total = offer(&job(server.address.port(), SHOP), 100);
    assert_eq!(total.outcomes.ok, 100, "{:?}", total.failures);
    assert_eq!(counts(&total), [(100, 100, 0); 3]);
    assert_eq!((total.sent, total.statuses[&200]), (100, 300), "one arrival is one flow of three requests");
    let (mut users, mut payers) = (BTreeSet::new(), BTreeSet::new());
    for request in server.requests() {
        let cookies = request.header("cookie");
        match request.path.as_str() {
            "/login" => {
                assert_eq!(cookies, "", "a new user has no cookies");
                users.insert(request.number.to_string());
            }
            "/pay" => {
                let user = request.body.strip_prefix("csrf=x%2B").and_then(|b| b.strip_suffix("&etag=e%261"));
                let user = user.unwrap_or_else(|| panic!("{request:?}"));
                assert_eq!(request.method, "POST");
                assert_eq!(cookies, format!("sid=s{user}"), "the others are only for /cart");
                payers.insert(user.to_owned());
            }
            cart => {
                let user = cookies.strip_prefix("sid=s").unwrap_or_else(|| panic!("{request:?}"));
                assert_eq!(cart, format!("/cart/t/{user}%20%C3%BC?sid=s{user}"));
                assert_eq!(request.header("authorization"), format!("Bearer t/{user} ü"));
            }
        }
    }
    assert_eq!(users.len(), 100);
    assert_eq!(users, payers);
}

/// The same by hand: what `--once` shows.
#[test]
fn one_user_of_a_flow_is_shown_step_by_step() {
    let server = Server::start(shop);
    let job = job(server.address.port(), SHOP);
    let shown = exchanges_once(&job, false).expect("answers");
    assert_eq!(shown.iter().map(|e| &e.verdict).collect::<Vec<_>>(), [&Ok(()); 3]);
    let text = String::from_utf8_lossy(&shown[1].request).into_owned();
    assert!(text.contains("Cookie: sid=s0\r\n") && text.contains("/cart/t/0%20"), "{text}");
    assert_eq!(exchanges_once(&job, true).expect("answers").len(), 1);
    let nothing = Server::start(|_| Reply::ok(&["Content-Type: application/json"], "{\"ok\": false}"));
    let job = self::job(nothing.address.port(), SHOP);
    let shown = exchanges_once(&job, false).expect("answers");
    let why = "check: /ok is not \"true\"".to_owned();
    assert_eq!(shown.iter().map(|e| &e.verdict).collect::<Vec<_>>(), [&Err(Failure::Check(why))]);
}

#[test]
fn cookies_are_kept_only_if_the_plan_wants_it() {
    let server = Server::start(shop);
    let plan = SHOP.replace("name = \"buy\"", "cookies = false");
    let total = offer(&job(server.address.port(), &plan), 10);
    assert_eq!(total.outcomes.ok, 10, "{:?}", total.failures);
    assert!(server.requests().iter().all(|request| request.header("cookie").is_empty()));
}

/// A user's row of data is the same in every place and step.
#[test]
fn a_user_is_one_row_of_the_data() {
    for order in ["cycle", "random"] {
        let server = Server::start(|_| Reply::ok(&[], ""));
        let plan = r#"
            [data.users]
            file = "users.csv"
            order = "ORDER"
            [[flow]]
            [[flow.step]]
            url = "/{users.name}/{users.password}"
            [[flow.step]]
            url = "/again"
            form = { name = "{users.name}", user = "{users.name}/{users.password}" }
        "#;
        let total = offer(&job(server.address.port(), &plan.replace("ORDER", order)), 80);
        assert_eq!(total.outcomes.ok, 80, "{:?}", total.failures);
        let mut rows = BTreeMap::new();
        for ReceivedRequest { path, body, .. } in server.requests() {
            let user = if path == "/again" { &body[body.len() - 7..] } else { &path[1..] };
            let row = user.strip_prefix('u').and_then(|rest| rest.chars().next()).expect("a user");
            let same =
                [format!("u{row}/p{row}"), format!("u{row}%2Fp{row}")].iter().any(|s| user.ends_with(s));
            assert!(same, "{order}: {path} {body}");
            *rows.entry((path == "/again", row)).or_insert(0) += 1;
        }
        for row in "0123".chars() {
            assert_eq!(rows.get(&(false, row)), rows.get(&(true, row)), "{order}: {rows:?}");
            assert!(order == "random" || rows[&(true, row)] == 20, "{rows:?}");
        }
    }
}

/// A clinic that was not made for this: a form, a redirect read but not followed, a page, a count.
#[test]
fn a_flow_through_the_clinic() {
    let service =
        BuiltinService::start(ServiceConfig { model: ConcurrencyModel::ASYNC, ..ServiceConfig::default() })
            .expect("starts");
    let ListenAddress::Tcp(address) = service.address() else { panic!("a port") };
    let plan = r#"
        [[flow]]
        [[flow.step]]
        url = "/owners/new"
        form = { first_name = "Anna", last_name = "{uuid}", address = "1 Road", city = "Bonn", telephone = "{counter}" }
        expect_status = 302
        take = { owner = "header:Location" }
        [[flow.step]]
        url = "{owner}"
        expect_body = ["<h1>Owner</h1>", "Anna"]
        take = { name = "regex:<th>Name</th><td>([^<]*)</td>" }
        [[flow.step]]
        url = "/owners/count"
        expect_header = { Content-Type = "application/json" }
        expect_json = { "/owners" = "no such number" }
    "#;
    let total = offer(&job(address.port(), plan), 60);
    assert_eq!(service.truth()["patterns"]["/owners/{id}"]["received"], 60);
    assert_eq!(counts(&total), [(60, 60, 0), (60, 60, 0), (60, 0, 60)]);
    assert_eq!(failures(&total), [("check: /owners is not \"no such number\"".to_owned(), 60)]);
    assert_eq!((total.statuses[&302], total.statuses[&200]), (60, 120));
}

/// The user's pause is kept, and counts neither as response time nor as waiting.
#[test]
fn thinking_is_not_waiting() {
    once_quiet(|| {
        let server = Server::start(|_| Reply::ok(&[], ""));
        let plan = r#"
            [[flow]]
            [[flow.step]]
            url = "/one"
            [[flow.step]]
            url = "/two/{counter}"
            think = "300ms..600ms"
            [[flow.step]]
            url = "/three"
            think = "100ms"
        "#;
        let total = offer(&job(server.address.port(), &plan.replace("/one", "/one/{counter}")), 40);
        assert_eq!((total.outcomes.ok, counts(&total)), (40, vec![(40, 40, 0); 3]));
        let mut begun = BTreeMap::new();
        let mut pauses = Vec::new();
        for request in server.requests() {
            match request.path[1..].split_once('/') {
                Some(("one", user)) => _ = begun.insert(user.to_owned(), request.at),
                Some((_, user)) => pauses.push(request.at - begun[user]),
                None => {}
            }
        }
        pauses.sort_unstable();
        let (shortest, longest) = (pauses[0], pauses[pauses.len() - 1]);
        assert!(shortest >= Duration::from_millis(300), "{shortest:?}");
        if longest > Duration::from_millis(650) || longest - shortest < Duration::from_millis(150) {
            return Err(format!("pauses from {shortest:?} to {longest:?} instead of 300 to 600 ms"));
        }
        let response = total.response.max().expect("answers");
        if response > MS * 50 {
            return Err(format!("{response}: the pauses count"));
        }
        let waiting = total.outstanding_ns as f64 / total.elapsed.0 as f64;
        if waiting > 1.0 { Err(format!("{waiting} arrivals outstanding")) } else { Ok(()) }
    });
}

/// A closed loop of three connections has three users at a time, each of whom takes one flow after another.
#[test]
fn a_closed_loop_takes_flow_after_flow() {
    let server = Server::start(shop);
    let mut engine = Engine::start(&job(server.address.port(), SHOP)).expect("starts");
    let load = OfferedLoad::Closed { connections: 3, requests: Some(50), duration: None };
    let total = engine
        .run_trial(&load, Nanos::from_secs(10), &mut |_| {}, &mut |_| {}, &mut |_, _| LoadCommand::Continue)
        .total;
    assert_eq!((total.due, total.outcomes.ok), (50, 50), "{:?}", total.failures);
    assert_eq!(counts(&total), [(50, 50, 0); 3]);
    assert!(total.connects <= 3, "{} connections", total.connects);
}
