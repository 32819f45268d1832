//! What torment is permitted to do.

use super::{Assessment, Rows, capabilities, only_for_good, remedy};
use crate::facts::MachineFacts;
use crate::files::FileRead;
use procfs::cgroups::{ControllerGroups, GroupPaths};
use record::Remedy;

/// CAP_SYS_NICE.
const CAP_SYS_NICE: u32 = 23;
/// The weight that loops request, and the RLIMIT_NICE that permits it (20 minus the nice value).
const NICE_WANTED: u64 = 30;

pub(super) fn rows(facts: &MachineFacts) -> Rows<'_> {
    vec![
        ("control groups", groups(facts)),
        ("limits of services", delegation(facts)),
        ("priority", priority(facts)),
    ]
}

fn groups(facts: &MachineFacts) -> FileRead<Assessment> {
    let GroupPaths { cpu, memory, pids, unified } = facts.groups.as_ref()?;
    let all = [("cpu", cpu), ("memory", memory), ("pids", pids)];
    let names = |matches: &dyn Fn(&ControllerGroups) -> bool| {
        let kept = all.iter().filter(|(_, line)| matches(line)).map(|(name, _)| *name);
        kept.collect::<Vec<_>>().join(", ")
    };
    let hidden = names(&|line| line.groups.is_empty());
    let version_1 = names(&|line| !line.unified && !line.groups.is_empty());
    let found = match (version_1.is_empty(), unified.groups.is_empty()) {
        (true, false) => "version 2".to_owned(),
        (false, false) => format!("version 1 ({version_1}) beside version 2"),
        (false, true) => "version 1".to_owned(),
        (true, true) => "none is mounted".to_owned(),
    };
    if !hidden.is_empty() {
        return Assessment::of(format!("{found}; not seen: {hidden}")).less(
            format!("limits by {hidden} are not seen: a service that is throttled or killed by them looks slow or gone for no reason"),
            remedy("mount -t cgroup2 cgroup2 /sys/fs/cgroup", "of a container: docker run --cgroupns host -v /sys/fs/cgroup:/sys/fs/cgroup:ro …"),
        );
    }
    if !version_1.is_empty() && unified.groups.is_empty() {
        return Assessment::of(found).less(
            "version 1 does not count how long the service's own group waits for processors, memory and disks: the whole machine's waits are shown",
            only_for_good("the kernel's option systemd.unified_cgroup_hierarchy=1, then reboot"),
        );
    }
    Assessment::of(found).fine()
}

fn delegation(facts: &MachineFacts) -> FileRead<Assessment> {
    match &facts.delegated {
        Ok(()) => Assessment::of("a plan may set them: control groups can be made").fine(),
        Err(why) => {
            let why = why.split("; ").next().unwrap_or_default();
            Assessment::of(why).less(
                "a plan whose services have `cpus`, `memory` or `pids` is refused",
                remedy(
                    "systemd-run --user --scope -p Delegate=yes torment …, or run torment as root",
                    "systemctl set-property UNIT Delegate=yes, of the unit that torment runs in",
                ),
            )
        }
    }
}

fn priority(facts: &MachineFacts) -> FileRead<Assessment> {
    if facts.has_capability(CAP_SYS_NICE) && !facts.nested {
        return Assessment::of("the load goes before others of its group (nice -10)").fine();
    }
    match facts.nice_limit.as_ref()?.soft {
        Some(limit) if limit < NICE_WANTED => Assessment::of(
            "that of any other program: nice -10 is refused",
        )
        .figure("rlimit_nice", limit)
        .less(
            "beside a service that uses all processors the load leaves late, and such trials do not count",
            Remedy {
                now: Some("prlimit --pid $$ --nice=30, as root; or run torment as root".to_owned()),
                ..capabilities()
            },
        ),
        _ => Assessment::of("the load goes before others of its group (nice -10, by RLIMIT_NICE)").fine(),
    }
}
