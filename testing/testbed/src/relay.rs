//! A network between two machines: relays connections until it is cut.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{sleep, spawn};
use std::time::Duration;

/// Forwards connections from its own address to another; it ends with the test.
#[derive(Debug)]
pub struct TestRelay {
    address: SocketAddr,
    state: Arc<Mutex<RelayState>>,
}

#[derive(Debug, Default)]
struct RelayState {
    is_cut: bool,
    /// Minimum and maximum delay of a chunk.
    delay: (Duration, Duration),
    /// Both ends of each connection.
    ends: Vec<TcpStream>,
}

fn locked(state: &Mutex<RelayState>) -> MutexGuard<'_, RelayState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TestRelay {
    /// From a loopback address to this one.
    ///
    /// # Panics
    /// If no port is free.
    pub fn to(there: SocketAddr) -> Self {
        Self::from(Ipv4Addr::LOCALHOST.into(), there)
    }

    /// From an address of this machine that others may reach.
    ///
    /// # Panics
    /// If no port is free, or the address is not this machine's.
    pub fn from(here: IpAddr, there: SocketAddr) -> Self {
        let listener = TcpListener::bind((here, 0)).expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let state = Arc::<Mutex<RelayState>>::default();
        let shared_state = Arc::clone(&state);
        spawn(move || {
            for from in listener.incoming().flatten() {
                let to = TcpStream::connect(there);
                let mut state = locked(&shared_state);
                if let (Ok(to), false) = (to, state.is_cut) {
                    let twins = from.try_clone().and_then(|twin| Ok((twin, to.try_clone()?)));
                    let (from_twin, to_twin) = twins.expect("a descriptor is free");
                    state.ends.extend([&from, &to].map(|end| end.try_clone().expect("a descriptor is free")));
                    let (there, back) = (Arc::clone(&shared_state), Arc::clone(&shared_state));
                    spawn(move || pass(from_twin, to, &there, 1));
                    spawn(move || pass(to_twin, from, &back, 2));
                }
            }
        });
        Self { address, state }
    }

    /// Its own address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Breaks all connections, and forwards no new ones.
    pub fn cut(&self) {
        let mut state = locked(&self.state);
        state.is_cut = true;
        for end in state.ends.drain(..) {
            // The other side may have closed it.
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    /// Delays each chunk from now on, by at least and at most this, in either direction; their order stays.
    pub fn delays(&self, least: Duration, most: Duration) {
        locked(&self.state).delay = (least, most);
    }

    /// Forwards new connections again.
    pub fn restore(&self) {
        locked(&self.state).is_cut = false;
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, state: &Mutex<RelayState>, mut random: u64) {
    let mut piece = [0; 16 << 10];
    while let Ok(length @ 1..) = from.read(&mut piece) {
        let (least, most) = locked(state).delay;
        // Lehmer's generator, as in C++ (`minstd_rand`): the same delays in each run.
        random = random * 48_271 % 0x7fff_ffff;
        sleep(least + (most - least).mul_f64(random as f64 / f64::from(0x7fff_ffff)));
        if to.write_all(&piece[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
