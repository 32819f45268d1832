//! Memory, the JVM, sockets, and the machine itself.

use crate::Tone;
use crate::document::{Chart, Form, Role, Section, Text, Unit};
use crate::page::pages::Pages;
use crate::summary::conditions_words;

fn lines(id: String, title: String, y: (&str, Unit)) -> Chart {
    Chart::over_time(id, title, Form::Lines, y)
}

/// Resident memory of each process tree against its limit.
pub(super) fn memory(pages: &Pages) -> Section {
    let section = Section::named("memory", "Memory");
    pages.seen.subjects.iter().enumerate().fold(section, |section, (place, tree)| {
        let chart = lines(
            format!("memory-{place}"),
            format!("{}: memory", tree.title()),
            ("bytes", Unit::Bytes),
        )
        .note(
            "resident: of its processes; in the group: what counts towards the limit, without reclaimable cache",
        )
        .column("resident", Role::Busy, format!("process.resident.{place}"))
        .column("in the group", Role::Nth(0), format!("cgroup.memory_without_cache.{place}"))
        .bound("limit", tree.limit("cgroup.memory_limit"), Tone::Bad);
        section.chart(pages, chart)
    })
}

/// Heap, pauses and compilation of Java virtual machines.
pub(super) fn jvm(pages: &Pages) -> Section {
    let section = Section::named("jvm", "The Java virtual machine");
    pages.seen.subjects.iter().enumerate().fold(section, |section, (place, tree)| {
        let name = tree.title();
        let heap = lines(format!("heap-{place}"), format!("{name}: heap"), ("bytes", Unit::Bytes))
            .column("used", Role::Busy, format!("jvm.heap.{place}"))
            .bound("largest", tree.limit("jvm.heap_max"), Tone::Bad);
        let pauses = lines(format!("pauses-{place}"), format!("{name}: time paused"), ("share", Unit::Share))
            .column("garbage collection", Role::Bad, format!("jvm.pause.{place}"))
            .column("all safepoints", Role::Waiting, format!("jvm.safepoint.{place}"));
        let section = section.chart(pages, heap).chart(pages, pauses);
        if !pages.moves(&format!("jvm.compiles.{place}")) {
            return section;
        }
        let title = format!("{name}: methods compiled");
        let compiles = lines(format!("compiles-{place}"), title, ("a second", Unit::PerSecond));
        section.chart(pages, compiles.column("methods", Role::Nth(0), format!("jvm.compiles.{place}")))
    })
}

/// Connections, and those not yet accepted.
pub(super) fn sockets(pages: &Pages) -> Section {
    let own =
        lines("connections".to_owned(), "torment: connections".to_owned(), ("connections", Unit::Count));
    let own = own.column("open", Role::Busy, "connections");
    let mut section = Section::named("sockets", "Connections").chart(pages, own);
    for (place, tree) in pages.seen.subjects.iter().enumerate() {
        let name = tree.title();
        let id = format!("connections-{place}");
        let chart = lines(id, format!("{name}: connections"), ("connections", Unit::Count));
        let mut chart = chart.column("from clients", Role::Busy, format!("process.clients.{place}"));
        for (nth, address) in tree.peers.shown() {
            chart =
                chart.column(format!("to {address}"), Role::Nth(nth as u8), format!("peers.{place}.{nth}"));
        }
        section = section.chart(pages, chart);
        let queues = || tree.listeners.shown().map(|(nth, _)| format!("queue.{place}.{nth}"));
        if queues().any(|column| pages.moves(&column)) {
            let id = format!("queue-{place}");
            let title = format!("{name}: connections made and not yet accepted");
            let mut chart = lines(id, title, ("connections", Unit::Count));
            for (nth, address) in tree.listeners.shown() {
                chart = chart.column(address, Role::Nth(nth as u8), format!("queue.{place}.{nth}"));
            }
            section = section.chart(pages, chart.bound("backlog", tree.backlog, Tone::Bad));
        }
    }
    let mut drops =
        lines("drops".to_owned(), "what the network lost".to_owned(), ("a second", Unit::PerSecond));
    for (name, column, role) in [
        ("connections, because the queue was full", "network.listen_overflows", Role::Bad),
        ("connections, for any reason", "network.listen_drops", Role::Waiting),
        ("segments sent again", "network.segments_retransmitted", Role::Nth(0)),
    ] {
        if pages.moves(column) {
            drops = drops.column(name, role, column);
        }
    }
    section.chart(pages, drops)
}

/// Processors, disks and neighbours, and what torment itself takes.
pub(super) fn section(pages: &Pages) -> Section {
    let processors = pages.run.started.as_ref().map(|started| f64::from(started.machine.cpus));
    let processors = processors.filter(|cpus| *cpus > 0.0);
    let used = Chart::over_time(
        "host-cpu",
        "processors of the machine",
        Form::Stack,
        ("processors", Unit::Processors),
    )
    .column("programs", Role::Busy, "host.user")
    .column("kernel", Role::Nth(0), "host.system")
    .column("idle, waiting for a disk", Role::Waiting, "host.iowait")
    .column("taken by the hypervisor", Role::Bad, "host.steal")
    .bound("processors", processors, Tone::Faint);
    let who = lines("who".to_owned(), "who uses the processors".to_owned(), ("processors", Unit::Processors))
        .column("torment's loops", Role::Nth(0), "generator_cpu")
        .column("torment in all", Role::Nth(1), "torment.cpu")
        .column("torment's watch", Role::Nth(2), "torment.watch_cpu")
        .column("torment, waiting for a processor", Role::Waiting, "torment.loops_ready")
        .column("others on this machine", Role::Bad, "host.neighbours_cpu");
    let id = "disks".to_owned();
    let disks = lines(id, "disks busy".to_owned(), ("share of the time", Unit::Share));
    let disks =
        pages.seen.disks.shown().fold(disks, |chart, (nth, name)| {
            chart.column(name, Role::Nth(nth as u8), format!("disk.{nth}"))
        });
    let available = lines("available".to_owned(), "memory available".to_owned(), ("bytes", Unit::Bytes))
        .column("available", Role::Idle, "host.memory_available");
    let section = Section::named("machine", "The machine, and torment itself");
    let conditions =
        pages.run.conditions.as_ref().map(|conditions| Text::plain(conditions_words(conditions)));
    section.texts(conditions).chart(pages, used).chart(pages, who).chart(pages, disks).chart(pages, available)
}
