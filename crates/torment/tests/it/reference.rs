//! Manual pages generated from the code, so that they cannot go stale. `BLESS=1 cargo test -p torment-cli
//! --test it reference` rewrites them.

use crate::program::{Sandbox, repository};
use record::Cause;
use record::catalogue::catalogue_rows;
use std::collections::BTreeSet;
use std::path::PathBuf;
use view::tables::ExportTable;

/// Checks or rewrites a page.
fn check(page: &str, expected: &str) {
    let path = file(page);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, expected).expect("the manual can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "docs/{page} is stale; BLESS=1 writes it anew as\n{expected}");
}

fn file(page: &str) -> PathBuf {
    repository().join("docs").join(page)
}

/// The page with the text between two marks replaced.
fn filled(page: &str, name: &str, with: &str) -> String {
    let begin = format!("<!-- {name} -->\n");
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("no {begin}"));
    let (_, after) = rest.split_once("<!-- end -->").unwrap_or_else(|| panic!("no end of {name}"));
    format!("{before}{begin}{with}<!-- end -->{after}")
}

#[test]
fn the_page_of_plan_files_is_that_of_the_program() {
    let reference = Sandbox::new().torment(["plan", "reference"]).expect(0).stdout;
    assert!(reference.contains("| `timeout` | time | "), "{reference}");
    check("plan.md", &reference);
}

#[test]
fn the_page_of_tables_has_every_column() {
    let mut page = std::fs::read_to_string(file("export.md")).expect("it is there");
    for table in ExportTable::ALL {
        let mut text = format!("{}\n\n| column | is | |\n|---|---|---|\n", table.about());
        for column in table.columns() {
            text += &format!("| `{}` | {} | {} |\n", column.name, column.kind.name(), column.about);
        }
        page = filled(&page, table.name(), &text);
    }
    let mut text = "| source | measure | unit | |\n|---|---|---|---|\n".to_owned();
    for row in catalogue_rows() {
        let record::catalogue::Measure { name, quantity, help, .. } = row.measure;
        text += &format!("| {} | `{name}` | {} | {help} |\n", row.source, quantity.unit());
    }
    page = filled(&page, "measures", &text);
    check("export.md", &page);
}

/// Each cause is in a row of the method's table that says when it holds, and each row is of an existing cause.
#[test]
fn the_page_of_diagnosis_has_every_cause() {
    let page = std::fs::read_to_string(file("method/diagnosis.md")).expect("it is there");
    let (_, table) = page.split_once("| cause | holds when |").expect("a table of causes");
    let cells = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let told: BTreeSet<&str> =
        cells.flat_map(|line| names(line.split('|').nth(1).unwrap_or_default())).collect();
    let known: BTreeSet<&str> = Cause::ALL.iter().map(|cause| cause.name()).collect();
    assert_eq!(told, known);
}

/// Text between backticks.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// An ambiguous column, or one whose name lacks its unit, would be found too late.
#[test]
fn names_of_columns_are_plain_and_stand_once() {
    for table in ExportTable::ALL {
        let mut names: Vec<String> = table.columns().into_iter().map(|column| column.name).collect();
        for name in &names {
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), "{name}");
        }
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "{}", table.name());
    }
    let mut all: Vec<(&str, &str)> =
        catalogue_rows().into_iter().map(|row| (row.source, row.measure.name)).collect();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
    assert!(count > 100, "{count}");
}
