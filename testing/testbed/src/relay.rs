//! What lies between two machines: connections go through it, until it is cut.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::spawn;

/// Passes connections to its own address on to another; it ends with the test.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    way: Arc<Mutex<Way>>,
}

#[derive(Debug, Default)]
struct Way {
    is_cut: bool,
    /// Both ends of each connection.
    ends: Vec<TcpStream>,
}

fn locked(way: &Mutex<Way>) -> MutexGuard<'_, Way> {
    way.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Relay {
    /// To this address.
    ///
    /// # Panics
    /// If no port is free.
    pub fn to(there: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let way = Arc::<Mutex<Way>>::default();
        let relay = Self { address, way: Arc::clone(&way) };
        spawn(move || {
            for from in listener.incoming().flatten() {
                let to = TcpStream::connect(there);
                let mut way = locked(&way);
                if let (Ok(to), false) = (to, way.is_cut) {
                    let twins = from.try_clone().and_then(|twin| Ok((twin, to.try_clone()?)));
                    let (from_twin, to_twin) = twins.expect("a descriptor is free");
                    way.ends.extend([&from, &to].map(|end| end.try_clone().expect("a descriptor is free")));
                    spawn(move || pass(from_twin, to));
                    spawn(move || pass(to_twin, from));
                }
            }
        });
        relay
    }

    /// Where it is reached.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// All connections break at once, and nobody gets through any more.
    pub fn cut(&self) {
        let mut way = locked(&self.way);
        way.is_cut = true;
        for end in way.ends.drain(..) {
            // The other side may have closed it.
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    /// Who comes from now on gets through again.
    pub fn mend(&self) {
        locked(&self.way).is_cut = false;
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let mut piece = [0; 16 << 10];
    while let Ok(length @ 1..) = from.read(&mut piece) {
        if to.write_all(&piece[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
