//! The smallest program: what starting one costs without libc and loader.

use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

/// Load address: a multiple of every page size, above the reserved low addresses.
const LOAD_ADDRESS: u64 = 0x40_0000;
/// ELF header and the only program header.
const HEADERS_SIZE: usize = 64 + 56;

#[cfg(target_arch = "x86_64")]
mod machine {
    pub const NUMBER: u16 = 62;
    /// mov eax, 60; xor edi, edi; syscall
    pub const CODE: &[u8] = &[0xb8, 0x3c, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05];
}

#[cfg(target_arch = "aarch64")]
mod machine {
    pub const NUMBER: u16 = 183;
    /// mov x8, #93; mov x0, #0; svc #0
    pub const CODE: &[u8] = &[0xa8, 0x0b, 0x80, 0xd2, 0, 0, 0x80, 0xd2, 0x01, 0, 0, 0xd4];
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod machine {
    /// No machine: the kernel refuses it.
    pub const NUMBER: u16 = 0;
    pub const CODE: &[u8] = &[];
}

/// An ELF file (elf(5)) with one segment, whose three instructions exit with 0.
pub fn minimal_elf() -> Vec<u8> {
    let size = (HEADERS_SIZE + machine::CODE.len()) as u64;
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    let mut put = |bytes: &[u8]| file.extend_from_slice(bytes);
    // An executable for this machine, version 1.
    put(&2_u16.to_le_bytes());
    put(&machine::NUMBER.to_le_bytes());
    put(&1_u32.to_le_bytes());
    // Entry point, offset of the program headers, and no sections.
    put(&(LOAD_ADDRESS + HEADERS_SIZE as u64).to_le_bytes());
    put(&64_u64.to_le_bytes());
    put(&0_u64.to_le_bytes());
    put(&0_u32.to_le_bytes());
    // Header sizes and counts.
    for number in [64_u16, 56, 1, 0, 0, 0] {
        put(&number.to_le_bytes());
    }
    // The whole file, readable and executable.
    put(&1_u32.to_le_bytes());
    put(&5_u32.to_le_bytes());
    for number in [0, LOAD_ADDRESS, LOAD_ADDRESS, size, size, 0x1_0000] {
        put(&number.to_le_bytes());
    }
    put(machine::CODE);
    file
}

/// The same as an anonymous file, which lasts as long as the descriptor; and the path by which this process and its
/// children can execute it.
pub fn minimal_program() -> io::Result<(OwnedFd, PathBuf)> {
    let plain = MemfdFlags::CLOEXEC;
    // Before Linux 6.3 this flag was neither required nor accepted.
    let file = memfd_create("minimal", plain | MemfdFlags::EXEC)
        .or_else(|_| memfd_create("minimal", plain))
        .map_err(|why| io::Error::other(format!("no executable file in memory (memfd_create): {why}")))?;
    let mut file = File::from(file);
    file.write_all(&minimal_elf())?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok((file.into(), path.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_kernel_executes_it() {
        let (file, path) = minimal_program().expect("files in memory may be executed here");
        let status = Command::new(path).status().expect("it is a program");
        assert_eq!(status.code(), Some(0));
        drop(file);
        assert_eq!(minimal_elf().len(), HEADERS_SIZE + machine::CODE.len());
    }
}
