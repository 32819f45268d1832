use crate::AnonymousMapping;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use units::Bytes;

/// Memory shared between this process and the children that it forks from now on (mmap(2), MAP_SHARED).
#[derive(Debug)]
pub struct SharedMemory(AnonymousMapping);

// SAFETY: used through atomics, or through copies that both sides order by atomics, from whichever thread. No
// slice of it is ever made.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// `size` bytes of zeros, already paged in.
    pub fn new(size: Bytes) -> io::Result<Self> {
        Ok(Self(AnonymousMapping::anonymous(size, libc::MAP_SHARED | libc::MAP_POPULATE)?))
    }

    /// The four bytes at this offset as an atomic that both sides may change.
    #[inline]
    pub fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4), "{at} is no place for a word");
        // SAFETY: within the mapping, aligned, and any bytes are a value; everyone accesses these bytes through
        // `word`, atomically, and never by `write` and `read`.
        unsafe { self.pointer_at(at, 4).cast().as_ref() }
    }

    /// Copies `bytes` to offset `at`. The other side must not access that range meanwhile: order it by a
    /// [`SharedMemory::word`] elsewhere.
    #[inline]
    pub fn write(&self, at: usize, bytes: &[u8]) {
        let pointer = self.pointer_at(at, bytes.len());
        // SAFETY: within the mapping, which no slice of ours overlaps. A concurrent write by another process
        // would leave wrong bytes, but still bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), pointer.as_ptr(), bytes.len()) };
    }

    /// Copies from offset `at`. The other side must not write there meanwhile.
    #[inline]
    pub fn read(&self, at: usize, bytes: &mut [u8]) {
        let pointer = self.pointer_at(at, bytes.len());
        // SAFETY: as in `write`.
        unsafe { std::ptr::copy_nonoverlapping(pointer.as_ptr(), bytes.as_mut_ptr(), bytes.len()) };
    }

    /// The address of `count` bytes at offset `at`; panics unless all are within the mapping.
    #[inline]
    fn pointer_at(&self, at: usize, count: usize) -> NonNull<u8> {
        let (start, length) = self.0.raw_parts();
        assert!(at <= length && count <= length - at, "{count} bytes at {at} are not within {length}");
        // SAFETY: within the mapping, or one past its end for no bytes.
        unsafe { start.add(at) }
    }
}
