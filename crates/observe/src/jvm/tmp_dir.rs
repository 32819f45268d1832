//! A process's own view of /tmp: a container has its own.

use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, ResolveFlags, Stat, Uid};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::PathBuf;

/// An open /tmp. All operations name a file in it and follow no symlink: a container must not lead out of
/// it.
pub(super) struct TmpDir(OwnedFd);

impl TmpDir {
    /// The /tmp of this process. Fails if it may not be accessed (another user's process), or does not
    /// exist.
    pub fn of_process(pid: u32) -> io::Result<Self> {
        let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, format!("/proc/{pid}/root"), folder, Mode::empty())?;
        Ok(Self(rustix::fs::openat2(root, "tmp", folder, Mode::empty(), ResolveFlags::IN_ROOT)?))
    }

    /// Opens a regular file for reading, by its path relative to /tmp.
    pub fn open(&self, path: &str) -> io::Result<File> {
        // Without NONBLOCK, opening a FIFO would block.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let file = rustix::fs::openat2(&self.0, path, flags, Mode::empty(), within)?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
        if kind == FileType::RegularFile { Ok(File::from(file)) } else { Err(Errno::INVAL.into()) }
    }

    /// The folders whose name has this prefix.
    pub fn folders(&self, prefix: &str) -> io::Result<Vec<String>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let here = rustix::fs::openat(&self.0, ".", flags, Mode::empty())?;
        let entries = rustix::fs::Dir::read_from(here)?.flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        Ok(names.filter(|name| name.starts_with(prefix)).collect())
    }

    /// Does not follow a symlink.
    pub fn stat(&self, name: &str) -> io::Result<Stat> {
        Ok(rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Creates a regular file that belongs to this user; it must not exist.
    pub fn make(&self, name: &str, user: u32, group: u32) -> io::Result<()> {
        rustix::fs::mknodat(&self.0, name, FileType::RegularFile, Mode::RUSR | Mode::WUSR, 0)?;
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        if rustix::process::geteuid().is_root() {
            rustix::fs::chownat(&self.0, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)
                .inspect_err(|_| self.remove(name))?;
        }
        Ok(())
    }

    /// Removes a file. Failures are ignored: nothing depends on it.
    pub fn remove(&self, name: &str) {
        let _ = rustix::fs::unlinkat(&self.0, name, AtFlags::empty());
    }

    /// A path by which this process reaches it, for system calls that need one.
    pub fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.0.as_raw_fd()))
    }
}
