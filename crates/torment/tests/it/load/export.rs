//! A run's tables, read by a third-party reader, match the run's own figures.

use crate::program::{LoadTurn, Sandbox, adds_up, number, outcome};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::Value;
use std::fs::File;

fn rows(sandbox: &Sandbox, file: &str) -> Vec<Row> {
    let file = File::open(sandbox.path(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
    let reader = SerializedFileReader::new(file).expect("Parquet");
    let rows: Vec<Row> = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect();
    assert_eq!(reader.metadata().file_metadata().num_rows(), rows.len() as i64);
    rows
}

fn cell<'a>(row: &'a Row, name: &str) -> &'a Field {
    let found = row.get_column_iter().find(|(column, _)| *column == name);
    found.unwrap_or_else(|| panic!("no column {name}")).1
}

fn count(row: &Row, name: &str) -> u64 {
    match cell(row, name) {
        Field::ULong(count) => *count,
        other => panic!("{name} is {other:?}"),
    }
}

fn seconds(row: &Row, name: &str) -> f64 {
    match cell(row, name) {
        Field::Double(seconds) => *seconds,
        other => panic!("{name} is {other:?}"),
    }
}

fn sum(rows: &[Row], name: &str) -> u64 {
    rows.iter().map(|row| count(row, name)).sum()
}

fn text<'a>(row: &'a Row, name: &str) -> &'a str {
    match cell(row, name) {
        Field::Str(text) => text,
        other => panic!("{name} is {other:?}"),
    }
}

/// Cells of CSV without quoted commas.
fn csv(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split(',').collect()).collect()
}

#[test]
fn tables_hold_the_account_of_the_run() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let (ended, run) = sandbox.load(["run", "demo/shed?us=2000&limit=5", "-r", "600", "-d", "3s"]);
    let trial = &run["trial"];
    adds_up(trial);
    let id = run["id"].as_str().unwrap_or_else(|| panic!("no id: {ended}"));

    let said = sandbox.torment(["export"]).expect(0).stdout;
    let folder = format!("run-{id}");
    for table in ["slices", "trials", "samples", "histograms"] {
        assert!(said.contains(&format!("wrote {folder}/{table}.parquet (")), "{said}");
    }
    assert!(said.contains("figures: the run has none"), "{said}");
    assert!(!sandbox.path(&folder).join("figures.parquet").exists());

    let slices = rows(&sandbox, &format!("{folder}/slices.parquet"));
    let trials = rows(&sandbox, &format!("{folder}/trials.parquet"));
    let [one] = &trials[..] else { panic!("{} trials", trials.len()) };
    for name in ["ok", "late", "failed", "timeout", "refused", "unsent", "unfinished"] {
        assert_eq!(sum(&slices, name), outcome(trial, name), "{name}");
        assert_eq!(count(one, name), outcome(trial, name), "{name}");
    }
    for name in ["due", "sent", "connects", "received_bytes"] {
        assert_eq!(trial[name], sum(&slices, name), "{name}");
    }
    let p99 = seconds(one, "response_p99_seconds") * 1e6;
    assert!((p99 - number(trial, "/response/p99_us")).abs() <= 0.5, "{p99}");
    for (second, slice) in slices.iter().enumerate() {
        assert_eq!((text(slice, "run"), count(slice, "second")), (id, second as u64));
        assert!(
            (seconds(slice, "run_seconds") - seconds(&slices[0], "run_seconds") - second as f64).abs() < 0.2
        );
    }

    // What is derived from the buckets matches what was reported.
    let buckets = rows(&sandbox, &format!("{folder}/histograms.parquet"));
    let responses: Vec<&Row> = buckets.iter().filter(|row| text(row, "of") == "response").collect();
    let all: u64 = responses.iter().map(|row| count(row, "count")).sum();
    assert_eq!(trial["response"]["count"], all);
    let mut below = 0;
    let reaches = |row: &&&Row| {
        below += count(row, "count");
        below as f64 >= 0.99 * all as f64
    };
    let p99_of_buckets = seconds(responses.iter().find(reaches).expect("some"), "to_seconds") * 1e6;
    assert!((p99_of_buckets / p99 - 1.0).abs() < 0.002, "{p99_of_buckets} {p99}");

    let samples = rows(&sandbox, &format!("{folder}/samples.parquet"));
    let own = samples.iter().filter(|row| (text(row, "source"), text(row, "measure")) == ("torment", "cpu"));
    let used: f64 = own.map(|row| seconds(row, "value")).sum();
    assert!(used > 0.0 && used < 60.0, "{used}");

    is_the_same_as_csv(&sandbox, &slices, trial);
    complains(&sandbox, id);
}

fn is_the_same_as_csv(sandbox: &Sandbox, slices: &[Row], trial: &Value) {
    let printed =
        sandbox.torment(["export", "--what", "slices", "--format", "csv", "-o", "-"]).expect(0).stdout;
    sandbox.torment(["export", "last", "--what", "slices", "-o", "here.csv"]).expect(0);
    assert_eq!(std::fs::read_to_string(sandbox.path("here.csv")).expect("it was written"), printed);
    let table = csv(&printed);
    let column = |name: &str| table[0].iter().position(|column| *column == name).expect("such a column");
    assert_eq!(table.len(), slices.len() + 1);
    let ok: u64 = table[1..].iter().map(|row| row[column("ok")].parse::<u64>().expect("a count")).sum();
    assert_eq!(ok, outcome(trial, "ok"));
    for (line, row) in table[1..].iter().zip(slices) {
        let time = line[column("time")];
        assert!(time.len() == 27 && time.ends_with('Z'), "{time}");
        let in_columns: Vec<String> =
            ["second", "due", "in_flight"].map(|name| count(row, name).to_string()).into();
        let in_lines: Vec<&str> = ["second", "due", "in_flight"].map(|name| line[column(name)]).into();
        assert_eq!(in_columns, in_lines);
        // A null is null in both.
        let is_null = matches!(cell(row, "response_p50_seconds"), Field::Null);
        assert_eq!(is_null, line[column("response_p50_seconds")].is_empty(), "{line:?}");
    }
}

fn complains(sandbox: &Sandbox, id: &str) {
    sandbox.write("file", "");
    for (arguments, code, words) in [
        (&["export", "nobody"][..], 1, &["nobody"][..]),
        (&["export", "--what", "seconds"], 2, &["seconds", "slices", "histograms", "all"]),
        (&["export", "--what", "figures"], 2, &[id, "no figures", "slices, trials"]),
        (&["export", "-o", "-"], 2, &["one table", "--what slices"]),
        (&["export", "-o", "file"], 2, &["'file' is a file", "folder"]),
        (&["export", "-o", "file/inside"], 1, &["'file/inside", "cannot be written"]),
        (&["export", "--what", "slices", "-o", "none/such.csv"], 1, &["'none/such.csv' cannot be written"]),
        (&["export", "--format", "markdown"], 2, &["csv or parquet"]),
        (&["show", "--format", "parquet"], 2, &["only export"]),
    ] {
        let ended = sandbox.torment(arguments.iter().copied());
        if arguments.contains(&"seconds") {
            // clap's own message.
            assert!(ended.code() == 2 && words.iter().all(|word| ended.stderr.contains(word)), "{ended}");
        } else {
            ended.expect_error(code, words);
        }
    }
}
