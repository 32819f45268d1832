//! The process that writes a run, identified well enough to know, from any process and after any crash, whether it is still alive.

use std::fs;
use std::sync::OnceLock;

/// A process, identified such that neither a reused pid nor a reboot can be mistaken for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WriterProcess {
    /// The kernel's boot id, from `/proc/sys/kernel/random/boot_id` (random(4)).
    pub boot: String,
    pub pid: u32,
    /// Its start, in clock ticks since boot: field 22 of `/proc/PID/stat` (proc(5)).
    pub start: i64,
}

impl WriterProcess {
    /// This process. Without `/proc` the boot id is empty, and such a writer never counts as alive.
    pub fn current() -> Self {
        let pid = std::process::id();
        Self { boot: boot_id().to_owned(), pid, start: start_of(pid).unwrap_or(0) }
    }

    /// Whether it is still alive. A process in another pid namespace is invisible and counts as gone.
    pub fn is_alive(&self) -> bool {
        !self.boot.is_empty() && self.boot == boot_id() && start_of(self.pid) == Some(self.start)
    }
}

/// Read once: no process outlives its kernel, and a list needs it for every unfinished run.
fn boot_id() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
    })
}

/// None for a zombie.
fn start_of(pid: u32) -> Option<i64> {
    procfs::running_process(pid)?.stat.start.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_a_later_one_of_its_pid_is_another() {
        let me = WriterProcess::current();
        assert!(me.is_alive());
        assert!(!WriterProcess { start: me.start + 1, ..me.clone() }.is_alive(), "a reused pid");
        assert!(!WriterProcess { boot: "another".to_owned(), ..me.clone() }.is_alive(), "after a reboot");
        assert!(!WriterProcess { boot: String::new(), ..me }.is_alive(), "no /proc");
    }
}
