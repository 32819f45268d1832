//! Rows under column names, for spreadsheets, line-by-line readers and pull requests.

use crate::markdown::table;
use serde_json::{Map, Value};

/// A table of plain values.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    head: Vec<String>,
    rows: Vec<Vec<Value>>,
}

impl Grid {
    /// Creates a grid without rows.
    pub fn new(head: &[&str]) -> Self {
        Self { head: head.iter().map(|name| (*name).to_owned()).collect(), rows: Vec::new() }
    }

    /// Creates a grid without rows, from column names separated by blanks.
    pub fn with_columns(names: &str) -> Self {
        Self::new(&names.split(' ').collect::<Vec<_>>())
    }

    /// Adds a row: one value per column.
    pub fn push_row(&mut self, values: Vec<Value>) {
        debug_assert_eq!(values.len(), self.head.len(), "a row has as many values as there are names");
        self.rows.push(values);
    }

    /// Comma-separated values (RFC 4180), with a header; unknown values are empty.
    pub fn csv(&self) -> String {
        let rows = self.rows.iter().map(|row| csv_line(row.iter().map(plain)));
        std::iter::once(csv_line(&self.head)).chain(rows).collect()
    }

    /// One JSON object per line and row.
    pub fn ndjson(&self) -> String {
        let object = |row: &Vec<Value>| {
            let fields: Map<String, Value> = self.head.iter().cloned().zip(row.iter().cloned()).collect();
            format!("{}\n", Value::Object(fields))
        };
        self.rows.iter().map(object).collect()
    }

    /// A GitHub Markdown table; numbers are right-aligned.
    pub fn markdown(&self) -> String {
        let is_number = |column: usize| self.rows.iter().all(|row| row[column].is_number());
        let rows = self.rows.iter().map(|row| row.iter().map(plain).collect::<Vec<_>>());
        table(&self.head, |column| !self.rows.is_empty() && is_number(column), rows)
    }
}

/// One line of comma-separated values (RFC 4180), with its line end.
pub fn csv_line(cells: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let cells: Vec<String> = cells.into_iter().map(|cell| quoted(cell.as_ref())).collect();
    cells.join(",") + "\r\n"
}

/// Strings unquoted, null empty, all else as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) || text.starts_with(' ') || text.ends_with(' ') {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn grid() -> Grid {
        let mut grid = Grid::new(&["name", "p99_us", "note"]);
        grid.push_row(vec![json!("a \"b\", <i>|*c*"), json!(1.5), Value::Null]);
        grid.push_row(vec![json!("two\nlines"), json!(12), json!(true)]);
        grid
    }

    #[test]
    fn every_form_has_all_values() {
        assert_eq!(
            grid().csv(),
            "name,p99_us,note\r\n\"a \"\"b\"\", <i>|*c*\",1.5,\r\n\"two\nlines\",12,true\r\n"
        );
        let lines: Vec<Value> =
            grid().ndjson().lines().map(|line| serde_json::from_str(line).expect("is JSON")).collect();
        assert_eq!(lines[0], json!({ "name": "a \"b\", <i>|*c*", "p99_us": 1.5, "note": null }));
        assert_eq!(
            grid().markdown(),
            "| name | p99\\_us | note |\n| --- | ---: | --- |\n| a \"b\", &lt;i&gt;\\|\\*c\\* | 1.5 |  |\n| two lines | 12 | true |\n"
        );
        assert_eq!(Grid::new(&["a"]).markdown(), "| a |\n| --- |\n");
    }
}
