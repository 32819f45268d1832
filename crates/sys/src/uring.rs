use crate::AnonymousMapping;
use io_uring::{IoUring, opcode, types};
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use units::Bytes;

/// Reads of one file, several of them under way at once (io_uring(7)), each into a place of its own that nobody reads.
pub struct UringReads {
    ring: IoUring,
    file: File,
    /// Given back by `drop` alone, once the kernel writes there no more.
    memory: ManuallyDrop<AnonymousMapping>,
    /// Where it begins.
    start: *mut u8,
    length: u32,
    /// Which places a read is under way to.
    busy: Vec<bool>,
}

impl UringReads {
    /// At most `depth` reads of `length` bytes each at once. The memory is aligned as O_DIRECT (open(2)) wants it if the length is.
    ///
    /// Fails where the kernel has no such calls, or forbids them (`kernel.io_uring_disabled`, a filter of a container).
    pub fn new(file: File, depth: u32, length: u32) -> io::Result<Self> {
        let ring = IoUring::new(depth)?;
        let mut memory = AnonymousMapping::private(Bytes(u64::from(depth) * u64::from(length)))?;
        memory.fill(0);
        let start = memory.as_mut_ptr();
        let busy = vec![false; depth as usize];
        Ok(Self { ring, file, memory: ManuallyDrop::new(memory), start, length, busy })
    }

    /// Begins a read from this offset to this place, to which none may be under way. It goes out with the next [`Reads::wait`].
    pub fn begin(&mut self, place: usize, offset: u64) -> io::Result<()> {
        assert!(!std::mem::replace(&mut self.busy[place], true), "a read to place {place} is under way");
        // SAFETY: the memory has room for as many places as `busy` has, and `place` is one of them.
        let into = unsafe { self.start.add(place * self.length as usize) };
        let read = opcode::Read::new(types::Fd(self.file.as_raw_fd()), into, self.length).offset(offset);
        let entry = read.build().user_data(place as u64);
        // SAFETY: the file stays open and the memory stays mapped until `drop` has seen every read end; no other read is
        // under way to this place, and nothing here ever looks into it.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_| io::Error::other("there are as many entries as places"))
    }

    /// Waits until at least one has ended, and tells place and length of each that has.
    ///
    /// Fails as the first of them that failed.
    pub fn wait(&mut self, each: &mut dyn FnMut(usize, usize)) -> io::Result<()> {
        match self.ring.submit_and_wait(1) {
            Err(why) if why.kind() == io::ErrorKind::Interrupted => return Ok(()),
            other => drop(other?),
        }
        let mut failed = None;
        for done in self.ring.completion() {
            let place = done.user_data() as usize;
            self.busy[place] = false;
            match usize::try_from(done.result()) {
                Ok(length) => each(place, length),
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
            // One that failed has ended too. Where the kernel does not even let us wait, the memory stays its own.
            if self.wait(&mut |_, _| {}).is_err() && self.busy == before {
                return;
            }
        }
        // SAFETY: it is dropped here alone and not used again; no read is under way to it.
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
        for (place, offset) in [(0, 0), (1, 4096), (2, 8192)] {
            reads.begin(place, offset).expect("there is room");
        }
        while lengths.contains(&None) {
            reads.wait(&mut |place, length| lengths[place] = Some(length)).expect("they end");
        }
        assert_eq!(lengths, [Some(4096), Some(4096), Some(10_000 - 8192)]);
        reads.begin(1, 0).expect("there is room again");
        drop(reads);
    }
}
