//! How a service starts, fails to start, and ends.

use crate::client;
use std::os::unix::net::UnixListener;

use crate::client::{Client, MODELS, service};
use torment_reference::{BuiltinService, ConcurrencyModel, Error, ListenAddress, ServiceConfig};

fn refusal(config: ServiceConfig) -> Error {
    BuiltinService::start(config).err().expect("it must not start")
}

#[test]
fn a_taken_port_is_said_with_its_holder() {
    let first = service(ConcurrencyModel::ASYNC);
    let error = refusal(ServiceConfig { listen: first.address().clone(), ..ServiceConfig::default() });
    assert!(matches!(error, Error::AddressTaken { .. }));
    let message = error.to_string();
    let address = first.address().to_string();
    assert!(message.starts_with(&format!("{address} is taken by ")), "{message}");
    assert!(message.contains(&format!("(process {})", std::process::id())), "{message}");
}

#[test]
fn an_address_that_is_not_ours_is_said() {
    let listen = "192.0.2.1:80".parse().expect("an address");
    let message = refusal(ServiceConfig { listen, ..ServiceConfig::default() }).to_string();
    assert!(message.starts_with("cannot listen on 192.0.2.1:80: "), "{message}");
}

#[test]
fn a_dead_socket_file_is_replaced_and_a_live_one_is_not() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("socket");
    let config = || ServiceConfig { listen: ListenAddress::Unix(path.clone()), ..ServiceConfig::default() };
    let alive = UnixListener::bind(&path).expect("a new file");
    assert!(matches!(refusal(config()), Error::AddressTaken { .. }));
    // Its file stays behind, as after a crash.
    drop(alive);
    let service = BuiltinService::start(config()).expect("nothing listens there");
    assert_eq!(Client::of(&service).get("/healthz").status, 200);
    drop(service);
    std::fs::write(&path, "precious").expect("a new file");
    let message = refusal(config()).to_string();
    assert!(message.contains("File exists"), "{message}");
    assert_eq!(std::fs::read_to_string(&path).expect("it is kept"), "precious");
}

#[test]
fn absurd_counts_are_refused() {
    for model in [
        ConcurrencyModel::Pool { workers: 0, queue: 0 },
        ConcurrencyModel::Async { loops: 0 },
        ConcurrencyModel::Async { loops: 1 << 40 },
    ] {
        assert!(matches!(refusal(ServiceConfig { model, ..ServiceConfig::default() }), Error::Count { .. }));
    }
    let message = refusal(ServiceConfig { connections: 0, ..ServiceConfig::default() }).to_string();
    assert_eq!(message, "0 connections were asked for; give a number from 1 to 100000");
}

#[test]
fn the_end_closes_everything() {
    for model in MODELS {
        let service = service(model);
        let address = service.address().clone();
        let mut idle: Vec<Client> = (0..50).map(|_| Client::of(&service)).collect();
        for client in &mut idle {
            assert_eq!(client.get("/healthz").status, 200);
        }
        // An answer due long after the end must not hold it up.
        let mut waiting = Client::of(&service);
        waiting.send(b"GET /delay?ms=600000 HTTP/1.1\r\nHost: a\r\n\r\n");
        while service.truth()["patterns"]["/delay"]["in_flight"] != 1 {
            std::thread::yield_now();
        }
        service.stop();
        assert!(idle.iter_mut().all(Client::at_end), "{model:?}");
        assert!(waiting.at_end(), "{model:?}");
        BuiltinService::start(ServiceConfig { listen: address, model, ..ServiceConfig::default() })
            .expect("the port is free again");
    }
}

#[test]
fn two_thousand_connections_are_held() {
    // Client and service share this process's descriptors.
    let most = usize::try_from(sys::raise_nofile().0).unwrap_or(usize::MAX);
    let connections = 2_000.min(most / 8);
    for model in MODELS {
        let service = service(model);
        let mut clients: Vec<Client> = (0..connections).map(|_| Client::of(&service)).collect();
        for client in &mut clients {
            client.send(b"GET /delay?ms=300 HTTP/1.1\r\nHost: a\r\n\r\n");
        }
        for client in &mut clients {
            assert_eq!(client.answer().status, 200);
        }
        let truth = client::settled(&service);
        assert_eq!(truth["patterns"]["/delay"]["answered"], connections, "{model:?}");
        assert_eq!(truth["connections"]["peak"], connections, "{model:?}");
        assert_eq!(truth["connections"]["without_thread"], 0, "{model:?}");
    }
}
