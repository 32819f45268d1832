//! Several windows as one: counters sum, averages are weighed by time, levels are the last.

use record::watch::{
    Cgroup, Disk, Group, Host, Jvm, Listener, Neighbour, Network, Own, Peer, Postgres, Pressure, Sessions,
    State, SubjectWindow, Sweep, Usage, Wait, Window,
};
use std::collections::BTreeMap;
use units::Nanos;

/// All of them as one window, which is as long as they are together.
pub fn merge(windows: &[&Window]) -> Window {
    let mut merged = Window::default();
    for window in windows {
        add(&mut merged, window);
    }
    merged
}

/// Adds a window to others that are one already.
pub fn add(into: &mut Window, next: &Window) {
    let weights = Weights::of(into.length(), next.length());
    let count = into.subjects.len().max(next.subjects.len());
    into.subjects.resize_with(count, SubjectWindow::default);
    for (mine, theirs) in into.subjects.iter_mut().zip(&next.subjects) {
        subject(mine, theirs, weights);
    }
    option(&mut into.host, next.host.as_ref(), host);
    option(&mut into.network, next.network.as_ref(), network);
    option(&mut into.postgres, next.postgres.as_ref(), postgres);
    if let Some(metrics) = &next.metrics {
        into.metrics = Some(metrics.clone());
    }
    own(&mut into.own, &next.own);
    into.changes.extend(next.changes.iter().cloned());
    // From nothing on: what is merged need not be in one piece.
    into.to = into.from + into.length() + next.length();
}

/// Shares of what was before and of what is added.
#[derive(Clone, Copy)]
struct Weights {
    before: f64,
    next: f64,
}

impl Weights {
    fn of(before: Nanos, next: Nanos) -> Self {
        let whole = (before + next).as_secs_f64().max(f64::MIN_POSITIVE);
        Self { before: before.as_secs_f64() / whole, next: next.as_secs_f64() / whole }
    }

    fn mean(self, before: f64, next: f64) -> f64 {
        self.before * before + self.next * next
    }
}

/// Adds to what is there, or begins with what is added.
fn option<T: Clone>(into: &mut Option<T>, next: Option<&T>, add: impl FnOnce(&mut T, &T)) {
    match (into.as_mut(), next) {
        (Some(mine), Some(theirs)) => add(mine, theirs),
        (None, Some(theirs)) => *into = Some(theirs.clone()),
        (_, None) => {}
    }
}

fn sum(into: &mut Option<u64>, next: Option<u64>) {
    option(into, next.as_ref(), |mine, theirs| *mine += theirs);
}

/// That which leaves less.
fn fuller(a: &Usage, b: &Usage) -> Usage {
    if a.share() > b.share() { *a } else { *b }
}

fn subject(into: &mut SubjectWindow, next: &SubjectWindow, weights: Weights) {
    let first = weights.before == 0.0;
    into.processes = next.processes;
    into.threads = next.threads;
    into.started += next.started;
    into.ended += next.ended;
    into.cpu_ns += next.cpu_ns;
    into.rss_bytes = next.rss_bytes;
    into.major_faults += next.major_faults;
    sum(&mut into.read_bytes, next.read_bytes);
    sum(&mut into.written_bytes, next.written_bytes);
    option(&mut into.descriptors, next.descriptors.as_ref(), |a, b| *a = fuller(a, b));
    option(&mut into.user_tasks, next.user_tasks.as_ref(), |a, b| *a = fuller(a, b));
    option(&mut into.sweep, next.sweep.as_ref(), |a, b| sweep(a, b, weights));
    groups(&mut into.groups, &next.groups, weights);
    option(&mut into.cgroup, next.cgroup.as_ref(), cgroup);
    for listener in &next.listeners {
        match into.listeners.iter_mut().find(|l| l.address == listener.address) {
            Some(mine) => *mine = Listener { queued: mine.queued.max(listener.queued), ..listener.clone() },
            None => into.listeners.push(listener.clone()),
        }
    }
    peers(&mut into.peers, &next.peers, weights);
    into.clients = if first { next.clients } else { into.clients.max(next.clients) };
    option(&mut into.jvm, next.jvm.as_ref(), jvm);
    into.titles.clone_from(&next.titles);
}

fn sweep(into: &mut Sweep, next: &Sweep, weights: Weights) {
    into.due += next.due;
    into.done += next.done;
    into.threads = weights.mean(into.threads, next.threads);
    into.looked_at = weights.mean(into.looked_at, next.looked_at);
    into.readable = weights.mean(into.readable, next.readable);
    into.took_ns += next.took_ns;
    into.unseen_cpu_ns += next.unseen_cpu_ns;
}

fn groups(into: &mut Vec<Group>, next: &[Group], weights: Weights) {
    for group in into.iter_mut() {
        group.threads *= weights.before;
        group.full.iter_mut().for_each(|full| full.threads *= weights.before);
        group.states.iter_mut().for_each(|state| state.threads *= weights.before);
    }
    for theirs in next {
        let at = into.iter().position(|mine| mine.name == theirs.name).unwrap_or_else(|| {
            into.push(Group { name: theirs.name.clone(), ..Group::default() });
            into.len() - 1
        });
        let mine = &mut into[at];
        mine.threads += weights.next * theirs.threads;
        mine.on_cpu_ns += theirs.on_cpu_ns;
        mine.run_delay_ns += theirs.run_delay_ns;
        mine.switches += theirs.switches;
        if let Some(theirs) = theirs.full {
            let full = mine.full.get_or_insert_default();
            full.threads += weights.next * theirs.threads;
            full.on_cpu_ns += theirs.on_cpu_ns;
        }
        let mut states: BTreeMap<Wait, f64> = mine.states.drain(..).map(|s| (s.wait, s.threads)).collect();
        for state in &theirs.states {
            *states.entry(state.wait.clone()).or_default() += weights.next * state.threads;
        }
        mine.states = states.into_iter().map(|(wait, threads)| State { wait, threads }).collect();
        mine.states.sort_by(|a, b| b.threads.total_cmp(&a.threads));
    }
    into.sort_by(|a, b| b.threads.total_cmp(&a.threads));
}

fn peers(into: &mut Vec<Peer>, next: &[Peer], weights: Weights) {
    for peer in into.iter_mut() {
        if !next.iter().any(|theirs| theirs.address == peer.address) {
            (peer.established, peer.least, peer.time_wait) = (peer.established * weights.before, 0, 0);
        }
    }
    for theirs in next {
        match into.iter_mut().find(|mine| mine.address == theirs.address) {
            Some(mine) => {
                mine.established = weights.mean(mine.established, theirs.established);
                mine.least = mine.least.min(theirs.least);
                mine.most = mine.most.max(theirs.most);
                mine.time_wait = theirs.time_wait;
            }
            None => into.push(Peer {
                established: theirs.established * weights.next,
                least: if weights.before == 0.0 { theirs.least } else { 0 },
                ..theirs.clone()
            }),
        }
    }
}

fn cgroup(into: &mut Cgroup, next: &Cgroup) {
    option(&mut into.cpu, next.cpu.as_ref(), |mine, theirs| {
        mine.periods += theirs.periods;
        mine.throttled += theirs.throttled;
        mine.throttled_ns += theirs.throttled_ns;
        (mine.cpus, mine.group) = (theirs.cpus, theirs.group.clone());
    });
    option(&mut into.memory, next.memory.as_ref(), |mine, theirs| {
        let before = mine.clone();
        *mine = theirs.clone();
        mine.failures += before.failures;
        mine.high += before.high;
        mine.kills += before.kills;
        mine.refaults += before.refaults;
    });
    option(&mut into.tasks, next.tasks.as_ref(), |mine, theirs| {
        sum(&mut mine.refused, theirs.refused);
        mine.used = mine.used.max(theirs.used);
        (mine.limit, mine.group) = (theirs.limit, theirs.group.clone());
    });
    option(&mut into.pressure, next.pressure.as_ref(), pressure);
}

fn pressure(into: &mut Pressure, next: &Pressure) {
    into.cpu_some_us += next.cpu_some_us;
    into.memory_some_us += next.memory_some_us;
    into.memory_full_us += next.memory_full_us;
    into.io_some_us += next.io_some_us;
    into.io_full_us += next.io_full_us;
}

fn host(into: &mut Host, next: &Host) {
    into.cpus = next.cpus;
    into.user_ns += next.user_ns;
    into.system_ns += next.system_ns;
    into.idle_ns += next.idle_ns;
    into.iowait_ns += next.iowait_ns;
    into.steal_ns += next.steal_ns;
    into.runnable = next.runnable;
    into.memory_available_bytes = next.memory_available_bytes;
    option(&mut into.pressure, next.pressure.as_ref(), pressure);
    into.tasks = next.tasks;
    for theirs in &next.disks {
        match into.disks.iter_mut().find(|mine| mine.name == theirs.name) {
            Some(mine) => disk(mine, theirs),
            None => into.disks.push(theirs.clone()),
        }
    }
    for theirs in &next.neighbours {
        match into.neighbours.iter_mut().find(|mine: &&mut Neighbour| mine.pid == theirs.pid) {
            Some(mine) => mine.cpu_ns += theirs.cpu_ns,
            None => into.neighbours.push(theirs.clone()),
        }
    }
    into.neighbours.sort_by_key(|neighbour| std::cmp::Reverse(neighbour.cpu_ns));
    into.neighbours_cpu_ns += next.neighbours_cpu_ns;
}

fn disk(into: &mut Disk, next: &Disk) {
    into.reads += next.reads;
    into.read_bytes += next.read_bytes;
    into.read_ms += next.read_ms;
    into.writes += next.writes;
    into.written_bytes += next.written_bytes;
    into.write_ms += next.write_ms;
    into.flushes += next.flushes;
    into.flush_ms += next.flush_ms;
    into.busy_ms += next.busy_ms;
}

fn network(into: &mut Network, next: &Network) {
    into.listen_overflows += next.listen_overflows;
    into.listen_drops += next.listen_drops;
    into.segments_sent += next.segments_sent;
    into.segments_retransmitted += next.segments_retransmitted;
    into.backlog_drops += next.backlog_drops;
    into.softnet_drops += next.softnet_drops;
    into.received_bytes += next.received_bytes;
    into.sent_bytes += next.sent_bytes;
    into.time_wait = next.time_wait;
    into.interface_drops += next.interface_drops;
    into.tracking_drops += next.tracking_drops;
    option(&mut into.tracked, next.tracked.as_ref(), |a, b| *a = fuller(a, b));
    option(&mut into.link, next.link.as_ref(), |mine, theirs| {
        mine.received_bytes += theirs.received_bytes;
        mine.sent_bytes += theirs.sent_bytes;
        mine.bits_per_second = theirs.bits_per_second;
    });
}

fn jvm(into: &mut Jvm, next: &Jvm) {
    into.pid = next.pid;
    into.pauses += next.pauses;
    into.pause_ns += next.pause_ns;
    into.full_pauses += next.full_pauses;
    into.full_ns += next.full_ns;
    into.safepoints += next.safepoints;
    into.safepoint_ns += next.safepoint_ns;
    into.safepoint_sync_ns += next.safepoint_sync_ns;
    sum(&mut into.collector_cpu_ns, next.collector_cpu_ns);
    into.heap_used_bytes = next.heap_used_bytes;
    into.heap_max_bytes = next.heap_max_bytes;
    into.compiles += next.compiles;
    into.classes += next.classes;
    into.threads = next.threads;
    into.cause.clone_from(&next.cause);
}

/// Averages over looks are weighed by the looks.
fn postgres(into: &mut Postgres, next: &Postgres) {
    let looks = f64::from(into.looks + next.looks).max(1.0);
    let (before, after) = (f64::from(into.looks) / looks, f64::from(next.looks) / looks);
    into.sessions.iter_mut().for_each(|s| s.count *= before);
    for theirs in &next.sessions {
        let same = |mine: &&mut Sessions| {
            (&mine.state, &mine.wait_type, &mine.wait_event)
                == (&theirs.state, &theirs.wait_type, &theirs.wait_event)
        };
        match into.sessions.iter_mut().find(same) {
            Some(mine) => mine.count += after * theirs.count,
            None => into.sessions.push(Sessions { count: after * theirs.count, ..theirs.clone() }),
        }
    }
    into.sessions.sort_by(|a, b| b.count.total_cmp(&a.count));
    into.looks += next.looks;
    into.failed += next.failed;
    if next.error.is_some() {
        into.error.clone_from(&next.error);
    }
    into.oldest_transaction_s = into.oldest_transaction_s.max(next.oldest_transaction_s);
    into.connections = into.connections.max(next.connections);
    into.commits += next.commits;
    into.rollbacks += next.rollbacks;
    into.blocks_read += next.blocks_read;
    into.blocks_hit += next.blocks_hit;
    into.temporary_bytes += next.temporary_bytes;
    into.deadlocks += next.deadlocks;
    let add = |mine: &mut f64, theirs: &f64| *mine += theirs;
    option(&mut into.active_ms, next.active_ms.as_ref(), add);
    option(&mut into.idle_in_transaction_ms, next.idle_in_transaction_ms.as_ref(), add);
    sum(&mut into.wal_bytes, next.wal_bytes);
    sum(&mut into.wal_syncs, next.wal_syncs);
    option(&mut into.wal_sync_ms, next.wal_sync_ms.as_ref(), add);
    into.checkpoints_timed += next.checkpoints_timed;
    into.checkpoints_requested += next.checkpoints_requested;
    into.checkpoint_write_ms += next.checkpoint_write_ms;
    into.checkpoint_sync_ms += next.checkpoint_sync_ms;
    into.backend_syncs += next.backend_syncs;
}

fn own(into: &mut Own, next: &Own) {
    into.cpu_ns += next.cpu_ns;
    into.loops_cpu_ns += next.loops_cpu_ns;
    into.loops_run_delay_ns += next.loops_run_delay_ns;
    into.watch_cpu_ns += next.watch_cpu_ns;
    into.periods += next.periods;
    into.throttled += next.throttled;
    into.descriptors = next.descriptors;
    if next.ports.share() > into.ports.share() {
        into.ports = next.ports;
    }
}
