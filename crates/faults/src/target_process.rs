//! A serving child process, for the duration of a case.

use crate::CaseError;
use runner::ServiceProcess;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::process::{Command, Stdio};

/// This very program as `torment target`; `began` gets its process ID before it begins.
pub(crate) fn start_target(
    options: &[&str],
    on_start: impl FnOnce(u32) -> Result<(), CaseError>,
) -> Result<ServiceProcess, CaseError> {
    start(&mut ServiceProcess::own(options)?, on_start)
}

/// The same for another program.
pub(crate) fn start(
    command: &mut Command,
    on_start: impl FnOnce(u32) -> Result<(), CaseError>,
) -> Result<ServiceProcess, CaseError> {
    ServiceProcess::start(command.stderr(Stdio::null()), on_start)
}

/// Limits the files that a process may open.
pub(crate) fn limit_descriptors(pid: u32, most: u64) -> Result<(), CaseError> {
    let limit = Rlimit { current: Some(most), maximum: Some(most) };
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    prlimit(pid, Resource::Nofile, limit)
        .map(|_| ())
        .map_err(|e| CaseError::Skip(format!("the limit of descriptors of a child cannot be set: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_limited_from_the_beginning() {
        let script = "echo listening on http://127.0.0.1:7; cat";
        let began = |pid| limit_descriptors(pid, 77);
        let service = start(Command::new("sh").args(["-c", script]), began).expect("our own child");
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", service.pid())).expect("it runs");
        let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("proc(5)");
        assert_eq!(line.split_whitespace().nth(3), Some("77"));
    }
}
