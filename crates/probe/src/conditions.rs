//! The state of the machine before measuring: interference from others, and facts that explain figures.

use crate::interference::InterferenceMeter;
use record::{Caveat, CaveatKind, Conditions};
use std::fs::read_to_string;
use std::time::{Duration, Instant};
use units::Nanos;

/// How long other programs are watched.
const SAMPLE_TIME: Duration = Duration::from_millis(400);
/// How long the clock is read without pause,
const SPIN_TIME: Duration = Duration::from_millis(100);
/// and the shortest gap between two readings that counts: no interrupt takes that long, another program does.
const MIN_GAP: Nanos = Nanos::from_micros(50);
/// Shares above which a figure is doubtful.
const FOREIGN: f64 = 0.05;
const STOLEN: f64 = 0.01;
const GAPS: f64 = 0.02;
/// Clock readings used to price one.
const READINGS: u32 = 100_000;

/// Surveys for half a second.
pub fn survey() -> Conditions {
    let (foreign, stolen) = foreign_and_stolen();
    let gaps = gap_share();
    let began = Instant::now();
    (0..READINGS).for_each(|_| _ = std::hint::black_box(sys::monotonic_ns()));
    let clock = Nanos::from(began.elapsed() / READINGS);
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let others = format!(
        "others use {} of a processor: find them with `top`, and measure again without them",
        percent(foreign)
    );
    let hypervisor = format!("the hypervisor gives {} of this machine's time to others", percent(stolen));
    let away = format!(
        "a program that only reads the clock is away {} of the time: something takes the processor that no counter shows",
        percent(gaps)
    );
    let caveat = |is_so: bool, kind, text| is_so.then(|| Caveat::new(kind, text));
    let caveats = [
        caveat(foreign > FOREIGN, CaveatKind::OthersAtWork, others),
        caveat(stolen > STOLEN, CaveatKind::StolenTime, hypervisor),
        caveat(gaps > GAPS, CaveatKind::Gaps, away),
    ];
    let caveats = caveats.into_iter().flatten().collect();
    Conditions { foreign, stolen, gaps, clock, facts: facts(), caveats }
}

/// Share of a processor used by others, and share of all processors stolen by the hypervisor.
fn foreign_and_stolen() -> (f64, f64) {
    let calm = InterferenceMeter::new();
    std::thread::sleep(SAMPLE_TIME);
    calm.foreign_and_stolen(Duration::ZERO).unwrap_or_default()
}

fn gap_share() -> f64 {
    let began = sys::monotonic_ns();
    let until = began + Nanos::from(SPIN_TIME).0;
    let (mut last, mut away) = (began, 0);
    while last < until {
        let now = sys::monotonic_ns();
        if now - last > MIN_GAP.0 {
            away += now - last;
        }
        last = now;
    }
    away as f64 / (last - began) as f64
}

/// Readable facts; unreadable ones are left out.
fn facts() -> Vec<(String, String)> {
    const DEVICES: &str = "/sys/devices/system";
    let read =
        |path: String| Some(read_to_string(path).ok()?.trim().to_owned()).filter(|text| !text.is_empty());
    let selected = |text: String| {
        let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        inside.map_or(text.clone(), |(inside, _)| inside.to_owned())
    };
    let hypervisor = || {
        let flags = read_to_string("/proc/cpuinfo").ok()?;
        let guest = procfs::field(&flags, "flags")?.split(' ').any(|flag| flag == "hypervisor");
        Some(if guest { "a guest of a hypervisor" } else { "not virtual" }.to_owned())
    };
    let threads = || {
        let siblings = read(format!("{DEVICES}/cpu/cpu0/topology/thread_siblings_list"))?;
        Some(if siblings.contains([',', '-']) { "several to a core" } else { "one to a core" }.to_owned())
    };
    let meltdown = read(format!("{DEVICES}/cpu/vulnerabilities/meltdown"));
    let all = [
        ("machine", hypervisor()),
        ("hardware threads", threads()),
        ("frequency governor", read(format!("{DEVICES}/cpu/cpu0/cpufreq/scaling_governor"))),
        ("idle driver", read(format!("{DEVICES}/cpu/cpuidle/current_driver"))),
        ("clock source", read(format!("{DEVICES}/clocksource/clocksource0/current_clocksource"))),
        ("huge pages", read("/sys/kernel/mm/transparent_hugepage/enabled".to_owned()).map(selected)),
        ("Meltdown", meltdown),
        ("overcommit", read("/proc/sys/vm/overcommit_memory".to_owned())),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_and_reads() {
        let Conditions { foreign, stolen, gaps, clock, facts, .. } = survey();
        assert!(foreign >= 0.0 && (0.0..=1.0).contains(&stolen) && (0.0..=1.0).contains(&gaps));
        assert!(clock.0 > 0 && clock < Nanos::from_micros(10), "{clock}");
        assert!(facts.iter().any(|(name, _)| name == "overcommit"), "{facts:?}");
    }
}
