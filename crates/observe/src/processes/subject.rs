//! The processes of one subject.

use super::descriptors::{count, open_count};
use crate::missing::MissingLog;
use crate::neighbours::ProcessTable;
use crate::titles;
use procfs::{TaskStat, parse_limit, tick_ns};
use record::watch::{LimitUsage, TreeWindow};
use rustix::time::ClockId;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

/// Windows between readings of limits, which hardly ever change.
const LIMITS_LAST: u32 = 30;
/// Windows between descriptor counts, where these must be counted one by one.
const COUNT_EVERY: u32 = 5;
/// Windows within which the parent of an ended process may account for it.
const DEBT_WINDOWS: u32 = 3;
/// Maximum titles of a subject.
const TITLES: usize = 12;

/// The last reading of a subject's processes.
#[derive(Debug, Default)]
pub(super) struct SubjectProcesses {
    processes: HashMap<u32, Process>,
    /// Time of the last reading, in ticks since boot; 0 before the first.
    last_read: u64,
    looks: u32,
    /// Processor time of ended processes already counted, which will reappear in their parents' child time;
    /// and the look in which they ended.
    debts: Vec<(u32, u64)>,
    /// Descriptors, where they must be counted.
    descriptors: Option<LimitUsage>,
}

#[derive(Debug)]
struct Process {
    stat: TaskStat,
    /// Bytes read and written.
    io: Option<(u64, u64)>,
    limits: Limits,
}

#[derive(Debug, Clone, Copy)]
struct Limits {
    /// The look in which they were read.
    read: u32,
    files: Option<u64>,
    /// Limit on its user's threads, and the UID; none if unlimited.
    tasks: Option<(u64, u32)>,
}

impl SubjectProcesses {
    /// Reads the processes, and adds to the window their activity since the last call.
    pub fn read(
        &mut self,
        pids: &[u32],
        part: &mut TreeWindow,
        process_table: &ProcessTable,
        missing_log: &mut MissingLog,
    ) {
        self.looks += 1;
        let first = self.last_read == 0;
        let (mut ticks, mut children) = (0, 0);
        let (mut private, mut shared) = (0, 0);
        let mut io = Some((0, 0));
        let mut current = HashMap::with_capacity(pids.len());
        for &pid in pids {
            let Some(stat) = TaskStat::read(pid) else { continue };
            let old = self.processes.remove(&pid).filter(|old| old.stat.start == stat.start);
            // A process that started since the last look did all of its work since.
            let is_new = !first && stat.start >= self.last_read;
            let base = match (&old, is_new) {
                (Some(old), _) => old.stat,
                (None, true) => TaskStat { cpu: 0, children_cpu: 0, major_faults: 0, ..stat },
                (None, false) => stat,
            };
            ticks += stat.cpu.saturating_sub(base.cpu);
            children += stat.children_cpu.saturating_sub(base.children_cpu);
            part.major_faults += stat.major_faults.saturating_sub(base.major_faults);
            part.started += u32::from(old.is_none() && !first);
            let mut process = Process { io: None, limits: self.limits(pid, old.as_ref()), stat };
            if !process.stat.has_ended() {
                part.processes += 1;
                part.threads += process.stat.threads as u32;
                let (resident, of_it_shared) = memory(pid).unwrap_or_default();
                private += resident.saturating_sub(of_it_shared);
                shared = shared.max(of_it_shared);
                match transfers(pid) {
                    Ok(now) => {
                        let before =
                            old.as_ref().and_then(|old| old.io).unwrap_or(if is_new { (0, 0) } else { now });
                        process.io = Some(now);
                        if let Some((read, written)) = &mut io {
                            *read += now.0.saturating_sub(before.0);
                            *written += now.1.saturating_sub(before.1);
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                        io = None;
                        missing_log.note("disk reads and writes of the target", not_permitted(pid, "io"));
                    }
                    Err(_) => {}
                }
            }
            current.insert(pid, process);
        }
        let gone: Vec<Process> = self.processes.drain().map(|(_, process)| process).collect();
        // Those left in the old list have ended, or their PID was reused.
        part.ended += gone.len() as u32;
        let known: u64 = gone.iter().map(|process| process.stat.cpu + process.stat.children_cpu).sum();
        self.debts.push((self.looks, known));
        part.cpu_ns = (ticks + self.uncounted_child_time(children)) * tick_ns();
        part.rss_bytes = private + shared;
        (part.read_bytes, part.written_bytes) = (io.map(|io| io.0), io.map(|io| io.1));
        self.processes = current;
        self.last_read = ticks_since_boot();
        part.descriptors = self.descriptor_usage(missing_log);
        let tasks = self.processes.values().filter_map(|process| process.limits.tasks);
        let tasks = tasks.map(|(limit, uid)| LimitUsage { used: process_table.tasks_of(uid), limit });
        part.user_tasks = tasks.max_by(|a, b| a.share().total_cmp(&b.share()));
        if part.processes > 1 {
            part.titles = self.titles();
        }
    }

    /// Child time of parents, less what was counted while the children lived.
    fn uncounted_child_time(&mut self, mut children: u64) -> u64 {
        for (_, debt) in &mut self.debts {
            let paid = children.min(*debt);
            *debt -= paid;
            children -= paid;
        }
        let looks = self.looks;
        self.debts.retain(|(at, debt)| *debt > 0 && looks - at < DEBT_WINDOWS);
        children
    }

    fn limits(&self, pid: u32, old: Option<&Process>) -> Limits {
        if let Some(old) = old.filter(|old| self.looks - old.limits.read < LIMITS_LAST) {
            return old.limits;
        }
        let text = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
        let uid = fs::metadata(format!("/proc/{pid}")).map_or(0, |about| about.uid());
        // Root is exempt.
        let tasks = parse_limit(&text, "Max processes").and_then(|limit| limit.soft).filter(|_| uid != 0);
        Limits {
            read: self.looks,
            files: parse_limit(&text, "Max open files").map(|limit| limit.soft.unwrap_or(u64::MAX)),
            tasks: tasks.map(|limit| (limit, uid)),
        }
    }

    /// Descriptors of the process nearest to its limit.
    fn descriptor_usage(&mut self, missing_log: &mut MissingLog) -> Option<LimitUsage> {
        let is_due = self.looks % COUNT_EVERY == 1;
        let (mut nearest, mut has_to_count): (Option<LimitUsage>, bool) = (None, false);
        for (pid, process) in self.processes.iter().filter(|(_, process)| !process.stat.has_ended()) {
            let folder = format!("/proc/{pid}/fd");
            let Some(limit) = process.limits.files else { continue };
            let used = match open_count(&folder).transpose() {
                Some(used) => used,
                None => {
                    has_to_count = true;
                    if !is_due {
                        continue;
                    }
                    count(&folder)
                }
            };
            match used {
                Ok(used) => {
                    let usage = LimitUsage { used, limit };
                    let is_nearer = |than: LimitUsage| usage.share() > than.share();
                    nearest = if nearest.is_none_or(is_nearer) { Some(usage) } else { nearest };
                }
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    missing_log.note("descriptors of the target", not_permitted(*pid, "fd"));
                }
                Err(_) => {}
            }
        }
        if has_to_count && !is_due {
            return self.descriptors;
        }
        self.descriptors = nearest;
        nearest
    }

    fn titles(&self) -> Vec<(String, u32)> {
        let mut titles: HashMap<String, u32> = HashMap::new();
        for pid in self.processes.iter().filter(|(_, process)| !process.stat.has_ended()).map(|(pid, _)| pid)
        {
            let title =
                fs::read(format!("/proc/{pid}/cmdline")).ok().and_then(|line| titles::parse_title(&line));
            if let Some(title) = title {
                *titles.entry(title).or_default() += 1;
            }
        }
        let mut titles: Vec<(String, u32)> = titles.into_iter().collect();
        titles.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        titles.truncate(TITLES);
        titles
    }
}

fn not_permitted(pid: u32, file: &str) -> String {
    format!("/proc/{pid}/{file} may not be read; run torment as the target's user, or as root")
}

/// The current time in the unit of process start times.
pub(crate) fn ticks_since_boot() -> u64 {
    sys::clock_ns(ClockId::Boottime) / tick_ns()
}

/// Resident memory, and the part of it that may be shared, in bytes (/proc/PID/statm).
fn memory(pid: u32) -> Option<(u64, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let mut pages = text.split(' ').skip(1).map(|word| word.trim().parse::<u64>().ok());
    let page = rustix::param::page_size() as u64;
    Some((pages.next()?? * page, pages.next()?? * page))
}

/// Bytes read from and written to disks (/proc/PID/io).
fn transfers(pid: u32) -> io::Result<(u64, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/io"))?;
    let both = procfs::number_field(&text, "read_bytes").zip(procfs::number_field(&text, "write_bytes"));
    both.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it is in no known format"))
}
