//! What an off-CPU thread waits for, by its system call.

use super::proc_files::ProcFiles;
use super::socket_table::SocketTable;
use super::syscall::{Syscall, parse_syscall};
use super::wait_table::{ThreadActivity, WaitId, WaitTable, within_s};
use procfs::parse_socket_inode;
use record::watch::{FutexOp, ThreadWait};
use rustix::process::Pid;
use rustix::time::ClockId;
use std::io;
use std::os::fd::OwnedFd;
use sys::{SyscallKind, syscall_kind};

/// A thread to be inspected.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SleepingThread<'a> {
    pub pid: u32,
    pub tid: u32,
    /// `S`, `D`, …
    pub state: u8,
    /// Its open `syscall` file, if kept.
    pub file: Option<&'a OwnedFd>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inspection {
    /// Running after all.
    Running,
    /// Its wait.
    Waiting(ThreadActivity),
    /// Not permitted; the wait that `wchan` gives.
    ByWchan(WaitId),
    /// It has ended.
    Ended,
}

/// What an inspection needs.
pub(crate) struct Inspector<'a> {
    pub files: &'a mut ProcFiles,
    pub sockets: &'a mut SocketTable,
    pub waits: &'a mut WaitTable,
}

impl Inspector<'_> {
    /// Inspects a thread by its system call.
    pub fn inspect(&mut self, sleeper: SleepingThread<'_>) -> Inspection {
        let SleepingThread { pid, tid, state, file } = sleeper;
        let text = match self.files.read_either(file, format_args!("{pid}/task/{tid}/syscall")) {
            Ok(text) => text,
            Err(error) if procfs::is_gone(&error) => return Inspection::Ended,
            Err(_) => return self.inspect_by_wchan(sleeper),
        };
        let wait = match parse_syscall(text) {
            None => return self.inspect_by_wchan(sleeper),
            Some(Syscall::Running) => return Inspection::Running,
            Some(Syscall::Outside) => self.in_kernel(sleeper),
            Some(Syscall::In(number, arguments)) => match syscall_kind(number) {
                SyscallKind::Futex => return Inspection::Waiting(futex_wait(pid, arguments)),
                SyscallKind::Poll if arguments[1] == 0 => ThreadWait::Sleep,
                SyscallKind::Poll if arguments[1] == 1 => self.poll_wait(sleeper, arguments[0], arguments[2]),
                SyscallKind::Select if arguments[0] == 0 => ThreadWait::Sleep,
                SyscallKind::Poll | SyscallKind::Select | SyscallKind::EventWait => ThreadWait::Events,
                SyscallKind::Accept => ThreadWait::Accept,
                SyscallKind::Sleep => ThreadWait::Sleep,
                SyscallKind::ChildWait => ThreadWait::Child,
                SyscallKind::Descriptor(name) => self.wait_on_descriptor(sleeper, arguments[0], name),
                SyscallKind::Other(_) if state == b'D' => self.uninterruptible(sleeper),
                SyscallKind::Other(Some(name)) => ThreadWait::Other { what: name.to_owned() },
                SyscallKind::Other(None) => ThreadWait::Other { what: format!("system call {number}") },
            },
        };
        Inspection::Waiting(ThreadActivity::Wait(self.waits.intern(wait)))
    }

    /// By `wchan`, which takes less permission than the system call. It gives no timeout or descriptor, so
    /// only a name where these matter.
    pub fn inspect_by_wchan(&mut self, sleeper: SleepingThread<'_>) -> Inspection {
        let wait = match self.function(sleeper) {
            None => ThreadWait::Unknown,
            Some(what) => match what.as_str() {
                "do_epoll_wait" | "ep_poll" => ThreadWait::Events,
                "inet_csk_accept" => ThreadWait::Accept,
                "hrtimer_nanosleep" | "do_nanosleep" => ThreadWait::Sleep,
                "do_wait" | "kernel_wait4" => ThreadWait::Child,
                "pipe_read" | "pipe_write" | "anon_pipe_read" | "anon_pipe_write" => ThreadWait::Pipe,
                _ if sleeper.state == b'D' => self.uninterruptible(sleeper),
                _ => ThreadWait::Other { what },
            },
        };
        Inspection::ByWchan(self.waits.intern(wait))
    }

    /// `wchan`; none if it may not be read, which the kernel signals by `0`.
    fn function(&mut self, SleepingThread { pid, tid, .. }: SleepingThread<'_>) -> Option<String> {
        let text = self.files.read_either(None, format_args!("{pid}/task/{tid}/wchan")).ok()?;
        let text = String::from_utf8_lossy(text.trim_ascii());
        (!text.is_empty() && text != "0").then(|| text.into_owned())
    }

    /// Not in a system call: a page fault, or being stopped.
    fn in_kernel(&mut self, sleeper: SleepingThread<'_>) -> ThreadWait {
        if sleeper.state == b'D' {
            return ThreadWait::PageFault;
        }
        self.function(sleeper).map_or(ThreadWait::Unknown, |what| ThreadWait::Other { what })
    }

    /// Uninterruptible, and not on a descriptor: a disk, or a kernel lock.
    fn uninterruptible(&mut self, sleeper: SleepingThread<'_>) -> ThreadWait {
        const DISK: [&str; 10] = units::texts![
            "io_schedule" "folio_wait" "jbd2" "rq_qos" "blk_" "wait_on_b" "xfs_" "ext4_" "nfs" "btrfs"
        ];
        match self.function(sleeper) {
            None => ThreadWait::Unknown,
            Some(what) if DISK.iter().any(|part| what.contains(part)) => ThreadWait::Disk { what },
            Some(what) => ThreadWait::Other { what },
        }
    }

    /// Polls one descriptor, until then.
    fn poll_wait(
        &mut self,
        SleepingThread { pid, tid, .. }: SleepingThread<'_>,
        address: u64,
        until: u64,
    ) -> ThreadWait {
        // struct pollfd begins with the descriptor.
        let mut bytes = [0; 4];
        if read_memory(pid, address, &mut bytes).is_err() {
            return ThreadWait::Other { what: "poll".to_owned() };
        }
        let descriptor = u64::from(u32::from_ne_bytes(bytes));
        // So sleeps Ruby's main thread, which only a signal would wake by that descriptor. Others wait so
        // for work, in other threads.
        if pid == tid && has_deadline(until) && self.is_eventfd(pid, descriptor) {
            return ThreadWait::Sleep;
        }
        self.descriptor_wait(pid, descriptor, "poll").unwrap_or(ThreadWait::Events)
    }

    fn is_eventfd(&mut self, pid: u32, descriptor: u64) -> bool {
        let link = self.files.link(format_args!("{pid}/fd/{descriptor}"));
        link.is_ok_and(|link| link == b"anon_inode:[eventfd]")
    }

    fn wait_on_descriptor(
        &mut self,
        sleeper: SleepingThread<'_>,
        descriptor: u64,
        call: &'static str,
    ) -> ThreadWait {
        match self.descriptor_wait(sleeper.pid, descriptor, call) {
            Some(wait) => wait,
            None if sleeper.state == b'D' => self.uninterruptible(sleeper),
            None => ThreadWait::Other { what: call.to_owned() },
        }
    }

    /// The wait for this descriptor; none if that does not follow.
    fn descriptor_wait(&mut self, pid: u32, descriptor: u64, call: &str) -> Option<ThreadWait> {
        // The kernel takes the lower half of a register for a descriptor.
        let descriptor = descriptor & u64::from(u32::MAX);
        let link = self.files.link(format_args!("{pid}/fd/{descriptor}")).ok()?;
        if let Some(inode) = parse_socket_inode(link) {
            return Some(self.sockets.classify(inode));
        }
        if link.starts_with(b"pipe:") {
            return Some(ThreadWait::Pipe);
        }
        let path = String::from_utf8_lossy(link).replace(|c: char| c.is_control(), "?");
        match path.as_bytes() {
            [b'/', ..] if path.starts_with("/dev/") || path.starts_with("/proc/") => {
                Some(ThreadWait::Other { what: path })
            }
            // Files are never polled.
            [b'/', ..] if call != "poll" => Some(ThreadWait::Disk { what: path }),
            _ if path.starts_with("anon_inode:") => Some(ThreadWait::Events),
            _ => None,
        }
    }
}

/// Whether the third argument of poll(2), milliseconds, or of ppoll(2), a pointer to a time, is a timeout:
/// negative or null is for ever.
fn has_deadline(until: u64) -> bool {
    match until >> 32 {
        0 | 0xffff_ffff => (until as u32).cast_signed() > 0,
        _ => true,
    }
}

fn read_memory(pid: u32, address: u64, into: &mut [u8]) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    sys::read_memory(pid.ok_or(io::ErrorKind::NotFound)?, address, into)
}

/// A futex(2) wait: address, operation, expected value, and a pointer to the timeout.
///
/// A thread that has not moved since keeps what was left at the first look: that is nearer to its original
/// timeout.
fn futex_wait(pid: u32, [address, flags, _, until]: [u64; 4]) -> ThreadActivity {
    const PRIVATE: u64 = 128;
    const WALL_CLOCK: u64 = 256;
    let (op, is_absolute) = match flags & 0xffff_ffff & !(PRIVATE | WALL_CLOCK) {
        0 => (FutexOp::Wait, false),
        9 => (FutexOp::WaitBitset, true),
        // FUTEX_LOCK_PI and the like always use the wall clock.
        _ => (FutexOp::Other, true),
    };
    let mut within = None;
    if until != 0 {
        let is_wall = flags & WALL_CLOCK != 0 || op == FutexOp::Other;
        let clock = if is_wall { ClockId::Realtime } else { ClockId::Monotonic };
        let mut bytes = [0; 16];
        // An unreadable timeout is still one: the longest, which says least.
        let left = read_memory(pid, until, &mut bytes).map_or(u64::MAX, |()| {
            let timeout = nanos(bytes);
            if is_absolute { timeout.saturating_sub(sys::clock_ns(clock)) } else { timeout }
        });
        within = Some(within_s(left));
    }
    ThreadActivity::Futex { op, within_s: within, address }
}

/// `struct timespec`.
fn nanos(bytes: [u8; 16]) -> u64 {
    let (halves, _) = bytes.as_chunks();
    let [seconds, rest] = [halves[0], halves[1]].map(u64::from_ne_bytes);
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_of_polls() {
        for (until, has) in [
            (0, false),
            (50, true),
            (u64::from(u32::MAX), false),
            (u64::MAX, false),
            (u64::MAX - 1, false),
            (0x7ffe_8992_bc40, true),
        ] {
            assert_eq!(has_deadline(until), has, "{until:#x}");
        }
    }
}
