use std::io;

/// The error of a C library function that returns it instead of setting `errno`, such as those of pthreads(7);
/// 0 is none.
pub(crate) fn check_code(code: libc::c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

/// The error of a system call that returns a negative number and sets `errno`.
pub(crate) fn check_errno<T: Into<i64>>(result: T) -> io::Result<()> {
    if result.into() < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
