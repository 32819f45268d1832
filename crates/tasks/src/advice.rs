//! How to raise the limit of a control group: depends on who made the group, which its name tells.

use std::path::Path;

/// Who made a group.
#[derive(Debug, PartialEq, Eq)]
enum GroupOwner<'a> {
    /// systemd, by this unit name; `user` if it is a user's own systemd.
    Systemd {
        unit: &'a str,
        user: bool,
    },
    Docker(&'a str),
    Podman(&'a str),
    Kubernetes,
    Lxc(&'a str),
    Unknown,
}

impl<'a> GroupOwner<'a> {
    /// From the group's path.
    fn of(name: &'a str) -> Self {
        let last = name.rsplit('/').next().unwrap_or_default();
        let before = name.rsplit('/').nth(1).unwrap_or_default();
        let scope = |prefix: &str| {
            Some(last.strip_prefix(prefix)?.strip_suffix(".scope")?).filter(|id| id.len() >= 12)
        };
        let short = |id: &'a str| id.get(..12).unwrap_or(id);
        if name.contains("kubepods") {
            return Self::Kubernetes;
        }
        if let Some(id) = scope("docker-").or_else(|| (before == "docker").then_some(last)) {
            return Self::Docker(short(id));
        }
        if let Some(id) = scope("libpod-").or_else(|| (before == "libpod_parent").then_some(last)) {
            return Self::Podman(short(id.strip_prefix("libpod-").unwrap_or(id)));
        }
        if let Some(container) =
            last.strip_prefix("lxc.payload.").or_else(|| (before == "lxc").then_some(last))
        {
            return Self::Lxc(container);
        }
        if [".service", ".scope", ".slice"].iter().any(|kind| last.ends_with(kind)) {
            // What is below user@UID.service belongs to the user's own systemd.
            let user = name.split('/').rev().skip(1).any(|part| part.starts_with("user@"));
            return Self::Systemd { unit: last, user };
        }
        Self::Unknown
    }
}

/// A control group limit in the terms of each maker.
struct LimitChange<'a> {
    /// The group's name.
    name: &'a str,
    /// systemd's property: `TasksMax=100`.
    property: String,
    /// Where systemd sets the same for the slices of all users, if it does.
    for_all_users: String,
    /// Option of Docker and Podman: `--pids-limit 100`.
    option: String,
    /// Where else those two set it.
    files: [&'static str; 2],
    /// Where Kubernetes sets it.
    pod: String,
    /// LXC's: `limits.processes 100`.
    lxc: String,
    /// Command for groups of unknown makers.
    by_hand: String,
}

impl LimitChange<'_> {
    /// Commands that set it now, and permanently.
    fn commands(self) -> (String, String) {
        let Self { name, property, for_all_users, option, files: [docker, podman], pod, lxc, by_hand } = self;
        match GroupOwner::of(name) {
            GroupOwner::Systemd { unit, user } => {
                let command = if user { "systemctl --user" } else { "systemctl" };
                let of_all = if !user && unit.starts_with("user-") { &*for_all_users } else { "" };
                (
                    format!("{command} set-property --runtime {unit} {property}"),
                    format!("{command} set-property {unit} {property}{of_all}"),
                )
            }
            GroupOwner::Docker(id) => {
                (format!("docker update {option} {id}"), format!("docker run {option} …{docker}"))
            }
            GroupOwner::Podman(id) => {
                (format!("podman update {option} {id}"), format!("podman run {option} …{podman}"))
            }
            GroupOwner::Kubernetes => ("not from within a pod".to_owned(), pod),
            GroupOwner::Lxc(container) => {
                let command = format!("lxc config set {container} {lxc}");
                (command.clone(), command)
            }
            GroupOwner::Unknown => (by_hand, format!("by whoever makes the control group {name}")),
        }
    }
}

/// For the number of tasks: now, and permanently.
pub fn pids_advice(name: &str, file: &str, wanted: u64) -> (String, String) {
    let change = LimitChange {
        name,
        property: format!("TasksMax={wanted}"),
        for_all_users: format!(
            "; of all users: /etc/systemd/system/user-.slice.d/90-tasks.conf with [Slice] TasksMax={wanted}"
        ),
        option: format!("--pids-limit {wanted}"),
        files: ["; pids_limit in a compose file", "; pids_limit in containers.conf"],
        pod: format!("podPidsLimit: {wanted} in the configuration of the node's kubelet"),
        lxc: format!("limits.processes {wanted}"),
        by_hand: format!("echo {wanted} > {file}"),
    };
    change.commands()
}

/// For memory, in bytes: now, and permanently.
pub fn memory_advice(name: &str, file: &str, wanted: u64) -> (String, String) {
    let change = LimitChange {
        name,
        property: format!("MemoryMax={wanted}"),
        for_all_users: String::new(),
        option: format!("--memory {wanted}"),
        files: [""; 2],
        pod: format!("resources.limits.memory: {wanted} in the pod's manifest"),
        lxc: format!("limits.memory {wanted}B"),
        by_hand: format!("echo {wanted} > {file}"),
    };
    change.commands()
}

/// For processor time, in processors: now, and permanently. `folder` is the group's.
pub fn cpu_quota_advice(name: &str, folder: &Path, unified: bool, wanted: u64) -> (String, String) {
    let percent = wanted * 100;
    let change = LimitChange {
        name,
        property: format!("CPUQuota={percent}%"),
        for_all_users: String::new(),
        option: format!("--cpus {wanted}"),
        files: [""; 2],
        pod: format!("resources.limits.cpu: {wanted} in the pod's manifest, or none"),
        lxc: format!("limits.cpu.allowance {percent}%"),
        by_hand: match unified {
            true => format!("echo max > {}", folder.join("cpu.max").display()),
            false => format!("echo -1 > {}", folder.join("cpu.cfs_quota_us").display()),
        },
    };
    change.commands()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_says_who_made_it() {
        let id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        let docker = format!("/system.slice/docker-{id}.scope");
        let pod = format!(
            "/kubepods.slice/kubepods-besteffort.slice/kubepods-pod7.slice/cri-containerd-{id}.scope"
        );
        let podman = format!("/machine.slice/libpod-{id}.scope");
        for (name, now, for_good) in [
            (
                "/user.slice/user-1000.slice",
                "systemctl set-property --runtime user-1000.slice TasksMax=500",
                "systemctl set-property user-1000.slice TasksMax=500; of all users: /etc/systemd/system/user-.slice.d/",
            ),
            (
                "/system.slice/shop.service",
                "systemctl set-property --runtime shop.service TasksMax=500",
                "systemctl set-property shop.service TasksMax=500",
            ),
            (
                "/user.slice/user-1000.slice/user@1000.service/app.slice/shop.scope",
                "systemctl --user set-property --runtime shop.scope TasksMax=500",
                "systemctl --user set-property shop.scope TasksMax=500",
            ),
            (
                "/user.slice/user-1000.slice/user@1000.service",
                "systemctl set-property --runtime user@1000.service",
                "systemctl set-property user@1000.service",
            ),
            (&docker, "docker update --pids-limit 500 0123456789ab", "docker run --pids-limit 500"),
            (
                &format!("/docker/{id}"),
                "docker update --pids-limit 500 0123456789ab",
                "docker run --pids-limit 500",
            ),
            (&podman, "podman update --pids-limit 500 0123456789ab", "podman run --pids-limit 500"),
            (&pod, "not from within a pod", "podPidsLimit: 500"),
            ("/lxc.payload.web", "lxc config set web limits.processes 500", "lxc config set web"),
            (
                "/jobs/7",
                "echo 500 > /sys/fs/cgroup/pids/jobs/7/pids.max",
                "by whoever makes the control group /jobs/7",
            ),
        ] {
            let commands = pids_advice(name, &format!("/sys/fs/cgroup/pids{name}/pids.max"), 500);
            assert!(commands.0.starts_with(now) && commands.1.starts_with(for_good), "{name}: {commands:?}");
        }
        let commands = memory_advice("/system.slice/shop.service", "", 1 << 30);
        assert_eq!(commands.1, "systemctl set-property shop.service MemoryMax=1073741824");
        assert_eq!(memory_advice("/jobs/7", "/x/memory.max", 64).0, "echo 64 > /x/memory.max");
        let now = |name: &str, unified| cpu_quota_advice(name, Path::new("/x"), unified, 2).0;
        assert_eq!(
            now("/system.slice/shop.service", true),
            "systemctl set-property --runtime shop.service CPUQuota=200%"
        );
        assert_eq!(now(&docker, true), "docker update --cpus 2 0123456789ab");
        assert_eq!(now("/jobs/7", true), "echo max > /x/cpu.max");
        assert_eq!(now("/jobs/7", false), "echo -1 > /x/cpu.cfs_quota_us");
    }
}
