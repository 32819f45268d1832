use super::{Text, TextSpan, Tone};
use serde::Serialize;

/// A table.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct TextTable {
    /// Its caption; empty if the section's heading serves.
    pub title: String,
    /// Column headings; the first column is text, the others are figures unless listed in `text`.
    pub head: Vec<String>,
    /// Its rows, one cell per column.
    pub rows: Vec<Vec<TextSpan>>,
    /// Columns other than the first that hold text.
    pub text: Vec<usize>,
    /// For each row, the id of the run it links to; empty if none does.
    pub runs: Vec<Option<String>>,
}

impl TextTable {
    pub(crate) fn new(head: &[&str]) -> Self {
        Self { head: head.iter().map(|cell| (*cell).to_owned()).collect(), ..Self::default() }
    }

    pub(crate) fn with_text_last(head: &[&str]) -> Self {
        Self { text: vec![head.len() - 1], ..Self::new(head) }
    }

    #[must_use]
    pub(crate) fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Adds a row, which may have fewer cells than columns.
    pub(crate) fn push_row(&mut self, cells: impl IntoIterator<Item = impl Into<TextSpan>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// As a page has it: rows filled up with empty cells, without the terminal's indentation.
    pub(super) fn padded(mut self) -> Self {
        let columns = self.head.len();
        for row in &mut self.rows {
            row.resize(columns, TextSpan::default());
            row.iter_mut().for_each(|piece| piece.text = piece.text.trim().to_owned());
        }
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// For a terminal, under a faint heading: columns as wide as their widest cell, the first left-aligned, the others right-aligned; a
    /// final text column left-aligned and unpadded.
    pub(crate) fn lines(&self) -> Vec<Text> {
        self.indented_lines(0)
    }

    /// The same, indented by this many steps.
    pub(crate) fn indented_lines(&self, depth: u8) -> Vec<Text> {
        let indent = Text::indent(depth);
        let columns = self.head.len();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| Some(&row.get(column)?.text));
            cells.chain([&self.head[column]]).map(|text| text.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let cell = |column: usize, text: &str| {
            let (width, is_last) = (widths[column], column + 1 == columns);
            match column {
                0 => format!("{indent}{text:<width$}"),
                _ if is_last && self.text.contains(&column) && text.is_empty() => String::new(),
                _ if is_last && self.text.contains(&column) => format!("  {text}"),
                _ => format!("  {text:>width$}"),
            }
        };
        let line = |cells: &mut dyn Iterator<Item = (&str, Tone)>| {
            cells
                .enumerate()
                .fold(Text::empty(), |line, (column, (text, tone))| line.with_span(tone, cell(column, text)))
        };
        let head = line(&mut self.head.iter().map(|text| (text.as_str(), Tone::Faint)));
        let row = |row: &Vec<TextSpan>| line(&mut row.iter().map(|piece| (piece.text.as_str(), piece.tone)));
        std::iter::once(head).chain(self.rows.iter().map(row)).collect()
    }
}
