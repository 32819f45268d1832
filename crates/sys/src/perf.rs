use crate::errors::check_errno;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// The registers needed to unwind a stack, as bits of `sample_regs_user` (arch/*/include/uapi/asm/perf_regs.h).
/// A sample has them in bit order: frame pointer, stack pointer, instruction on x86-64; frame pointer, link,
/// stack pointer, instruction on aarch64.
const REGISTERS: u64 = if cfg!(target_arch = "x86_64") {
    1 << 6 | 1 << 7 | 1 << 8
} else if cfg!(target_arch = "aarch64") {
    1 << 29 | 1 << 30 | 1 << 31 | 1 << 32
} else {
    0
};

/// `PERF_SAMPLE_IP | TID | TIME | CALLCHAIN`, and for user space `REGS | STACK`.
const SAMPLE_FIELDS: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 5;
const SAMPLE_STACK: u64 = 1 << 12 | 1 << 13;
/// `PERF_TYPE_SOFTWARE` and its `PERF_COUNT_SW_CPU_CLOCK`: processor time, in nanoseconds.
const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
/// Attribute bits, in the order of perf_event_open(2).
const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const EXCLUDE_IDLE: u64 = 1 << 7;
const TASK_RECORDS: u64 = 1 << 8 | 1 << 9 | 1 << 13 | 1 << 18 | 1 << 23; // mmap, comm, task, sample_id_all, mmap2
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
/// `PERF_EVENT_IOC_ENABLE` and `PERF_EVENT_IOC_SET_OUTPUT`.
const ENABLE: libc::c_ulong = 0x2400;
const SET_OUTPUT: libc::c_ulong = 0x2405;
/// Offsets in the ring's first page: how far the kernel has written, and how far we have read.
const HEAD_OFFSET: usize = 1024;
const TAIL_OFFSET: usize = 1032;

/// `struct perf_event_attr` as of `PERF_ATTR_SIZE_VER5`, which every kernel that torment runs on accepts.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample_type: u64,
    read_format: u64,
    bits: u64,
    wakeup: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
    branches: u64,
    registers: u64,
    stack_bytes: u32,
    clock: i32,
    registers_at_interrupt: u64,
    aux_watermark: u32,
    most_frames: u16,
    reserved: u16,
}

/// What is sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampledTask {
    /// Whatever runs on the processor.
    Any,
    /// A thread, and the threads and processes that it starts from now on.
    Thread(u32),
}

/// How often to sample, and what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleConfig {
    /// Samples per second of processor time.
    pub hz: u32,
    /// Samples kernel mode too.
    pub kernel: bool,
    /// Bytes of the user stack in each sample, a multiple of 8; 0: neither stack nor registers.
    pub stack_bytes: u32,
    /// Each sample wakes whoever polls the ring (poll(2)); otherwise none does.
    pub wake_on_sample: bool,
}

/// A perf_event_open(2) event that samples the stacks on one processor, until dropped.
#[derive(Debug)]
pub struct SampleEvent(OwnedFd);

impl SampleEvent {
    /// Opens the event, disabled until [`SampleEvent::begin`].
    ///
    /// Fails if the kernel denies it to this user (EACCES, EPERM), or the thread is gone (ESRCH).
    pub fn open(task: SampledTask, processor: u32, config: SampleConfig) -> io::Result<Self> {
        let with_stack = config.stack_bytes > 0 && REGISTERS != 0;
        let mut bits = DISABLED | EXCLUDE_HYPERVISOR | EXCLUDE_IDLE | TASK_RECORDS;
        if !config.kernel {
            bits |= EXCLUDE_KERNEL;
        }
        let pid = match task {
            SampledTask::Any => -1,
            SampledTask::Thread(thread) => {
                bits |= INHERIT;
                libc::c_int::try_from(thread).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?
            }
        };
        let attributes = Attributes {
            kind: SOFTWARE,
            size: size_of::<Attributes>() as u32,
            config: CPU_CLOCK,
            period: 1_000_000_000 / u64::from(config.hz.max(1)),
            sample_type: if with_stack { SAMPLE_FIELDS | SAMPLE_STACK } else { SAMPLE_FIELDS },
            bits,
            wakeup: u32::from(config.wake_on_sample),
            registers: if with_stack { REGISTERS } else { 0 },
            stack_bytes: if with_stack { config.stack_bytes } else { 0 },
            ..Attributes::default()
        };
        let none: libc::c_int = -1;
        // SAFETY: the kernel reads as many bytes of the attributes as their size field says, and writes at most
        // that size field if it does not know the size; both are borrowed for the call. It returns a new
        // descriptor.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                pid,
                processor as libc::c_int,
                none,
                CLOSE_ON_EXEC,
            )
        };
        let fd = libc::c_int::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
        // SAFETY: just opened, and owned by nobody else.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Starts sampling.
    pub fn begin(&self) -> io::Result<()> {
        self.control(ENABLE, 0)
    }

    fn control(&self, request: libc::c_ulong, argument: libc::c_int) -> io::Result<()> {
        // SAFETY: neither request takes an address.
        check_errno(unsafe { libc::ioctl(self.0.as_raw_fd(), request as _, argument) })
    }
}

/// The ring buffer into which the kernel writes one processor's samples.
#[derive(Debug)]
pub struct SampleRing {
    /// The first page holds the read and write positions; the others are the ring.
    start: NonNull<u8>,
    page: usize,
    /// Bytes of the ring, a power of two.
    size: usize,
    /// Copies of records that wrap around the end, in one piece.
    wrapped: Vec<u8>,
    /// Read position after the records returned last.
    read_to: u64,
    event: SampleEvent,
}

// SAFETY: the memory belongs to this value, and is read through it alone.
unsafe impl Send for SampleRing {}

/// A record: its `PERF_RECORD_…` type, its `misc` bits, and what follows its header.
pub type RawSample<'a> = (u32, u16, &'a [u8]);

impl SampleRing {
    /// Maps a ring of `pages` pages, a power of two, for a one-processor event.
    ///
    /// Fails with EPERM if this user may lock no more memory (`kernel.perf_event_mlock_kb`, and `ulimit -l`),
    /// and returns the event.
    pub fn new(event: SampleEvent, pages: usize) -> Result<Self, (io::Error, SampleEvent)> {
        let page = rustix::param::page_size();
        let size = page * pages.next_power_of_two();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let fd = event.0.as_fd().as_raw_fd();
        // SAFETY: a new mapping placed by the kernel overlaps no existing one.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), page + size, access, libc::MAP_SHARED, fd, 0) };
        if start == libc::MAP_FAILED {
            return Err((io::Error::last_os_error(), event));
        }
        let start = NonNull::new(start.cast()).expect("the kernel places nothing at 0 by itself");
        Ok(Self { start, page, size, wrapped: Vec::new(), read_to: 0, event })
    }

    /// Redirects the samples of another event of the same processor to this ring.
    pub fn collect_from(&self, other: &SampleEvent) -> io::Result<()> {
        other.control(SET_OUTPUT, self.event.0.as_raw_fd())
    }

    /// Starts sampling.
    pub fn begin(&self) -> io::Result<()> {
        self.event.begin()
    }

    /// All records since the last call. They stay in the ring until [`SampleRing::release`].
    pub fn records(&mut self) -> Vec<RawSample<'_>> {
        let head = self.control_word(HEAD_OFFSET).load(Ordering::Acquire);
        let mut tail = self.control_word(TAIL_OFFSET).load(Ordering::Relaxed);
        let mut found = Vec::new();
        while tail < head {
            // A header has 8 bytes, and record lengths are multiples of 8: no header wraps around the end.
            let (kind, misc, length) = self.header_at(tail);
            // The kernel writes whole records; anything else would loop forever.
            if length < 8 || u64::from(length) > head - tail {
                break;
            }
            found.push((kind, misc, tail + 8, usize::from(length) - 8));
            tail += u64::from(length);
        }
        self.read_to = head;
        if let Some((.., from, length)) = found.iter().find(|(.., from, length)| self.wraps(*from, *length)) {
            let (first, second) = self.pieces(*from, *length);
            self.wrapped = [first, second].concat();
        }
        let record = |(kind, misc, from, length)| match self.wraps(from, length) {
            true => (kind, misc, self.wrapped.as_slice()),
            false => (kind, misc, self.pieces(from, length).0),
        };
        found.into_iter().map(record).collect()
    }

    /// Frees the room of the records returned last.
    pub fn release(&mut self) {
        self.control_word(TAIL_OFFSET).store(self.read_to, Ordering::Release);
    }

    /// One of the two positions shared with the kernel.
    fn control_word(&self, at: usize) -> &AtomicU64 {
        // SAFETY: both lie within the first page, aligned to 8 bytes; everyone, the kernel included, reads and
        // writes them whole.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(at).cast()) }
    }

    /// The type of a record, its `misc` bits and its length; a length of 0 for what is no header.
    fn header_at(&self, from: u64) -> (u32, u16, u16) {
        let [a, b, c, d, e, f, g, h] = *self.pieces(from, 8).0 else { return (0, 0, 0) };
        (u32::from_ne_bytes([a, b, c, d]), u16::from_ne_bytes([e, f]), u16::from_ne_bytes([g, h]))
    }

    /// At most one of the records in the ring wraps around.
    fn wraps(&self, from: u64, length: usize) -> bool {
        self.offset(from) + length > self.size
    }

    fn offset(&self, position: u64) -> usize {
        position as usize & (self.size - 1)
    }

    /// `length` bytes from `from` on, which lie between the read and the write position; in two pieces if they
    /// wrap around.
    fn pieces(&self, from: u64, length: usize) -> (&[u8], &[u8]) {
        let at = self.offset(from);
        let first = length.min(self.size - at);
        // SAFETY: both pieces lie within the ring, between tail and head: the kernel writes nothing there until
        // `release` moves the tail, which requires this borrow to have ended.
        let piece = |at: usize, length: usize| unsafe {
            std::slice::from_raw_parts(self.start.as_ptr().add(self.page + at), length)
        };
        (piece(at, first), piece(0, length - first))
    }
}

impl AsFd for SampleRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.0.as_fd()
    }
}

impl Drop for SampleRing {
    fn drop(&mut self) {
        // SAFETY: the whole mapping is ours, and no longer borrowed.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.page + self.size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `PERF_RECORD_SAMPLE`.
    const SAMPLE: u32 = 9;

    #[test]
    fn this_thread_is_seen_at_work() {
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let config = SampleConfig { hz: 999, kernel: false, stack_bytes: 1 << 10, wake_on_sample: false };
        let mut rings = Vec::new();
        for processor in 0..std::thread::available_parallelism().map_or(1, usize::from) as u32 {
            match SampleEvent::open(SampledTask::Thread(own), processor, config) {
                // Processor numbers may have gaps.
                Err(why) if why.raw_os_error() == Some(libc::ENODEV) => {}
                Err(why) => return eprintln!("SKIPPED: no perf events here: {why}"),
                Ok(event) => rings.push(SampleRing::new(event, 16).expect("so much may be locked")),
            }
        }
        rings.iter().for_each(|ring| ring.begin().expect("it is there"));
        let (mut samples, until) = (0, crate::thread_cpu_ns() + 3_000_000_000);
        // Often enough for the ring to wrap around: samples exceed a KiB, and the ring has 64.
        while samples < 200 && crate::thread_cpu_ns() < until {
            for ring in &mut rings {
                for (kind, _, body) in ring.records() {
                    if kind == SAMPLE {
                        let thread = u32::from_ne_bytes(body[12..16].try_into().expect("four bytes"));
                        assert_eq!(thread, own);
                        samples += 1;
                    }
                }
                ring.release();
            }
            // Reading the clock is kernel work, which is not sampled.
            for number in 0..100_000 {
                std::hint::black_box(number);
            }
        }
        assert!(samples >= 200, "only {samples} samples");
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let config = SampleConfig { hz: 99, kernel: false, stack_bytes: 0, wake_on_sample: false };
        for task in [SampledTask::Thread(u32::MAX), SampledTask::Thread(i32::MAX as u32)] {
            assert!(SampleEvent::open(task, 0, config).is_err(), "{task:?}");
        }
    }
}
