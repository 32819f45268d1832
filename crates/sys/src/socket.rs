use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Lets `bind` choose the source address only, and `connect` the port (`IP_BIND_ADDRESS_NO_PORT`,
/// Linux 4.2, ip(7)): ports are then counted for each pair of addresses, not for each source.
pub fn bind_address_no_port(socket: impl AsFd) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is borrowed for the call; the option's value is an int that outlives it.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
