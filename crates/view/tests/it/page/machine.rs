//! Measurements of the machine.

use crate::page::support::{at, chart, document, image, said, section, words};
use crate::synthetic::RunBuilder;
use record::{
    CacheModel, Caveat, CaveatKind, Conditions, Event, Figure, FigureUnit, RampEnd, Summand, SystemLimit,
    Verdict,
};
use torment_view::document::{AxisUnit, Chart, ChartForm, PageFront, SeriesRole};
use torment_view::page::PageBuilder;
use torment_view::{Glyphs, RunView, Tone, sketch};
use units::{Bytes, Nanos};

fn room() -> SystemLimit {
    SystemLimit {
        name: "kernel.pid_max".to_owned(),
        place: "/proc/sys/kernel/pid_max".to_owned(),
        limit: Some(32_768),
        used: Some(400),
        unit: record::SystemLimitUnit::Tasks,
        threads: Some(32_368),
        now: "sysctl -w kernel.pid_max=4194304".to_owned(),
        for_good: "a line in /etc/sysctl.d".to_owned(),
        note: None,
    }
}

/// The image has every mark with its tooltip; a line counts as one.
fn drawn(front: &PageFront) -> String {
    let picture = image(front).expect("it has a picture");
    let marks = front.pictures.iter().flat_map(|chart| &chart.series).filter(|series| series.name != "model");
    let marks: usize = marks.map(|series| series.points.len()).sum();
    assert_eq!(picture.matches("<g><title>").count(), marks, "{picture}");
    assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
    assert_eq!(picture.matches("<g>").count(), picture.matches("</g>").count());
    assert_eq!(picture.matches("<text ").count(), picture.matches("</text>").count());
    picture
}

/// The last of twelve lines.
fn below(events: &[Event]) -> String {
    let lines = sketch(&RunView::from_events(events), Glyphs::Blocks, Some(100));
    assert_eq!(lines.len(), 12, "{lines:?}");
    lines.last().expect("twelve lines").to_string()
}

fn bands(chart: &Chart) -> Vec<(&str, Option<f64>, Option<f64>, Tone)> {
    chart.bands.iter().map(|band| (band.name.as_str(), band.from, band.to, band.tone)).collect()
}

/// Vertical lines, with their positions.
fn upright(chart: &Chart) -> Vec<(&str, f64, Tone)> {
    let upright = chart.bounds.iter().filter(|bound| bound.along_x);
    upright.map(|bound| (bound.name.as_str(), bound.at, bound.tone)).collect()
}

#[test]
fn threads_until_a_limit_gave() {
    let mut run = RunBuilder::start("find threads");
    run.events.push(Event::Forecast { rooms: vec![room()] });
    let ramped = |tasks: u64, measurement: u64, after: u64| {
        let (free, after) = (Bytes((8 << 30) - measurement), Nanos::from_millis(after));
        Event::Ramped(record::RampProgress { tasks, free, after })
    };
    // Later threads take longer; then all are released.
    run.events.extend((0..40).map(|step: u64| ramped(step * 800, step << 26, step * step * 10)));
    run.events.extend([ramped(20_000, 25 << 26, 16_000), ramped(0, 0, 17_000)]);
    let gave = RampEnd::Limit {
        room: Box::new(room()),
        call: "clone3: EAGAIN".to_owned(),
        because: "32,768 tasks exist".to_owned(),
        close: Vec::new(),
    };
    let run = run.end(Some(Verdict::Tasks { reached: 32_366, forecast: Some(32_368), gave }), 0, None);
    let front = document(&PageBuilder::from_events(&run.events)).front;
    let expected =
        ["32,366 threads, then kernel.pid_max gave", "because: clone3: EAGAIN; 32,768 tasks exist"];
    assert_eq!(words(&front), expected);
    assert_eq!(chart(&front, "ramp").series[0].points.len(), 42);
    assert_eq!(chart(&front, "ramp").bounds[0].at, 32_368.0);

    let [limit, memory] = front.pictures.as_slice() else { panic!("two pictures: {:?}", front.pictures) };
    assert_eq!((limit.id.as_str(), limit.title.as_str()), ("limit", "where it breaks"));
    assert!(limit.note.ends_with("; kernel.pid_max gave") && !limit.x.log, "{limit:?}");
    let each = &limit.series[0].points;
    assert_eq!(each.len(), 39, "the way down is no limit");
    assert!((each[0].y - 0.010 / 800.0).abs() < 1e-9 && (each[38].y - 0.77 / 800.0).abs() < 1e-9, "{each:?}");
    assert_eq!(each[38].label, "31,200 threads after 15.2 s");
    let gone = memory.series[0].points.last().expect("a ramp");
    assert_eq!((gone.x, gone.y, memory.y.unit), (31_200.0, (39_u64 << 26) as f64, AxisUnit::Bytes));
    for chart in [limit, memory] {
        assert_eq!(bands(chart), [("kernel.pid_max gave", Some(32_366.0), None, Tone::Bad)]);
        let expected =
            [("reached", 32_366.0, Tone::Good), ("kernel.pid_max gave; allowed", 32_368.0, Tone::Bad)];
        assert_eq!(upright(chart), expected);
    }
    let picture = drawn(&front);
    for said in [">reached 32,366<", ">kernel.pid_max gave; allowed 32,368<", ">time for a thread<"] {
        assert!(picture.contains(said), "no {said} in {picture}");
    }
    assert!(below(&run.events).contains(" reached 32,366 threads "), "{}", below(&run.events));
}

/// Fewer than any limit allows: the nearest is far to the right, and nothing gave.
#[test]
fn threads_as_many_as_were_asked_for() {
    let mut run = RunBuilder::start("find threads");
    run.events.push(Event::Forecast { rooms: vec![room()] });
    let moments = [(0, 0), (100, 4), (500, 20), (1000, 41)];
    run.events.extend(moments.map(|(tasks, ms)| {
        Event::Ramped(record::RampProgress { tasks, free: Bytes(8 << 30), after: Nanos::from_millis(ms) })
    }));
    let before = PageBuilder::from_events(&run.events).front();
    assert!(before.pictures[0].bands.is_empty(), "a ramp that goes on has come to nothing");
    let verdict = Verdict::Tasks { reached: 1000, forecast: Some(32_368), gave: RampEnd::Asked };
    let front = PageBuilder::from_events(&run.end(Some(verdict), 0, None).events).front();
    let limit = &front.pictures[0];
    assert_eq!((limit.title.as_str(), limit.bands.len()), ("how many threads", 0));
    assert!(limit.x.log, "on another axis a hundred threads are at its edge");
    let expected = [("reached", 1000.0, Tone::Good), ("kernel.pid_max allows", 32_368.0, Tone::Faint)];
    assert_eq!(upright(limit), expected);
    drawn(&front);
}

fn measured(table: &str, row: &str, column: &str, unit: FigureUnit, values: &[f64]) -> Event {
    let figure = Figure::from_blocks((table, row, column), unit, values.to_vec(), 1).expect("numbers");
    Event::Measured { figure: Box::new(figure) }
}

#[test]
fn a_working_set_that_no_longer_fits() {
    let mut run = RunBuilder::start("find working-set");
    let sizes = [("64 MiB", 1e6, 900.0, 5e3), ("256 MiB", 9e5, 1000.0, 6e3), ("512 MiB", 4e4, 1500.0, 9e4)];
    for (row, rate, p50, p99) in sizes {
        let figure = |column: &str, unit, values: &[f64]| measured("working set", row, column, unit, values);
        run.events.extend([
            figure("rate", FigureUnit::PerSecond, &[rate, rate * 1.01]),
            figure("p50", FigureUnit::Nanos, &[p50]),
            figure("p99", FigureUnit::Nanos, &[p99]),
        ]);
    }
    run.events.push(measured("half the rate", "300 MiB", "rate", FigureUnit::PerSecond, &[1e5]));
    run.events.push(Event::Noted { table: "working set".to_owned(), text: "256 MiB fit.".to_owned() });
    let verdict = Verdict::WorkingSet {
        model: Some(CacheModel {
            hit: Nanos::from_micros(1),
            miss: Nanos::from_micros(50),
            cache: Bytes(256 << 20),
        }),
        half_predicted: Some(Bytes(270 << 20)),
        half_measured: Some((Bytes(256 << 20), Bytes(300 << 20))),
    };
    let run = run.end(Some(verdict), 0, None);
    let front = document(&PageBuilder::from_events(&run.events)).front;
    assert_eq!(words(&front)[0], "half as fast between 256 MiB and 300 MiB of working set");
    assert!(said(section(&front, "figures")).contains("256 MiB fit."));
    assert!(section(&front, "figures").charts.is_empty(), "what is drawn above is not drawn again");

    let [limit] = front.pictures.as_slice() else { panic!("one picture: {:?}", front.pictures) };
    let names: Vec<&str> = limit.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["mean", "p50", "p99", "model"]);
    let mib = |mib: u32| f64::from(mib << 20);
    let mean: Vec<(f64, Tone)> = limit.series[0].points.iter().map(|point| (point.x, point.tone)).collect();
    let (good, bad) = (Tone::Good, Tone::Bad);
    assert_eq!(mean, [(mib(64), good), (mib(256), good), (mib(300), bad), (mib(512), bad)]);
    let first = &limit.series[0].points[0];
    assert!(first.low.is_some_and(|low| low < first.y) && first.high == Some(1e-6), "{first:?}");
    assert_eq!(limit.series[1].points[2].tone, bad, "a size is judged by its mean alone");
    let model = &limit.series[3].points;
    assert!((model[0].y - 1e-6).abs() < 1e-12 && model.last().expect("points").y > 2e-5, "{model:?}");
    let (more, less) = (Some(mib(256)), Some(mib(300)));
    assert_eq!(bands(limit), [("", more, less, Tone::Strong), ("too much", less, None, bad)]);
    let expected = [
        ("half the rate at", mib(256), good),
        ("fits", mib(256), Tone::Plain),
        ("half the rate, predicted", mib(270), Tone::Faint),
    ];
    assert_eq!(upright(limit), expected);
    let picture = drawn(&front);
    for said in [">half the rate 2 µs<", ">half the rate at 256 MiB<", "class=\"line\"", ">128 MiB<"] {
        assert!(picture.contains(said), "no {said} in {picture}");
    }
    let said = "half the rate at 256 MiB, between 256 MiB and 300 MiB";
    assert!(below(&run.events).contains(said), "{}", below(&run.events));
}

/// Memory lines, read by two methods, behind several caches of which one is explained.
#[test]
fn a_working_set_behind_the_processors_caches() {
    let mut run = RunBuilder::start("find working-set");
    let facts =
        [("governor", "performance"), ("L1 cache", "32 KiB"), ("L2 cache", "1 MiB"), ("L3 cache", "32 MiB")];
    let facts = facts.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    run.events.push(Event::Surveyed { conditions: Box::new(Conditions { facts, ..Conditions::default() }) });
    for (row, small, huge) in
        [("16 KiB", 1.2, 1.1), ("512 KiB", 4.5, 4.0), ("16 MiB", 30.0, 18.0), ("128 MiB", 120.0, 90.0)]
    {
        for (way, value) in [("each, small pages", small), ("each, huge pages", huge)] {
            run.events.push(measured("working set", row, way, FigureUnit::Nanos, &[value]));
        }
    }
    let front = PageBuilder::from_events(&run.events).front();
    let limit = &front.pictures[0];
    let ways: Vec<(&str, SeriesRole)> =
        limit.series.iter().map(|series| (series.name.as_str(), series.role)).collect();
    assert_eq!(ways, [("huge pages", SeriesRole::Achieved), ("small pages", SeriesRole::Nth(1))]);
    let kib = |kib: u32| Some(f64::from(kib << 10));
    let expected = [("L1", None, kib(32), Tone::Faint), ("L3", kib(1024), kib(32 << 10), Tone::Faint)];
    assert_eq!(bands(limit), expected, "shaded in turn");
    assert_eq!(upright(limit).len(), 3, "each has its name");
    let picture = drawn(&front);
    assert!(
        picture.contains(">L2 1 MiB<") && picture.contains("<title>16 KiB, huge pages 1.1 ns at 16 KiB<"),
        "{picture}"
    );
}

#[test]
fn figures_of_a_machine() {
    let mut sheet = RunBuilder::start("probe");
    let doubtful = Caveat::new(CaveatKind::Disturbed, "others used 40 % of a processor");
    let conditions = Conditions { caveats: vec![doubtful], ..Conditions::default() };
    sheet.events.push(Event::Surveyed { conditions: Box::new(conditions) });
    let one =
        Figure::from_blocks(("launch", "fork", "64 MiB, launch"), FigureUnit::Nanos, vec![9e5, 9.1e5], 10)
            .expect("numbers");
    sheet.events.push(Event::Measured { figure: Box::new(one) });
    let sheet = sheet.end(Some(Verdict::Sheet { figures: 1, doubtful: 0, cut_short: false }), 0, None);
    let sheet = document(&PageBuilder::from_events(&sheet.events)).front;
    assert!(words(&sheet)[0].starts_with("1 figures, each the median"), "{:?}", words(&sheet));
    let table = &section(&sheet, "figures").tables[0];
    assert_eq!(
        (table.title.as_str(), table.head.as_slice()),
        ("launch", ["launch", "64 MiB"].map(str::to_owned).as_slice())
    );
    assert_eq!(table.rows[0][1].text, "905 µs");
    assert_eq!(sheet.doubts[0].section.as_deref(), Some("figures"));
    assert!(sheet.pictures.is_empty() && image(&sheet).is_none(), "one alone has nothing to be seen beside");
}

/// Each figure is a bar in its table's chart, with its expected value, on an axis that shows all.
#[test]
fn figures_of_a_machine_are_bars() {
    let figure = |table: &str, row: &str, column: &str, unit, median: f64| {
        let values = vec![median * 0.96, median, median * 1.03];
        Figure::from_blocks((table, row, column), unit, values, 10).expect("numbers")
    };
    let launch =
        |row: &str, column: &str, nanos: f64| figure("launch", row, column, FigureUnit::Nanos, nanos);
    let grown = Figure {
        argument: Some("48 µs at 0 MiB + 16,384 pages × 72.9 ns = 1.24 ms".to_owned()),
        parts: vec![Summand::new("as at 0 MiB", 48e3), Summand::new("16,384 pages × 72.9 ns", 1.194e6)],
        ..launch("fork", "64 MiB, launch", 1.236e6)
    };
    let short = Figure {
        parts: vec![Summand::new("as at 0 MiB", 50e3), Summand::new("16,384 pages × 72.9 ns", 1e6)],
        ..launch("clone3", "64 MiB, launch", 1.2e6)
    };
    let shared = |column: &str| Figure {
        argument: Some("no page is copied".to_owned()),
        ..launch("vfork", column, 14.7e3)
    };
    let doubtful = Figure {
        caveats: vec![Caveat::new(CaveatKind::Disturbed, "others were at work")],
        ..figure("switch", "pipe, threads", "one processor", FigureUnit::Nanos, 2650.0)
    };
    let futex = figure("switch", "futex, threads", "one processor", FigureUnit::Nanos, 1900.0);
    let figures = [
        launch("fork", "0 MiB, launch", 48e3),
        launch("fork", "0 MiB, launch and join", 115e3),
        grown,
        shared("0 MiB, launch"),
        shared("64 MiB, launch"),
        launch("async task", "0 MiB, launch", 9.5),
        launch("nothing", "0 MiB, launch", 0.0),
        short,
        figure("launch", "the worker itself", "0 MiB, touched pages", FigureUnit::Count, 242.0),
        doubtful,
        figure("switch", "pipe, processes", "one processor", FigureUnit::Nanos, 3100.0),
        figure("switch", "echo", "one processor", FigureUnit::PerSecond, 1e5),
        Figure { parts: vec![Summand::new("wake-up and switch", 1900.0)], ..futex },
        figure("switch", "echo, again", "one processor", FigureUnit::PerSecond, 2e5),
        figure("ipc", "pipe, throughput", "4 KiB", FigureUnit::BytesPerSecond, 3.4e9),
        figure("ipc", "pipe, throughput", "64 KiB", FigureUnit::BytesPerSecond, 0.6e9),
    ];
    let mut run = RunBuilder::start("probe");
    run.events.extend(figures.map(|figure| Event::Measured { figure: Box::new(figure) }));
    let front = document(&PageBuilder::from_events(&run.events)).front;
    let said = words(&front);
    assert_eq!(said[0], "cost: a process 48 µs (115 µs until joined), a context switch 1.9 µs");
    assert!(said[1].starts_with("launch: 0.0 ns (nothing) to 1.24 ms (fork, 64 MiB); "), "{said:?}");
    let titles: Vec<&str> = front.pictures.iter().map(|chart| chart.title.as_str()).collect();
    // Launches with their join and the worker's pages have only one figure each.
    assert_eq!(titles, ["launch", "switch (time)", "switch (rate)", "ipc"]);
    assert!(front.pictures.iter().all(|chart| chart.form == ChartForm::Bars));

    let launch = &front.pictures[0];
    assert!(launch.x.log && launch.x.name == "time (less is better)", "{:?}", launch.x);
    let rows: Vec<(&str, &str)> =
        launch.rows.iter().map(|row| (row.name.as_str(), row.note.as_str())).collect();
    let expected = [
        ("fork", ""),
        ("fork", "48 µs at 0 MiB + 16,384 pages × 72.9 ns = 1.24 ms"),
        ("vfork", "no page is copied"),
        ("vfork", ""),
        ("async task", ""),
        ("nothing, 0 MiB", ""),
        ("clone3", "that is 150 µs less than was measured"),
    ];
    assert_eq!(rows, expected, "what several have in common is said once");
    assert_eq!(launch.rows[5].word.text, "0.0 ns", "it has no place on such an axis, and is there");
    let [bars, parts] = launch.series.as_slice() else { panic!("bars and parts: {:?}", launch.series) };
    let labels: Vec<(f64, &str)> = bars.points.iter().map(|bar| (bar.y, bar.label.as_str())).collect();
    assert_eq!(
        labels,
        [(0.0, "0 MiB"), (1.0, "64 MiB"), (2.0, "0 MiB"), (3.0, "64 MiB"), (4.0, "0 MiB"), (6.0, "64 MiB")]
    );
    assert!((bars.points[1].x - 1.236e-3).abs() < 1e-9 && bars.points[1].low < Some(1.236e-3), "{bars:?}");
    let sum: Vec<(f64, &str)> = parts.points.iter().map(|part| (part.y, part.label.as_str())).collect();
    let page = "64 MiB: 16,384 pages × 72.9 ns";
    let of = |row: f64| [(row, "64 MiB: as at 0 MiB"), (row, page)];
    assert_eq!(sum, [of(1.0), of(6.0)].concat());

    let switch = &front.pictures[1];
    assert!(!switch.x.log && switch.note.contains("hollow: doubtful"), "{switch:?}");
    assert_eq!((switch.rows[0].word.text.as_str(), switch.series.len()), ("doubtful", 2));
    assert_eq!(switch.series[0].points[0].label, "", "all were under the same circumstances");
    assert_eq!(front.pictures[3].x.unit, AxisUnit::BytesPerSecond);

    let picture = drawn(&front);
    for said in [
        "<title>fork, 64 MiB, 1.24 ms (1.19 ms–1.27 ms)</title>",
        "<title>fork, 64 MiB: as at 0 MiB, 48 µs</title>",
        ">9.5 ns (9.1 ns–9.8 ns)<",
        ">2.65 µs (2.54 µs–2.73 µs) · doubtful<",
        ">3.4 GB/s (3.3 GB/s–3.5 GB/s)<",
        ">thin: what it should come to, its parts alternately filled and hollow<",
        "hollow: doubtful<",
        ">rate (more is better), a second<",
    ] {
        assert!(picture.contains(said), "no {said} in {picture}");
    }
    assert_eq!(picture.matches(">vfork<").count(), 1, "the name of several stands above them");
    assert!(sketch(&RunView::from_events(&run.events), Glyphs::Blocks, None).is_empty(), "its tables say it");
}

/// Where a storm's processes spend their time is below the picture of its limit.
#[test]
fn the_time_of_a_process() {
    let mut run = RunBuilder::start("run processes");
    let alone =
        |row: &str, ms: f64| measured("processes", row, "time, one alone", FigureUnit::Nanos, &[ms * 1e6]);
    run.events.push(measured("processes", "alive", "most, at once", FigureUnit::Count, &[18.0]));
    run.events.extend([alone("spawn and exec", 1.76), alone("loader", 0.83), alone("all of it", 2.44)]);
    let front = PageBuilder::from_events(&run.events).front();
    let [alone] = front.pictures.as_slice() else { panic!("one picture: {:?}", front.pictures) };
    assert_eq!((alone.title.as_str(), alone.rows.len(), alone.x.log), ("processes: one alone", 3, false));
    assert!(drawn(&front).contains("<title>loader, 830 µs"), "without what tells apart what is alike");
}

/// Observations of the machine without a load have their own rows.
#[test]
fn a_watch_without_a_load() {
    let windows = (0..5).map(|index| crate::synthetic::watched::window(index, 3.0));
    let run = RunBuilder::start("run").watched(crate::synthetic::watched::watched()).seen(0, windows);
    let document = document(&PageBuilder::from_events(&run.events));
    assert_eq!(document.timeline.at, [0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(at(&document.timeline, "postgres.commits", 2.0), Some(190.0));
    assert!(!document.front.sections.iter().any(|section| section.id == "load"));
}
