//! The tables `switch` and `ipc`, by real prober processes.

use record::{Event, Figure};
use std::collections::HashMap;
use std::fs::{read_dir, read_to_string};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use torment_probe::{
    AnyProbe, IpcTable, ProbeSettings, ProbeTable, Prober, ProberKind, SwitchTable, measure,
};
use units::Nanos;

/// Operations that take most of a minute.
const LONG: u64 = 1 << 24;

fn own() -> PathBuf {
    std::env::current_exe().expect("every Linux tells")
}

fn prober() -> Prober {
    Prober::start(&own(), ProberKind::default()).expect("it was started once already")
}

fn cells() -> Vec<AnyProbe> {
    [SwitchTable { runtimes: false }.cells(), IpcTable.cells()].concat()
}

fn name(probe: &AnyProbe) -> String {
    let named = &probe.figures()[0];
    format!("{}, {}", named.row, named.column)
}

/// Live processes, by parent.
fn processes() -> HashMap<u32, Vec<u32>> {
    let mut all: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in read_dir("/proc").expect("every Linux has it").flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse() else { continue };
        // It may have ended meanwhile.
        let Ok(stat) = read_to_string(entry.path().join("stat")) else { continue };
        let Some((_, rest)) = stat.rsplit_once(") ") else { continue };
        let mut fields = rest.split(' ');
        let (state, parent) = (fields.next(), fields.next().and_then(|parent| parent.parse().ok()));
        if let (Some(parent), false) = (parent, state == Some("Z")) {
            all.entry(parent).or_default().push(pid);
        }
    }
    all
}

fn children(of: u32) -> Vec<u32> {
    processes().remove(&of).unwrap_or_default()
}

pub fn every_cell_is_measured_and_leaves_nobody() {
    let mut prober = prober();
    let [process] = children(std::process::id())[..] else {
        panic!("this process has one child, the worker")
    };
    for what in cells() {
        let block = prober.measure_block(&what, what.min_operations()).expect("the worker is well");
        let block = match block {
            Ok(block) => block,
            // Larger buffers may need a privilege.
            Err(why) if why.contains("not granted") => continue,
            Err(why) => panic!("{}: {why}", name(&what)),
        };
        assert!(
            block.values.len() == 1 && block.values[0] > 0.0 && block.values[0].is_finite(),
            "{}",
            name(&what)
        );
        assert!(block.operations >= what.min_operations(), "{}", name(&what));
        assert!(children(process).is_empty(), "{} has left somebody", name(&what));
    }
}

pub fn handovers_on_one_processor_are_switches() {
    let mut prober = prober();
    let mut checked = 0;
    for what in cells() {
        let name = name(&what);
        let waits = ["pipe,", "eventfd,", "futex,", "socketpair,", "condition variable,"];
        let handover = waits.iter().any(|medium| name.starts_with(medium)) && !name.contains("one way");
        if !handover || !name.ends_with("one processor") {
            continue;
        }
        // The mutex causes more switches than there are handovers; so does anybody else who wants the processor.
        let most = if name.starts_with("condition") { 3.0 } else { 1.5 };
        let mut each = Vec::new();
        let block = loop {
            let block = prober
                .measure_block(&what, 4000)
                .expect("the worker is well")
                .expect("it can be measured here");
            each.push(block.switches.expect("they are counted") as f64 / block.operations as f64);
            if each.len() == 4 || each.last().is_some_and(|each| *each < most) {
                break block;
            }
        };
        assert!(each.iter().any(|each| (0.5..most).contains(each)), "{name}: {each:?} switches a handover");
        let (looks, apart) = block.looks.expect("both sides look");
        assert!(
            looks > 0 && apart == 0,
            "{name}: {apart} of {looks} looks found them on different processors"
        );
        checked += 1;
    }
    assert_eq!(checked, 10);
}

pub fn who_is_killed_takes_its_other_side_along() {
    for what in [&SwitchTable { runtimes: false } as &dyn ProbeTable, &IpcTable].map(|table| {
        let mut cells = table.cells().into_iter();
        cells
            .find(|what| name(what).contains("processes") || name(what).contains("futex, one way"))
            .expect("it is there")
    }) {
        let mut prober = prober();
        let [process] = children(std::process::id())[..] else {
            panic!("this process has one child, the worker")
        };
        let text = name(&what);
        let measuring = std::thread::spawn(move || prober.measure_block(&what, LONG).is_err());
        let until = Instant::now() + Duration::from_secs(20);
        let other = loop {
            if let [other] = children(process)[..] {
                break other;
            }
            assert!(Instant::now() < until, "{text}: there is no other side");
        };
        let pid = rustix::process::Pid::from_raw(process.cast_signed()).expect("a process has a number");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it is ours");
        assert!(measuring.join().expect("it does not panic"), "{text}: a block of a worker that was killed");
        while processes().values().any(|all| all.contains(&other)) {
            assert!(Instant::now() < until, "{text}: the other side is still there");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn measured(table: &dyn ProbeTable) -> (Vec<Figure>, Vec<String>) {
    let settings = ProbeSettings { blocks: 3, block_time: Nanos::from_millis(2), seed: 1, program: own() };
    let (mut figures, mut notes) = (Vec::new(), Vec::new());
    let mut emit = |event| match event {
        Event::Measured { figure } => figures.push(*figure),
        Event::Noted { text, .. } => notes.push(text),
        _ => {}
    };
    assert!(measure(table, &settings, &mut emit, &|| false).expect("the worker is well"));
    (figures, notes)
}

pub fn tables_are_told_and_explained() {
    let (figures, notes) = measured(&SwitchTable { runtimes: false });
    let places = figures.iter().filter(|figure| figure.row == "pipe, threads").count();
    assert_eq!(figures.len(), 13 * places + 7, "{figures:?}");
    assert!(notes.iter().any(|note| note.contains("A context switch")), "{notes:?}");
    for figure in figures.iter().filter(|figure| figure.row.contains(", threads")) {
        assert!(figure.argument.is_some(), "{figure:?}");
    }
    let (figures, notes) = measured(&IpcTable);
    let argued = figures.iter().filter(|figure| figure.argument.is_some()).count();
    assert!(argued == figures.len(), "{:?}", figures.iter().find(|figure| figure.argument.is_none()));
    assert!(notes.iter().any(|note| note.contains("cross")), "{notes:?}");
    for figure in figures.iter().filter(|figure| figure.row.ends_with("one way")) {
        let single = figure.single.expect("each is timed");
        assert!([single.min, single.p50, single.p90, single.p99, single.max].is_sorted(), "{figure:?}");
    }
}

pub fn runtimes_are_measured_or_named() {
    let settings = ProbeSettings { blocks: 3, block_time: Nanos::from_millis(5), seed: 1, program: own() };
    let (figures, notes) = SwitchTable { runtimes: true }.extra(&settings, &|| false);
    for (row, name) in
        [("goroutines, channel", "Goroutines"), ("Java virtual", "Java"), ("Node, promises", "Node")]
    {
        let measured = figures.iter().filter(|figure| figure.row.starts_with(row)).count();
        let named = notes.iter().any(|note| note.starts_with(name));
        assert!(measured == 2 || named, "{row}: {measured} figures, {notes:?}");
    }
    for figure in &figures {
        assert!(figure.blocks.len() == 3 && figure.median > 1.0 && figure.operations > 0, "{figure:?}");
    }
    let (figures, _) = SwitchTable { runtimes: true }.extra(&settings, &|| true);
    assert!(figures.is_empty(), "it was asked to stop");
}
