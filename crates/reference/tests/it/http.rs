//! Every page over real sockets, in every model.

use crate::client::{Client, MODELS, service};
use torment_reference::{BuiltinService, ConcurrencyModel, ListenAddress, ServiceConfig};

#[test]
fn every_page_in_every_model() {
    for model in MODELS {
        let service = service(model);
        let mut client = Client::of(&service);
        for (target, status, words) in [
            ("/", 200, "<h1>Welcome</h1>"),
            ("/delay?ms=1", 200, "done"),
            ("/queue?us=500", 200, "done"),
            ("/pool?size=2&ms=1", 200, "done"),
            ("/stall?every=10s&for=0", 200, "done"),
            ("/stall?every=20ms&for=20ms", 200, "done"),
            ("/warm?us=10&n=5", 200, "done"),
            ("/shed?us=10&limit=5", 200, "done"),
            ("/json", 200, "{\"message\":\"Hello, World!\"}"),
            ("/json?ms=1.5", 200, "Hello"),
            ("/healthz", 200, "ok"),
            ("/status/200", 200, "status 200"),
            ("/status/503", 503, "status 503"),
            ("/status/599", 599, "status 599"),
            ("/status/204", 204, ""),
            ("/continue", 200, "done"),
            ("/owners/1", 200, "George Franklin"),
            ("/owners/31", 200, "George O&#39;Brien"),
            ("/owners/0", 404, "no such owner"),
            ("/owners/99999999999", 404, "no such owner"),
            ("/owners/count", 200, "{\"owners\":1000}"),
            ("/fortunes", 200, "&lt;script&gt;alert(&quot;"),
            ("/fortunes", 200, "フレームワークのベンチマーク"),
            ("/nope", 404, "no such page"),
            ("/owners/new", 405, "POST"),
            ("/delay?ms=x", 400, "ms is 'x'; it must be a number from 0 to 600000"),
            ("/queue?us=0", 400, "us is '0'"),
            ("/pool?size=0", 400, "size is '0'"),
            ("/stall?every=0", 400, "for must be the shorter"),
            ("/stall?for=x", 400, "for: 'x'"),
            ("/status/100", 400, "200 to 599"),
            ("/status/", 400, "200 to 599"),
            ("/bytes?n=-1", 400, "n is '-1'"),
            ("/bytes?chunked=1&close=1", 400, "exclude"),
        ] {
            let answer = client.get(target);
            assert_eq!(answer.status, status, "{model:?} {target}");
            assert!(answer.text().contains(words), "{model:?} {target}: {}", answer.text());
        }
        assert_eq!(client.get("/status/302").header("location"), Some("/"));
        assert_eq!(client.get("/owners/new").header("allow"), Some("POST"));
    }
}

#[test]
fn bodies_of_every_kind() {
    for model in MODELS {
        let service = service(model);
        for n in [0, 1, 65_536, 5_000_000] {
            let mut client = Client::of(&service);
            for framing in ["", "&chunked=1"] {
                let answer = client.get(&format!("/bytes?n={n}{framing}"));
                assert_eq!((answer.status, answer.body.len()), (200, n), "{model:?} {framing}");
            }
            let answer = client.get(&format!("/bytes?n={n}&close=1"));
            assert_eq!((answer.header("content-length"), answer.body.len()), (None, n), "{model:?}");
            assert!(client.at_end());
        }
        let mut client = Client::of(&service);
        assert_eq!(client.post("/echo", "hello").text(), "hello");
        let chunked = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        client.send(format!("{chunked}3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n").as_bytes());
        assert_eq!(client.answer().text(), "abcde");
        client.send(b"HEAD /bytes?n=1000 HTTP/1.1\r\nHost: a\r\n\r\n");
        let (status, headers) = client.head();
        assert_eq!(
            (status, headers.contains(&("content-length".to_owned(), "1000".to_owned()))),
            (200, true)
        );
        assert_eq!(client.get("/healthz").text(), "ok\n", "HEAD has no body");
    }
}

/// A client that requests much and reads slowly must get all of it, and must not hold up others.
#[test]
fn a_slow_reader_gets_everything() {
    for model in MODELS {
        let service = service(model);
        let mut slow = Client::of(&service);
        slow.send(b"GET /bytes?n=30000000 HTTP/1.1\r\nHost: a\r\n\r\n");
        slow.send(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(Client::of(&service).get("/healthz").status, 200);
        assert_eq!(slow.answer().body.len(), 30_000_000, "{model:?}");
        assert_eq!(slow.answer().text(), "ok\n", "{model:?}: the request behind it was lost");
    }
}

#[test]
fn requests_cut_at_each_byte() {
    let request = b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    for model in MODELS {
        let service = service(model);
        let mut client = Client::of(&service);
        for cut in 1..request.len() {
            client.send(&request[..cut]);
            // Lets the service see the first part alone, most of the time.
            std::thread::yield_now();
            client.send(&request[cut..]);
            assert_eq!(client.answer().text(), "hello", "{model:?}, cut after {cut}");
        }
        for byte in request {
            client.send(&[*byte]);
        }
        assert_eq!(client.answer().text(), "hello", "{model:?}, byte by byte");
    }
}

#[test]
fn bytes_of_the_next_request_are_kept() {
    for model in MODELS {
        let service = service(model);
        let mut client = Client::of(&service);
        let one = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
        // Answers keep their order even when a later one could be sent sooner.
        let targets = ["/delay?ms=20", "/owners/1", "/json", "/status/404", "/healthz"];
        client.send(targets.map(one).concat().as_bytes());
        let statuses: Vec<u16> = targets.iter().map(|_| client.answer().status).collect();
        assert_eq!(statuses, [200, 200, 200, 404, 200], "{model:?}");
    }
}

#[test]
fn connections_close_when_asked() {
    for model in MODELS {
        let service = service(model);
        for (request, closes) in [
            ("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", true),
            ("GET /healthz HTTP/1.0\r\n\r\n", true),
            ("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", false),
        ] {
            let mut client = Client::of(&service);
            client.send(request.as_bytes());
            let answer = client.answer();
            let connection = answer.header("connection");
            assert_eq!(connection, Some(if closes { "close" } else { "keep-alive" }), "{model:?} {request}");
            if closes {
                assert!(client.at_end(), "{model:?} {request}");
            } else {
                assert_eq!(client.get("/healthz").status, 200);
            }
        }
    }
}

#[test]
fn nonsense_is_refused_and_the_reason_can_be_read() {
    for model in MODELS {
        let service = service(model);
        let two_mib = "x".repeat(2 << 20);
        for (request, status) in [
            ("nonsense\r\n\r\n".to_owned(), 400),
            ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400),
            (format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(20_000)), 431),
            // The whole body is sent though the head is enough to refuse it: the answer must
            // survive the bytes that follow.
            (
                format!(
                    "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{two_mib}",
                    two_mib.len()
                ),
                413,
            ),
        ] {
            let mut client = Client::of(&service);
            client.send(request.as_bytes());
            let answer = client.answer();
            assert_eq!((answer.status, answer.header("connection")), (status, Some("close")), "{model:?}");
            assert!(client.at_end(), "{model:?} {status}");
        }
        assert_eq!(service.truth()["refused"], 4, "{model:?}");
    }
}

#[test]
fn interim_answers_come_first() {
    for model in MODELS {
        let service = service(model);
        let mut client = Client::of(&service);
        client.send(b"GET /continue HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!([client.head().0, client.head().0, client.answer().status], [100, 103, 200]);
        client.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
        assert_eq!(client.head().0, 100, "{model:?}");
        client.send(b"hi");
        assert_eq!(client.answer().text(), "hi");
    }
}

#[test]
fn over_a_unix_socket() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for model in MODELS {
        let listen = ListenAddress::Unix(folder.path().join("socket"));
        let service = BuiltinService::start(ServiceConfig { listen, model, ..ServiceConfig::default() })
            .expect("a new socket");
        let mut client = Client::of(&service);
        assert_eq!(client.get("/delay?ms=1").status, 200);
        assert_eq!(client.get("/owners/1").status, 200);
        drop(service);
        assert!(!folder.path().join("socket").exists(), "{model:?} left its socket behind");
    }
}

/// A pool with one worker and one waiting place: of three requests at once, one is rejected,
/// at once and in order, and its connection stays open.
#[test]
fn a_full_pool_turns_away() {
    let service = service(ConcurrencyModel::Pool { workers: 1, queue: 1 });
    let mut clients = [Client::of(&service), Client::of(&service), Client::of(&service)];
    clients[0].send(b"GET /delay?ms=1500 HTTP/1.1\r\nHost: a\r\n\r\n");
    while service.truth()["patterns"]["/delay"]["in_flight"] != 1 {
        std::thread::yield_now();
    }
    for client in &mut clients[1..] {
        client.send(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    let mut statuses: Vec<u16> = clients.iter_mut().map(|client| client.answer().status).collect();
    statuses[1..].sort_unstable();
    assert_eq!(statuses, [200, 200, 503]);
    for client in &mut clients {
        assert_eq!(client.get("/healthz").status, 200);
    }
}
