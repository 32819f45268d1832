//! How much of a process may be read, and why not more.

use record::watch::{AccessLevel, MissingMeasure};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

/// Tries what the watch will read.
pub(crate) fn probe_access(pid: u32) -> (AccessLevel, Vec<MissingMeasure>) {
    if procfs::running_process(pid).is_none() {
        return (AccessLevel::Outside, Vec::new());
    }
    let call = fs::read(format!("/proc/{pid}/syscall"));
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd"));
    match (refused(&call), refused(&descriptors)) {
        (false, false) => (AccessLevel::Full, Vec::new()),
        (_, files) => {
            let what = if files { "waits of threads and open files" } else { "what threads wait for" };
            (AccessLevel::SameUser, vec![MissingMeasure::new(what, refusal_reason(pid))])
        }
    }
}

fn refused<T>(read: &io::Result<T>) -> bool {
    // A kernel without the file counts as refusing it.
    read.as_ref()
        .is_err_and(|error| matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound))
}

fn refusal_reason(pid: u32) -> String {
    let owner = fs::metadata(format!("/proc/{pid}")).map(|data| data.uid()).ok();
    let own = rustix::process::geteuid().as_raw();
    let yama = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match owner {
        Some(owner) if owner != own && own != 0 => format!(
            "process {pid} belongs to user {owner}, and torment runs as user {own}; \
             run torment as that user or as root"
        ),
        _ if !matches!(yama.trim(), "" | "0") => format!(
            "the kernel lets a process look into its own children only (kernel.yama.ptrace_scope is {}); \
             run torment as root, or set it to 0",
            yama.trim()
        ),
        _ => format!(
            "the kernel refuses /proc/{pid}/syscall; in a container, start torment with the capability SYS_PTRACE"
        ),
    }
}

/// Why some processes may be invisible.
pub(crate) fn hidden_processes() -> Option<MissingMeasure> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let options = procfs::hiding_options(&mounts)?;
    (rustix::process::geteuid().as_raw() != 0).then(|| {
        MissingMeasure::new(
            "processes of other users",
            format!("/proc is mounted with {options}; run torment as root, or as the target's user"),
        )
    })
}
