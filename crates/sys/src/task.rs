//! The ways to start a task, each as bare as it can be: fork(2), clone3(2) with memory copied or shared, posix_spawn(3),
//! pthread_create(3). None of them runs code of ours in a child: it ends at once, or becomes another program.

mod clone;
mod program;
mod thread;

pub use clone::{ChildMemory, clone3, write_in_child};
pub use program::PreparedProgram;
pub use thread::{RawThread, ThreadStarter};

use rustix::process::Pid;
use std::io;

/// fork(2) as libc does it; the child ends at once.
pub fn fork() -> io::Result<Pid> {
    // SAFETY: the child only ends. It takes no lock and touches no memory that another thread may have left half
    // changed, so that it does not matter how many threads there are.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: it ends this process at once. What the parent is to do at its own end is not done twice.
        0 => unsafe { libc::_exit(0) },
        pid => Ok(Pid::from_raw(pid).expect("a child's number is above 0")),
    }
}

/// Gives memory that was freed back to the kernel where libc kept it (malloc_trim(3)): a fork would copy it.
pub fn trim_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it touches only what nobody has allocated, under the allocator's own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{WaitOptions, waitpid};

    /// How a child ended: its exit status. Afterwards there is none of that number to wait for.
    pub(super) fn ended(pid: Pid) -> Option<i32> {
        let (_, status) =
            waitpid(Some(pid), WaitOptions::empty()).expect("it is ours").expect("it has ended");
        assert!(
            waitpid(Some(pid), WaitOptions::empty()).is_err(),
            "it was waited for once and is still there"
        );
        status.exit_status()
    }

    #[test]
    fn a_forked_child_ends_well_and_leaves_nothing() {
        trim_heap();
        assert_eq!(ended(fork().expect("there is room for a process")), Some(0));
    }
}
