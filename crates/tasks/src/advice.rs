//! How the limit of a control group is raised: by whoever made the group, as its name says.

use std::path::Path;

/// Who made a group.
#[derive(Debug, PartialEq, Eq)]
enum Maker<'a> {
    /// systemd, which calls it this; `user` if it is a user's own systemd.
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

impl<'a> Maker<'a> {
    /// Of the group with this path.
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
            // What is below user@UID.service is its own systemd's.
            let user = name.split('/').rev().skip(1).any(|part| part.starts_with("user@"));
            return Self::Systemd { unit: last, user };
        }
        Self::Unknown
    }
}

/// For the number of tasks: now, and for good.
pub fn pids(name: &str, file: &str, wanted: u64) -> (String, String) {
    match Maker::of(name) {
        Maker::Systemd { unit, user } => {
            let command = if user { "systemctl --user" } else { "systemctl" };
            let more = match unit.strip_prefix("user-") {
                Some(_) if !user => format!(
                    "; of all users: /etc/systemd/system/user-.slice.d/90-tasks.conf with [Slice] TasksMax={wanted}"
                ),
                _ => String::new(),
            };
            (
                format!("{command} set-property --runtime {unit} TasksMax={wanted}"),
                format!("{command} set-property {unit} TasksMax={wanted}{more}"),
            )
        }
        Maker::Docker(id) => (
            format!("docker update --pids-limit {wanted} {id}"),
            format!("docker run --pids-limit {wanted} …; pids_limit in a compose file"),
        ),
        Maker::Podman(id) => (
            format!("podman update --pids-limit {wanted} {id}"),
            format!("podman run --pids-limit {wanted} …; pids_limit in containers.conf"),
        ),
        Maker::Kubernetes => (
            "not from within a pod".to_owned(),
            format!("podPidsLimit: {wanted} in the configuration of the node's kubelet"),
        ),
        Maker::Lxc(container) => {
            let command = format!("lxc config set {container} limits.processes {wanted}");
            (command.clone(), command)
        }
        Maker::Unknown => {
            (format!("echo {wanted} > {file}"), format!("by whoever makes the control group {name}"))
        }
    }
}

/// For memory, in bytes: now, and for good.
pub fn memory(name: &str, file: &str, wanted: u64) -> (String, String) {
    match Maker::of(name) {
        Maker::Systemd { unit, user } => {
            let command = if user { "systemctl --user" } else { "systemctl" };
            (
                format!("{command} set-property --runtime {unit} MemoryMax={wanted}"),
                format!("{command} set-property {unit} MemoryMax={wanted}"),
            )
        }
        Maker::Docker(id) => {
            (format!("docker update --memory {wanted} {id}"), format!("docker run --memory {wanted} …"))
        }
        Maker::Podman(id) => {
            (format!("podman update --memory {wanted} {id}"), format!("podman run --memory {wanted} …"))
        }
        Maker::Kubernetes => (
            "not from within a pod".to_owned(),
            format!("resources.limits.memory: {wanted} in the pod's manifest"),
        ),
        Maker::Lxc(container) => {
            let command = format!("lxc config set {container} limits.memory {wanted}B");
            (command.clone(), command)
        }
        Maker::Unknown => {
            (format!("echo {wanted} > {file}"), format!("by whoever makes the control group {name}"))
        }
    }
}

/// For processor time, so many processors: now, and for good. `folder` is the group's.
pub fn cpus(name: &str, folder: &Path, unified: bool, wanted: u64) -> (String, String) {
    let same = |command: String| (command.clone(), command);
    match Maker::of(name) {
        Maker::Systemd { unit, user } => {
            let command = if user { "systemctl --user" } else { "systemctl" };
            let percent = wanted * 100;
            (
                format!("{command} set-property --runtime {unit} CPUQuota={percent}%"),
                format!("{command} set-property {unit} CPUQuota={percent}%"),
            )
        }
        Maker::Docker(id) => {
            (format!("docker update --cpus {wanted} {id}"), format!("docker run --cpus {wanted} …"))
        }
        Maker::Podman(id) => {
            (format!("podman update --cpus {wanted} {id}"), format!("podman run --cpus {wanted} …"))
        }
        Maker::Kubernetes => (
            "not from within a pod".to_owned(),
            format!("resources.limits.cpu: {wanted} in the pod's manifest, or none"),
        ),
        Maker::Lxc(container) => {
            same(format!("lxc config set {container} limits.cpu.allowance {}%", wanted * 100))
        }
        Maker::Unknown => {
            let now = match unified {
                true => format!("echo max > {}", folder.join("cpu.max").display()),
                false => format!("echo -1 > {}", folder.join("cpu.cfs_quota_us").display()),
            };
            (now, format!("by whoever makes the control group {name}"))
        }
    }
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
            let said = pids(name, &format!("/sys/fs/cgroup/pids{name}/pids.max"), 500);
            assert!(said.0.starts_with(now) && said.1.starts_with(for_good), "{name}: {said:?}");
        }
        let said = memory("/system.slice/shop.service", "", 1 << 30);
        assert_eq!(said.1, "systemctl set-property shop.service MemoryMax=1073741824");
        assert_eq!(memory("/jobs/7", "/x/memory.max", 64).0, "echo 64 > /x/memory.max");
        let now = |name: &str, unified| cpus(name, Path::new("/x"), unified, 2).0;
        assert_eq!(
            now("/system.slice/shop.service", true),
            "systemctl set-property --runtime shop.service CPUQuota=200%"
        );
        assert_eq!(now(&docker, true), "docker update --cpus 2 0123456789ab");
        assert_eq!(now("/jobs/7", true), "echo max > /x/cpu.max");
        assert_eq!(now("/jobs/7", false), "echo -1 > /x/cpu.cfs_quota_us");
    }
}
