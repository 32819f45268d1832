//! Limits of control groups, versions 1 and 2, and how often they were hit.

pub(crate) mod limits;
#[cfg(test)]
mod live_tests;
#[cfg(test)]
mod tests;

pub(crate) use limits::{parse_pressure, pressure_growth};

use crate::missing::MissingLog;
use crate::source::Source;
use crate::watch_scope::WatchScope;
use procfs::cgroups::{self, GroupPaths};
use record::watch::{Cgroup, MissingMeasure, Window};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The cgroups of one process, looked up again when it moves.
#[derive(Debug, Default)]
pub(crate) struct CgroupReader {
    root: PathBuf,
    pid: u32,
    /// /proc/PID/cgroup when `paths` was found.
    text: String,
    paths: GroupPaths,
    before: Option<Cgroup>,
}

impl CgroupReader {
    /// `root` is `/`, except in tests.
    pub fn of(root: &Path, pid: u32) -> Self {
        Self { root: root.to_owned(), pid, ..Self::default() }
    }

    /// The limits, and counts since the last call; none counted on the first. None if no cgroup of the
    /// process is visible. After the process has ended, its last cgroups are still read: they know what
    /// killed it.
    pub fn read(&mut self) -> io::Result<Option<Cgroup>> {
        match self.find() {
            Err(error) if !procfs::is_gone(&error) => return Err(error),
            _ => {}
        }
        let GroupPaths { cpu, memory, pids, unified } = &self.paths;
        if [cpu, memory, pids, unified].iter().all(|line| line.groups.is_empty()) {
            return Ok(None);
        }
        let now = limits::limits(&self.paths);
        let grown = limits::growth(&now, self.before.as_ref());
        self.before = Some(now);
        Ok(Some(grown))
    }

    fn find(&mut self) -> io::Result<()> {
        let text = fs::read_to_string(self.root.join(format!("proc/{}/cgroup", self.pid)))?;
        // Version 1 reports a zombie in the root.
        if text != self.text && !self.is_ending() {
            self.paths = cgroups::find(&self.root, self.pid, &text)?;
            self.text = text;
        }
        Ok(())
    }

    fn is_ending(&self) -> bool {
        let stat = fs::read(self.root.join(format!("proc/{}/stat", self.pid))).unwrap_or_default();
        procfs::parse_stat(&stat).is_some_and(|(stat, _)| stat.has_ended())
    }
}

/// The cgroup limits of a process, and how much of each is used; none if no cgroup is visible. `root` is
/// the root of all paths: `/`, except in tests.
///
/// # Errors
/// If its cgroups cannot be read.
pub fn limits_of(root: &Path, pid: u32) -> io::Result<Option<Cgroup>> {
    CgroupReader::of(root, pid).read()
}

/// The processors allowed by the smallest quota above a process; none if there is no quota, or none
/// visible.
pub(crate) fn cpus(pid: u32) -> Option<f64> {
    limits::quota(&cgroups::read(pid).ok()?.cpu).map(|quota| quota.cpus)
}

/// The cgroups of each subject's first process.
#[derive(Debug, Default)]
pub(crate) struct CgroupSource {
    readers: Vec<CgroupReader>,
    missing_log: MissingLog,
}

impl Source for CgroupSource {
    fn cut(&mut self, scope: &WatchScope, window: &mut Window) {
        let new = scope.subjects.iter().skip(self.readers.len());
        self.readers.extend(new.map(|subject| CgroupReader::of(Path::new("/"), subject.about.pid)));
        let parts = scope.subjects.iter().zip(&mut window.subjects).zip(&mut self.readers);
        for ((subject, part), reader) in parts {
            // A restarted service is usually in the same cgroups, whose counts go on.
            reader.pid = subject.pids.first().copied().unwrap_or(reader.pid);
            match reader.read() {
                // All processes have ended, and the cgroup was never visible.
                Ok(None) if subject.pids.is_empty() => {}
                Ok(Some(cgroup)) => part.cgroup = Some(cgroup),
                Ok(None) => self.missing_log.note(
                    "limits of control groups",
                    "no hierarchy of control groups is mounted here that holds the target; \
                     run torment where /sys/fs/cgroup is",
                ),
                Err(error) => {
                    let why = format!("the control groups of process {} cannot be read: {error}", reader.pid);
                    self.missing_log.note("limits of control groups", why);
                }
            }
        }
    }

    fn missing(&self) -> Vec<MissingMeasure> {
        self.missing_log.list()
    }
}
