//! What happens when no descriptor is left.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use crate::client::service;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use torment_reference::{ConcurrencyModel, ListenAddress};

#[test]
fn accepting_pauses_in_a_pool() {
    accepting_pauses("descriptors::accepting_pauses_in_a_pool", ConcurrencyModel::POOL);
}

#[test]
fn accepting_pauses_in_threads() {
    accepting_pauses("descriptors::accepting_pauses_in_threads", ConcurrencyModel::Threads);
}

#[test]
fn accepting_pauses_in_a_loop() {
    accepting_pauses("descriptors::accepting_pauses_in_a_loop", ConcurrencyModel::ASYNC);
}

#[test]
fn accepting_pauses_in_two_loops() {
    accepting_pauses("descriptors::accepting_pauses_in_two_loops", ConcurrencyModel::Async { loops: 2 });
}

/// Accepting pauses instead of spinning, says so in the log, and resumes when descriptors are back. In its own process: a service
/// that ended before may still close what it held.
fn accepting_pauses(test: &str, model: ConcurrencyModel) {
    if !testbed::is_own_process(test) {
        return;
    }
    let service = service(model);
    let ListenAddress::Tcp(address) = service.address().clone() else { panic!("a TCP address") };
    let before = getrlimit(Resource::Nofile);
    let clients = sockets(60);
    // A new descriptor gets the lowest free number: three more can be opened in our table, and
    // fewer than twenty in that of a loop.
    let lowest = { rustix::fd::AsRawFd::as_raw_fd(&socket()) as u64 };
    let (current, most) = match model {
        ConcurrencyModel::Async { loops } => (20, 20 * loops),
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
    // What the service itself opens and closes meanwhile may leave room for a few more.
    assert!(accepted <= Some(most as u64 + 5), "{model:?}: {accepted:?}");
    for client in &clients {
        assert!(ask(client).starts_with(b"HTTP/1.1 200 "), "{model:?}");
    }
}

/// The kernel notifies one loop of a new connection, here one that cannot accept it: another does.
#[test]
fn a_full_loop_leaves_connections_to_others() {
    if !testbed::is_own_process("descriptors::a_full_loop_leaves_connections_to_others") {
        return;
    }
    let service = service(ConcurrencyModel::Async { loops: 2 });
    let ListenAddress::Tcp(address) = service.address().clone() else { panic!("a TCP address") };
    let talk = |client: &OwnedFd| {
        // Both loops shall sleep, so that the kernel wakes only the one that has watched longest.
        std::thread::sleep(Duration::from_millis(1));
        connect(client, address);
        assert!(ask(client).starts_with(b"HTTP/1.1 200 "), "no answer");
    };
    let (first, mut second) = (sockets(64), sockets(64));
    let last = socket();
    // One loop accepts 64, then the other, and then it is the first one's turn again.
    first.iter().chain(&second).for_each(talk);
    second.clear();
    while service.truth()["connections"]["open"] != 64 {
        std::thread::yield_now();
    }
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(40), ..before }).expect("lower");
    talk(&last);
    setrlimit(Resource::Nofile, before).expect("as it was");
}

fn sockets(count: usize) -> Vec<OwnedFd> {
    (0..count).map(|_| socket()).collect()
}

fn socket() -> OwnedFd {
    rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).expect("a descriptor")
}

/// The first bytes of an answer; empty after ten seconds.
fn ask(client: &OwnedFd) -> Vec<u8> {
    let request = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(rustix::net::send(client, request, SendFlags::NOSIGNAL), Ok(request.len()));
    set_socket_timeout(client, Timeout::Recv, Some(Duration::from_secs(10))).expect("a known option");
    let mut answer = vec![0; 1_024];
    let n = rustix::net::recv(client, &mut answer, RecvFlags::empty()).map_or(0, |(n, _)| n);
    answer.truncate(n);
    answer
}

fn connect(socket: &OwnedFd, address: SocketAddr) {
    // The kernel completes the handshake; nobody needs to accept.
    rustix::net::connect(socket, &address).expect("the backlog has room");
}
