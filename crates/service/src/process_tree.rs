//! Descent between processes, and killing all descendants of this one.

use procfs::TaskStat;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};
use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Between two checks for survivors.
const PAUSE: Duration = Duration::from_millis(5);

/// Every process, its parent and its process group.
fn table() -> BTreeMap<u32, (u32, u32)> {
    procfs::pids().filter_map(TaskStat::read).map(|stat| (stat.pid, (stat.parent, stat.group))).collect()
}

/// Whether `pid` is `from` or its descendant.
pub fn is_descendant(pid: u32, from: u32) -> bool {
    is_within(&table(), pid, from)
}

/// Whether a descendant of this process is in the process group.
pub fn has_group(group: u32) -> bool {
    let (table, own) = (table(), std::process::id());
    table.iter().any(|(pid, (_, its))| *its == group && is_within(&table, *pid, own))
}

fn is_within(table: &BTreeMap<u32, (u32, u32)>, mut pid: u32, from: u32) -> bool {
    // Processes come and go while the table is read, so it need not be a tree.
    for _ in 0..=table.len() {
        if pid == from {
            return true;
        }
        match table.get(&pid) {
            Some((parent, _)) => pid = *parent,
            None => return false,
        }
    }
    false
}

/// Sends a signal to a process, which may be gone already.
pub fn send(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// Passes every child that has ended to `each`, and returns whether any other is left.
pub fn reap(on_exit: &mut dyn FnMut(u32, WaitStatus)) -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => on_exit(pid.as_raw_pid().unsigned_abs(), status),
            Ok(None) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Kills all descendants of this process, which adopts those whose parents end before them. Some may be left after
/// `timeout`: a process that waits for a broken disk cannot be killed, nor one that changed its user.
pub fn kill_all(timeout: Duration, on_exit: &mut dyn FnMut(u32, WaitStatus)) {
    let until = Instant::now() + timeout;
    while reap(on_exit) && Instant::now() <= until {
        let table = table();
        let own = std::process::id();
        table.keys().filter(|pid| **pid != own && is_within(&table, **pid, own)).for_each(|pid| {
            send(*pid, Signal::KILL);
        });
        sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descent_is_followed() {
        let own = std::process::id();
        assert!(is_descendant(own, own));
        assert!(is_descendant(own, table()[&own].0));
        assert!(!is_descendant(table()[&own].0, own));
        let circle = BTreeMap::from([(1, (2, 1)), (2, (1, 1))]);
        assert!(!is_within(&circle, 1, 3));
    }
}
