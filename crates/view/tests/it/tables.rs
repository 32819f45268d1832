//! A run's tables, from synthetic events.

#[allow(dead_code, reason = "other tests make other runs")]
use crate::synthetic::watched::{watched, window};
use crate::synthetic::{LoadBuilder, RunBuilder, load, pair};
use record::{Event, Figure, FigureUnit, Outcome, Purpose, Verdict};
use torment_view::tables::{CellValue, ColumnType, ExportRow, ExportTable, TableExporter};
use units::Moment;

const BEGAN_MS: u64 = 1_795_191_302_000;

/// All rows of a table.
fn rows(table: ExportTable, events: &[Event]) -> Vec<ExportRow> {
    let mut tables = TableExporter::of(&[table]);
    let mut rows: Vec<(ExportTable, ExportRow)> =
        events.iter().flat_map(|event| tables.fold(event)).collect();
    rows.extend(tables.end());
    let columns = table.columns();
    for (of, row) in &rows {
        assert_eq!((*of, row.len()), (table, columns.len()));
        for (column, cell) in columns.iter().zip(row) {
            let fits = match cell {
                CellValue::Nothing => true,
                CellValue::Time(_) => column.kind == ColumnType::Time,
                CellValue::Whole(_) => column.kind == ColumnType::Whole,
                CellValue::Number(number) => column.kind == ColumnType::Number && number.is_finite(),
                CellValue::Flag(_) => column.kind == ColumnType::Flag,
                CellValue::Text(_) => column.kind == ColumnType::Text,
            };
            assert!(fits, "{}: {cell:?} in {column:?}", table.name());
        }
    }
    rows.into_iter().map(|(_, row)| row).collect()
}

fn cell<'a>(table: ExportTable, row: &'a ExportRow, name: &str) -> &'a CellValue {
    let place = table.columns().iter().position(|column| column.name == name);
    &row[place.unwrap_or_else(|| panic!("no column {name}"))]
}

fn text(text: &str) -> CellValue {
    CellValue::Text(text.to_owned().into())
}

fn bad(rate: f64) -> LoadBuilder {
    load(Purpose::Measure, rate, 2).bad(Outcome::Timeout, 7)
}

#[test]
fn a_search_has_its_trials_with_the_bounds_after_each() {
    let run = RunBuilder::start("find")
        .trial(load(Purpose::WarmUp, 100.0, 1))
        .trial(load(Purpose::Climb, 500.0, 2))
        .bounds(pair(Some(500.0), None))
        .trial(bad(800.0))
        .bounds(pair(Some(500.0), Some(800.0)))
        .trial(load(Purpose::Measure, 600.0, 2).void("generator-late", "torment was late"));
    let found = rows(ExportTable::Trials, &run.events);
    let column =
        |name: &str| found.iter().map(|row| cell(ExportTable::Trials, row, name).clone()).collect::<Vec<_>>();
    assert_eq!(column("trial"), [1, 2, 3, 4].map(CellValue::Whole));
    assert_eq!(column("class"), [CellValue::Nothing, text("good"), text("bad"), text("void")]);
    assert_eq!(
        column("held_lower"),
        [CellValue::Nothing, CellValue::Number(500.0), CellValue::Number(500.0), CellValue::Nothing]
    );
    assert_eq!(
        column("held_upper"),
        [CellValue::Nothing, CellValue::Nothing, CellValue::Number(800.0), CellValue::Nothing]
    );
    assert_eq!(column("timeout"), [0, 0, 7, 0].map(CellValue::Whole));
    assert_eq!(column("caveats")[3], text("generator-late"));
    assert_eq!(column("statuses")[0], text("200=100"));
    assert_eq!(column("recovered"), vec![CellValue::Nothing; 4]);
    assert_eq!(column("offered_per_second")[2], CellValue::Number(800.0));
}

#[test]
fn a_second_is_where_and_when_it_was() {
    let run = RunBuilder::start("run").trial(load(Purpose::Load, 1000.0, 3));
    let found = rows(ExportTable::Slices, &run.events);
    for (second, row) in (0u64..).zip(&found) {
        let at = |name| cell(ExportTable::Slices, row, name);
        assert_eq!(at("second"), &CellValue::Whole(second));
        // The trial began 13 s into the run.
        assert_eq!(at("run_seconds"), &CellValue::Number(13.0 + second as f64));
        assert_eq!(at("time"), &CellValue::Time(Moment((BEGAN_MS + 13_000 + second * 1000) * 1000)));
        assert_eq!(
            (at("due"), at("ok"), at("response_count")),
            (&CellValue::Whole(1000), &CellValue::Whole(1000), &CellValue::Whole(1000))
        );
        assert_eq!((at("run"), at("purpose")), (&text("20261120-161502-k3f"), &text("load")));
        let CellValue::Number(p99) = at("response_p99_seconds") else { panic!("{row:?}") };
        assert!((0.0005..0.001).contains(p99), "{p99}");
    }
    assert_eq!(found.len(), 3);
}

/// Without answers nothing was timed: that is not 0.
#[test]
fn what_was_not_measured_is_nothing() {
    let run = RunBuilder::start("run").trial(load(Purpose::Load, 10.0, 1).bad(Outcome::Failed, 10));
    let [slice] = &rows(ExportTable::Slices, &run.events)[..] else { panic!("one second") };
    for name in
        ["response_p50_seconds", "service_mean_seconds", "lateness_max_seconds", "response_count", "statuses"]
    {
        assert_eq!(cell(ExportTable::Slices, slice, name), &CellValue::Nothing, "{name}");
    }
    assert_eq!(cell(ExportTable::Slices, slice, "failed"), &CellValue::Whole(10));
    assert_eq!(rows(ExportTable::Histograms, &run.events), Vec::<ExportRow>::new());
    assert_eq!(rows(ExportTable::Samples, &run.events), Vec::<ExportRow>::new());
}

/// A trial that was cut short has its row and buckets, but no class.
#[test]
fn a_run_without_an_end_has_what_there_is() {
    let run = RunBuilder::start("run").begin(&load(Purpose::Load, 500.0, 10), 4);
    let [trial] = &rows(ExportTable::Trials, &run.events)[..] else { panic!("one trial") };
    assert_eq!(cell(ExportTable::Trials, trial, "due"), &CellValue::Whole(2000));
    assert_eq!(cell(ExportTable::Trials, trial, "loaded_seconds"), &CellValue::Number(4.0));
    assert_eq!(cell(ExportTable::Trials, trial, "class"), &CellValue::Nothing);
    let count = |row: &ExportRow| match (
        cell(ExportTable::Histograms, row, "of"),
        cell(ExportTable::Histograms, row, "count"),
    ) {
        (of, CellValue::Whole(count)) if of == &text("response") => *count,
        _ => 0,
    };
    assert_eq!(rows(ExportTable::Histograms, &run.events).iter().map(count).sum::<u64>(), 2000);
    // A second of a trial that never began: an event was not understood.
    let stray = [run.events[0].clone(), run.events[2].clone()];
    let [slice] = &rows(ExportTable::Slices, &stray)[..] else { panic!("one second") };
    assert_eq!(cell(ExportTable::Slices, slice, "purpose"), &CellValue::Nothing);
    assert_eq!(rows(ExportTable::Trials, &stray), Vec::<ExportRow>::new());
}

#[test]
fn samples_say_of_what_they_are() {
    let mut run = RunBuilder::start("run").begin(&load(Purpose::Load, 500.0, 10), 1);
    run.events.push(Event::WatchStarted { place: String::new(), watched: Box::new(watched()) });
    run.events.push(Event::Observed { trial: 1, place: String::new(), window: Box::new(window(2, 188.0)) });
    let found = rows(ExportTable::Samples, &run.events);
    let value = |wanted: [(&str, &str); 4]| {
        let is_it = |row: &&ExportRow| {
            wanted.iter().all(|(name, expected)| cell(ExportTable::Samples, row, name) == &text(expected))
        };
        let mut fits = found.iter().filter(is_it);
        let row = fits.next().unwrap_or_else(|| panic!("no {wanted:?}"));
        assert!(fits.next().is_none(), "two of {wanted:?}");
        assert_eq!(cell(ExportTable::Samples, row, "trial"), &CellValue::Whole(1));
        assert_eq!(cell(ExportTable::Samples, row, "run_seconds"), &CellValue::Number(15.0));
        cell(ExportTable::Samples, row, "value").clone()
    };
    let waits = "waits for another thread, at most 30 s";
    let waiting =
        [("subject", "java"), ("item", "http-nio-N-exec-N"), ("state", waits), ("measure", "threads")];
    assert_eq!(value(waiting), CellValue::Number(188.0));
    let quota = [("subject", "java"), ("source", "cgroup"), ("measure", "cpu_quota"), ("unit", "processors")];
    assert_eq!(value(quota), CellValue::Number(2.0));
    let cpu = [("subject", "java"), ("source", "process"), ("measure", "cpu"), ("unit", "seconds")];
    assert!(matches!(value(cpu), CellValue::Number(seconds) if seconds > 0.0));
    let sources: std::collections::BTreeSet<String> =
        found.iter().map(|row| format!("{:?}", cell(ExportTable::Samples, row, "source"))).collect();
    assert!(sources.len() >= 8, "{sources:?}");
}

#[test]
fn figures_of_a_probe_are_in_seconds() {
    let mut run = RunBuilder::start("probe");
    for (unit, blocks) in
        [(FigureUnit::Nanos, vec![5e8, 1e9, 2e9]), (FigureUnit::Bytes, vec![64.0, 64.0, 64.0])]
    {
        let figure =
            Figure::from_blocks(("launch", "fork", "2 MiB"), unit, blocks, 30).expect("it has blocks");
        run.events.push(Event::Measured { figure: Box::new(figure) });
    }
    let run = run.end(Some(Verdict::Sheet { figures: 2, doubtful: 0, cut_short: false }), 0, None);
    let found = rows(ExportTable::Figures, &run.events);
    let column = |name: &str| {
        found.iter().map(|row| cell(ExportTable::Figures, row, name).clone()).collect::<Vec<_>>()
    };
    assert_eq!(column("unit"), [text("seconds"), text("bytes")]);
    assert_eq!(column("median"), [1.0, 64.0].map(CellValue::Number));
    assert_eq!(column("blocks"), [text("[0.5,1,2]"), text("[64,64,64]")]);
    assert_eq!(column("switches"), vec![CellValue::Nothing; 2]);
    assert_eq!(column("run"), vec![text("20261120-161502-k3f"); 2]);
}
