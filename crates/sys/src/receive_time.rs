use crate::socket::set_flag;
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// Has the kernel timestamp each segment on arrival (`SO_TIMESTAMPNS`, socket(7)), before any thread handles
/// it. Accepted sockets inherit it from the listening one.
pub fn enable_receive_timestamps(socket: impl AsFd) -> io::Result<()> {
    set_flag(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS)
}

/// Room for one timestamp and its header, aligned as the header must be.
#[repr(C, align(8))]
struct ControlBuffer([u8; 64]);

/// Reads from a socket with [`enable_receive_timestamps`]: how many bytes, and how long ago the last of them
/// arrived, if the kernel says so (it does for TCP, not for Unix sockets). The timestamp is wall-clock time: if
/// the clock is set forward in between, the age is too great.
pub fn recv_with_age(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<(usize, Option<Duration>)> {
    let mut control = ControlBuffer([0; 64]);
    let mut iov = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: all fields are integers or pointers, for which zero is valid.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut iov;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control.0).cast();
    message.msg_controllen = control.0.len() as _;
    // SAFETY: the message points to one part, all of `buffer`, and to all of `control`; both outlive the call,
    // and any bytes are valid for them.
    let result = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, 0) };
    let Ok(n) = usize::try_from(result) else { return Err(io::Error::last_os_error()) };
    // SAFETY: the kernel has set `msg_controllen` to what it wrote into `control`, whose start is aligned for a
    // header; this returns the first header, or null.
    let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    if header.is_null() {
        return Ok((n, None));
    }
    // SAFETY: a whole header within `control`, written by the kernel.
    let (level, kind, len) = unsafe { ((*header).cmsg_level, (*header).cmsg_type, (*header).cmsg_len) };
    // SAFETY: arithmetic on a length.
    let full_len = unsafe { libc::CMSG_LEN(size_of::<libc::timespec>() as u32) } as usize;
    if (level, kind) != (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) || len < full_len {
        return Ok((n, None));
    }
    // SAFETY: the kernel wrote a timespec behind this header, as level, type and length say; it need not be
    // aligned.
    let stamp = unsafe { libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned() };
    let now = clock_gettime(ClockId::Realtime);
    let ns = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    let age = ns(now.tv_sec, now.tv_nsec) - ns(stamp.tv_sec, stamp.tv_nsec);
    Ok((n, Some(Duration::from_nanos(u64::try_from(age).unwrap_or(0)))))
}
