use crate::errors::check_errno;
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Gives the calling thread a descriptor table of its own, in which only 0 to 2 and those of `keep` are open
/// (unshare(2), `CLONE_FILES`; close_range(2), Linux 5.9). The descriptor limit is per table, so each thread
/// with its own may open as many as the whole process could. Called again, with nothing to keep, it closes what
/// is left.
///
/// Fails, with nothing changed, where the kernel or a container forbids it; the thread then keeps using the
/// shared table.
///
/// # What the caller must guarantee
/// From here on a number means one thing to this thread and another to the rest of the process. Make this the
/// first call of a new thread, before it opens a descriptor. Afterwards the thread may use only 0 to 2, what it
/// keeps and what it opens itself. It must neither drop any other descriptor, nor those it keeps (borrow them,
/// e.g. from a scoped thread's parent), nor hand those it opened to another thread: the number would be used or
/// closed in the wrong table. Threads that it starts share its table. A kept descriptor is open in both tables:
/// the file is closed when both have closed it. Even once joined, a thread may be yet to close its table; to be
/// certain, it calls this again at its end.
pub fn unshare_descriptors(keep: &[BorrowedFd<'_>]) -> io::Result<()> {
    // Fails here if forbidden, so that nothing is done by halves.
    close_range(u32::MAX, u32::MAX)?;
    // SAFETY: this thread gets a copy of the table; until something is closed below, each number is open in it
    // as before, and no memory and no other thread's table is touched. The caller guarantees, as documented
    // above, that the thread uses no number of another table from now on.
    unsafe { unshare_unsafe(UnshareFlags::FILES) }?;
    let mut kept: Vec<u32> = keep.iter().map(|fd| fd.as_raw_fd() as u32).filter(|fd| *fd > 2).collect();
    kept.sort_unstable();
    let mut first = 3;
    for fd in kept {
        if first < fd {
            close_range(first, fd - 1)?;
        }
        first = fd + 1;
    }
    close_range(first, u32::MAX)
}

/// Closes this thread's descriptors from `first` to `last`.
fn close_range(first: u32, last: u32) -> io::Result<()> {
    // SAFETY: the call takes only numbers. It is made for a number that cannot be open, or in a table that
    // nobody else has, for numbers that its thread may no longer use.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    check_errno(result)
}
