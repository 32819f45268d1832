use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use units::Bytes;

/// Anonymous memory (mmap(2)): zeros, paged in on first touch.
#[derive(Debug)]
pub struct AnonymousMapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: nobody else has this memory; which thread uses it does not matter.
unsafe impl Send for AnonymousMapping {}

impl AnonymousMapping {
    /// `size` bytes for this process alone; forked children get copies.
    pub fn private(size: Bytes) -> io::Result<Self> {
        Self::anonymous(size, libc::MAP_PRIVATE | libc::MAP_NORESERVE)
    }

    pub(crate) fn anonymous(size: Bytes, flags: libc::c_int) -> io::Result<Self> {
        let length = usize::try_from(size.0).map_err(|_| io::Error::from_raw_os_error(libc::ENOMEM))?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping placed by the kernel overlaps no existing one.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags | libc::MAP_ANONYMOUS, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).expect("the kernel places nothing at 0 by itself");
        Ok(Self { start, length })
    }

    /// Start and length.
    #[inline]
    pub(crate) fn raw_parts(&self) -> (NonNull<u8>, usize) {
        (self.start, self.length)
    }

    /// Disables huge pages.
    pub fn small_pages(&mut self) -> io::Result<()> {
        self.advise(libc::MADV_NOHUGEPAGE)
    }

    /// Enables huge pages, where the kernel has them.
    pub fn huge_pages(&mut self) -> io::Result<()> {
        self.advise(libc::MADV_HUGEPAGE)
    }

    fn advise(&mut self, advice: libc::c_int) -> io::Result<()> {
        // SAFETY: the whole mapping is ours, and neither advice changes its contents.
        let done = unsafe { libc::madvise(self.start.as_ptr().cast(), self.length, advice) };
        let why = io::Error::last_os_error();
        // A kernel without huge pages returns EINVAL.
        if done == 0 || why.raw_os_error() == Some(libc::EINVAL) { Ok(()) } else { Err(why) }
    }
}

impl Deref for AnonymousMapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the kernel mapped this much, any bytes are valid, and only `drop` unmaps it.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl DerefMut for AnonymousMapping {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for AnonymousMapping {
    fn drop(&mut self) {
        // SAFETY: the whole mapping is ours, and no longer borrowed.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_and_goes() {
        let mut memory = AnonymousMapping::private(Bytes(3 << 20)).expect("there is so much");
        memory.huge_pages().expect("it may be refused, not fail");
        memory.small_pages().expect("it may be refused, not fail");
        assert_eq!((memory.len(), memory[0], memory[(3 << 20) - 1]), (3 << 20, 0, 0));
        memory.fill(7);
        assert!(memory.iter().all(|byte| *byte == 7));
        assert!(AnonymousMapping::private(Bytes(u64::MAX)).is_err());
        assert!(AnonymousMapping::private(Bytes(0)).is_err());
    }
}
