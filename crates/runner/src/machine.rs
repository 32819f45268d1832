//! The machine torment runs on.

use procfs::{field, kib_field};
use record::Machine;
use std::fs::read_to_string;

/// What is known of it; unreadable values are empty or zero.
pub fn describe() -> Machine {
    let uname = rustix::system::uname();
    let text = |path: &str| read_to_string(path).unwrap_or_default();
    Machine {
        host: uname.nodename().to_string_lossy().into_owned(),
        processor: field(&text("/proc/cpuinfo"), "model name").unwrap_or_default().to_owned(),
        cpus: rustix::thread::sched_getaffinity(None).map_or(0, |those| those.count()),
        memory_bytes: kib_field(&text("/proc/meminfo"), "MemTotal").unwrap_or(0),
        kernel: uname.release().to_string_lossy().into_owned(),
    }
}

/// Its kernel's `boot_id` (random(4)), unique to the machine and boot.
pub(crate) fn boot_id() -> String {
    read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}
