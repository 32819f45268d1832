//! Who writes a run: enough to know, from any process and after any crash, whether it still does.

use std::fs;
use std::sync::OnceLock;

/// A process, named so that neither a reused pid nor a reboot can take its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WriterProcess {
    /// The kernel's boot, from `/proc/sys/kernel/random/boot_id` (random(4)).
    pub boot: String,
    pub pid: u32,
    /// When it started, in clock ticks since that boot: field 22 of `/proc/PID/stat` (proc(5)).
    pub start: i64,
}

impl WriterProcess {
    /// This process. Without `/proc` the boot is empty, and such a writer is never found alive.
    pub fn current() -> Self {
        let pid = std::process::id();
        Self { boot: boot_id().to_owned(), pid, start: start_of(pid).unwrap_or(0) }
    }

    /// Whether it still lives. A process in another pid namespace cannot be seen and counts as gone.
    pub fn is_alive(&self) -> bool {
        !self.boot.is_empty() && self.boot == boot_id() && start_of(self.pid) == Some(self.start)
    }
}

/// Read once: no process outlives its kernel, and a list asks for every run that has no end.
fn boot_id() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
    })
}

/// One that has ended, and waits for its parent to ask, has none.
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
