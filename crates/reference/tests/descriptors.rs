//! What happens when no descriptor is left. Alone in its file, for the limit is the process's.

mod client;

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use client::{MODELS, service};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use torment_reference::{Listen, Model};

/// Accepting rests instead of spinning, says so in the log, and goes on when descriptors are back.
#[test]
fn accepting_pauses_and_resumes() {
    for model in MODELS {
        let service = service(model);
        let Listen::Tcp(address) = service.address().clone() else { panic!("a TCP address") };
        let before = getrlimit(Resource::Nofile);
        let socket =
            || rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).expect("a descriptor");
        let clients: Vec<OwnedFd> = (0..60).map(|_| socket()).collect();
        // A new descriptor gets the lowest free number: three more can be opened in our table, and
        // fewer than twenty in that of a loop.
        let lowest = { rustix::fd::AsRawFd::as_raw_fd(&socket()) as u64 };
        let (current, most) = match model {
            Model::Async { loops } => (20, 20 * loops),
            _ => (lowest + 3, 3),
        };
        setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..before }).expect("lower");
        for client in &clients {
            connect(client, address);
        }
        while service.truth()["connections"]["accept_pauses"].as_u64() < Some(2) {
            std::thread::yield_now();
        }
        let accepted = service.truth()["connections"]["accepted"].as_u64();
        setrlimit(Resource::Nofile, before).expect("as it was");
        assert!(accepted <= Some(most as u64), "{model:?}: {accepted:?}");
        for client in &clients {
            let request = b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
            assert_eq!(rustix::net::send(client, request, SendFlags::NOSIGNAL), Ok(request.len()));
            let mut answer = [0; 1_024];
            let (n, _) = rustix::net::recv(client, &mut answer, RecvFlags::empty()).expect("an answer");
            assert!(answer[..n].starts_with(b"HTTP/1.1 200 "), "{model:?}");
        }
    }
}

fn connect(socket: &OwnedFd, address: SocketAddr) {
    // The kernel completes the handshake; nobody needs to accept.
    rustix::net::connect(socket, &address).expect("the backlog has room");
}
