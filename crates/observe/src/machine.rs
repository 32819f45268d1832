//! The machine: processors, memory, pressure, tasks and disks.

use crate::cgroup::{parse_pressure, pressure_growth};
use crate::disks;
use crate::missing::MissingLog;
use crate::source::Source;
use crate::watch_scope::WatchScope;
use procfs::{HostStat, kib_field, parse_cpu_times, parse_host_stat, read_number, tick_ns};
use record::watch::{DiskActivity, Host, LimitUsage, MissingMeasure, Pressure, Window};
use std::collections::HashMap;
use std::path::Path;
use std::{fs, io};

#[derive(Debug, Default)]
pub(crate) struct MachineSource {
    before: Option<Counts>,
    missing_log: MissingLog,
}

/// Counters since boot.
#[derive(Debug, Default)]
struct Counts {
    stat: HostStat,
    /// Idle ticks of the processors that the service is confined to.
    service_idle: Option<(Vec<u32>, u64)>,
    pressure: Option<Pressure>,
    disks: HashMap<String, DiskActivity>,
}

fn unknown_format(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("it is in no known format of {what}"))
}

impl MachineSource {
    fn text<T>(&mut self, what: &str, path: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let read = fs::read_to_string(path).and_then(|text| parse(&text).ok_or_else(|| unknown_format(path)));
        self.missing_log.ok_or_note(what, path, read)
    }

    fn pressure(&mut self) -> Option<Pressure> {
        let read = |name: &str| fs::read_to_string(format!("/proc/pressure/{name}"));
        let all = || {
            let (cpu, memory, io) = (read("cpu")?, read("memory")?, read("io")?);
            parse_pressure(&cpu, &memory, &io).ok_or_else(|| unknown_format("/proc/pressure"))
        };
        all()
            .map_err(|error| {
                let why = format!(
                    "/proc/pressure cannot be read ({error}); the kernel's option `psi=1` turns it on"
                );
                self.missing_log.note("pressure of the machine", why);
            })
            .ok()
    }
}

/// Idle ticks of these processors since boot; none of none, and if one is missing.
fn idle_ticks(stat: &str, processors: &[u32]) -> Option<u64> {
    let one = |processor| {
        let times = parse_cpu_times(stat, &format!("cpu{processor}"))?;
        Some(times.idle + times.iowait)
    };
    (!processors.is_empty()).then(|| processors.iter().map(one).sum::<Option<u64>>())?
}

impl Source for MachineSource {
    fn cut(&mut self, scope: &WatchScope, window: &mut Window) {
        let processors = scope.subjects.first().map_or(&[][..], |service| &service.about.processors);
        let stat = |text: &str| Some((parse_host_stat(text)?, idle_ticks(text, processors)));
        let Some((stat, service_idle)) = self.text("processors of the machine", "/proc/stat", stat) else {
            return;
        };
        let service_idle = service_idle.map(|idle| (processors.to_vec(), idle));
        let pressure = self.pressure();
        let is_whole = |name: &str| Path::new("/sys/block").join(name).exists();
        let disks = self.text("disks", "/proc/diskstats", |text| Some(disks::parse(text, is_whole)));
        let now = Counts { stat, service_idle, pressure, disks: disks.unwrap_or_default() };
        let threads =
            self.text("tasks of the machine", "/proc/loadavg", |text| procfs::parse_loadavg(text.as_bytes()));
        let limit = ["/proc/sys/kernel/threads-max", "/proc/sys/kernel/pid_max"];
        let limit = limit.into_iter().filter_map(read_number).min();
        let memory =
            self.text("memory of the machine", "/proc/meminfo", |text| kib_field(text, "MemAvailable"));
        if let Some(before) = &self.before {
            let ns = |now: u64, before: u64| now.saturating_sub(before).saturating_mul(tick_ns());
            let (new, old) = (&now.stat.times, &before.stat.times);
            window.host = Some(Host {
                cpus: now.stat.cpus,
                user_ns: ns(new.user, old.user),
                system_ns: ns(new.system + new.interrupts, old.system + old.interrupts),
                idle_ns: ns(new.idle, old.idle),
                iowait_ns: ns(new.iowait, old.iowait),
                service_idle_ns: now.service_idle.as_ref().zip(before.service_idle.as_ref()).and_then(
                    |((processors, new), (same, old))| (processors == same).then(|| ns(*new, *old)),
                ),
                steal_ns: ns(new.stolen, old.stolen),
                runnable: now.stat.running.unwrap_or(0) as u32,
                switches: now
                    .stat
                    .switches
                    .zip(before.stat.switches)
                    .map(|(now, before)| now.saturating_sub(before)),
                memory_available_bytes: memory.unwrap_or(0),
                pressure: now.pressure.zip(before.pressure).map(|(now, before)| pressure_growth(now, before)),
                tasks: threads.zip(limit).map(|(load, limit)| LimitUsage { used: load.tasks, limit }),
                disks: disks::growth(&now.disks, &before.disks),
                // The process source adds the neighbours.
                ..Host::default()
            });
        }
        self.before = Some(now);
    }

    fn missing(&self) -> Vec<MissingMeasure> {
        self.missing_log.list()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_of_some_processors() {
        let stat = "cpu  9 0 9 18 9 0 0 0\ncpu0 9 0 9 2 1 0 0 0\ncpu1 0 0 0 16 8 0 0 0\n";
        for (processors, idle) in
            [(&[0][..], Some(3)), (&[1], Some(24)), (&[0, 1], Some(27)), (&[], None), (&[0, 2], None)]
        {
            assert_eq!(idle_ticks(stat, processors), idle, "{processors:?}");
        }
    }

    #[test]
    fn this_machine() {
        let mut machine = MachineSource::default();
        let mut window = Window::default();
        machine.cut(&WatchScope::default(), &mut window);
        assert_eq!(window.host, None, "nothing to compare with");
        let until = std::time::Instant::now() + std::time::Duration::from_millis(60);
        while std::time::Instant::now() < until {
            std::hint::spin_loop();
        }
        machine.cut(&WatchScope::default(), &mut window);
        let host = window.host.expect("Linux has all of it");
        assert!(host.cpus > 0, "{host:?}");
        assert!(host.user_ns > 0 && host.memory_available_bytes > 1 << 20, "{host:?}");
        assert!(host.switches.is_some_and(|switches| switches > 0), "{host:?}");
        assert!(host.tasks.is_some_and(|tasks| tasks.used > 1 && tasks.limit > tasks.used), "{host:?}");
        // Pressure may be missing, if the kernel lacks it; nothing else.
        assert!(machine.missing().iter().all(|missing| missing.what == "pressure of the machine"));
    }
}
