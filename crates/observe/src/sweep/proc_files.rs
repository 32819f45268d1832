//! Reads small files below `/proc` without allocating.

use rustix::fs::{Mode, OFlags, open, openat, readlinkat_raw};
use rustix::io::pread;
use std::fmt::Write;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC);

/// `/proc`, with buffers for paths and contents.
#[derive(Debug)]
pub(crate) struct ProcFiles {
    proc: OwnedFd,
    path: String,
    buffer: Box<[u8; 1024]>,
    link: Box<[MaybeUninit<u8>; 512]>,
}

impl ProcFiles {
    pub fn open() -> io::Result<Self> {
        let proc = open("/proc", READ | OFlags::DIRECTORY, Mode::empty())?;
        let (buffer, link) = (Box::new([0; 1024]), Box::new([MaybeUninit::uninit(); 512]));
        Ok(Self { proc, path: String::with_capacity(64), buffer, link })
    }

    /// Opens a file or folder by its path below `/proc`, to be kept open.
    pub fn open_at(&mut self, path: std::fmt::Arguments<'_>) -> io::Result<OwnedFd> {
        self.path.clear();
        // Writing to a string does not fail.
        let _ = self.path.write_fmt(path);
        Ok(openat(&self.proc, self.path.as_str(), READ, Mode::empty())?)
    }

    /// Reads an open file from its start.
    pub fn read(&mut self, file: BorrowedFd<'_>) -> io::Result<&[u8]> {
        let length = pread(file, &mut self.buffer[..], 0)?;
        Ok(&self.buffer[..length])
    }

    /// Reads the open file, if any, or else the one at this path.
    pub fn read_either(
        &mut self,
        kept: Option<&OwnedFd>,
        path: std::fmt::Arguments<'_>,
    ) -> io::Result<&[u8]> {
        match kept {
            Some(file) => self.read(file.as_fd()),
            None => {
                let file = self.open_at(path)?;
                self.read(file.as_fd())
            }
        }
    }

    /// The target of a symlink.
    pub fn link(&mut self, path: std::fmt::Arguments<'_>) -> io::Result<&[u8]> {
        self.path.clear();
        let _ = self.path.write_fmt(path);
        let (link, _) = readlinkat_raw(&self.proc, self.path.as_str(), &mut self.link[..])?;
        Ok(link)
    }
}
