use crate::errors::check_errno;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The number of ephemeral ports for connections to one address (ip(7), `ip_local_port_range`).
pub fn ephemeral_port_count() -> Option<u64> {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let (first, last) = procfs::parse_port_range(&range)?;
    Some((last + 1).saturating_sub(first))
}

/// Lets `bind` choose only the source address, and `connect` the port (`IP_BIND_ADDRESS_NO_PORT`, Linux 4.2,
/// ip(7)): ports are then counted per address pair, not per source.
pub fn bind_address_no_port(socket: impl AsFd) -> io::Result<()> {
    set_flag(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT)
}

/// Sets an option whose value is an int, to 1 (setsockopt(2)).
pub(crate) fn set_flag(socket: impl AsFd, level: libc::c_int, option: libc::c_int) -> io::Result<()> {
    let (fd, on): (_, libc::c_int) = (socket.as_fd().as_raw_fd(), 1);
    let length = size_of_val(&on) as libc::socklen_t;
    // SAFETY: the descriptor is borrowed for the call; the option's value is an int that outlives it.
    check_errno(unsafe { libc::setsockopt(fd, level, option, (&raw const on).cast(), length) })
}
