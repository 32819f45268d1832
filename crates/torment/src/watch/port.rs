//! Local addresses with a listener at a port.

use anyhow::{Result, bail};
use std::net::SocketAddr;

/// Every address with a listener at the port.
///
/// # Errors
/// If there is none.
pub fn listening(port: u16) -> Result<Vec<SocketAddr>> {
    let found = service::addresses(port);
    if found.is_empty() {
        bail!(
            "nothing listens at port {port} in torment's network namespace; start the service first, or \
             give its process id if it is in a container"
        );
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn whoever_listens_is_found() {
        for bind in ["127.0.0.1:0", "0.0.0.0:0"] {
            let socket = TcpListener::bind(bind).expect("a free port");
            let at = socket.local_addr().expect("it is bound");
            assert_eq!(listening(at.port()).expect("somebody listens"), [at]);
            drop(socket);
            // A program started by another test may hold it for a moment.
            let error = (0..1000).find_map(|_| {
                std::thread::sleep(std::time::Duration::from_millis(10));
                listening(at.port()).err()
            });
            let error = error.expect("nobody does").to_string();
            assert!(error.contains(&format!("nothing listens at port {}", at.port())), "{error}");
        }
    }
}
