//! The network between two machines: it delays, stalls, and is cut.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Current behaviour, per direction.
#[derive(Debug, Default)]
struct State {
    /// Delay of each piece: to the coordinator, and from it.
    delays: [Duration; 2],
    stalls: bool,
}

#[derive(Debug)]
pub struct Relay {
    state: Arc<(Mutex<State>, Condvar)>,
    sockets: [UnixStream; 2],
}

/// Puts a relay between `coordinator` and the socket that it returns.
pub fn between(coordinator: OwnedFd) -> (Relay, UnixStream) {
    let (ours, theirs) = UnixStream::pair().expect("a descriptor is free");
    let coordinator = UnixStream::from(coordinator);
    let state = Arc::default();
    let twin = |socket: &UnixStream| socket.try_clone().expect("a descriptor is free");
    for (direction, from, to) in [(0, &ours, &coordinator), (1, &coordinator, &ours)] {
        let (from, to, state) = (twin(from), twin(to), Arc::clone(&state));
        std::thread::spawn(move || pass(from, to, &state, direction));
    }
    (Relay { state, sockets: [coordinator, ours] }, theirs)
}

fn pass(mut from: UnixStream, mut to: UnixStream, state: &(Mutex<State>, Condvar), direction: usize) {
    let mut buffer = [0; 64 << 10];
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(why) if why.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let now = state.0.lock().expect("nobody panics here");
        let now = state.1.wait_while(now, |state| state.stalls).expect("nobody panics here");
        let delay = now.delays[direction];
        drop(now);
        std::thread::sleep(delay);
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

impl Relay {
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.0.lock().expect("nobody panics here"));
        self.state.1.notify_all();
    }

    /// Delay of each piece from now on: to the coordinator, and from it.
    pub fn delays(&self, to: Duration, from: Duration) {
        self.change(|state| state.delays = [to, from]);
    }

    /// Nothing passes any more, without notice.
    pub fn stalls(&self) {
        self.change(|state| state.stalls = true);
    }

    /// What was held up passes.
    pub fn goes_on(&self) {
        self.change(|state| state.stalls = false);
    }

    /// Both ends are gone at once, as if the other process had been killed.
    pub fn cut(&self) {
        self.sockets.iter().for_each(|socket| drop(socket.shutdown(Shutdown::Both)));
    }
}
