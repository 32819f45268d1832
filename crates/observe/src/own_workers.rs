//! torment's workers on this machine.

use std::fs;

/// The processes that generate load for this one, if any: torment executed again, by this process, as a
/// worker.
pub(crate) fn own_worker_pids() -> Vec<u32> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let children: String = children.collect();
    let is_worker =
        |pid: &u32| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with(b"\0worker\0"));
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).filter(is_worker).collect()
}
