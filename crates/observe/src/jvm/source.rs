use super::perfdata::{self, Counters};
use super::process::{self, ProcessKind};
use crate::missing::MissingLog;
use crate::source::Source;
use crate::watch_scope::{WatchScope, WatchedTree};
use record::watch::{CloserLook, Jvm, MissingMeasure, Window};
use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Often enough to cover most of a window if the VM ends within it.
const EVERY: Duration = Duration::from_millis(250);
/// Reads between two searches for a Java VM.
const SEARCH_EVERY: u32 = 8;
/// Maximum processes of a tree that are examined: a service's VM is among its first.
const MAX_PROCESSES: usize = 16;
/// Attempts to read when counters fall: a torn number is whole the next time.
const TRIES: u32 = 3;
const MEASURE: &str = "JVM counters";

/// Reads the counters of each subject's Java VM, the busiest if it has several.
pub(crate) struct JvmSource {
    jvms: Vec<Option<TrackedJvm>>,
    /// The processes last searched, by subject.
    searched: Vec<Vec<u32>>,
    reads: u32,
    /// A VM without counters. A starting VM has none yet, so it is reported only when found again.
    without_counters: Option<u32>,
    missing_log: MissingLog,
    /// Closer looks, taken on another thread.
    looks: (Sender<Vec<CloserLook>>, Receiver<Vec<CloserLook>>),
    /// Whether to attach for a closer look.
    attach: bool,
}

impl JvmSource {
    /// `attach`: whether VMs may be asked for a closer look.
    pub fn new(attach: bool) -> Self {
        Self {
            attach,
            jvms: Vec::new(),
            searched: Vec::new(),
            reads: 0,
            without_counters: None,
            missing_log: MissingLog::default(),
            looks: channel(),
        }
    }
}

struct TrackedJvm {
    pid: u32,
    started: u64,
    file: File,
    /// Counters at the start of the window and at the last reading; none before the first.
    readings: Option<(Jvm, Jvm)>,
}

impl Source for JvmSource {
    fn interval(&self) -> Duration {
        EVERY
    }

    fn read(&mut self, scope: &WatchScope) {
        self.jvms.resize_with(scope.subjects.len(), || None);
        self.searched.resize_with(scope.subjects.len(), Vec::new);
        let search = self.reads.is_multiple_of(SEARCH_EVERY);
        self.reads = self.reads.wrapping_add(1);
        for (i, subject) in scope.subjects.iter().enumerate() {
            let known = self.jvms[i].as_ref().is_some_and(|f| f.is_alive() && subject.pids.contains(&f.pid));
            // An ended VM stays until the cut: its last counters belong to the window.
            let kept = self.jvms[i].as_ref().is_some_and(|f| f.readings.is_some());
            if search && (known && self.searched[i] != subject.pids || !known && !kept) {
                self.search(i, subject);
            }
            if let Some(followed) = &mut self.jvms[i] {
                followed.update();
            }
        }
    }

    fn cut(&mut self, scope: &WatchScope, window: &mut Window) {
        for (followed, (subject, into)) in
            self.jvms.iter_mut().zip(scope.subjects.iter().zip(&mut window.subjects))
        {
            let Some(of) = followed else { continue };
            let alive = of.is_alive() && subject.pids.contains(&of.pid);
            if alive {
                of.update();
            }
            into.jvm = of.cut();
            if !alive {
                *followed = None;
            }
        }
    }

    /// Only of the service's VM: attaching to others was not permitted.
    fn start_closer_look(&mut self, scope: &WatchScope) {
        if !self.attach {
            return;
        }
        let Some(pid) = self.jvms.first().and_then(Option::as_ref).map(|followed| followed.pid) else {
            return;
        };
        if scope.subjects.first().is_some_and(|subject| subject.pids.contains(&pid)) {
            let send = self.looks.0.clone();
            // Without a thread there is no closer look; the verdict does without.
            let _ = std::thread::Builder::new().name("closer-look".to_owned()).spawn(move || {
                // The watch may be over by then.
                let _ = send.send(super::dump_threads(pid));
            });
        }
    }

    fn closer_looks(&mut self) -> Vec<CloserLook> {
        self.looks.1.try_iter().flatten().collect()
    }

    fn missing(&self) -> Vec<MissingMeasure> {
        self.missing_log.list()
    }
}

impl JvmSource {
    /// Finds the busiest VM among the processes; keeps the current one if that is it.
    fn search(&mut self, i: usize, subject: &WatchedTree) {
        self.searched[i].clone_from(&subject.pids);
        if subject.about.is_postgres {
            return;
        }
        let found = subject.pids.iter().take(MAX_PROCESSES).filter_map(|&pid| self.try_open(pid));
        let found: Vec<TrackedJvm> = found.collect();
        let busiest = found.into_iter().max_by_key(|f| procfs::TaskStat::read(f.pid).map(|stat| stat.cpu));
        if let Some(new) = busiest
            && self.jvms[i].as_ref().is_none_or(|old| (old.pid, old.started) != (new.pid, new.started))
        {
            self.jvms[i] = Some(new);
        }
    }

    fn try_open(&mut self, pid: u32) -> Option<TrackedJvm> {
        let kind = match process::kind(pid) {
            Ok(kind) => kind,
            Err(error) => {
                let name = process::read_proc(pid, "comm").unwrap_or_default();
                if error.kind() == io::ErrorKind::PermissionDenied && name.trim() == "java" {
                    self.missing_log.note(MEASURE, wrong_user(pid));
                }
                return None;
            }
        };
        match kind {
            ProcessKind::HotSpot => {}
            ProcessKind::OpenJ9 => {
                self.missing_log.note(
                    MEASURE,
                    format!("process {pid} is an OpenJ9 machine, which keeps none; HotSpot does"),
                );
                return None;
            }
            ProcessKind::Other => return None,
        }
        let started = process::started(pid)?;
        match perfdata::open(pid) {
            Ok(file) => Some(TrackedJvm { pid, started, file, readings: None }),
            Err(error) => {
                if self.without_counters.replace(pid) == Some(pid) {
                    self.missing_log.note(MEASURE, missing_reason(pid, &error));
                }
                None
            }
        }
    }
}

fn wrong_user(pid: u32) -> String {
    format!("JVM {pid} belongs to another user; run torment as that user, or as root")
}

/// Why a VM has no readable counters, and what to do.
fn missing_reason(pid: u32, error: &io::Error) -> String {
    let off =
        ["-XX:-UsePerfData", "-XX:+PerfDisableSharedMem"].into_iter().find(|o| process::has_option(pid, o));
    match (off, error.kind()) {
        (Some(option), _) => {
            format!("JVM {pid} runs with {option}; start it without, to see its collections")
        }
        (None, io::ErrorKind::PermissionDenied) => wrong_user(pid),
        (None, io::ErrorKind::NotFound) => format!(
            "JVM {pid} has no file hsperfdata_USER/PID in its /tmp; it needs a /tmp that it can write, \
             and -XX:+UsePerfData"
        ),
        (None, _) => format!("the counters of JVM {pid} cannot be read: {error}"),
    }
}

impl TrackedJvm {
    fn is_alive(&self) -> bool {
        process::started(self.pid) == Some(self.started)
    }

    /// Reads again. Failures are retried at the next reading.
    fn update(&mut self) {
        for _ in 0..TRIES {
            let Ok(bytes) = perfdata::read(&mut self.file) else { return };
            let Ok(counters) = perfdata::parse(&bytes) else { return };
            let now = totals(self.pid, &counters);
            match &mut self.readings {
                None => self.readings = Some((now.clone(), now)),
                Some((_, last)) if was_reset(last, &now) => continue,
                Some((_, last)) => *last = now,
            }
            return;
        }
        // They really fell: it is another VM by now.
        self.readings = None;
    }

    fn cut(&mut self) -> Option<Jvm> {
        let (before, now) = self.readings.as_mut()?;
        let grown = growth(before, now);
        before.clone_from(now);
        Some(grown)
    }
}

/// Counters since the VM was started.
fn totals(pid: u32, counters: &Counters) -> Jvm {
    let mut jvm = Jvm { pid, ..Jvm::default() };
    for (name, pauses) in counters.numbers() {
        let Some(collector) =
            name.strip_prefix("sun.gc.collector.").and_then(|n| n.strip_suffix(".invocations"))
        else {
            continue;
        };
        let time = counters.time_ns(&format!("sun.gc.collector.{collector}.time")).unwrap_or(0);
        jvm.pauses += pauses;
        jvm.pause_ns += time;
        if counters.text(&format!("sun.gc.collector.{collector}.name")).is_some_and(collects_all) {
            jvm.full_pauses += pauses;
            jvm.full_ns += time;
        }
    }
    jvm.safepoints = counters.number("sun.rt.safepoints").unwrap_or(0);
    jvm.safepoint_ns = counters.time_ns("sun.rt.safepointTime").unwrap_or(0);
    jvm.safepoint_sync_ns = counters.time_ns("sun.rt.safepointSyncTime").unwrap_or(0);
    jvm.collector_cpu_ns = counters.number("sun.threads.total_gc_cpu_time");
    (jvm.heap_used_bytes, jvm.heap_max_bytes) = heap(counters);
    jvm.compiles = counters.number("sun.ci.totalCompiles").unwrap_or(0);
    jvm.classes = ["java.cls.loadedClasses", "java.cls.sharedLoadedClasses"]
        .into_iter()
        .filter_map(|name| counters.number(name))
        .sum();
    jvm.threads = counters.number("java.threads.live").unwrap_or(0);
    jvm.cause = counters.text("sun.gc.lastCause").unwrap_or_default().to_owned();
    jvm
}

/// Whether a collector of this name collects the whole heap in a stop-the-world pause: G1's and Serial's
/// full collections, and the older names of Serial's and Parallel's.
fn collects_all(name: &str) -> bool {
    name.contains("full")
        || name.contains("Full")
        || ["MSC", "PSMarkSweep", "PSParallelCompact"].contains(&name)
}

/// Heap bytes used and maximum.
fn heap(counters: &Counters) -> (u64, u64) {
    let (mut used, mut sum, mut largest) = (0, 0, 0);
    for (name, bytes) in counters.numbers() {
        let Some(rest) = name.strip_prefix("sun.gc.generation.") else { continue };
        match rest.split('.').collect::<Vec<_>>()[..] {
            [_, "space", _, "used"] => used += bytes,
            [_, "maxCapacity"] => {
                sum += bytes;
                largest = bytes.max(largest);
            }
            _ => {}
        }
    }
    let splits = counters.text("sun.gc.collector.0.name").is_some_and(splits_heap);
    (used, if splits { sum } else { largest })
}

/// Whether a young collector of this name splits the heap between the generations, as Serial and Parallel
/// do, by their newer or older names; others give each generation all of it.
fn splits_heap(name: &str) -> bool {
    ["Serial", "Parallel", "Copy", "PS"].iter().any(|start| name.starts_with(start))
}

fn was_reset(before: &Jvm, now: &Jvm) -> bool {
    let counted = |jvm: &Jvm| {
        [
            jvm.pauses,
            jvm.pause_ns,
            jvm.full_pauses,
            jvm.full_ns,
            jvm.safepoints,
            jvm.safepoint_ns,
            jvm.safepoint_sync_ns,
        ]
    };
    counted(before).iter().zip(counted(now)).any(|(before, now)| now < *before)
}

fn growth(before: &Jvm, now: &Jvm) -> Jvm {
    let mut grown = now.clone();
    less!(grown, before: pauses pause_ns full_pauses full_ns safepoints safepoint_ns safepoint_sync_ns compiles classes);
    let cpu = now.collector_cpu_ns.zip(before.collector_cpu_ns);
    grown.collector_cpu_ns = cpu.map(|(now, before)| now.saturating_sub(before));
    grown
}

#[cfg(test)]
mod tests {
    use super::splits_heap;

    /// Of a heap of 512 MiB under `-XX:+UseParallelGC`, 341.5 MiB were given: the old generation. Names are
    /// those of JDK 8, 17 and 25.
    #[test]
    fn parallel_and_serial_split_the_heap() {
        for name in
            ["Serial young collection pauses", "Parallel young collection pauses", "Copy", "PSScavenge"]
        {
            assert!(splits_heap(name), "{name}");
        }
        for name in ["G1 young collection pauses", "ZGC minor collection pauses", "Shenandoah partial"] {
            assert!(!splits_heap(name), "{name}");
        }
    }
}
