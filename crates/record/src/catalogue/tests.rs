use super::load_rows::MERGED;
use super::{LOAD, LoadReader, Measure, catalogue_rows};
use crate::watch::{
    BusyThreads, Cgroup, CpuQuota, DiskActivity, Host, InterfaceTraffic, Jvm, LimitUsage, ListenSocket,
    MemoryLimit, MetricSeries, Metrics, Neighbour, Network, PeerConnections, PostgresWindow, Pressure,
    SessionCount, TaskLimit, ThreadGroup, ThreadSampling, ThreadState, ThreadWait, TormentUsage, TreeWindow,
    Window,
};
use crate::{Silence, Slice, StepSlice};
use serde_json::Value;
use units::Nanos;

/// A window with one of everything.
fn everything() -> Window {
    let usage = Some(LimitUsage::default());
    let group = ThreadGroup {
        full: Some(BusyThreads::default()),
        states: vec![ThreadState { wait: ThreadWait::Client, threads: 0.0 }],
        ..ThreadGroup::default()
    };
    let cgroup = Cgroup {
        cpu: Some(CpuQuota::default()),
        memory: Some(MemoryLimit::default()),
        tasks: Some(TaskLimit { refused: Some(0), ..TaskLimit::default() }),
        pressure: Some(Pressure::default()),
    };
    let subject = TreeWindow {
        read_bytes: Some(0),
        written_bytes: Some(0),
        descriptors: usage,
        user_tasks: usage,
        sweep: Some(ThreadSampling::default()),
        groups: vec![group],
        cgroup: Some(cgroup),
        listeners: vec![ListenSocket { address: "a".to_owned(), queued: 0, backlog: 0 }],
        peers: vec![peer("b", 0.0)],
        jvm: Some(Jvm { collector_cpu_ns: Some(0), ..Jvm::default() }),
        titles: vec![("c".to_owned(), 0)],
        ..TreeWindow::default()
    };
    let host = Host {
        pace_ns: Some(0.0),
        switches: Some(0),
        service_idle_ns: Some(0),
        pressure: Some(Pressure::default()),
        tasks: usage,
        disks: vec![DiskActivity::default()],
        neighbours: vec![Neighbour { pid: 0, name: "d".to_owned(), cpu_ns: 0 }],
        ..Host::default()
    };
    let sessions = SessionCount {
        state: "active".to_owned(),
        wait_type: Some("e".to_owned()),
        wait_event: Some("f".to_owned()),
        count: 0.0,
    };
    let postgres = PostgresWindow {
        error: Some("g".to_owned()),
        sessions: vec![sessions],
        active_ms: Some(0.0),
        idle_in_transaction_ms: Some(0.0),
        wal_bytes: Some(0),
        wal_syncs: Some(0),
        wal_sync_ms: Some(0.0),
        ..PostgresWindow::default()
    };
    let series = vec![MetricSeries { name: "h".to_owned(), value: 0.0 }];
    Window {
        from: Nanos::ZERO,
        to: Nanos::ZERO,
        subjects: vec![subject],
        host: Some(host),
        network: Some(Network {
            tracked: usage,
            link: Some(InterfaceTraffic::default()),
            ..Network::default()
        }),
        postgres: Some(postgres),
        metrics: Some(Metrics { took_ns: 0, error: None, series }),
        own: TormentUsage::default(),
        changes: Vec::new(),
    }
}

fn peer(address: &str, established: f64) -> PeerConnections {
    let few = established as u32;
    PeerConnections { address: address.to_owned(), established, least: few, most: few, time_wait: few }
}

/// Gives every number a different value, and collects their paths. Identifiers are skipped.
fn number(value: &mut Value, at: &str, places: &mut Vec<String>) {
    match value {
        Value::Number(n) if !at.ends_with(".pid") => {
            places.push(at.to_owned());
            let is_whole = n.is_u64();
            *value = if is_whole { places.len().into() } else { (places.len() as f64).into() };
        }
        Value::Array(all) => all.iter_mut().for_each(|each| number(each, at, places)),
        Value::Object(all) => {
            all.iter_mut().for_each(|(name, each)| number(each, &format!("{at}.{name}"), places));
        }
        // Only the error has to be missing, for the metrics to count.
        Value::Null => assert_eq!(at, ".metrics.error", "fill it in, in `everything`"),
        _ => {}
    }
}

#[test]
fn every_number_of_a_window_is_read_by_one_row() {
    let mut json = serde_json::to_value(everything()).expect("it is stored like this");
    for name in ["from", "to"] {
        json.as_object_mut().expect("a struct").remove(name);
    }
    let mut places = Vec::new();
    number(&mut json, "", &mut places);
    let window: Window = serde_json::from_value(json).expect("only numbers have changed");
    let mut read: Vec<Vec<String>> = vec![Vec::new(); places.len()];
    window.visit(&mut |of, measure, counted| {
        // Derived values are not fields.
        if !measure.field.is_empty() {
            read[counted as usize - 1].push(format!("{} {}", of.source, measure.name));
        }
    });
    for (place, rows) in places.iter().zip(&read) {
        assert_eq!(rows.len(), 1, "{place} is read by {rows:?}: crates/record/src/catalogue/window_rows.rs");
    }
    assert!(places.len() > 130, "{}", places.len());
}

#[test]
fn every_row_is_listed_once_and_says_something() {
    let all = catalogue_rows();
    for row in &all {
        let Measure { name, help, .. } = row.measure;
        let same = all.iter().filter(|other| (other.source, other.measure.name) == (row.source, *name));
        assert_eq!(same.count(), 1, "{} {name}", row.source);
        assert!(!help.is_empty() && !help.ends_with('.') && !help.contains('|'), "{name}: {help}");
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{name}");
    }
}

/// Whether a row counts its field; others derive from it.
fn counts(read: LoadReader) -> bool {
    !matches!(read, LoadReader::Rate(_) | LoadReader::Longest(_))
}

#[test]
fn every_number_of_a_slice_is_in_one_row() {
    let silence = Silence { from: Nanos::ZERO, to: Nanos::ZERO, waiting: 0, freed: None };
    let slice =
        Slice { resent: 1, parts: vec![StepSlice::default()], silences: vec![silence], ..Slice::default() };
    let json = serde_json::to_value(slice).expect("it is stored like this");
    let mut fields = Vec::new();
    for (name, value) in json.as_object().expect("a struct") {
        match value.as_object() {
            Some(inner) => fields.extend(inner.keys().map(|inner| format!("{name}.{inner}"))),
            None => fields.push(name.clone()),
        }
    }
    // It only identifies the second.
    fields.retain(|field| field != "index");
    for field in &fields {
        let rows = LOAD.iter().filter(|row| counts(row.read) && row.measure.field == field).count();
        let merged = MERGED.iter().filter(|(name, _)| name == field).count();
        assert_eq!(rows + merged, 1, "{field}: crates/record/src/catalogue/load_rows.rs");
    }
    assert!(fields.len() > 28, "{fields:?}");
    for row in LOAD {
        let Measure { name, help, .. } = row.measure;
        assert_eq!(LOAD.iter().filter(|other| other.measure.name == name).count(), 1, "{name}");
        assert!(!help.is_empty() && !help.ends_with('.') && !help.contains('|'), "{name}: {help}");
    }
}

#[test]
fn slices_are_one_as_their_numbers_want_it() {
    let mut json =
        serde_json::to_value(Slice { resent: 1, ..Slice::default() }).expect("it is stored like this");
    number(&mut json, "", &mut Vec::new());
    let slice: Slice = serde_json::from_value(json).expect("only numbers have changed");
    let (mut beside, mut after) = (slice.clone(), slice.clone());
    beside.merge_parallel(&slice);
    after.merge_after(&slice);
    for row in LOAD {
        let LoadReader::Number(get) = row.read else { continue };
        let [one, beside, after] = [&slice, &beside, &after].map(get);
        let expected = match row.measure.name {
            "in_flight" | "backlog" | "connections" | "generator_loops" => (2.0 * one, one),
            _ => (2.0 * one, 2.0 * one),
        };
        assert_eq!((beside, after), expected, "{}", row.measure.name);
    }
    assert_eq!((beside.elapsed, after.elapsed), (slice.elapsed, slice.elapsed * 2));
    assert_eq!(after.kernel, slice.kernel * 2);
}

/// A window of this many seconds.
fn of(seconds: u64, subject: TreeWindow) -> Window {
    Window { to: Nanos::from_secs(seconds), subjects: vec![subject], ..Window::default() }
}

#[test]
fn windows_are_one_as_their_numbers_want_it() {
    let group = |threads, on_cpu_ns| ThreadGroup {
        name: "g".to_owned(),
        threads,
        on_cpu_ns,
        ..ThreadGroup::default()
    };
    let first = TreeWindow {
        cpu_ns: 10,
        rss_bytes: 5,
        clients: 7,
        descriptors: Some(LimitUsage { used: 9, limit: 10 }),
        groups: vec![group(4.0, 3)],
        peers: vec![peer("a", 2.0), peer("b", 8.0)],
        titles: vec![("gone".to_owned(), 1)],
        ..TreeWindow::default()
    };
    let second = TreeWindow {
        cpu_ns: 1,
        rss_bytes: 6,
        clients: 2,
        descriptors: Some(LimitUsage { used: 2, limit: 10 }),
        read_bytes: Some(3),
        groups: vec![
            group(8.0, 1),
            ThreadGroup { name: "new".to_owned(), threads: 40.0, ..ThreadGroup::default() },
        ],
        peers: vec![peer("a", 6.0), peer("c", 4.0)],
        titles: vec![("there".to_owned(), 2)],
        ..TreeWindow::default()
    };
    let mut whole = Window::merged(&[of(1, first), of(3, second)]);
    assert_eq!((whole.from, whole.to), (Nanos::ZERO, Nanos::from_secs(4)));
    let subject = whole.subjects.remove(0);
    assert_eq!((subject.cpu_ns, subject.rss_bytes, subject.clients), (11, 6, 7));
    assert_eq!((subject.descriptors, subject.read_bytes), (Some(LimitUsage { used: 9, limit: 10 }), Some(3)));
    let groups: Vec<(&str, f64)> =
        subject.groups.iter().map(|group| (group.name.as_str(), group.threads)).collect();
    assert_eq!(
        groups,
        [("new", 30.0), ("g", 7.0)],
        "the most first; not there for the first of four seconds"
    );
    assert_eq!(subject.groups[1].on_cpu_ns, 4);
    let peers: Vec<(&str, f64, u32, u32, u32)> = subject
        .peers
        .iter()
        .map(|peer| (peer.address.as_str(), peer.established, peer.least, peer.most, peer.time_wait))
        .collect();
    assert_eq!(peers, [("a", 5.0, 2, 6, 6), ("b", 2.0, 0, 8, 0), ("c", 3.0, 0, 4, 4)]);
    assert_eq!(subject.titles, [("there".to_owned(), 2)]);
}

/// A window of zero length still has its counts and changes.
#[test]
fn nothing_is_lost_of_a_window_without_length() {
    let used = LimitUsage { used: 0, limit: 64 };
    let mut first = of(0, TreeWindow { cpu_ns: 3, descriptors: Some(used), ..TreeWindow::default() });
    first.changes.push("process 7 ended".to_owned());
    first.own = TormentUsage { cpu_ns: 5, descriptors: used, ..TormentUsage::default() };
    let second = of(2, TreeWindow { cpu_ns: 4, descriptors: Some(used), ..TreeWindow::default() });
    let whole = Window::merged(&[first, second]);
    assert_eq!((whole.length(), whole.subjects[0].cpu_ns, whole.own.cpu_ns), (Nanos::from_secs(2), 7, 5));
    assert_eq!((whole.subjects[0].descriptors, whole.own.descriptors), (Some(used), used));
    assert_eq!(whole.changes, ["process 7 ended"]);
}

#[test]
fn averages_over_looks_are_weighed_by_the_looks() {
    let looked = |looks, count| {
        let sessions =
            vec![SessionCount { state: "active".to_owned(), wait_type: None, wait_event: None, count }];
        Window {
            to: Nanos::from_secs(1),
            postgres: Some(PostgresWindow { looks, sessions, ..PostgresWindow::default() }),
            ..Window::default()
        }
    };
    let whole = Window::merged(&[looked(1, 4.0), looked(3, 8.0)]);
    let postgres = whole.postgres.expect("it was looked at");
    assert_eq!((postgres.looks, postgres.sessions[0].count), (4, 7.0));
}
