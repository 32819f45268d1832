//! Bytes between processes through shared memory; the kernel is only needed to sleep.

use super::stream::MessageEnd;
use rustix::io::Errno;
use rustix::thread::futex;
use std::hint::spin_loop;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use sys::SharedMemory;
use units::Bytes;

/// A cache line, and a pair of them, which some processors fetch together: the distance between what the two sides write.
const LINE: usize = 64;
const LINES: usize = 128;

/// How a side waits for the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitStrategy {
    /// Sleeps by futex(2).
    Asleep,
    /// Busy-polls.
    Busy,
}

impl WaitStrategy {
    /// Waits until the word differs from `seen`; may return early.
    fn until_changed(self, word: &AtomicU32, seen: u32) -> io::Result<()> {
        if self == Self::Busy {
            spin_loop();
            return Ok(());
        }
        match futex::wait(word, futex::Flags::empty(), seen, None) {
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }
}

/// One message slot per direction, for sides that take turns: the answer acknowledges the message.
pub struct SharedMailbox<'a> {
    memory: &'a SharedMemory,
    /// Where this side writes, and how many messages it has written,
    own_offset: usize,
    sent: u32,
    /// and the other.
    other_offset: usize,
    taken: u32,
    wait: WaitStrategy,
}

impl<'a> SharedMailbox<'a> {
    /// What a pair needs for messages of this size.
    pub fn required_size(size: usize) -> Bytes {
        Bytes(2 * Self::lane(size) as u64)
    }

    fn lane(size: usize) -> usize {
        (LINE + size).next_multiple_of(LINES)
    }

    /// Both sides, in memory of at least [`SharedMailbox::required_size`].
    pub fn pair(memory: &'a SharedMemory, size: usize, wait: WaitStrategy) -> (Self, Self) {
        let side =
            |own, other| Self { memory, own_offset: own, sent: 0, other_offset: other, taken: 0, wait };
        (side(0, Self::lane(size)), side(Self::lane(size), 0))
    }
}

impl MessageEnd for SharedMailbox<'_> {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.memory.write(self.own_offset + LINE, message);
        self.sent = self.sent.wrapping_add(1);
        let word = self.memory.word(self.own_offset);
        word.store(self.sent, Ordering::Release);
        if self.wait == WaitStrategy::Asleep {
            futex::wake(word, futex::Flags::empty(), 1)?;
        }
        Ok(())
    }

    fn receive(&mut self, message: &mut [u8]) -> io::Result<()> {
        self.taken = self.taken.wrapping_add(1);
        let word = self.memory.word(self.other_offset);
        loop {
            let seen = word.load(Ordering::Acquire);
            if seen == self.taken {
                break;
            }
            self.wait.until_changed(word, seen)?;
        }
        self.memory.read(self.other_offset + LINE, message);
        Ok(())
    }
}

/// A one-way ring of slots; a message larger than a slot takes several.
pub struct SharedRing<'a> {
    memory: &'a SharedMemory,
    slot: usize,
    slots: u32,
    /// Slots this side is done with,
    own_count: u32,
    /// and how many it last saw the other to be done with.
    other_count: u32,
    wait: WaitStrategy,
}

/// Offsets: slots written and slots read; whether a side sleeps until there are more.
const WRITTEN_OFFSET: usize = 0;
const READER_SLEEPS: usize = 4;
const READ: usize = LINES;
const WRITER_SLEEPS: usize = LINES + 4;
const SLOTS: usize = 2 * LINES;
/// Largest slot: longer copies are no cheaper.
const SLOT_MOST: usize = 64 << 10;
/// All slots: should stay in a cache.
const RING: usize = 1 << 20;
/// Enough that neither side waits for every slot.
const SLOTS_MOST: usize = 1024;

impl<'a> SharedRing<'a> {
    fn slot(size: usize) -> usize {
        size.next_multiple_of(LINES).min(SLOT_MOST)
    }

    fn slots(size: usize) -> usize {
        (RING / Self::slot(size)).min(SLOTS_MOST)
    }

    /// What it needs for messages of this size.
    pub fn required_size(size: usize) -> Bytes {
        Bytes((SLOTS + Self::slot(size) * Self::slots(size)) as u64)
    }

    /// Writer and reader, in memory of at least [`SharedRing::required_size`].
    pub fn pair(memory: &'a SharedMemory, size: usize, wait: WaitStrategy) -> (Self, Self) {
        let side = || Self {
            memory,
            slot: Self::slot(size),
            slots: Self::slots(size) as u32,
            own_count: 0,
            other_count: 0,
            wait,
        };
        (side(), side())
    }

    fn slot_offset(&self) -> usize {
        SLOTS + (self.own_count % self.slots) as usize * self.slot
    }

    /// Waits until the other side's `count` is no longer `behind` this one's: by all slots, there is no room to write; by none,
    /// nothing to read.
    fn wait(&mut self, count: usize, sleeps: usize, behind: u32) -> io::Result<()> {
        let word = self.memory.word(count);
        while self.own_count.wrapping_sub(self.other_count) == behind {
            self.other_count = word.load(Ordering::Acquire);
            if self.own_count.wrapping_sub(self.other_count) != behind {
                break;
            }
            if self.wait == WaitStrategy::Busy {
                spin_loop();
                continue;
            }
            // Only the sleeper clears this: the other side might do so late, for a sleep that is over, and miss this one.
            let asleep = self.memory.word(sleeps);
            asleep.store(1, Ordering::SeqCst);
            if word.load(Ordering::SeqCst) == self.other_count {
                self.wait.until_changed(word, self.other_count)?;
            }
            asleep.store(0, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Finishes a slot and wakes a sleeper. Either this side sees that the other is about to sleep, or the other sees the new count
    /// first.
    fn advance(&mut self, count: usize, sleeps: usize) -> io::Result<()> {
        self.own_count = self.own_count.wrapping_add(1);
        let word = self.memory.word(count);
        if self.wait == WaitStrategy::Busy {
            word.store(self.own_count, Ordering::Release);
            return Ok(());
        }
        word.store(self.own_count, Ordering::SeqCst);
        if self.memory.word(sleeps).load(Ordering::SeqCst) == 1 {
            futex::wake(word, futex::Flags::empty(), 1)?;
        }
        Ok(())
    }
}

impl MessageEnd for SharedRing<'_> {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        for part in message.chunks(self.slot) {
            self.wait(READ, WRITER_SLEEPS, self.slots)?;
            self.memory.write(self.slot_offset(), part);
            self.advance(WRITTEN_OFFSET, READER_SLEEPS)?;
        }
        Ok(())
    }

    fn receive(&mut self, message: &mut [u8]) -> io::Result<()> {
        for part in message.chunks_mut(self.slot) {
            self.wait(WRITTEN_OFFSET, READER_SLEEPS, 0)?;
            self.memory.read(self.slot_offset(), part);
            self.advance(READ, WRITER_SLEEPS)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGES: u32 = 3000;

    #[test]
    fn a_ring_loses_and_reorders_nothing() {
        for wait in [WaitStrategy::Asleep, WaitStrategy::Busy] {
            for size in [64, 4096, 200_000] {
                let memory = SharedMemory::new(SharedRing::required_size(size)).expect("some MiB can be had");
                let (mut writer, mut reader) = SharedRing::pair(&memory, size, wait);
                let count = MESSAGES.min(100_000_000 / size as u32);
                std::thread::scope(|scope| {
                    scope.spawn(move || {
                        for number in 0..count {
                            writer.send(&vec![number as u8; size]).expect("there will be room");
                        }
                    });
                    let mut message = vec![0; size];
                    for number in 0..count {
                        reader.receive(&mut message).expect("it will come");
                        assert!(
                            message.iter().all(|byte| *byte == number as u8),
                            "{number} of {size} B, {wait:?}"
                        );
                    }
                });
            }
        }
    }

    #[test]
    fn mailboxes_answer_each_other() {
        for wait in [WaitStrategy::Asleep, WaitStrategy::Busy] {
            let memory = SharedMemory::new(SharedMailbox::required_size(64)).expect("a page can be had");
            let (mut first, mut second) = SharedMailbox::pair(&memory, 64, wait);
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    for _ in 0..MESSAGES {
                        let mut message = [0; 64];
                        second.receive(&mut message).expect("it will come");
                        second.send(&message.map(|byte| !byte)).expect("it is taken");
                    }
                });
                for number in 0..MESSAGES {
                    first.send(&[number as u8; 64]).expect("it is taken");
                    let mut answer = [0; 64];
                    first.receive(&mut answer).expect("it will come");
                    assert_eq!(answer, [!(number as u8); 64], "{wait:?}");
                }
            });
        }
    }
}
