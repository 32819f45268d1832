use crate::AnonymousMapping;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use units::Bytes;

/// Memory that this process and the children that it forks from now on have in common (mmap(2), MAP_SHARED).
#[derive(Debug)]
pub struct SharedMemory(AnonymousMapping);

// SAFETY: it is used through atomics, or through copies that the two sides order by atomics; which thread does so
// does not matter. No slice of it is ever made.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// So much of it, zeros, all of it there already.
    pub fn new(size: Bytes) -> io::Result<Self> {
        Ok(Self(AnonymousMapping::anonymous(size, libc::MAP_SHARED | libc::MAP_POPULATE)?))
    }

    /// The four bytes at this place as a number that both sides may change.
    #[inline]
    pub fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4), "{at} is no place for a word");
        // SAFETY: it is within the mapping, aligned, and any bytes are a value; whoever else uses these bytes through
        // `word` does so atomically, and `write` and `read` are not used on them.
        unsafe { self.place(at, 4).cast().as_ref() }
    }

    /// Copies there. The other side must not read or write there meanwhile: order it by a [`Shared::word`] elsewhere.
    #[inline]
    pub fn write(&self, at: usize, bytes: &[u8]) {
        let place = self.place(at, bytes.len());
        // SAFETY: it is within the mapping, which no slice of ours overlaps. Another process that writes at the same time
        // would leave wrong bytes, which are bytes all the same.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place.as_ptr(), bytes.len()) };
    }

    /// Copies from there. The other side must not write there meanwhile.
    #[inline]
    pub fn read(&self, at: usize, bytes: &mut [u8]) {
        let place = self.place(at, bytes.len());
        // SAFETY: as in `write`.
        unsafe { std::ptr::copy_nonoverlapping(place.as_ptr(), bytes.as_mut_ptr(), bytes.len()) };
    }

    /// Where so many bytes are, all of them within it.
    #[inline]
    fn place(&self, at: usize, count: usize) -> NonNull<u8> {
        let (start, length) = self.0.place();
        assert!(at <= length && count <= length - at, "{count} bytes at {at} are not within {length}");
        // SAFETY: it is within the mapping, or one past its end for no bytes.
        unsafe { start.add(at) }
    }
}
