/// Flags of clone(2) and clone3(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloneFlags {
    /// All bits; in clone the lowest byte is 0 or the signal, in clone3 it may hold flags.
    pub bits: u64,
    /// The signal that the parent gets when the child ends; 0 for none.
    pub signal: u64,
}

/// One flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloneFlag {
    /// Its bit.
    pub bit: u64,
    /// As in clone(2).
    pub name: &'static str,
    /// Its effect, in a few words.
    pub meaning: &'static str,
}

/// What such a call creates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CloneKind {
    /// A process with a copy of the memory.
    Fork,
    /// A process in the memory of its parent, which waits until the child executes a program or exits.
    Vfork,
    /// A thread.
    Thread,
    /// A process that shares memory with its parent without blocking it.
    Shared,
}

/// From the manual page clone(2).
const FLAGS: &[CloneFlag] = &[
    flag(0x80, "CLONE_NEWTIME", "in a new time namespace"),
    flag(0x100, "CLONE_VM", "in the same memory, nothing is copied"),
    flag(0x200, "CLONE_FS", "one working directory, root and umask for both"),
    flag(0x400, "CLONE_FILES", "one table of file descriptors for both"),
    flag(0x800, "CLONE_SIGHAND", "one table of signal handlers for both"),
    flag(0x1000, "CLONE_PIDFD", "the parent gets a descriptor of the child"),
    flag(0x2000, "CLONE_PTRACE", "traced like its parent"),
    flag(0x4000, "CLONE_VFORK", "the parent waits until the child execs or ends"),
    flag(0x8000, "CLONE_PARENT", "a sibling rather than a child"),
    flag(0x1_0000, "CLONE_THREAD", "a thread of the same process"),
    flag(0x2_0000, "CLONE_NEWNS", "in a new mount namespace"),
    flag(0x4_0000, "CLONE_SYSVSEM", "one list of System V semaphore adjustments"),
    flag(0x8_0000, "CLONE_SETTLS", "with thread-local storage of its own"),
    flag(0x10_0000, "CLONE_PARENT_SETTID", "its number is written for the parent"),
    flag(0x20_0000, "CLONE_CHILD_CLEARTID", "its number is cleared, and waiters woken, when it ends"),
    flag(0x40_0000, "CLONE_DETACHED", "no meaning any more"),
    flag(0x80_0000, "CLONE_UNTRACED", "no tracer may follow it"),
    flag(0x100_0000, "CLONE_CHILD_SETTID", "its number is written into its own memory"),
    flag(0x200_0000, "CLONE_NEWCGROUP", "in a new cgroup namespace"),
    flag(0x400_0000, "CLONE_NEWUTS", "in a new host name namespace"),
    flag(0x800_0000, "CLONE_NEWIPC", "in a new IPC namespace"),
    flag(0x1000_0000, "CLONE_NEWUSER", "in a new user namespace"),
    flag(0x2000_0000, "CLONE_NEWPID", "in a new PID namespace"),
    flag(0x4000_0000, "CLONE_NEWNET", "in a new network namespace"),
    flag(0x8000_0000, "CLONE_IO", "one I/O context for both"),
    flag(0x1_0000_0000, "CLONE_CLEAR_SIGHAND", "all signal handlers reset to the default"),
    flag(0x2_0000_0000, "CLONE_INTO_CGROUP", "in another cgroup than its parent"),
];

const fn flag(bit: u64, name: &'static str, meaning: &'static str) -> CloneFlag {
    CloneFlag { bit, name, meaning }
}

/// The lowest byte of clone's first argument is a signal.
const SIGNAL: u64 = 0xff;
/// The usual child-exit signal, with this number on every architecture but three.
const SIGCHLD: u64 = 17;

impl CloneFlags {
    /// From the first argument of clone(2).
    pub fn of_clone(argument: u64) -> Self {
        // Only the lower half of the 64-bit argument counts.
        let argument = argument & 0xffff_ffff;
        Self { bits: argument & !SIGNAL, signal: argument & SIGNAL }
    }

    /// From the fields `flags` and `exit_signal` of clone3(2).
    pub fn of_clone3(flags: u64, exit_signal: u64) -> Self {
        Self { bits: flags, signal: exit_signal }
    }

    /// The known flags, and the unknown bits.
    pub fn split_known(&self) -> (Vec<CloneFlag>, u64) {
        let known: Vec<CloneFlag> = FLAGS.iter().filter(|flag| self.bits & flag.bit != 0).copied().collect();
        let rest = known.iter().fold(self.bits, |rest, flag| rest & !flag.bit);
        (known, rest)
    }

    /// The signal's name; none without a signal.
    pub fn signal_name(&self) -> Option<String> {
        match self.signal {
            0 => None,
            SIGCHLD => Some("SIGCHLD".to_owned()),
            number => Some(format!("signal {number}")),
        }
    }

    /// What the call creates.
    pub fn kind(&self) -> CloneKind {
        let has = |name: &str| FLAGS.iter().any(|flag| flag.name == name && self.bits & flag.bit != 0);
        match (has("CLONE_THREAD"), has("CLONE_VM"), has("CLONE_VFORK")) {
            (true, ..) => CloneKind::Thread,
            (_, true, true) => CloneKind::Vfork,
            (_, true, false) => CloneKind::Shared,
            (_, false, _) => CloneKind::Fork,
        }
    }

    /// `CLONE_VM|CLONE_VFORK|SIGCHLD`.
    pub fn names(&self) -> String {
        let (known, rest) = self.split_known();
        let names = known.iter().map(|flag| flag.name.to_owned());
        let rest = (rest != 0).then(|| format!("{rest:#x}"));
        let all: Vec<String> = names.chain(rest).chain(self.signal_name()).collect();
        if all.is_empty() { "0".to_owned() } else { all.join("|") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_of_fork_vfork_and_threads() {
        let fork = CloneFlags::of_clone(0x120_0011);
        assert_eq!(fork.names(), "CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD");
        assert_eq!(fork.kind(), CloneKind::Fork);
        let vfork = CloneFlags::of_clone(0x4111);
        assert_eq!(
            (vfork.names().as_str(), vfork.kind()),
            ("CLONE_VM|CLONE_VFORK|SIGCHLD", CloneKind::Vfork)
        );
        let thread = CloneFlags::of_clone3(0x3d_0f00, 0);
        assert_eq!(thread.kind(), CloneKind::Thread);
        assert_eq!(
            thread.names(),
            "CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD|CLONE_SYSVSEM|CLONE_SETTLS|\
             CLONE_PARENT_SETTID|CLONE_CHILD_CLEARTID"
        );
        assert_eq!(CloneFlags::of_clone(0).names(), "0");
        assert_eq!(CloneFlags::of_clone3(1 << 40, 9).names(), "0x10000000000|signal 9");
    }

    #[test]
    fn every_flag_is_one_bit_of_its_own() {
        let all = FLAGS.iter().fold(0, |all, flag| {
            assert_eq!(flag.bit.count_ones(), 1, "{}", flag.name);
            assert_eq!(all & flag.bit, 0, "{}", flag.name);
            all | flag.bit
        });
        assert_eq!(all, 0x3_ffff_ff80);
    }
}
