//! The live view of runs that measure the machine.

use crate::terminal::{check, of, screen, screen_at, started};
use record::{Event, Figure, FigureUnit, SystemLimit};
use units::{Bytes, Nanos};

fn probing(table: &str, figures: u32) -> Event {
    Event::Probing(record::TableStart { table: table.to_owned(), figures, expected: Nanos::from_secs(40) })
}

fn measured(table: &str, row: &str, median: f64) -> Event {
    let values = vec![median, median * 1.01, median * 0.99, median];
    let figure = Figure::from_blocks((table, row, "0, launch"), FigureUnit::Nanos, values, 1)
        .expect("these are numbers");
    Event::Measured { figure: Box::new(figure) }
}

#[test]
fn a_probe_fills_a_table_and_says_how_long_it_takes() {
    let mut events = vec![started("probe", "this machine"), probing("launch", 2)];
    let begun = screen_at(&of(&events), (80, 24), 10_000, false);
    check(&begun, &["table 1, launch: 0 of 2 figures", "10 s of 40 s", "q or Ctrl-C stops"]);
    events.extend([measured("launch", "fork", 40_000.0), measured("launch", "thread", 8_000.0)]);
    events.push(probing("switch", 5));
    let view = of(&events);
    for size in [(120, 40), (80, 24), (40, 12)] {
        let screen = screen_at(&view, size, 10_000, false);
        check(&screen, &["table 2, switch: 0 of 5", "fork", "40 µs", "thread", "8 µs"]);
    }
}

#[test]
fn a_long_table_shows_its_last_figures() {
    let mut events = vec![started("probe", "this machine"), probing("launch", 60)];
    events.extend((0..60).map(|nth| measured("launch", &format!("task-{nth}"), 1000.0 + f64::from(nth))));
    let screen = screen(&of(&events), (80, 24));
    check(&screen, &["60 of 60 figures", "task-59", "task-50"]);
    assert!(!screen.contains("task-3 "), "{screen}");
}

#[test]
fn threads_are_counted_against_the_first_limit() {
    let room = SystemLimit {
        name: "pids.max".to_owned(),
        limit: Some(20_000),
        used: Some(10),
        threads: Some(10_000),
        unit: record::SystemLimitUnit::Tasks,
        place: "/sys/fs/cgroup/pids.max".to_owned(),
        now: String::new(),
        for_good: String::new(),
        note: None,
    };
    let ramped = |tasks, s| {
        Event::Ramped(record::RampProgress { tasks, free: Bytes(1 << 30), after: Nanos::from_secs(s) })
    };
    let mut events = vec![started("find threads", "this machine"), Event::Forecast { rooms: vec![room] }];
    check(&screen(&of(&events), (80, 24)), &["reading every limit", "pids.max", "10,000"]);
    events.extend([ramped(1000, 1), ramped(2500, 2)]);
    let view = of(&events);
    for size in [(120, 40), (80, 24), (80, 12)] {
        check(&screen(&view, size), &["2,500 threads", "of 10,000 that pids.max allows, about 6 s left"]);
    }
    events.push(ramped(100, 3));
    check(&screen(&of(&events), (80, 24)), &["2,500 threads were made; 100 are left"]);
}
