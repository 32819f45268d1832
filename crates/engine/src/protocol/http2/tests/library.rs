//! Against the h2 library.

use super::server::{fields, server};
use super::*;
use h2::server::Builder;
use std::sync::atomic::Ordering;

fn body_of(completion: &Completion) -> &[u8] {
    let answer = completion.result.as_ref().expect("answered");
    &answer.content.as_ref().expect("it was asked for").body
}

#[test]
fn answers_of_every_kind() {
    let mut client = Client::connect(server(&Builder::new()).0, 100).expect("it greets");
    let mut requests: Vec<RequestWriter> = [
        "/status/200",
        "/status/204",
        "/status/304",
        "/status/404",
        "/status/599",
        "/length/0",
        "/length/1",
        "/length/100000",
        "/trailers",
        "/interim",
        "/refuse",
        "/asked",
    ]
    .into_iter()
    .map(get)
    .collect();
    requests.push(request("HEAD", "/length/5", &[], Vec::new()));
    requests.push(request("POST", "/sum", &[], b"abc".to_vec()));
    requests.push(request("PATCH", "/sum", &[], Vec::new()));
    for content in [false, true] {
        for request in &mut requests {
            client.send_only(request, content);
        }
        client.connection.flush(&mut client.stream).expect("the server listens");
        client.receive_until(requests.len()).expect("the connection goes on");
        client.completions.sort_by_key(|completion| completion.exchange);
        if content {
            assert_eq!(body_of(&client.completions[7]).len(), 100_000);
            assert_eq!(body_of(&client.completions[8]), b"one two");
            let echoed = String::from_utf8(body_of(&client.completions[11]).to_vec()).expect("text");
            assert!(
                echoed.starts_with("GET http://example/asked HTTP/2.0\nuser-agent: torment/"),
                "{echoed}"
            );
            assert_eq!(body_of(&client.completions[13]), b"3 294");
            assert_eq!(body_of(&client.completions[14]), b"0 0");
            for completion in &client.completions {
                let content = completion.result.as_ref().ok().and_then(|answer| answer.content.as_ref());
                let names: Vec<_> = content
                    .into_iter()
                    .flat_map(|content| &content.headers)
                    .map(|(n, _)| n.as_str())
                    .collect();
                let expected: &[&str] = if [5, 6, 7, 12].contains(&(completion.exchange - 15)) {
                    &["content-length"]
                } else {
                    &[]
                };
                assert_eq!(names, expected, "{completion:?}");
            }
        } else {
            assert!(client.completions.iter().all(|completion| {
                completion.result.as_ref().map_or(true, |answer| answer.content.is_none())
            }));
        }
        assert_eq!(
            client.results().join(" "),
            "200 204 304 404 599 200 200 200 200 200 stream reset: REFUSED_STREAM 200 200 200 200"
        );
    }
}

/// Whatever the result of a call, its HTTP status is 200.
#[test]
fn calls_say_how_they_ended() {
    let mut client = Client::connect(server(&Builder::new()).0, 100).expect("it greets");
    let paths = ["/call/0", "/call/5", "/call-only/0", "/call-only/5", "/call-cut", "/status/200"];
    // The second time both sides know the names.
    for content in [false, true] {
        paths.iter().for_each(|path| client.send_only(&mut get(path), content));
        client.connection.flush(&mut client.stream).expect("the server listens");
        client.receive_until(paths.len()).expect("the connection goes on");
        assert!(
            client
                .completions
                .iter()
                .all(|completion| completion.result.as_ref().is_ok_and(|a| a.status == Some(200)))
        );
        let failed = "grpc-status 5 NOT_FOUND: no user …";
        let cut = "grpc-status 2 UNKNOWN: the answer ends without a grpc-status";
        assert_eq!(client.results(), ["200", failed, "200", failed, cut, "200"]);
    }
}

/// The peer's table of fields, of every size: we decode what the library sends, and it decodes what we send.
#[test]
fn both_sides_remember_the_same() {
    for table in [4096, 0, 100, 65_536] {
        let server = server(Builder::new().header_table_size(table).max_concurrent_streams(50));
        let mut client = Client::connect(server.0, 50).expect("it greets");
        let mut numbered = request("GET", "/fields/{counter}", &[("x-same", "always")], Vec::new());
        let mut echo =
            request("GET", "/asked", &[("X-Same", "always"), ("x-other", &"o".repeat(500))], Vec::new());
        while client.begun < 2000 {
            while client.connection.room() > 0 && client.begun < 2000 {
                let request = if client.begun % 5 == 4 { &mut echo } else { &mut numbered };
                client.send_only(request, true);
            }
            client.connection.flush(&mut client.stream).expect("the server listens");
            client.receive_until(client.completions.len() + 1).expect("the connection goes on");
        }
        client.receive_until(2000).expect("the connection goes on");
        for completion in &client.completions {
            let number = completion.exchange as usize;
            if number % 5 == 4 {
                let expected = format!(
                    "user-agent: torment/{}\nx-same: always\nx-other: {}\n",
                    env!("CARGO_PKG_VERSION"),
                    "o".repeat(500)
                );
                let text = String::from_utf8_lossy(body_of(completion));
                assert!(text.ends_with(&expected), "{text}");
                continue;
            }
            let answer = completion.result.as_ref().expect("answered");
            assert_eq!(answer.status, Some([200, 201, 404, 503][number % 4]));
            let content = answer.content.as_ref().expect("it was asked for");
            let expected =
                fields(number).into_iter().map(|(name, value)| (name.to_owned(), value.into_bytes()));
            assert_eq!(content.headers, expected.collect::<Vec<_>>());
            assert_eq!(content.body.len(), number % 50);
        }
    }
}

#[test]
fn ten_megabytes_three_times() {
    let mut client = Client::connect(server(&Builder::new()).0, 100).expect("it greets");
    let mut large = get("/length/10000000");
    (0..3).for_each(|_| client.send_only(&mut large, true));
    client.send(&mut get("/status/200"));
    client.receive_until(4).expect("the connection goes on");
    assert!(client.inbox.count > 30_000_000, "{}", client.inbox.count);
    let kept = |completion: &Completion| {
        completion.result.as_ref().ok()?.content.as_ref().map(|content| content.body.len())
    };
    client.completions.sort_by_key(|completion| completion.exchange);
    assert_eq!(
        client.completions.iter().map(kept).collect::<Vec<_>>(),
        [Some(1 << 20), Some(1 << 20), Some(1 << 20), None]
    );
}

#[test]
fn uploads_go_through_windows_of_any_size() {
    let body: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
    let sum: u64 = body.iter().map(|byte| u64::from(*byte)).sum();
    for (window, frame) in [(1000, 16_384), (65_535, 100_000), (1 << 24, 1 << 24)] {
        let server =
            server(Builder::new().initial_window_size(window).max_frame_size(frame.min((1 << 24) - 1)));
        let mut client = Client::connect(server.0, 100).expect("it greets");
        let mut large = request("PUT", "/sum", &[], body.clone());
        (0..3).for_each(|_| client.send_only(&mut large, true));
        client.send(&mut request("PUT", "/sum", &[], b"a".to_vec()));
        client.receive_until(4).expect("the connection goes on");
        client.completions.sort_by_key(|completion| completion.exchange);
        for completion in &client.completions[..3] {
            assert_eq!(String::from_utf8_lossy(body_of(completion)), format!("1000000 {sum}"));
        }
    }
}

#[test]
fn a_long_head_goes_in_several_frames() {
    let long = "long ".repeat(10_000);
    let server = server(Builder::new().max_header_list_size(1 << 20));
    let mut client = Client::connect(server.0, 100).expect("it greets");
    client.send_only(&mut request("GET", "/asked", &[("x-long", long.trim())], Vec::new()), true);
    client.connection.flush(&mut client.stream).expect("the server listens");
    client.receive_until(1).expect("the connection goes on");
    assert!(
        String::from_utf8_lossy(body_of(&client.completions[0]))
            .ends_with(&format!("x-long: {}\n", long.trim()))
    );
}

#[test]
fn no_more_streams_than_the_server_allows() {
    for allowed in [1, 7, 1000] {
        let (address, counts) = server(Builder::new().max_concurrent_streams(allowed));
        let mut client = Client::connect(address, 500).expect("it greets");
        let room = (allowed as usize).min(500);
        let mut request = get("/status/200");
        let all = 3 * room as u32;
        while client.begun < all {
            while client.connection.room() > 0 && client.begun < all {
                client.send_only(&mut request, false);
            }
            assert_eq!(client.open().len(), room.min(all as usize - client.completions.len()));
            client.connection.flush(&mut client.stream).expect("the server listens");
            client.receive_until(client.completions.len() + 1).expect("the connection goes on");
        }
        client.receive_until(all as usize).expect("the connection goes on");
        assert!(client.results().iter().all(|result| result == "200"));
        assert_eq!(client.connection.room(), room);
        let most = counts.most.load(Ordering::SeqCst);
        assert!(most <= room && (most > room / 2), "{most} of {room}");
    }
}

#[test]
fn a_stream_given_up_does_not_end_the_others() {
    let (address, counts) = server(&Builder::new());
    let mut client = Client::connect(address, 10).expect("it greets");
    for round in 0..20 {
        let first = client.begun;
        client.send_only(&mut get("/never"), false);
        client.send_only(&mut get("/length/50000"), false);
        client.send(&mut request("PUT", "/never", &[], vec![b'x'; 300_000]));
        client.receive_until(round + 1).expect("the connection goes on");
        assert_eq!(client.open(), [first, first + 2]);
        assert!(
            client.connection.cancel(first)
                && client.connection.cancel(first + 2)
                && client.connection.cancel(12_345)
        );
        client.connection.flush(&mut client.stream).expect("the server listens");
        assert_eq!((client.connection.room(), client.open()), (10, vec![]));
    }
    client.send(&mut get("/status/200"));
    client.receive_until(21).expect("the connection goes on");
    let until = Instant::now() + PATIENCE;
    while counts.cancelled.load(Ordering::SeqCst) < 40 {
        assert!(Instant::now() < until, "{} cancelled", counts.cancelled.load(Ordering::SeqCst));
        client.receive_until(21).expect("the connection goes on");
        sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_server_that_leaves_answers_what_it_has() {
    let mut client = Client::connect(server(&Builder::new()).0, 100).expect("it greets");
    let requests = ["/length/100000", "/leave", "/status/404", "/interim"];
    requests.iter().for_each(|path| client.send_only(&mut get(path), false));
    client.connection.flush(&mut client.stream).expect("the server listens");
    assert_eq!(client.end(), Failure::Closed);
    assert_eq!((client.connection.room(), client.open()), (0, vec![]));
    assert_eq!(client.results(), ["200", "200", "404", "200"]);
}

#[test]
fn a_connection_that_is_lost_leaves_its_exchanges_open() {
    let mut client = Client::connect(server(&Builder::new()).0, 100).expect("it greets");
    client.send(&mut get("/status/200"));
    client.receive_until(1).expect("the connection goes on");
    ["/never", "/never", "/vanish"].iter().for_each(|path| client.send_only(&mut get(path), false));
    client.connection.flush(&mut client.stream).expect("the server listens");
    assert_eq!(client.end(), Failure::Closed);
    assert_eq!(client.open(), [1, 2, 3]);
    assert_eq!(client.results(), ["200"]);
}
