use crate::AnonymousMapping;
use io_uring::{IoUring, opcode, types};
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use units::Bytes;

/// Concurrent reads of one file by io_uring(7), each into a slot of its own whose contents are never looked at.
pub struct UringReads {
    ring: IoUring,
    file: File,
    /// Freed by `drop` alone, once the kernel no longer writes there.
    memory: ManuallyDrop<AnonymousMapping>,
    /// Where `memory` begins.
    start: *mut u8,
    length: u32,
    /// Slots with a read in flight.
    busy: Vec<bool>,
}

impl UringReads {
    /// At most `depth` concurrent reads of `length` bytes. The memory is aligned for O_DIRECT (open(2)) if the
    /// length is.
    ///
    /// Fails if the kernel lacks io_uring, or forbids it (`kernel.io_uring_disabled`, a container's filter).
    pub fn new(file: File, depth: u32, length: u32) -> io::Result<Self> {
        let ring = IoUring::new(depth)?;
        let mut memory = AnonymousMapping::private(Bytes(u64::from(depth) * u64::from(length)))?;
        memory.fill(0);
        let start = memory.as_mut_ptr();
        let busy = vec![false; depth as usize];
        Ok(Self { ring, file, memory: ManuallyDrop::new(memory), start, length, busy })
    }

    /// Queues a read from this offset into this slot, which must not be busy. Submitted by the next
    /// [`UringReads::wait`].
    pub fn begin(&mut self, slot: usize, offset: u64) -> io::Result<()> {
        assert!(!std::mem::replace(&mut self.busy[slot], true), "a read to place {slot} is under way");
        // SAFETY: the memory has room for as many slots as `busy` has, and `place` is one of them.
        let into = unsafe { self.start.add(slot * self.length as usize) };
        let read = opcode::Read::new(types::Fd(self.file.as_raw_fd()), into, self.length).offset(offset);
        let entry = read.build().user_data(slot as u64);
        // SAFETY: the file stays open and the memory mapped until `drop` has seen every read end; no other read
        // is in flight to this slot, and nothing here ever looks into it.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_| io::Error::other("there are as many entries as places"))
    }

    /// Waits until at least one read has ended, and calls `each` with slot and length of all that have.
    ///
    /// Fails as the first of them that failed.
    pub fn wait(&mut self, on_done: &mut dyn FnMut(usize, usize)) -> io::Result<()> {
        match self.ring.submit_and_wait(1) {
            Err(why) if why.kind() == io::ErrorKind::Interrupted => return Ok(()),
            other => drop(other?),
        }
        let mut failed = None;
        for done in self.ring.completion() {
            let slot = done.user_data() as usize;
            self.busy[slot] = false;
            match usize::try_from(done.result()) {
                Ok(length) => on_done(slot, length),
                Err(_) => failed = failed.or(Some(io::Error::from_raw_os_error(-done.result()))),
            }
        }
        failed.map_or(Ok(()), Err)
    }
}

impl Drop for UringReads {
    fn drop(&mut self) {
        while self.busy.contains(&true) {
            let before = self.busy.clone();
            // A failed read has ended too. If the kernel does not even let us wait, the memory is leaked.
            if self.wait(&mut |_, _| {}).is_err() && self.busy == before {
                return;
            }
        }
        // SAFETY: dropped only here and not used again; no read into it is in flight.
        unsafe { ManuallyDrop::drop(&mut self.memory) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn several_at_once_and_a_drop_in_their_midst() {
        let fd =
            rustix::fs::memfd_create("reads", rustix::fs::MemfdFlags::CLOEXEC).expect("every kernel has it");
        let mut file = File::from(fd);
        file.write_all(&[7; 10_000]).expect("it is memory");
        let mut reads = match UringReads::new(file, 4, 4096) {
            Ok(reads) => reads,
            Err(why) => return eprintln!("SKIPPED: no io_uring here: {why}"),
        };
        let mut lengths = [None; 3];
        for (slot, offset) in [(0, 0), (1, 4096), (2, 8192)] {
            reads.begin(slot, offset).expect("there is room");
        }
        while lengths.contains(&None) {
            reads.wait(&mut |slot, length| lengths[slot] = Some(length)).expect("they end");
        }
        assert_eq!(lengths, [Some(4096), Some(4096), Some(10_000 - 8192)]);
        reads.begin(1, 0).expect("there is room again");
        drop(reads);
    }
}
