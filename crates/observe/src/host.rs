//! The machine: its processors, memory, pressure, tasks and disks.

use crate::cgroup::{stalled, stalls};
use crate::disks;
use crate::said::Unobservable;
use crate::scene::Scene;
use crate::source::Source;
use procfs::{Times, count, kib, read_number, tick_ns};
use record::watch::{Disk, Host, Missing, Pressure, Usage, Window};
use std::collections::HashMap;
use std::path::Path;
use std::{fs, io};

/// Reads of the machine what it counts.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    before: Option<Counts>,
    said: Unobservable,
}

/// Counters since the machine started.
#[derive(Debug, Default)]
struct Counts {
    stat: Stat,
    pressure: Option<Pressure>,
    disks: HashMap<String, Disk>,
}

/// What /proc/stat says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Stat {
    cpus: u32,
    times: Times,
    runnable: u32,
}

impl Stat {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let runnable = count(text, "procs_running").unwrap_or(0) as u32;
        Some(Self { cpus: processors(text), times: procfs::times(text, "cpu")?, runnable })
    }
}

/// How many processors the machine has, of /proc/stat.
pub(crate) fn processors(stat: &str) -> u32 {
    let is_one = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
    stat.lines().filter(is_one).count() as u32
}

fn format(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("it is in no known format of {what}"))
}

impl Machine {
    fn text<T>(&mut self, what: &str, path: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let read = fs::read_to_string(path).and_then(|text| parse(&text).ok_or_else(|| format(path)));
        self.said.take(what, path, read)
    }

    fn pressure(&mut self) -> Option<Pressure> {
        let read = |name: &str| fs::read_to_string(format!("/proc/pressure/{name}"));
        let all = || {
            let (cpu, memory, io) = (read("cpu")?, read("memory")?, read("io")?);
            stalls(&cpu, &memory, &io).ok_or_else(|| format("/proc/pressure"))
        };
        let found = all();
        found
            .map_err(|error| {
                let why = format!(
                    "/proc/pressure cannot be read ({error}); the kernel's option `psi=1` turns it on"
                );
                self.said.say("pressure of the machine", why);
            })
            .ok()
    }
}

impl Source for Machine {
    fn cut(&mut self, _: &Scene, window: &mut Window) {
        let Some(stat) = self.text("processors of the machine", "/proc/stat", Stat::parse) else { return };
        let pressure = self.pressure();
        let is_whole = |name: &str| Path::new("/sys/block").join(name).exists();
        let disks = self.text("disks", "/proc/diskstats", |text| Some(disks::parse(text, is_whole)));
        let now = Counts { stat, pressure, disks: disks.unwrap_or_default() };
        let threads =
            self.text("tasks of the machine", "/proc/loadavg", |text| procfs::loadavg(text.as_bytes()));
        let most = ["/proc/sys/kernel/threads-max", "/proc/sys/kernel/pid_max"];
        let most = most.into_iter().filter_map(read_number).min();
        let memory = self.text("memory of the machine", "/proc/meminfo", |text| kib(text, "MemAvailable"));
        if let Some(before) = &self.before {
            let ns = |now: u64, before: u64| now.saturating_sub(before).saturating_mul(tick_ns());
            let (new, old) = (&now.stat.times, &before.stat.times);
            window.host = Some(Host {
                cpus: now.stat.cpus,
                user_ns: ns(new.user, old.user),
                system_ns: ns(new.system + new.interrupts, old.system + old.interrupts),
                idle_ns: ns(new.idle, old.idle),
                iowait_ns: ns(new.iowait, old.iowait),
                steal_ns: ns(new.stolen, old.stolen),
                runnable: now.stat.runnable,
                memory_available_bytes: memory.unwrap_or(0),
                pressure: now.pressure.zip(before.pressure).map(|(now, before)| stalled(now, before)),
                tasks: threads.zip(most).map(|(load, limit)| Usage { used: load.tasks, limit }),
                disks: disks::grown(&now.disks, &before.disks),
                // The neighbours are put in by who reads the processes.
                ..Host::default()
            });
        }
        self.before = Some(now);
    }

    fn missing(&self) -> Vec<Missing> {
        self.said.list()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "\
cpu  100 20 30 4000 50 6 7 8 90 10
cpu0 50 10 15 2000 25 3 3 4 45 5
cpu1 50 10 15 2000 25 3 4 4 45 5
intr 1 2 3
ctxt 4
procs_running 3
procs_blocked 0
";

    #[test]
    fn formats() {
        let times = Times { user: 120, system: 30, interrupts: 13, idle: 4000, iowait: 50, stolen: 8 };
        assert_eq!(Stat::parse(STAT), Some(Stat { cpus: 2, times, runnable: 3 }));
        for broken in ["", "cpu  1 2 3\n", "intr 1\n", "cpu  a b c d e f g h\n"] {
            assert_eq!(Stat::parse(broken), None, "{broken:?}");
        }
        // What overflows is none: files here may come from who makes a container's.
        assert_eq!(Stat::parse(&format!("cpu  {} 1 0 0 0 0 0 0\n", u64::MAX)), None);
    }

    #[test]
    fn this_machine() {
        let mut machine = Machine::default();
        let mut window = Window::default();
        machine.cut(&Scene::default(), &mut window);
        assert_eq!(window.host, None, "nothing to compare with");
        let until = std::time::Instant::now() + std::time::Duration::from_millis(60);
        while std::time::Instant::now() < until {
            std::hint::spin_loop();
        }
        machine.cut(&Scene::default(), &mut window);
        let host = window.host.expect("Linux has all of it");
        assert!(host.cpus > 0, "{host:?}");
        assert!(host.user_ns > 0 && host.memory_available_bytes > 1 << 20, "{host:?}");
        assert!(host.tasks.is_some_and(|tasks| tasks.used > 1 && tasks.limit > tasks.used), "{host:?}");
        // A kernel without pressure says so; nothing else may be missing.
        assert!(machine.missing().iter().all(|missing| missing.what == "pressure of the machine"));
    }
}
