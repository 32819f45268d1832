use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use std::io;

/// Has the calling child be sent `signal` when the thread that started it ends (PR_SET_PDEATHSIG(2const)). Makes
/// system calls only.
///
/// Fails if that process, `parent`, is gone already.
pub(crate) fn end_with_parent(parent: Pid, signal: Signal) -> io::Result<()> {
    set_parent_process_death_signal(Some(signal))?;
    // If the parent ended before the call above, its signal never comes.
    if getppid() != Some(parent) {
        return Err(rustix::io::Errno::SRCH.into());
    }
    Ok(())
}
