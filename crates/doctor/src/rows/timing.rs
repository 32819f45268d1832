//! How exactly torment sends what is due.

use super::{Assessment, Rows, only_for_good, only_now, remedy};
use crate::facts::{MachineFacts, Turbo};
use crate::files::FileRead;
use procfs::CpuTimes;
use tasks::cpu_quota_advice;
use units::{Nanos, Share};

/// First kernel in which loops can wait with nanosecond resolution (epoll_pwait2(2)).
const MIN_KERNEL: (u64, u64) = (5, 11);
/// The load alone uses up a lower quota now and then.
const MIN_QUOTA: f64 = 2.0;
/// Share of processor time taken by others.
const STOLEN_SHARE: f64 = 0.05;
const STOLEN_LITTLE: f64 = 0.01;
/// In processors.
const OTHERS_CPUS: f64 = 0.25;
/// The loop spins this long before a request is due: a sleep may end this late.
const MAX_SLACK: Nanos = Nanos::from_micros(60);
const MAX_RESOLUTION: Nanos = Nanos::from_micros(1);
/// Clocks that are read without a system call.
const FAST_CLOCKS: [&str; 5] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "xen"];

pub(super) fn rows(facts: &MachineFacts) -> Rows<'_> {
    let mut rows: Rows<'_> = vec![
        ("kernel", kernel(facts)),
        ("processors", processors(facts)),
        ("quota", quota(facts)),
        ("stolen time", stolen(facts)),
        ("others at work", others(facts)),
        ("clock source", clock(facts)),
        ("timers", timers(facts)),
        ("timer slack", slack(facts)),
        ("frequency", governor(facts)),
    ];
    rows.extend(facts.turbo.as_ref().map(|known| ("turbo", turbo(known))));
    rows.push(("huge pages", huge(facts)));
    rows
}

fn kernel(facts: &MachineFacts) -> FileRead<Assessment> {
    let release = facts.kernel_release.as_ref()?;
    let mut parts =
        release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u64>().unwrap_or_default());
    let version = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    Assessment::of(format!("Linux {release}")).hinders_if(
        version < MIN_KERNEL,
        "no load is made: its loops wait by epoll_pwait2, which Linux has since 5.11",
        only_for_good("a newer kernel"),
    )
}

fn processors(facts: &MachineFacts) -> FileRead<Assessment> {
    let (present, allowed) = (*facts.present_cpus.as_ref()?, *facts.allowed_cpus.as_ref()?);
    let row = Assessment::of(format!("{allowed} of {present}"))
        .figure("allowed", allowed)
        .figure("present", present);
    let all = format!(
        "taskset -pc 0-{} $$; a cpuset: by whoever made the control group",
        present.saturating_sub(1)
    );
    match allowed {
        1 if present == 1 => row.less(
            "the load competes with a target on this machine, and is late when the target is busy",
            only_for_good("load from another machine, or add a processor"),
        ),
        _ if allowed < present => row.less(
            "neither torment nor what it starts gets the others: a limit found is that of fewer",
            only_now(all),
        ),
        _ => row.fine(),
    }
}

fn quota(facts: &MachineFacts) -> FileRead<Assessment> {
    let Some(found) = &facts.quota else { return Assessment::of("none").fine() };
    let cpus = found.quota.cpus;
    let all = facts.present_cpus.as_ref().copied().unwrap_or(1);
    if cpus >= all as f64 {
        return Assessment::of(format!("{cpus:.2} processors, as many as there are")).fine();
    }
    let row = Assessment::of(format!("{cpus:.2} of {all} processors, by the group {}", found.quota.group))
        .figure("quota_milli_cpus", (cpus * 1000.0) as u64);
    let (now, for_good) = cpu_quota_advice(&found.quota.group, &found.folder, found.unified, all);
    let means = "whatever is in the group stands still for the rest of each period once that is used up: the load leaves late, in bursts";
    match cpus < MIN_QUOTA {
        true => row.hinders(means, remedy(now, for_good)),
        false => row.less(means, remedy(now, for_good)),
    }
}

/// A processor's total time.
fn sum(times: &CpuTimes) -> u64 {
    let CpuTimes { user, system, interrupts, idle, iowait, stolen } = *times;
    user + system + interrupts + idle + iowait + stolen
}

/// Time taken by the hypervisor.
fn stolen(facts: &MachineFacts) -> FileRead<Assessment> {
    let (before, now) = facts.cpu_times.as_ref()?;
    let passed = sum(now).saturating_sub(sum(before));
    let ever = Share::of(now.stolen, sum(now));
    let lately = if passed > 0 { Share::of(now.stolen.saturating_sub(before.stolen), passed) } else { ever };
    let ppm = |share: Share| (share.0 * 1e6) as u64;
    let row = Assessment::of(format!("{lately} now, {ever} since the start"))
        .figure("now_ppm", ppm(lately))
        .figure("since_start_ppm", ppm(ever));
    let means = "the hypervisor gives this machine's time to others: response times have gaps that are not the target's, and trials are voided";
    let help = only_for_good(
        "whoever runs the host: a processor of its own for this machine; or measure when the host is quiet",
    );
    match lately.0 >= STOLEN_SHARE {
        true => row.hinders(means, help),
        false => row.less_if(lately.0 >= STOLEN_LITTLE, means, help),
    }
}

/// Time taken by other programs.
fn others(facts: &MachineFacts) -> FileRead<Assessment> {
    let (before, now) = facts.cpu_times.as_ref()?;
    let busy = |times: &CpuTimes| times.user + times.system + times.interrupts;
    let passed = sum(now).saturating_sub(sum(before));
    let processors = facts.present_cpus.as_ref().copied().unwrap_or(1);
    let used = Share::of(busy(now).saturating_sub(busy(before)), passed).0 * processors as f64;
    let row = Assessment::of(format!("{used:.2} of {processors} processors"))
        .figure("used_milli_cpus", (used * 1000.0) as u64);
    row.less_if(
        used > OTHERS_CPUS,
        "they distort the measurement: find them with `top`, and measure without them",
        only_now("end them, or wait"),
    )
}

fn clock(facts: &MachineFacts) -> FileRead<Assessment> {
    let clock = facts.clock_source.as_ref()?;
    let row = Assessment::of(clock.as_str());
    if FAST_CLOCKS.contains(&clock.as_str()) {
        return row.fine();
    }
    let available = facts.clock_sources.as_deref().unwrap_or_default();
    let other = FAST_CLOCKS.iter().find(|fast| available.split(' ').any(|one| one == **fast));
    let remedy = match other {
        Some(other) => remedy(
            format!("echo {other} > /sys/devices/system/clocksource/clocksource0/current_clocksource"),
            format!("the kernel's option clocksource={other}"),
        ),
        None => only_for_good(
            "the kernel's log says why it gave up the processor's own counter: dmesg | grep -i clocksource; tsc=reliable insists on it",
        ),
    };
    row.hinders("each look at the clock is a system call of a microsecond or more, in torment and in the target: both are slower than elsewhere", remedy)
}

fn timers(facts: &MachineFacts) -> FileRead<Assessment> {
    let Some(ns) = facts.timer_ns else { return Assessment::of("not known").fine() };
    Assessment::of(format!("exact to {}", Nanos(ns))).figure("resolution_ns", ns).hinders_if(
        Nanos(ns) > MAX_RESOLUTION,
        format!("whatever sleeps wakes up to {} late: requests leave in bunches", Nanos(ns)),
        only_for_good("start the kernel without highres=off, or one with CONFIG_HIGH_RES_TIMERS"),
    )
}

fn slack(facts: &MachineFacts) -> FileRead<Assessment> {
    let ns = *facts.slack_ns.as_ref()?;
    Assessment::of(Nanos(ns).to_string()).figure("slack_ns", ns).hinders_if(
        Nanos(ns) > MAX_SLACK,
        format!(
            "sleeps may end {} late, and so do loads: it came from the program that started torment",
            Nanos(ns)
        ),
        only_now("echo 50000 > /proc/$$/timerslack_ns, in the shell that starts torment"),
    )
}

fn governor(facts: &MachineFacts) -> FileRead<Assessment> {
    let mut governors: Vec<&str> = Vec::new();
    for read in &facts.governors {
        let governor = read.as_ref()?.as_str();
        if !governors.contains(&governor) {
            governors.push(governor);
        }
    }
    if governors.is_empty() {
        return Assessment::of("not this machine's to choose").fine();
    }
    let driver = facts.cpufreq_driver.as_deref().unwrap_or_default();
    let by = if driver.is_empty() { String::new() } else { format!(" ({driver})") };
    let row = Assessment::of(format!("{}{by}", governors.join(", ")));
    if governors == ["performance"] {
        return row.fine();
    }
    let performance = remedy(
        "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        "/etc/default/cpufrequtils: GOVERNOR=performance, or a unit with cpupower frequency-set -g performance",
    );
    // These two choose the clock themselves, and name all but their most eager mode so.
    let choosing = ["intel_pstate", "amd-pstate-epp", "amd_pstate_epp"];
    let chooses = choosing.iter().any(|known| driver.starts_with(known));
    match governors.contains(&"powersave") && !chooses {
        true => row.hinders("the processors keep to their lowest clock: every limit is that of a slower machine", performance),
        false => row.less(
            "after a pause the clock rises only within milliseconds: response times at low rates are longer than at high ones, and starts differ",
            performance,
        ),
    }
}

fn turbo(known: &Turbo) -> FileRead<Assessment> {
    let (on, off) = match known {
        Turbo::Intel(on) => (*on, "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"),
        Turbo::Boost(on) => (*on, "echo 0 > /sys/devices/system/cpu/cpufreq/boost"),
    };
    if !on {
        return Assessment::of("off").fine();
    }
    let means = "the clock falls as more processors are busy and as they warm: measurements differ more from each other, and a long load holds less than a short one";
    Assessment::of("on").less(means, only_now(off))
}

fn huge(facts: &MachineFacts) -> FileRead<Assessment> {
    let Some((enabled, defrag)) = facts.huge_pages.as_ref()? else { return Assessment::of("none").fine() };
    Assessment::of(format!("{enabled}, made {defrag}")).less_if(
        enabled != "never" && defrag == "always",
        "a program that takes memory may wait milliseconds while the kernel makes room for a huge page: gaps that look like the target's",
        remedy(
            "echo madvise > /sys/kernel/mm/transparent_hugepage/defrag",
            "/etc/tmpfiles.d/90-torment.conf: w /sys/kernel/mm/transparent_hugepage/defrag - - - - madvise",
        ),
    )
}
