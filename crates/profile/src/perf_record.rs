//! Parses perf ring records (perf_event_open(2)). They are trusted no more than any other input.

use std::ops::Range;

/// `PERF_RECORD_…`.
const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const MMAP2: u32 = 10;
/// `PERF_RECORD_MISC_COMM_EXEC`: the name changed on exec.
const COMM_EXEC: u16 = 1 << 13;
/// `PROT_EXEC`.
const EXECUTABLE: u32 = 4;
/// Markers between the addresses of a call chain that say whose follow (`PERF_CONTEXT_…`): the last 4095
/// numbers.
const FIRST_CONTEXT: u64 = -4095_i64 as u64;
const CONTEXT_KERNEL: u64 = -128_i64 as u64;
const CONTEXT_USER: u64 = -512_i64 as u64;
/// A frame pointer that leads nowhere; 0 would mark a stack's root.
const INVALID_FRAME: u64 = 1;
/// PID, TID and time at the end of every record but samples.
const TRAILER: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PerfRecord<'a> {
    /// A thread was sampled.
    Sample(StackSample<'a>),
    /// A process mapped code.
    Mmap(MmapRecord<'a>),
    /// A thread's name changed.
    Renamed {
        pid: u32,
        tid: u32,
        name: &'a [u8],
        /// On exec: its earlier mappings are gone.
        exec: bool,
    },
    /// A process or thread was started.
    Started {
        /// Its process,
        pid: u32,
        /// and its parent; for a thread, the same.
        parent: u32,
    },
    Ended {
        pid: u32,
    },
    /// This many samples were lost.
    Lost(u64),
}

/// A sample of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackSample<'a> {
    pub pid: u32,
    pub tid: u32,
    /// Call chain by the kernel's frame pointer walk, innermost first, with context markers: 8-byte numbers.
    chain: &'a [u8],
    /// User-mode registers; none for a kernel thread.
    pub registers: Option<Registers>,
    /// Copy of the user stack, from the stack pointer on.
    pub stack: &'a [u8],
    /// Whether the copy has the full size: the stack may continue beyond it.
    pub is_full: bool,
    /// It waited off-CPU: its frame pointer is unknown.
    pub is_waiting: bool,
}

/// Registers to unwind from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    pub instruction: u64,
    pub stack: u64,
    pub frame: u64,
    /// Return address, on architectures with a link register.
    pub link: u64,
}

/// A mapping of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MmapRecord<'a> {
    pub pid: u32,
    pub start: u64,
    pub length: u64,
    /// Offset in the file.
    pub offset: u64,
    pub path: &'a [u8],
}

impl<'a> StackSample<'a> {
    /// A waiting thread, with its instruction pointer, stack pointer and stack.
    pub fn waiting(pid: u32, tid: u32, instruction: u64, pointer: u64, stack: &'a [u8]) -> Self {
        let registers = Some(Registers { instruction, stack: pointer, frame: INVALID_FRAME, link: 0 });
        Self { pid, tid, chain: &[], registers, stack, is_full: false, is_waiting: true }
    }

    /// Kernel addresses, innermost first.
    pub fn kernel(&self) -> impl Iterator<Item = u64> {
        self.in_context(CONTEXT_KERNEL)
    }

    /// User addresses, innermost first, as far as frame pointers lead.
    pub fn user(&self) -> impl Iterator<Item = u64> {
        self.in_context(CONTEXT_USER)
    }

    fn in_context(&self, wanted: u64) -> impl Iterator<Item = u64> {
        let mut context = 0;
        let words = self.chain.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word));
        words.filter(move |word| {
            if *word >= FIRST_CONTEXT {
                context = *word;
                return false;
            }
            context == wanted
        })
    }
}

/// Parses a record; none if irrelevant or malformed.
pub fn parse_record(kind: u32, misc: u16, body: &[u8]) -> Option<PerfRecord<'_>> {
    let mut bytes = ByteReader(body);
    match kind {
        SAMPLE => {
            bytes.number()?; // instruction pointer, also in the chain
            let (pid, tid) = (bytes.half()?, bytes.half()?);
            bytes.number()?; // time
            let chain = bytes.words()?;
            let (mut registers, mut stack, mut is_full) = (None, &[][..], false);
            // Without a copy of the stack the record ends here.
            if let Some(abi) = bytes.number() {
                // 0: no user mode.
                if abi != 0 {
                    registers = Some(Registers::read(&mut bytes)?);
                }
                let length = usize::try_from(bytes.number()?).ok()?;
                if length > 0 {
                    let copied = bytes.take(length)?;
                    let valid = usize::try_from(bytes.number()?).ok()?;
                    stack = copied.get(..valid)?;
                    is_full = valid == length;
                }
            }
            Some(PerfRecord::Sample(StackSample {
                pid,
                tid,
                chain,
                registers,
                stack,
                is_full,
                is_waiting: false,
            }))
        }
        MMAP2 => {
            let (pid, _) = (bytes.half()?, bytes.half()?);
            let (start, length, offset) = (bytes.number()?, bytes.number()?, bytes.number()?);
            // Device and inode, or a build id.
            bytes.take(24)?;
            let access = bytes.half()?;
            bytes.half()?;
            let mapped = MmapRecord { pid, start, length, offset, path: text(bytes.0)? };
            (access & EXECUTABLE != 0).then_some(PerfRecord::Mmap(mapped))
        }
        COMM => {
            let (pid, tid) = (bytes.half()?, bytes.half()?);
            Some(PerfRecord::Renamed { pid, tid, name: text(bytes.0)?, exec: misc & COMM_EXEC != 0 })
        }
        FORK => Some(PerfRecord::Started { pid: bytes.half()?, parent: bytes.half()? }),
        EXIT => {
            let (pid, _, tid) = (bytes.half()?, bytes.half()?, bytes.half()?);
            // A process has the number of its first thread.
            (pid == tid).then_some(PerfRecord::Ended { pid })
        }
        LOST => {
            bytes.number()?;
            Some(PerfRecord::Lost(bytes.number()?))
        }
        _ => None,
    }
}

/// A NUL-terminated string, before the record's trailer.
fn text(rest: &[u8]) -> Option<&[u8]> {
    let padded = rest.get(..rest.len().checked_sub(TRAILER)?)?;
    padded.split(|byte| *byte == 0).next()
}

impl Registers {
    /// In the architecture's register order.
    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        if cfg!(target_arch = "aarch64") {
            let (frame, link, stack, instruction) =
                (bytes.number()?, bytes.number()?, bytes.number()?, bytes.number()?);
            return Some(Self { instruction, stack, frame, link });
        }
        let (frame, stack, instruction) = (bytes.number()?, bytes.number()?, bytes.number()?);
        Some(Self { instruction, stack, frame, link: 0 })
    }
}

struct ByteReader<'a>(&'a [u8]);

impl<'a> ByteReader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_ne_bytes(self.take(8)?.try_into().ok()?))
    }

    fn half(&mut self) -> Option<u32> {
        Some(u32::from_ne_bytes(self.take(4)?.try_into().ok()?))
    }

    /// A count, then that many numbers.
    fn words(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?.checked_mul(8)?;
        self.take(length)
    }
}

/// The range of the 8 bytes at this address in a stack copied from `stack_pointer` on.
pub fn within(stack_pointer: u64, length: usize, address: u64) -> Option<Range<usize>> {
    let from = usize::try_from(address.checked_sub(stack_pointer)?).ok()?;
    let to = from.checked_add(8)?;
    (to <= length).then_some(from..to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(numbers: &[u64]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
    }

    fn halves(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
    }

    #[test]
    fn a_sample_with_both_sides_and_a_stack() {
        let chain = [6, CONTEXT_KERNEL, 0xffff_1000, 0xffff_2000, CONTEXT_USER, 0x4000, 0x5000];
        let mut body = [words(&[0xffff_1000]), halves(&[7, 8]), words(&[99]), words(&chain)].concat();
        let short = body.clone();
        let registers: &[u64] = if cfg!(target_arch = "aarch64") { &[3, 4, 2, 1] } else { &[3, 2, 1] };
        body.extend(words(&[&[2], registers, &[16, 10, 11, 8]].concat()));
        let Some(PerfRecord::Sample(sample)) = parse_record(SAMPLE, 0, &body) else {
            panic!("it is a sample")
        };
        assert_eq!((sample.pid, sample.tid), (7, 8));
        assert_eq!(sample.kernel().collect::<Vec<_>>(), [0xffff_1000, 0xffff_2000]);
        assert_eq!(sample.user().collect::<Vec<_>>(), [0x4000, 0x5000]);
        let found = sample.registers.expect("there is a user");
        assert_eq!((found.instruction, found.stack, found.frame), (1, 2, 3));
        assert_eq!(sample.stack, words(&[10]), "only 8 bytes could be copied");
        assert!(!sample.is_full);
        let Some(PerfRecord::Sample(sample)) = parse_record(SAMPLE, 0, &short) else {
            panic!("it is a sample")
        };
        assert_eq!((sample.registers, sample.stack), (None, &[][..]));
        for length in 0..body.len() {
            // A truncated record yields none, or ends before the stack.
            if let Some(PerfRecord::Sample(sample)) = parse_record(SAMPLE, 0, &body[..length]) {
                assert_eq!(sample.registers, None, "{length}");
            }
        }
    }

    #[test]
    fn what_else_is_told() {
        let trailer = [0; TRAILER];
        let head = [halves(&[7, 8]), words(&[0x1000, 0x2000, 0x3000]), vec![0; 24]].concat();
        let mapped =
            |access| [&head, &halves(&[access, 2])[..], b"/lib/a.so\0\0\0\0\0\0\0", &trailer].concat();
        let expected =
            MmapRecord { pid: 7, start: 0x1000, length: 0x2000, offset: 0x3000, path: b"/lib/a.so" };
        assert_eq!(parse_record(MMAP2, 0, &mapped(5)), Some(PerfRecord::Mmap(expected)));
        assert_eq!(parse_record(MMAP2, 0, &mapped(3)), None, "no code");
        let named = [&halves(&[7, 8]), &b"worker 1\0\0\0\0\0\0\0\0"[..], &trailer].concat();
        let expected = PerfRecord::Renamed { pid: 7, tid: 8, name: b"worker 1", exec: true };
        assert_eq!(parse_record(COMM, COMM_EXEC, &named), Some(expected));
        assert_eq!(
            parse_record(FORK, 0, &halves(&[9, 7, 9, 7])),
            Some(PerfRecord::Started { pid: 9, parent: 7 })
        );
        assert_eq!(parse_record(EXIT, 0, &halves(&[9, 7, 9, 7])), Some(PerfRecord::Ended { pid: 9 }));
        assert_eq!(parse_record(EXIT, 0, &halves(&[9, 7, 10, 7])), None, "a thread");
        assert_eq!(parse_record(LOST, 0, &words(&[1, 12])), Some(PerfRecord::Lost(12)));
        assert_eq!((parse_record(5, 0, &trailer), parse_record(COMM, 0, b"")), (None, None));
    }

    #[test]
    fn only_what_was_copied_lies_within() {
        assert_eq!(within(100, 16, 108), Some(8..16));
        for address in [99, 109, u64::MAX] {
            assert_eq!(within(100, 16, address), None, "{address}");
        }
    }
}
