use crate::{Line, Tone};

/// Rows of cells under a faint head; every column as wide as its widest cell, the first to the
/// left, the others to the right.
pub(crate) struct Table {
    rows: Vec<Vec<(String, Tone)>>,
    /// The last column holds text of any length: to the left, and not filled up.
    text_last: bool,
}

impl Table {
    pub fn new(head: &[&str]) -> Self {
        let head = head.iter().map(|cell| ((*cell).to_owned(), Tone::Faint)).collect();
        Self { rows: vec![head], text_last: false }
    }

    /// A table whose last column is text.
    pub fn with_text_last(head: &[&str]) -> Self {
        Self { text_last: true, ..Self::new(head) }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = (String, Tone)>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Whether it has more than its head.
    pub fn is_empty(&self) -> bool {
        self.rows.len() < 2
    }

    /// Its cells, those of the head first, and whether the last column is text.
    pub fn into_rows(self) -> (Vec<Vec<(String, Tone)>>, bool) {
        (self.rows, self.text_last)
    }

    pub fn lines(self) -> Vec<Line> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|(text, _)| text.chars().count()).max()
        };
        let widths: Vec<usize> = (0..columns).map(|c| width(c).unwrap_or(0)).collect();
        let line = |row: &Vec<(String, Tone)>| {
            row.iter().zip(&widths).enumerate().fold(
                Line::empty(),
                |line, (column, ((text, tone), width))| {
                    let cell = match column {
                        0 => format!("  {text:<width$}"),
                        _ if self.text_last && column + 1 == columns && text.is_empty() => String::new(),
                        _ if self.text_last && column + 1 == columns => format!("  {text}"),
                        _ => format!("  {text:>width$}"),
                    };
                    line.and(*tone, cell)
                },
            )
        };
        self.rows.iter().map(line).collect()
    }
}
