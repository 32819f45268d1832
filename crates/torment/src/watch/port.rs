//! At which addresses of this machine somebody listens at a port.

use anyhow::{Result, bail};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The state of a listening socket in /proc/net/tcp (TCP_LISTEN).
const LISTEN: &str = "0A";

/// Every address at which somebody listens at the port.
///
/// # Errors
/// If nobody does.
pub(super) fn listening(port: u16) -> Result<Vec<SocketAddr>> {
    let mut found = BTreeSet::new();
    for file in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        found.extend(text.lines().filter_map(address).filter(|at| at.port() == port));
    }
    if found.is_empty() {
        bail!(
            "nobody listens at port {port} in torment's network namespace; start the service first, or name \
             its process by its number if it is in a container"
        );
    }
    Ok(found.into_iter().collect())
}

/// The address of a line, if its socket listens.
fn address(line: &str) -> Option<SocketAddr> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (ip, port) = words.next()?.split_once(':')?;
    (words.nth(1)? == LISTEN).then_some(())?;
    // Words of 32 bits in the byte order of the machine, as hexadecimal digits.
    let word = |at: usize| Some(u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    let ip: IpAddr = match ip.len() {
        8 => Ipv4Addr::from(word(0)?).into(),
        32 => {
            let mut bytes = [0; 16];
            for part in 0..4 {
                bytes[part * 4..part * 4 + 4].copy_from_slice(&word(part * 8)?);
            }
            Ipv6Addr::from(bytes).into()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
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
            let error = listening(at.port()).expect_err("nobody does").to_string();
            assert!(error.contains(&format!("nobody listens at port {}", at.port())), "{error}");
        }
        for line in
            ["", "  sl  local_address rem_address   st", "0: 0100007F:XYZW 00000000:0000 0A", "0: 01:02 x 0A"]
        {
            assert_eq!(address(line), None, "{line}");
        }
        let six = "0: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A 00";
        assert_eq!(address(six), Some("[::1]:8080".parse().expect("an address")));
    }
}
