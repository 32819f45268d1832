//! Memory used by this process and by the machine, according to the kernel.

use std::fs::read_to_string;
use std::io;

/// In bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryReadings {
    pub virtual_size: u64,
    pub resident: u64,
    pub page_tables: u64,
    /// Of the whole machine.
    pub kernel_stack: u64,
    pub slab: u64,
    pub free: u64,
    pub available: u64,
}

impl MemoryReadings {
    pub fn now() -> io::Result<Self> {
        Self::of(&read_to_string("/proc/self/status")?, &read_to_string("/proc/meminfo")?)
    }

    fn of(status: &str, memory: &str) -> io::Result<Self> {
        let kib = |text: &str, name: &str| {
            procfs::kib_field(text, name)
                .ok_or_else(|| io::Error::other(format!("this kernel does not say {name}:")))
        };
        Ok(Self {
            virtual_size: kib(status, "VmSize")?,
            resident: kib(status, "VmRSS")?,
            page_tables: kib(status, "VmPTE")?,
            kernel_stack: kib(memory, "KernelStack")?,
            slab: kib(memory, "Slab")?,
            free: kib(memory, "MemFree")?,
            available: kib(memory, "MemAvailable")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_read() {
        let status = "VmPeak:\t 9 kB\nVmSize:\t 100 kB\nVmRSS:\t 50 kB\nVmPTE:\t 4 kB\n";
        let memory = "MemFree: 7 kB\nMemAvailable: 8 kB\nSlab: 3 kB\nKernelStack: 16 kB\n";
        let read = MemoryReadings::of(status, memory).expect("all is there");
        assert_eq!((read.virtual_size, read.resident, read.page_tables), (102_400, 51_200, 4096));
        assert_eq!((read.kernel_stack, read.slab, read.free), (16_384, 3072, 7168));
        let error = MemoryReadings::of(status, "MemFree: 7 kB\nMemAvailable: 8 kB\nSlab: 3 kB\n")
            .expect_err("the rest is missing")
            .to_string();
        assert!(error.contains("KernelStack"), "{error}");
        MemoryReadings::now().expect("this kernel says all of it");
    }
}
