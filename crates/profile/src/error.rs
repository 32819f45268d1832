use rustix::io::Errno;
use std::fs;

/// Why nothing can be sampled; each message says what can be done about it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// None of the processes exists.
    #[error("process {0} is not there any more")]
    Gone(u32),
    /// The kernel does not permit sampling.
    #[error("{}", refused(*.pid, *.paranoid, *.root, .why))]
    Refused {
        /// The process to be sampled.
        pid: u32,
        /// `kernel.perf_event_paranoid`; none: the kernel has no perf events.
        paranoid: Option<i64>,
        /// torment runs as root.
        root: bool,
        /// The kernel's error.
        why: std::io::Error,
    },
    /// The system calls that threads wait in may not be read.
    #[error(
        "where the threads of process {pid} wait may not be read ({why}): run torment as root, or as the process's user with \
         kernel.yama.ptrace_scope 0"
    )]
    Hidden {
        /// The process.
        pid: u32,
        /// The kernel's error.
        why: std::io::Error,
    },
    /// There is no memory for samples, or no thread could be started.
    #[error("{what}: {why}")]
    Lacking {
        /// What is lacking.
        what: &'static str,
        /// The kernel's error.
        why: std::io::Error,
    },
}

/// Explains the kernel's refusal, and the setting that changes it.
fn refused(pid: u32, paranoid: Option<i64>, root: bool, why: &std::io::Error) -> String {
    let cannot = format!("process {pid} cannot be sampled");
    match (paranoid, root) {
        (None, _) => format!("{cannot}: this kernel has no perf events (CONFIG_PERF_EVENTS)"),
        (Some(_), true) => format!(
            "{cannot} ({why}), though torment is root: a filter of this container forbids perf_event_open; start it with \
             --cap-add PERFMON, or where that is not enough with --security-opt seccomp=unconfined"
        ),
        (Some(level), false) if level > 2 => format!(
            "{cannot}: kernel.perf_event_paranoid is {level}, which keeps all but root from it; run torment as root, or \
             as root once sysctl kernel.perf_event_paranoid=2"
        ),
        (Some(level), false) => format!(
            "{cannot} ({why}): it is another user's, or a filter forbids perf_event_open; run torment as root or as the \
             process's user (kernel.perf_event_paranoid is {level})"
        ),
    }
}

impl Error {
    /// The error of opening a perf event for this process.
    pub(crate) fn of(pid: u32, why: std::io::Error) -> Self {
        match Errno::from_io_error(&why) {
            Some(Errno::SRCH) => Self::Gone(pid),
            Some(Errno::MFILE | Errno::NFILE) => {
                Self::Lacking { what: "too many files are open; raise the limit with ulimit -n", why }
            }
            _ => {
                let setting = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok();
                let paranoid = setting.and_then(|text| text.trim().parse().ok());
                Self::Refused { pid, paranoid, root: rustix::process::geteuid().is_root(), why }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_setting() {
        for (paranoid, root, expected) in [
            (None, true, "CONFIG_PERF_EVENTS"),
            (Some(4), false, "sysctl kernel.perf_event_paranoid=2"),
            (Some(2), false, "as the process's user"),
            (Some(2), true, "--cap-add PERFMON"),
        ] {
            let why = std::io::Error::from_raw_os_error(1);
            let error = Error::Refused { pid: 7, paranoid, root, why }.to_string();
            assert!(error.starts_with("process 7 cannot be sampled") && error.contains(expected), "{error}");
        }
    }
}
