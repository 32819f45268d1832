//! The machine this runs on.

use record::Machine;
use std::fs::read_to_string;

/// What can be said of it; what cannot be read is left empty or zero.
pub fn describe() -> Machine {
    let uname = rustix::system::uname();
    let field = |path: &str, name: &str| {
        let text = read_to_string(path).ok()?;
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let memory = field("/proc/meminfo", "MemTotal")
        .and_then(|text| text.split_ascii_whitespace().next()?.parse::<u64>().ok())
        .map_or(0, |kib| kib * 1024);
    Machine {
        host: uname.nodename().to_string_lossy().into_owned(),
        processor: field("/proc/cpuinfo", "model name").unwrap_or_default(),
        cpus: std::thread::available_parallelism().map_or(0, |n| n.get() as u32),
        memory_bytes: memory,
        kernel: uname.release().to_string_lossy().into_owned(),
    }
}
