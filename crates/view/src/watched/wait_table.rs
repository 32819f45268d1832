//! Who waits for what: the table of `torment watch`.

use super::figures::average_over;
use super::{average, cpu_of, sessions_words, subject_name};
use crate::document::{TextTable, indent_all};
use crate::values::rate_value;
use crate::wording::format_rate;
use crate::wording::number_of;
use crate::{Text, Tone};
use record::watch::{
    AccessLevel, Host, Jvm, LimitUsage, Network, PostgresServer, PostgresWindow, ThreadGroup, TreeRole,
    TreeWindow, WatchCoverage, WatchedProcesses, Window,
};
use serde_json::{Value, json};
use units::{Bytes, Nanos, Rate, Share, grouped, trim_zeros};

/// Thread groups shown in full; beyond, only those that use a processor.
const MAX_GROUPS: usize = 8;
/// Groups that use this much of a processor are shown.
const BUSY: f64 = 0.05;
/// Waits shown per group.
const MAX_WAITS: usize = 4;
/// Fewer threads on average are not mentioned.
const FEW: f64 = 0.05;
/// From this share on a limit is nearly exhausted.
const NEAR: f64 = 0.8;

/// Who waits for what: each process tree with its threads, limits and queues, the database, the machine, and what is not observable.
pub fn who_waits(windows: &[Window], watched: &WatchCoverage) -> Vec<Text> {
    let merged = Window::merged(windows);
    let mut lines = Vec::new();
    let (nobody, length) = (TreeWindow::default(), merged.length());
    for (index, subject) in watched.subjects.iter().enumerate().filter(|(_, subject)| subject.pid > 0) {
        let window = merged.subjects.get(index).unwrap_or(&nobody);
        lines.extend(subject_lines(subject, window, length));
        lines.push(Text::empty());
    }
    if !watched.has_processes() {
        lines.push(Text::plain("  ").with_span(Tone::Warn, "no process is watched"));
        lines.push(Text::empty());
    }
    let about = watched.postgres.as_ref();
    lines.extend(merged.postgres.iter().flat_map(|p| postgres_lines(p, about, length)));
    lines.extend(merged.host.as_ref().map(|host| host_line(host, length)));
    lines.extend(merged.network.as_ref().and_then(network_line));
    let errors = merged.metrics.iter().filter_map(|metrics| metrics.error.clone());
    lines.extend(errors.map(|error| fact("metrics", error, Tone::Warn)));
    lines.extend(merged.changes.iter().map(|change| fact("changed", change.clone(), Tone::Warn)));
    lines.extend(indent_all(not_observable(watched)));
    while lines.last().is_some_and(|line| line.pieces.is_empty()) {
        lines.pop();
    }
    lines
}

/// The same as JSON: what is watched, and the observations as one window; keys include units.
pub fn who_json(windows: &[Window], watched: &WatchCoverage) -> Value {
    let merged = Window::merged(windows);
    json!({
        "schema": record::SCHEMA,
        "seen_seconds": rate_value(merged.length().as_secs_f64()),
        "watched": watched,
        "seen": merged,
    })
}

/// What is not observable, one line each.
pub fn not_observable(watched: &WatchCoverage) -> Vec<Text> {
    let mut lines = Vec::new();
    for missing in &watched.missing {
        let label = if lines.is_empty() { "not observable" } else { "" };
        lines.push(
            Text::new(Tone::Warn, format!("{label:<15}"))
                .with_plain(format!("{}: ", missing.what))
                .with_span(Tone::Faint, &missing.why),
        );
    }
    if lines.is_empty() && watched.level == AccessLevel::Outside && !watched.has_processes() {
        lines.push(
            Text::new(Tone::Warn, "not observable ")
                .with_plain("the target's processes: ")
                .with_span(Tone::Faint, "none of them was found on this machine"),
        );
    }
    lines
}

/// `  label     text`.
fn fact(label: &str, text: String, tone: Tone) -> Text {
    Text::new(Tone::Faint, format!("  {label:<15}")).with_span(tone, text)
}

fn subject_lines(subject: &WatchedProcesses, window: &TreeWindow, length: Nanos) -> Vec<Text> {
    let mut lines = vec![header(subject, window, length)];
    let mut about = vec![subject.command.clone()];
    about.extend(subject.java.as_ref().map(|version| format!("Java {version}")));
    about.retain(|text| !text.is_empty());
    lines.extend((!about.is_empty()).then(|| Text::new(Tone::Faint, format!("    {}", about.join(" · ")))));
    lines.extend(groups(window, length));
    lines.extend(coverage(window));
    lines.extend(limits(window));
    for listener in window.listeners.iter().filter(|l| l.queued > 0) {
        let full = listener.queued >= listener.backlog;
        let text = format!(
            "{}: up to {} of {} connections waiting to be accepted",
            listener.address,
            grouped(listener.queued.into()),
            grouped(listener.backlog.into())
        );
        lines.push(fact("  queue", text, if full { Tone::Bad } else { Tone::Plain }));
    }
    lines.extend(window.jvm.as_ref().map(|jvm| jvm_line(jvm, length)));
    lines
}

/// `java 4711 · the service · 0.09 of 2 processors · 612 MiB · 226 threads · 400 connections from clients`.
fn header(subject: &WatchedProcesses, window: &TreeWindow, length: Nanos) -> Text {
    let role = match subject.role {
        TreeRole::Service => "the service",
        TreeRole::Downstream => "downstream",
    };
    let cpu = cpu_of(window, length);
    let mut parts = vec![role.to_owned()];
    parts.push(match subject.cpus {
        0.0 => format!("{cpu:.2} processors"),
        cpus => format!("{cpu:.2} of {} processors", trimmed(cpus)),
    });
    if window.processes > 1 {
        parts.push(format!("{} processes", grouped(window.processes.into())));
    }
    parts.push(number_of(window.threads as usize, "thread"));
    parts.push(Bytes(window.rss_bytes).to_string());
    if window.clients > 0 {
        parts.push(format!("{} connections from clients", grouped(window.clients.into())));
    }
    for peer in window.peers.iter().filter(|peer| peer.established >= FEW).take(3) {
        parts.push(format!("{} to {}", average(peer.established), peer.address));
    }
    if window.processes == 0 {
        parts = vec![role.to_owned(), "all its processes have ended".to_owned()];
    }
    Text::plain("  ")
        .with_span(Tone::Strong, subject_name(subject))
        .with_plain(format!(" · {}", parts.join(" · ")))
}

/// At most two decimals, without trailing zeros.
fn trimmed(value: f64) -> String {
    trim_zeros(&format!("{value:.2}")).to_owned()
}

fn groups(window: &TreeWindow, length: Nanos) -> Vec<Text> {
    if window.groups.is_empty() {
        return Vec::new();
    }
    let mut table = TextTable::with_text_last(&[
        "group",
        "threads",
        "on CPU",
        "ready",
        "what they do, average number of threads",
    ]);
    let mut rest = ThreadGroup::default();
    let mut left_out = 0;
    for (index, group) in window.groups.iter().enumerate() {
        if index >= MAX_GROUPS && average_over(group.on_cpu_ns + group.run_delay_ns, length) < BUSY {
            rest.threads += group.threads;
            rest.on_cpu_ns += group.on_cpu_ns;
            rest.run_delay_ns += group.run_delay_ns;
            rest.switches += group.switches;
            left_out += 1;
            continue;
        }
        table.push_row(row(&group.name, group, length, where_they_are(group)));
    }
    if left_out > 0 {
        let name = format!("{left_out} other group{}", if left_out == 1 { "" } else { "s" });
        table.push_row(row(&name, &rest, length, String::new()));
    }
    table.indented_lines(1)
}

fn row(name: &str, group: &ThreadGroup, length: Nanos, at: String) -> [(String, Tone); 5] {
    let (cpu, ready) = (average_over(group.on_cpu_ns, length), average_over(group.run_delay_ns, length));
    let tone = if cpu >= 0.5 || ready >= 1.0 { Tone::Strong } else { Tone::Plain };
    [
        (name.to_owned(), Tone::Plain),
        (format!("{:.1}", group.threads), Tone::Plain),
        (format!("{cpu:.2}"), tone),
        (format!("{ready:.2}"), tone),
        (at, Tone::Plain),
    ]
}

/// `waits for another thread, at most 30 s: 188.9 · reads from 127.0.0.1:5432: 9.9`.
fn where_they_are(group: &ThreadGroup) -> String {
    let shown = group.states.iter().filter(|state| state.threads >= FEW);
    let mut parts: Vec<String> =
        shown.clone().take(MAX_WAITS).map(|s| format!("{}: {:.1}", s.wait, s.threads)).collect();
    let others: f64 = shown.skip(MAX_WAITS).map(|state| state.threads).sum();
    if others > 0.0 {
        parts.push(format!("other: {others:.1}"));
    }
    parts.join(" · ")
}

/// Inspections that failed, and threads not inspected.
fn coverage(window: &TreeWindow) -> Option<Text> {
    let sweep = window.sweep?;
    let mut parts = Vec::new();
    if f64::from(sweep.done) < 0.9 * f64::from(sweep.due) {
        parts.push(format!("{} of {} samples taken: the machine is busy", sweep.done, sweep.due));
    }
    if sweep.looked_at < 0.99 * sweep.threads {
        parts.push(format!(
            "{:.0} of {:.0} threads looked at, chosen at random: the figures are scaled up",
            sweep.looked_at, sweep.threads
        ));
    }
    if sweep.readable < 0.5 * sweep.looked_at {
        parts.push(format!("of {:.0} threads {:.0} could be read", sweep.looked_at, sweep.readable));
    }
    (!parts.is_empty()).then(|| fact("  seen", parts.join(" · "), Tone::Warn))
}

/// Limits nearly exhausted, or hit.
fn limits(window: &TreeWindow) -> Option<Text> {
    let mut parts: Vec<(String, bool)> = Vec::new();
    let mut near = |name: &str, usage: Option<LimitUsage>| {
        if let Some(usage) = usage.filter(|usage| usage.share() >= NEAR) {
            let text = format!("{name} {} of {}", grouped(usage.used), grouped(usage.limit));
            parts.push((text, usage.share() >= 0.98));
        }
    };
    near("descriptors", window.descriptors);
    near("threads of the user", window.user_tasks);
    let cgroup = window.cgroup.as_ref();
    let tasks = cgroup.and_then(|cgroup| cgroup.tasks.as_ref());
    near(
        "tasks of the control group",
        tasks.map(|tasks| LimitUsage { used: tasks.used, limit: tasks.limit }),
    );
    if let Some(refused) = tasks.and_then(|tasks| tasks.refused).filter(|n| *n > 0) {
        parts.push((format!("{} threads or processes refused", grouped(refused)), true));
    }
    if let Some(quota) = cgroup.and_then(|cgroup| cgroup.cpu.as_ref()) {
        let text = format!(
            "quota of {} processors, used up in {} of {} periods",
            trimmed(quota.cpus),
            grouped(quota.throttled),
            grouped(quota.periods)
        );
        parts.push((text, quota.throttled * 10 > quota.periods));
    }
    if let Some(memory) = cgroup.and_then(|cgroup| cgroup.memory.as_ref()) {
        let used = memory.used_bytes.saturating_sub(memory.cache_bytes);
        let hit = memory.failures + memory.high + memory.kills > 0;
        if hit || used as f64 >= NEAR * memory.limit_bytes as f64 {
            let kills =
                if memory.kills > 0 { format!(", {} processes killed", memory.kills) } else { String::new() };
            let text = format!(
                "memory {} of {}, hit {} times{kills}",
                Bytes(used),
                Bytes(memory.limit_bytes),
                grouped(memory.failures + memory.high)
            );
            parts.push((text, hit));
        }
    }
    if parts.is_empty() {
        return None;
    }
    let tone = if parts.iter().any(|(_, hit)| *hit) { Tone::Bad } else { Tone::Plain };
    let texts: Vec<String> = parts.into_iter().map(|(text, _)| text).collect();
    Some(fact("  limits", texts.join(" · "), tone))
}

fn jvm_line(jvm: &Jvm, length: Nanos) -> Text {
    let share = |ns: u64| Share(average_over(ns, length)).rounded(3);
    let mut text = format!(
        "{} pauses, {} of the time; heap {} of {}",
        grouped(jvm.pauses),
        share(jvm.pause_ns),
        Bytes(jvm.heap_used_bytes),
        Bytes(jvm.heap_max_bytes)
    );
    if jvm.full_pauses > 0 {
        text += &format!("; {} of the whole heap, {}", grouped(jvm.full_pauses), share(jvm.full_ns));
    }
    if jvm.compiles > 0 {
        text += &format!("; {} methods compiled", grouped(jvm.compiles));
    }
    let tone = if average_over(jvm.pause_ns, length) >= 0.1 { Tone::Bad } else { Tone::Plain };
    fact("  GC", text, tone)
}

fn postgres_lines(window: &PostgresWindow, about: Option<&PostgresServer>, length: Nanos) -> Vec<Text> {
    let mut name = "PostgreSQL".to_owned();
    if let Some(about) = about {
        let version = if about.version > 0 {
            format!(" {}.{}", about.version / 10_000, about.version % 10_000)
        } else {
            String::new()
        };
        name += &format!("{version} at {}", about.address);
    }
    let mut parts = vec![format!(
        "{} commits and {} rollbacks a second",
        format_rate(Rate::of(window.commits, length).0),
        format_rate(Rate::of(window.rollbacks, length).0)
    )];
    let most = about.and_then(|about| about.setting("max_connections"));
    parts.push(match most {
        Some(most) => format!("{} of {most} connections", grouped(window.connections.into())),
        None => format!("{} connections", grouped(window.connections.into())),
    });
    if window.oldest_transaction_s >= 1.0 {
        parts.push(format!("oldest transaction {:.0} s", window.oldest_transaction_s));
    }
    if window.deadlocks > 0 {
        parts.push(format!("{} deadlocks", window.deadlocks));
    }
    let mut lines =
        vec![Text::plain("  ").with_span(Tone::Strong, name).with_plain(format!(" · {}", parts.join(" · ")))];
    if let Some(error) = window.error.as_ref().filter(|_| window.failed > 0) {
        let text = format!("{} of {} queries failed: {error}", window.failed, window.failed + window.looks);
        lines.push(Text::plain("    ").with_span(Tone::Warn, text));
    }
    let shown = window.sessions.iter().filter(|sessions| sessions.count >= FEW);
    let texts: Vec<String> = shown.map(|s| format!("{}: {:.1}", sessions_words(s), s.count)).collect();
    if !texts.is_empty() {
        lines.push(Text::plain(format!("    sessions  {}", texts.join(" · "))));
    }
    lines.push(Text::empty());
    lines
}

fn host_line(host: &Host, length: Nanos) -> Text {
    let used = average_over(host.user_ns + host.system_ns, length);
    let mut parts = vec![format!("{used:.2} of {} processors used", host.cpus)];
    if average_over(host.steal_ns, length) >= 0.02 {
        parts.push(format!("{:.2} taken by the hypervisor", average_over(host.steal_ns, length)));
    }
    let others: Vec<String> = host
        .neighbours
        .iter()
        .filter(|neighbour| average_over(neighbour.cpu_ns, length) >= BUSY)
        .take(3)
        .map(|n| format!("{} {} {:.2}", n.name, n.pid, average_over(n.cpu_ns, length)))
        .collect();
    if !others.is_empty() {
        parts.push(format!("by others {}", others.join(", ")));
    }
    parts.push(format!("{} of memory available", Bytes(host.memory_available_bytes)));
    for disk in host.disks.iter().filter(|disk| disk.busy_ms as f64 >= 0.2 * length.as_secs_f64() * 1e3) {
        let busy = disk.busy_ms as f64 / (length.as_secs_f64() * 1e3).max(1.0);
        parts.push(format!("disk {} busy {}", disk.name, Share(busy).rounded(2)));
    }
    fact("machine", parts.join(" · "), Tone::Plain)
}

/// Only problems.
fn network_line(network: &Network) -> Option<Text> {
    let mut parts = Vec::new();
    let mut note = |count: u64, what: &str| {
        if count > 0 {
            parts.push(format!("{} {what}", grouped(count)));
        }
    };
    note(network.listen_overflows, "connections dropped because their queue was full");
    note(network.backlog_drops, "segments dropped at a full socket");
    note(network.softnet_drops, "packets dropped by a processor");
    let again = network.segments_retransmitted as f64 / network.segments_sent.max(1) as f64;
    if again >= 0.001 {
        parts.push(format!("{} of the segments sent again", Share(again).rounded(4)));
    }
    (!parts.is_empty()).then(|| fact("network", parts.join(" · "), Tone::Bad))
}
