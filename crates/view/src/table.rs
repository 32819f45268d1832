use crate::{Line, Tone};

/// Rows of cells under a faint head; every column as wide as its widest cell, the first to the
/// left, the others to the right.
pub(crate) struct Table {
    rows: Vec<Vec<(String, Tone)>>,
}

impl Table {
    pub fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|cell| ((*cell).to_owned(), Tone::Faint)).collect()] }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = (String, Tone)>) {
        self.rows.push(cells.into_iter().collect());
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
                    line.and(
                        *tone,
                        if column == 0 { format!("  {text:<width$}") } else { format!("  {text:>width$}") },
                    )
                },
            )
        };
        self.rows.iter().map(line).collect()
    }
}
