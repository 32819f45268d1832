//! The ways to start a task, each as bare as possible: fork(2), clone3(2) with memory copied or shared,
//! posix_spawn(3), pthread_create(3). No child runs code of ours: it exits at once, or executes another
//! program.

mod clone;
mod program;
mod thread;

pub(crate) use clone::wait_for_child;
pub use clone::{ChildMemory, clone3, write_in_child};
pub use program::PreparedProgram;
pub use thread::{RawThread, ThreadStarter};

use rustix::process::Pid;
use std::io;

/// fork(2) by libc; the child exits at once.
pub fn fork() -> io::Result<Pid> {
    // SAFETY: the child only exits. It takes no lock and touches no memory that another thread may have left
    // half changed, so it does not matter how many threads there are.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: it ends this process at once. What the parent does on exit is not done twice.
        0 => unsafe { libc::_exit(0) },
        pid => Ok(Pid::from_raw(pid).expect("a child's number is above 0")),
    }
}

/// Returns freed memory that libc has kept to the kernel (malloc_trim(3)): a fork would copy it.
pub fn trim_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it touches only unallocated memory, under the allocator's own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{WaitOptions, waitpid};

    /// Waits for a child; returns its exit status. Afterwards that number has no child to wait for.
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
