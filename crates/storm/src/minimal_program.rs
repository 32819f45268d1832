//! The baseline of process starts: a program that does nothing but end, and what a virtual machine adds to a
//! start.

use crate::ProgramCommand;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use units::Nanos;

/// A static program of three instructions, in memory: it never leaves a file behind.
pub struct MinimalProgram {
    file: OwnedFd,
}

impl MinimalProgram {
    /// Creates it.
    ///
    /// Fails where programs must not be executed from memory (`vm.memfd_noexec`).
    pub fn new() -> io::Result<Self> {
        let (file, _) = probe::launch::minimal_program()?;
        Ok(Self { file })
    }

    /// How to start it, as long as this lives.
    pub fn command(&self) -> ProgramCommand {
        // By our process number, not as "self": launchers have descriptor tables of their own, and every
        // process that looked there would create another folder of /proc.
        let path = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()));
        ProgramCommand { argv: vec![OsString::from("bare")], path, environment: Vec::new() }
    }
}

/// The time of one CPUID instruction, which a hypervisor has to emulate; `None` on other architectures.
pub fn cpuid_time() -> Option<Nanos> {
    #[cfg(target_arch = "x86_64")]
    {
        const BLOCKS: usize = 21;
        const CALLS_PER_BLOCK: u64 = 20;
        let mut blocks: Vec<u64> = (0..BLOCKS)
            .map(|_| {
                let began = sys::monotonic_ns();
                for _ in 0..CALLS_PER_BLOCK {
                    std::hint::black_box(std::arch::x86_64::__cpuid(0));
                }
                (sys::monotonic_ns() - began) / CALLS_PER_BLOCK
            })
            .collect();
        blocks.sort_unstable();
        Some(Nanos(blocks[BLOCKS / 2]))
    }
    #[cfg(not(target_arch = "x86_64"))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_can_be_executed_and_ends_well() {
        let program = MinimalProgram::new().expect("memory can be executed here");
        let status = std::process::Command::new(program.command().path).status().expect("it is a program");
        assert_eq!(status.code(), Some(0));
    }
}
