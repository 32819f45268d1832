use std::fmt;

/// A processor architecture, by its number in the ELF header (`e_machine`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Architecture(pub u16);

/// Common names, by the numbers of the ELF specification.
const NAMES: &[(u16, &str)] = &[
    (2, "sparc"),
    (3, "i386"),
    (8, "mips"),
    (20, "powerpc"),
    (21, "powerpc64"),
    (22, "s390"),
    (40, "arm"),
    (43, "sparc64"),
    (50, "ia64"),
    (62, "x86-64"),
    (183, "aarch64"),
    (243, "riscv"),
    (247, "bpf"),
    (258, "loongarch"),
];

impl Architecture {
    /// AMD64.
    pub const X86_64: Self = Self(62);
    /// 64-bit ARM.
    pub const AARCH64: Self = Self(183);

    /// The one this program was built for; none if it is neither of the two.
    pub const fn native() -> Option<Self> {
        if cfg!(target_arch = "x86_64") {
            Some(Self::X86_64)
        } else if cfg!(target_arch = "aarch64") {
            Some(Self::AARCH64)
        } else {
            None
        }
    }

    /// The system call with that number, if it creates a process or a thread (syscalls(2)).
    pub fn creation_syscall(self, number: u64) -> Option<CreationSyscall> {
        Some(match (self, number) {
            (Self::X86_64, 56) | (Self::AARCH64, 220) => CreationSyscall::Clone,
            (Self::X86_64, 57) => CreationSyscall::Fork,
            (Self::X86_64, 58) => CreationSyscall::Vfork,
            (Self::X86_64 | Self::AARCH64, 435) => CreationSyscall::Clone3,
            _ => return None,
        })
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(number, _)| *number == self.0) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "machine number {}", self.0),
        }
    }
}

units::named! {
    /// The system calls that create processes and threads.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum CreationSyscall {
        /// fork(2); not on every architecture.
        Fork = "fork",
        /// vfork(2); not on every architecture.
        Vfork = "vfork",
        /// clone(2): flags in its first argument.
        Clone = "clone",
        /// clone3(2): flags in the structure its first argument points to.
        Clone3 = "clone3",
    }
}
