//! Memory, the JVM, sockets, and the machine itself.

use crate::Tone;
use crate::document::{AxisUnit, Chart, Section, SeriesRole, Text};
use crate::page::builder::PageBuilder;
use crate::page::target_columns::WatchedMachine;
use crate::summary::conditions_words;
use crate::wording::place_suffix;

/// Each process tree's resident memory against its limit.
pub(super) fn memory(page: &PageBuilder) -> Section {
    let section = Section::named("memory", "Memory");
    page.target.tree_columns.iter().enumerate().fold(section, |section, (place, tree)| {
        let chart = Chart::lines(
            format!("memory-{place}"),
            format!("{}: memory", tree.title()),
            ("bytes", AxisUnit::Bytes),
        )
        .note(
            "resident: of its processes; in the group: what counts towards the limit, without reclaimable cache",
        )
        .column("resident", SeriesRole::Busy, format!("process.resident.{place}"))
        .column("in the group", SeriesRole::Nth(0), format!("cgroup.memory_without_cache.{place}"))
        .bound("limit", tree.limit("cgroup.memory_limit"), Tone::Bad);
        section.chart(page, chart)
    })
}

/// Java virtual machines: heap, pauses and compilation.
pub(super) fn jvm(page: &PageBuilder) -> Section {
    let section = Section::named("jvm", "The Java virtual machine");
    page.target.tree_columns.iter().enumerate().fold(section, |section, (place, tree)| {
        let name = tree.title();
        let heap = Chart::lines(format!("heap-{place}"), format!("{name}: heap"), ("bytes", AxisUnit::Bytes))
            .column("used", SeriesRole::Busy, format!("jvm.heap.{place}"))
            .bound("largest", tree.limit("jvm.heap_max"), Tone::Bad);
        let pauses = Chart::lines(
            format!("pauses-{place}"),
            format!("{name}: time paused"),
            ("share", AxisUnit::Share),
        )
        .column("garbage collection", SeriesRole::Bad, format!("jvm.pause.{place}"))
        .column("all safepoints", SeriesRole::Waiting, format!("jvm.safepoint.{place}"));
        let section = section.chart(page, heap).chart(page, pauses);
        if !page.has_nonzero(&format!("jvm.compiles.{place}")) {
            return section;
        }
        let title = format!("{name}: methods compiled");
        let compiles = Chart::lines(format!("compiles-{place}"), title, ("a second", AxisUnit::PerSecond));
        section.chart(page, compiles.column("methods", SeriesRole::Nth(0), format!("jvm.compiles.{place}")))
    })
}

/// Connections, and those not yet accepted.
pub(super) fn sockets(page: &PageBuilder) -> Section {
    let own = Chart::lines("connections", "torment: connections", ("connections", AxisUnit::Count));
    let own = own.column("open", SeriesRole::Busy, "connections");
    let mut section = Section::named("sockets", "Connections").chart(page, own);
    for (place, tree) in page.target.tree_columns.iter().enumerate() {
        let name = tree.title();
        let id = format!("connections-{place}");
        let chart = Chart::lines(id, format!("{name}: connections"), ("connections", AxisUnit::Count));
        let mut chart = chart.column("from clients", SeriesRole::Busy, format!("process.clients.{place}"));
        for (nth, address) in tree.peers.shown() {
            chart = chart.column(
                format!("to {address}"),
                SeriesRole::Nth(nth as u8),
                format!("peers.{place}.{nth}"),
            );
        }
        section = section.chart(page, chart);
        let queues = || tree.listeners.shown().map(|(nth, _)| format!("queue.{place}.{nth}"));
        if queues().any(|column| page.has_nonzero(&column)) {
            let id = format!("queue-{place}");
            let title = format!("{name}: connections made and not yet accepted");
            let mut chart = Chart::lines(id, title, ("connections", AxisUnit::Count));
            for (nth, address) in tree.listeners.shown() {
                chart = chart.column(address, SeriesRole::Nth(nth as u8), format!("queue.{place}.{nth}"));
            }
            section = section.chart(page, chart.bound("backlog", tree.backlog, Tone::Bad));
        }
    }
    machines(page).iter().fold(section, |section, machine| {
        let title = format!("what the network lost{}", place_suffix(&machine.name));
        let mut drops = Chart::lines(machine.id("drops"), title, ("a second", AxisUnit::PerSecond));
        for (name, column, role) in [
            ("connections, because the queue was full", "network.listen_overflows", SeriesRole::Bad),
            ("connections, for any reason", "network.listen_drops", SeriesRole::Waiting),
            ("segments sent again", "network.segments_retransmitted", SeriesRole::Nth(0)),
        ] {
            let column = machine.id(column);
            if page.has_nonzero(&column) {
                drops = drops.column(name, role, column);
            }
        }
        section.chart(page, drops)
    })
}

/// The watched machines; if none, torment's.
fn machines(page: &PageBuilder) -> Vec<WatchedMachine> {
    match page.target.machines.as_slice() {
        [] => vec![WatchedMachine::default()],
        machines => machines.to_vec(),
    }
}

/// Processors, disks, neighbours, and torment's own usage.
pub(super) fn section(page: &PageBuilder) -> Section {
    let machines = machines(page);
    let disks = Chart::lines("disks", "disks busy", ("share of the time", AxisUnit::Share));
    let disks = page.target.disks.shown().fold(disks, |chart, (nth, name)| {
        chart.column(name, SeriesRole::Nth(nth as u8), format!("disk.{nth}"))
    });
    let section = Section::named("machine", "The machine, and torment itself");
    let conditions = page.run.conditions.as_ref().map(|conditions| Text::plain(conditions_words(conditions)));
    let section = section.texts(conditions);
    let section = machines.iter().fold(section, |section, machine| {
        section.chart(page, used(page, machine)).chart(page, who(machine)).chart(page, pace(machine))
    });
    machines.iter().fold(section.chart(page, disks), |section, machine| {
        let title = format!("memory available{}", place_suffix(&machine.name));
        let available = Chart::lines(machine.id("available"), title, ("bytes", AxisUnit::Bytes));
        section
            .chart(page, available.column("available", SeriesRole::Idle, machine.id("host.memory_available")))
    })
}

fn used(page: &PageBuilder, machine: &WatchedMachine) -> Chart {
    let own = page.run.started.as_ref().map(|started| f64::from(started.machine.cpus));
    let processors = if machine.name.is_empty() { own.filter(|cpus| *cpus > 0.0) } else { machine.cpus };
    let title = match machine.name.as_str() {
        "" => "processors of the machine".to_owned(),
        name => format!("processors of {name}"),
    };
    let used = ("processors", AxisUnit::Processors);
    Chart::stack(machine.id("host-cpu"), title, used)
        .column("programs", SeriesRole::Busy, machine.id("host.user"))
        .column("kernel", SeriesRole::Nth(0), machine.id("host.system"))
        .column("idle, waiting for a disk", SeriesRole::Waiting, machine.id("host.iowait"))
        .column("taken by the hypervisor", SeriesRole::Bad, machine.id("host.steal"))
        .bound("processors", processors, Tone::Faint)
}

/// Time of a fixed computation: rises if others on the same host slow the processors down.
fn pace(machine: &WatchedMachine) -> Chart {
    let title = format!("how fast the processors are{}", place_suffix(&machine.name));
    let chart =
        Chart::lines(machine.id("pace"), title, ("time that the same arithmetic takes", AxisUnit::Seconds));
    chart.column("on the target's processors", SeriesRole::Nth(0), machine.id("host.pace"))
}

/// Processor usage other than the target's. If torment only watches there, its loops are elsewhere.
fn who(machine: &WatchedMachine) -> Chart {
    let title = format!("who uses the processors{}", place_suffix(&machine.name));
    let chart = Chart::lines(machine.id("who"), title, ("processors", AxisUnit::Processors));
    let (cpu, others) = (machine.id("torment.cpu"), machine.id("host.neighbours_cpu"));
    if !machine.name.is_empty() {
        return chart.column("torment, which watches", SeriesRole::Nth(1), cpu).column(
            "others on that machine",
            SeriesRole::Bad,
            others,
        );
    }
    chart
        .column("torment's loops", SeriesRole::Nth(0), "generator_cpu")
        .column("torment in all", SeriesRole::Nth(1), cpu)
        .column("torment's watch", SeriesRole::Nth(2), machine.id("torment.watch_cpu"))
        .column("torment, waiting for a processor", SeriesRole::Waiting, machine.id("torment.loops_ready"))
        .column("others on this machine", SeriesRole::Bad, others)
}
