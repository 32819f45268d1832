//! The folder /tmp as a process has it: a container has one of its own.

use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, ResolveFlags, Stat, Uid};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::PathBuf;

/// An open /tmp. Whatever is done there names a file in it, and follows no link: what a container puts
/// there must not lead out of it.
pub(super) struct TmpDir(OwnedFd);

impl TmpDir {
    /// The /tmp of this process. Fails if it may not be seen (another user's process), or is not there.
    pub fn tmp_of(pid: u32) -> io::Result<Self> {
        let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, format!("/proc/{pid}/root"), folder, Mode::empty())?;
        Ok(Self(rustix::fs::openat2(root, "tmp", folder, Mode::empty(), ResolveFlags::IN_ROOT)?))
    }

    /// Opens a regular file for reading, by its path from here.
    pub fn open(&self, path: &str) -> io::Result<File> {
        // Without NONBLOCK, opening what turns out to be a FIFO would wait.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let file = rustix::fs::openat2(&self.0, path, flags, Mode::empty(), within)?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
        if kind == FileType::RegularFile { Ok(File::from(file)) } else { Err(Errno::INVAL.into()) }
    }

    /// The folders in it whose name begins so.
    pub fn folders(&self, prefix: &str) -> io::Result<Vec<String>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let here = rustix::fs::openat(&self.0, ".", flags, Mode::empty())?;
        let entries = rustix::fs::Dir::read_from(here)?.flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        Ok(names.filter(|name| name.starts_with(prefix)).collect())
    }

    /// What there is of this name, itself if it is a link.
    pub fn stat(&self, name: &str) -> io::Result<Stat> {
        Ok(rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Makes something new that belongs to this user; it must not exist.
    pub fn make(&self, name: &str, kind: FileType, user: u32, group: u32) -> io::Result<()> {
        rustix::fs::mknodat(&self.0, name, kind, Mode::RUSR | Mode::WUSR, 0)?;
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        if rustix::process::geteuid().is_root() {
            rustix::fs::chownat(&self.0, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)
                .inspect_err(|_| self.remove(name))?;
        }
        Ok(())
    }

    /// Removes it. What is gone already, or may not be removed, is left as it is: nothing depends on it.
    pub fn remove(&self, name: &str) {
        let _ = rustix::fs::unlinkat(&self.0, name, AtFlags::empty());
    }

    /// A path by which this process reaches it, for calls that take nothing else.
    pub fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.0.as_raw_fd()))
    }
}
