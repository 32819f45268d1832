//! What torment sees of a target.

use super::{Row, SYSCTLS, capabilities, only_for_good, remedy, unknown};
use crate::facts::Facts;
use record::Area::Sight;
use record::{Allowance, Remedy};

/// CAP_SYS_PTRACE, and either of CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: the files of a process are its owner's.
const PTRACE: u32 = 19;
const READ: [u32; 2] = [1, 2];

pub(super) fn rows(facts: &Facts) -> Vec<Allowance> {
    vec![ptrace(facts), hidepid(facts), tracepoints(facts), perf(facts), pressure(facts)]
}

fn ptrace(facts: &Facts) -> Allowance {
    const NAME: &str = "ptrace";
    const LOST: &str = "where their threads wait in the kernel is not seen";
    let scope = match &facts.ptrace_scope {
        Ok(scope) => scope.unwrap_or_default(),
        Err(why) => return unknown(Sight, NAME, why),
    };
    if let Err(why) = &facts.capabilities {
        return unknown(Sight, NAME, why);
    }
    let row = |found: &str| {
        Row::of(Sight, NAME, format!("{found} (kernel.yama.ptrace_scope {scope})"))
            .figure("ptrace_scope", scope)
    };
    let lower = || Remedy { now: Some("sysctl -w kernel.yama.ptrace_scope=0".to_owned()), ..capabilities() };
    let any = READ.iter().any(|read| facts.may(*read));
    match (scope, facts.may(PTRACE)) {
        (3.., _) => row("nobody may look into a process").less(
            format!("{LOST} of any service, `explain fork` is not seen live; only a start of the machine takes it back"),
            only_for_good(format!("{SYSCTLS}: kernel.yama.ptrace_scope = 1, then start the machine again")),
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

fn hidepid(facts: &Facts) -> Allowance {
    const NAME: &str = "processes of others";
    match &facts.hidepid {
        Err(why) => unknown(Sight, NAME, why),
        Ok(Some(options)) if !facts.root => {
            Row::of(Sight, NAME, format!("hidden: /proc is mounted with {options}")).less(
                "a service of another user is not found, nor are neighbours that disturb it",
                remedy(
                    "mount -o remount,hidepid=0 /proc, or run torment as root",
                    "/etc/fstab: proc /proc proc defaults 0 0",
                ),
            )
        }
        Ok(_) => Row::of(Sight, NAME, "all are shown").fine(),
    }
}

fn tracepoints(facts: &Facts) -> Allowance {
    const NAME: &str = "tracepoints";
    match &facts.tracepoints {
        Ok(()) => Row::of(Sight, NAME, "the kernel records the system calls of storms").fine(),
        Err(why) => Row::of(Sight, NAME, why.as_str()).less(
            "the system calls of a storm's processes are counted by ptrace, on a sample that it slows",
            remedy(
                "mount -t tracefs tracefs /sys/kernel/tracing, and run torment as root",
                "the same: there is no lasting right but root's",
            ),
        ),
    }
}

/// Said because it is looked for.
fn perf(facts: &Facts) -> Allowance {
    const NAME: &str = "perf events";
    match &facts.perf_paranoid {
        Err(why) => unknown(Sight, NAME, why),
        Ok(level) => {
            let level = level
                .as_ref()
                .map_or_else(String::new, |level| format!(" (kernel.perf_event_paranoid {level})"));
            Row::of(Sight, NAME, format!("torment asks for none: nothing is lost{level}")).fine()
        }
    }
}

fn pressure(facts: &Facts) -> Allowance {
    const NAME: &str = "pressure";
    match &facts.pressure {
        Ok(_) => Row::of(Sight, NAME, "the kernel counts what waits for processors, memory and disks").fine(),
        Err(why) => Row::of(Sight, NAME, why.why.as_str()).less(
            "waiting for memory and disks is not told from waiting for others",
            only_for_good("the kernel's option psi=1, then start the machine again"),
        ),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_changes_several_numbers_is_quoted() {
        let said = crate::rows::sysctl("net.ipv4.ip_local_port_range", "1024 65535");
        assert_eq!(said.now.as_deref(), Some("sysctl -w \"net.ipv4.ip_local_port_range=1024 65535\""));
    }
}
