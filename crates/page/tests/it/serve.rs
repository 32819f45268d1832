//! The page over real sockets: what can be requested, and by whom.

use crate::client::{
    PATIENCE, StoreFolder, begin_run, connect, cut_short, end_run, record_load, send, serve,
};
use record::{CallNode, CodeFunction, Event, Profile, StackCount};
use std::io::{ErrorKind, Read};
use std::thread::sleep;
use std::time::{Duration, Instant};
use torment_page::is_built;

const TOKEN: &str = "a-token-of-ours";

#[test]
fn the_page_says_what_may_happen_on_it() {
    let folder = StoreFolder::new();
    let served = folder.serve(None);
    let answer = served.get("/");
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("content-type: text/html; charset=utf-8"), "{}", answer.head);
    let has_place = answer.body.contains("id=\"document\">null</script>");
    let says_so = answer.body.contains("built without its page");
    assert_eq!((has_place, says_so), (is_built(), !is_built()));
    for path in ["/", "/api/history", "/api/runs/none", "/elsewhere"] {
        let head = served.get(path).head;
        for expected in [
            "content-security-policy: default-src 'none'",
            "connect-src 'self'",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
        ] {
            assert!(head.contains(expected), "{path}: '{expected}' is missing from\n{head}");
        }
        assert!(!head.contains("access-control-allow"), "{path}: {head}");
    }
}

#[test]
fn runs_are_listed_and_shown() {
    let folder = StoreFolder::new();
    let store = folder.store();
    let served = folder.serve(None);
    assert_eq!(served.json("/api/history")["runs"].as_array().map(Vec::len), Some(0));
    let mut recording = begin_run(&store, "20261120-1-aaa", "http://<b>one</b>/");
    record_load(&mut recording, 0..5);
    end_run(recording);
    end_run(begin_run(&store, "20261120-2-bbb", "http://two/"));

    let runs = served.json("/api/history");
    let runs = runs["runs"].as_array().expect("runs");
    let ids: Vec<_> = runs.iter().map(|run| run["id"].as_str().expect("an id")).collect();
    assert_eq!(ids, ["20261120-2-bbb", "20261120-1-aaa"], "begun at the same time, the latter first");
    assert_eq!((&runs[1]["target"], &runs[1]["state"]), (&"http://<b>one</b>/".into(), &"ended".into()));
    let some = served.json("/api/history?target=two&limit=5");
    assert_eq!(some["runs"].as_array().map(Vec::len), Some(1), "{some}");
    assert!(served.refuses("/api/history?limit=many", 400).contains("'many' is not a number of runs"));

    let document = served.json("/api/runs/20261120-1");
    assert_eq!(document["schema"], view::document::SCHEMA);
    let head = &document["front"]["head"];
    assert_eq!((&head["id"], &head["state"]), (&"20261120-1-aaa".into(), &"ended".into()), "{head}");
    let rows = document["timeline"]["at"].as_array().map(Vec::len);
    assert!(rows >= Some(4), "five seconds: {rows:?}");
    assert_eq!(served.json("/api/runs/last")["front"]["head"]["id"], "20261120-2-bbb");
    assert!(served.refuses("/api/runs/2027", 404).contains("no run '2027' among the 2 kept"));
    assert!(served.refuses("/api/runs/2026", 404).contains("more than one run begins with '2026'"));
    assert!(served.refuses("/api/runs/2027/events", 404).contains("no run '2027'"));
    assert!(served.refuses("/api/runs/2027/picture.svg", 404).contains("no run '2027'"));
    assert!(served.refuses("/api/runs/last/picture.svg", 404).contains("has no picture"));
    assert!(
        served.refuses("/api/runs/last,last/picture.svg", 400).contains("already in the list"),
        "of several"
    );
    assert!(served.refuses("/api/nowhere", 404).contains("/api/history"));
    let answer = served.ask("POST", "/api/history", &[("Host", "localhost"), ("Content-Length", "0")]);
    assert_eq!((answer.status, answer.json()["error"].as_str()), (405, Some("only GET is answered here")));
}

#[test]
fn the_page_of_a_run_begins_there() {
    let folder = StoreFolder::new();
    let served = folder.serve(None);
    assert_eq!(served.json("/api/home")["home"], "#/");
    served.page.set_home_run(&record::RunId("20261120-1-aaa".to_owned()));
    served.page.set_home_run(&record::RunId("20261120-2-bbb".to_owned()));
    assert_eq!(
        served.json("/api/home")["home"],
        "#/runs/20261120-1-aaa",
        "the first, which the others are part of"
    );
}

#[test]
fn a_run_that_was_cut_short_is_shown_as_that() {
    let folder = StoreFolder::new();
    let store = folder.store();
    let mut recording = begin_run(&store, "a", "http://a/");
    record_load(&mut recording, 0..3);
    recording.finish().expect("is kept");
    let served = folder.serve(None);
    assert_eq!(served.json("/api/runs/a")["front"]["head"]["state"], "running");
    cut_short(&folder, "a");
    // What was just read is not read again.
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(served.json("/api/runs/a")["front"]["head"]["state"], "cut_short");
    let listed = served.json("/api/history");
    assert_eq!(
        (&listed["runs"][0]["state"], &listed["runs"][0]["verdict_tone"]),
        (&"cut_short".into(), &"bad".into())
    );
}

#[test]
fn runs_are_shown_beside_each_other() {
    let folder = StoreFolder::new();
    let store = folder.store();
    for (id, target) in [("aa", "http://one/"), ("bb", "http://two/")] {
        let mut recording = begin_run(&store, id, target);
        record_load(&mut recording, 0..5);
        end_run(recording);
    }
    let served = folder.serve(None);
    let front = &served.json("/api/compare?runs=aa,bb")["front"];
    assert_eq!(front["head"]["command"], "compare");
    let text = front.to_string();
    assert!(text.contains("http://one/") && text.contains("http://two/"), "{text}");
    for (asked, status, expected) in [
        ("", 400, "expected 2 to 8"),
        ("?runs=aa", 400, "found 1"),
        ("?runs=aa,aa", 400, "which is already in the list"),
        ("?runs=1,2,3,4,5,6,7,8,9", 400, "found 9"),
        ("?runs=aa,cc", 404, "no run 'cc'"),
    ] {
        let why = served.refuses(&format!("/api/compare{asked}"), status);
        assert!(why.contains(expected), "{asked}: {why}");
    }
}

/// The terminal used to show which functions cost more, but not the page.
#[test]
fn what_changed_in_code_is_shown_beside_the_figures() {
    let folder = StoreFolder::new();
    let store = folder.store();
    for (id, samples) in [("before", [500, 300]), ("after", [900, 310])] {
        let function = |name: &str| CodeFunction { name: name.to_owned(), module: 0, file: None, line: None };
        let profile = Profile {
            hz: 100,
            samples: samples.iter().sum(),
            requests: Some(1000),
            functions: vec![function("render"), function("parse")],
            calls: vec![CallNode::new(None, 0), CallNode::new(None, 1)],
            stacks: (0..).zip(samples).map(|(place, samples)| StackCount(0, place, samples)).collect(),
            ..Profile::default()
        };
        let mut recording = begin_run(&store, id, "http://one/");
        record_load(&mut recording, 0..5);
        recording.append(&Event::Profiled { profile: Box::new(profile) }).expect("is kept");
        end_run(recording);
    }
    let front = &folder.serve(None).json("/api/compare?runs=before,after")["front"];
    let code =
        front["sections"].as_array().and_then(|sections| sections.iter().find(|one| one["id"] == "code-1"));
    let code = code.unwrap_or_else(|| panic!("no such section: {front}"));
    assert_eq!(code["title"], "which code changed: processor time of a request, after");
    let rows = code["tables"][0]["rows"].as_array().expect("rows");
    let texts: Vec<&str> =
        rows[0].as_array().expect("cells").iter().filter_map(|cell| cell["text"].as_str()).collect();
    assert_eq!(
        (rows.len(), &texts[..4]),
        (1, &["render", "5 ms", "9 ms", "+4 ms"][..]),
        "not what may be chance"
    );
}

#[test]
fn another_name_of_this_machine_is_refused() {
    let folder = StoreFolder::new();
    let served = folder.serve(None);
    let port = served.at.port();
    for host in ["localhost", &format!("127.0.0.1:{port}"), "[::1]:1"] {
        assert_eq!(served.ask("GET", "/api/home", &[("Host", host)]).status, 200, "{host}");
    }
    for host in ["evil.example", "evil.example:7979", "localhost.evil.example", "10.1.2.3"] {
        let answer = served.ask("GET", "/api/home", &[("Host", host)]);
        assert_eq!(answer.status, 403, "{host}");
        let why = answer.json()["error"].as_str().expect("words").to_owned();
        assert!(why.contains("as localhost, 127.0.0.1"), "{why}");
        let page = served.ask("GET", "/", &[("Host", host)]);
        assert_eq!(page.status, 403, "{host}");
        assert!(
            page.body.contains("as localhost, 127.0.0.1") && page.head.contains("text/plain"),
            "{}",
            page.body
        );
    }
}

#[test]
fn a_token_opens_and_nothing_else_does() {
    let folder = StoreFolder::new();
    let served = folder.serve(Some(TOKEN));
    assert!(served.page.url().ends_with(&format!("/?token={TOKEN}")), "{}", served.page.url());
    for path in ["/", "/api/home", "/api/history?token=", "/?token=a-token-of-yours", "/elsewhere"] {
        let answer = served.get(path);
        assert_eq!(answer.status, 401, "{path}");
        assert!(answer.body.contains("the address that torment printed"), "{path}: {}", answer.body);
        assert!(answer.head.contains("www-authenticate: bearer"), "{}", answer.head);
        assert!(!answer.head.contains("set-cookie") && !answer.body.contains(TOKEN), "{}", answer.head);
    }
    let opened = served.get(&format!("/?token={TOKEN}"));
    assert_eq!(opened.status, 200);
    let cookie = opened.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    assert!(cookie.contains("httponly") && cookie.contains("samesite=lax"), "{cookie}");
    let kept = cookie.split(';').next().expect("name and value");
    let bearer = format!("Bearer {TOKEN}");
    for header in [("Cookie", kept), ("Authorization", bearer.as_str())] {
        assert_eq!(
            served.ask("GET", "/api/home", &[("Host", "localhost"), header]).status,
            200,
            "{header:?}"
        );
    }
}

#[test]
fn more_connections_than_there_is_room_for_wait() {
    let folder = StoreFolder::new();
    let served = folder.serve(None);
    let idle: Vec<_> = (0..100).map(|_| connect(served.at)).collect();
    let mut late = connect(served.at);
    send(&mut late, "GET", "/api/home", "1.1", &[("Host", "localhost")]);
    late.set_read_timeout(Some(Duration::from_millis(300))).expect("not zero");
    let mut answer = [0; 12];
    let early = late.read_exact(&mut answer).expect_err("there is no room").kind();
    assert!(matches!(early, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{early}");
    drop(idle);
    late.set_read_timeout(Some(PATIENCE)).expect("not zero");
    late.read_exact(&mut answer).expect("an answer when others have left");
    assert_eq!(&answer, b"HTTP/1.1 200");
}

#[test]
fn a_port_that_is_taken_is_said() {
    let folder = StoreFolder::new();
    let first = folder.serve(None);
    let taken = serve(&folder.path(), &first.at.to_string(), None).map(|_| ());
    assert_eq!(taken.expect_err("two at one port").kind(), ErrorKind::AddrInUse);
    first.page.shut_down();
    serve(&folder.path(), &first.at.to_string(), None).expect("it is free again").page.shut_down();
}

#[test]
fn metrics_are_told_in_both_forms_and_to_nobody_without_the_token() {
    let folder = StoreFolder::new();
    let mut recording = begin_run(&folder.store(), "20261120-1-aaa", "http://\"one\"/");
    record_load(&mut recording, 0..3);
    let served = folder.serve(Some(TOKEN));
    assert_eq!(served.get("/metrics").status, 401);
    let bearer = format!("Bearer {TOKEN}");
    let auth_headers = [("Host", "localhost"), ("Authorization", bearer.as_str())];
    let open = ("Accept", "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.1");
    let due = "torment_requests_due_total{run=\"20261120-1-aaa\",";
    let begin = Instant::now();
    while !served.ask("GET", "/metrics", &auth_headers).body.contains(due) {
        assert!(begin.elapsed() < PATIENCE, "a run that goes on is not told of");
        sleep(Duration::from_millis(50));
    }
    for (headers, kind, last) in [
        (&auth_headers[..], "content-type: text/plain; version=0.0.4; charset=utf-8", "\n"),
        (
            &[auth_headers[0], auth_headers[1], open],
            "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8",
            "\n# EOF\n",
        ),
    ] {
        let answer = served.ask("GET", "/metrics", headers);
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert!(answer.head.contains(kind), "{}", answer.head);
        assert!(answer.body.ends_with(last), "{}", answer.body);
        assert!(
            answer.body.contains(due) && answer.body.contains("target=\"http://\\\"one\\\"/\""),
            "{}",
            answer.body
        );
    }
    drop(recording);
}
