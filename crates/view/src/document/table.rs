use super::{Text, TextSpan, Tone};
use serde::Serialize;

/// A table.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct TextTable {
    /// Its caption; empty if the section's heading says it.
    pub title: String,
    /// The heads of its columns; the first column is text, the others are figures unless `text` says so.
    pub head: Vec<String>,
    /// Its rows, a piece for each column.
    pub rows: Vec<Vec<TextSpan>>,
    /// Columns, beside the first, that hold text.
    pub text: Vec<usize>,
    /// A row that leads to another run: its id, for each row; empty if no row does.
    pub runs: Vec<Option<String>>,
}

impl TextTable {
    pub(crate) fn new(head: &[&str]) -> Self {
        Self { head: head.iter().map(|cell| (*cell).to_owned()).collect(), ..Self::default() }
    }

    /// A table whose last column is text.
    pub(crate) fn with_text_last(head: &[&str]) -> Self {
        Self { text: vec![head.len() - 1], ..Self::new(head) }
    }

    /// Under a caption.
    #[must_use]
    pub(crate) fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Adds a row, which need not fill all columns.
    pub(crate) fn push_row(&mut self, cells: impl IntoIterator<Item = impl Into<TextSpan>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// As a page has it: with an empty cell wherever a row has none, and nothing before what stands further back on a terminal.
    pub(super) fn padded(mut self) -> Self {
        let columns = self.head.len();
        for row in &mut self.rows {
            row.resize(columns, TextSpan::default());
            row.iter_mut().for_each(|piece| piece.text = piece.text.trim().to_owned());
        }
        self
    }

    /// Whether it has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// For a terminal, under a faint head: every column as wide as its widest cell, the first to the left, the others to the right; a last
    /// one of text to the left, and not filled up.
    pub(crate) fn lines(&self) -> Vec<Text> {
        self.indented_lines(0)
    }

    /// The same, so many steps back.
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
