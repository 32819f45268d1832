//! What torment can see of a target.

use super::{Assessment, Rows, SYSCTLS, capabilities, only_for_good, remedy};
use crate::facts::MachineFacts;
use crate::files::FileRead;
use record::Remedy;

/// CAP_SYS_PTRACE; and either of CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: a process's files are its owner's.
const CAP_SYS_PTRACE: u32 = 19;
const CAP_DAC: [u32; 2] = [1, 2];

pub(super) fn rows(facts: &MachineFacts) -> Rows<'_> {
    vec![
        ("ptrace", ptrace(facts)),
        ("processes of others", hidepid(facts)),
        ("tracepoints", tracepoints(facts)),
        ("perf events", perf(facts)),
        ("pressure", pressure(facts)),
    ]
}

fn ptrace(facts: &MachineFacts) -> FileRead<Assessment> {
    const LOST: &str = "where their threads wait in the kernel is not seen";
    let scope = facts.ptrace_scope.as_ref()?.unwrap_or_default();
    facts.capabilities.as_ref()?;
    let row = |found: &str| {
        Assessment::of(format!("{found} (kernel.yama.ptrace_scope {scope})")).figure("ptrace_scope", scope)
    };
    let lower = || Remedy { now: Some("sysctl -w kernel.yama.ptrace_scope=0".to_owned()), ..capabilities() };
    let any = CAP_DAC.iter().any(|read| facts.has_capability(*read));
    match (scope, facts.has_capability(CAP_SYS_PTRACE)) {
        (3.., _) => row("nobody may look into a process").less(
            format!("{LOST} of any service, `explain fork` is not seen live; only a reboot undoes it"),
            only_for_good(format!("{SYSCTLS}: kernel.yama.ptrace_scope = 1, then reboot")),
        ),
        (_, true) if any => row("torment may look into any process").fine(),
        (2, false) => row("only root may look into a process").less(
            format!("{LOST}, not even of what torment starts; `explain fork` is not seen live"),
            lower(),
        ),
        (1, false) => row("only into what torment starts itself")
            .less(format!("{LOST}, of services that were there before torment"), lower()),
        _ => row("only into processes of the same user").less(
            format!("{LOST}, nor are the open files and connections of services of other users"),
            capabilities(),
        ),
    }
}

fn hidepid(facts: &MachineFacts) -> FileRead<Assessment> {
    match facts.hidepid.as_ref()? {
        Some(options) if !facts.is_root => Assessment::of(format!("hidden: /proc is mounted with {options}"))
            .less(
                "a service of another user is not found, nor are neighbours that disturb it",
                remedy(
                    "mount -o remount,hidepid=0 /proc, or run torment as root",
                    "/etc/fstab: proc /proc proc defaults 0 0",
                ),
            ),
        _ => Assessment::of("all are shown").fine(),
    }
}

fn tracepoints(facts: &MachineFacts) -> FileRead<Assessment> {
    match &facts.tracepoints {
        Ok(()) => Assessment::of("the kernel records the system calls of storms").fine(),
        Err(why) => Assessment::of(why.as_str()).less(
            "the system calls of a storm's processes are counted by ptrace, on a sample that it slows",
            remedy(
                "mount -t tracefs tracefs /sys/kernel/tracing, and run torment as root",
                "the same: there is no lasting right but root's",
            ),
        ),
    }
}

/// Reported because people look for it.
fn perf(facts: &MachineFacts) -> FileRead<Assessment> {
    let level = facts.perf_paranoid.as_ref()?.as_ref();
    let level = level.map_or_else(String::new, |level| format!(" (kernel.perf_event_paranoid {level})"));
    Assessment::of(format!("torment asks for none: nothing is lost{level}")).fine()
}

fn pressure(facts: &MachineFacts) -> FileRead<Assessment> {
    match &facts.pressure {
        Ok(_) => Assessment::of("the kernel counts what waits for processors, memory and disks").fine(),
        Err(why) => Assessment::of(why.why.as_str()).less(
            "waiting for memory and disks is not told from waiting for others",
            only_for_good("the kernel's option psi=1, then reboot"),
        ),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_changes_several_numbers_is_quoted() {
        let remedy = crate::rows::sysctl("net.ipv4.ip_local_port_range", "1024 65535");
        assert_eq!(remedy.now.as_deref(), Some("sysctl -w \"net.ipv4.ip_local_port_range=1024 65535\""));
    }
}
