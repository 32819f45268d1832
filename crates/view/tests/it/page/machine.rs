//! What the machine itself was asked.

use crate::hand::Run;
use crate::page::kit::{at, chart, document, said, section, words};
use record::{CacheModel, Caveat, Conditions, Doubt, Event, Figure, Gave, Room, Unit, Verdict};
use torment_view::page::Pages;
use units::{Bytes, Nanos};

fn room() -> Room {
    Room {
        name: "kernel.pid_max".to_owned(),
        place: "/proc/sys/kernel/pid_max".to_owned(),
        limit: Some(32_768),
        used: Some(400),
        unit: record::RoomUnit::Tasks,
        threads: Some(32_368),
        now: "sysctl -w kernel.pid_max=4194304".to_owned(),
        for_good: "a line in /etc/sysctl.d".to_owned(),
        note: None,
    }
}

#[test]
fn what_the_machine_was_asked() {
    let mut threads = Run::start("find threads");
    threads.events.push(Event::Forecast { rooms: vec![room()] });
    for step in 0..40u64 {
        let after = Nanos::from_millis(step * 100);
        threads.events.push(Event::Ramped(record::Ramped {
            tasks: step * 800,
            free: Bytes((8 << 30) - (step << 26)),
            after,
        }));
    }
    let gave = Gave::Limit {
        room: Box::new(room()),
        call: "clone3: EAGAIN".to_owned(),
        because: "32,768 tasks exist".to_owned(),
        close: Vec::new(),
    };
    let threads =
        threads.end(Some(Verdict::Tasks { reached: 32_366, forecast: Some(32_368), gave }), 0, None);
    let threads = document(&Pages::of(&threads.events)).front;
    let expected =
        ["32,366 threads, then kernel.pid_max gave", "because: clone3: EAGAIN; 32,768 tasks exist"];
    assert_eq!(words(&threads), expected);
    assert_eq!(chart(&threads, "ramp").series[0].points.len(), 40);
    assert_eq!(chart(&threads, "ramp").bounds[0].at, 32_368.0);

    let figure = |row: &str, rate: f64| {
        let named = ("working set", row, "rate");
        let figure = Figure::of(named, Unit::PerSecond, vec![rate, rate * 1.01], 1).expect("numbers");
        Event::Measured { figure: Box::new(figure) }
    };
    let mut set = Run::start("find working-set");
    set.events.extend([figure("64 MiB", 1e6), figure("256 MiB", 9e5), figure("512 MiB", 4e4)]);
    set.events.push(Event::Noted { table: "working set".to_owned(), text: "256 MiB fit.".to_owned() });
    let set = set.end(
        Some(Verdict::WorkingSet {
            model: Some(CacheModel {
                hit: Nanos::from_micros(1),
                miss: Nanos::from_micros(50),
                cache: Bytes(256 << 20),
            }),
            half_predicted: Some(Bytes(270 << 20)),
            half_measured: Some((Bytes(256 << 20), Bytes(512 << 20))),
        }),
        0,
        None,
    );
    let set = document(&Pages::of(&set.events)).front;
    assert_eq!(words(&set)[0], "half as fast between 256 MiB and 512 MiB of working set");
    let drawn = chart(&set, "working-set");
    assert_eq!(drawn.series[0].points.iter().map(|p| p.x).collect::<Vec<_>>()[1], f64::from(256 << 20));
    let model = &drawn.series[1].points;
    assert!((model[0].y - 1e6).abs() < 1.0 && model.last().expect("points").y < 1e5, "{model:?}");
    assert!(said(section(&set, "figures")).contains("256 MiB fit."));

    let mut sheet = Run::start("probe");
    let doubtful = Caveat::new(Doubt::Disturbed, "others used 40 % of a processor");
    let conditions = Conditions { caveats: vec![doubtful], ..Conditions::default() };
    sheet.events.push(Event::Surveyed { conditions: Box::new(conditions) });
    let one =
        Figure::of(("launch", "fork", "64 MiB, launch"), Unit::Nanos, vec![9e5, 9.1e5], 10).expect("numbers");
    sheet.events.push(Event::Measured { figure: Box::new(one) });
    let sheet = sheet.end(Some(Verdict::Sheet { figures: 1, doubtful: 0, cut_short: false }), 0, None);
    let sheet = document(&Pages::of(&sheet.events)).front;
    assert!(words(&sheet)[0].starts_with("1 figures, each the median"), "{:?}", words(&sheet));
    let table = &section(&sheet, "figures").tables[0];
    assert_eq!(
        (table.title.as_str(), table.head.as_slice()),
        ("launch", ["launch", "64 MiB"].map(str::to_owned).as_slice())
    );
    assert_eq!(table.rows[0][1].text, "905 µs");
    assert_eq!(sheet.doubts[0].section.as_deref(), Some("figures"));
}

/// What is seen of the machine while nothing is loaded has rows of its own.
#[test]
fn a_watch_without_a_load() {
    let windows = (0..5).map(|index| crate::hand::watched::window(index, 3.0));
    let run = Run::start("run").watched(crate::hand::watched::watched()).seen(0, windows);
    let document = document(&Pages::of(&run.events));
    assert_eq!(document.timeline.at, [0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(at(&document.timeline, "postgres.commits", 2.0), Some(190.0));
    assert!(!document.front.sections.iter().any(|section| section.id == "load"));
}
