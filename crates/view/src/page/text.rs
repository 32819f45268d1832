//! Lines and tables of the other faces as the page has them: without indents and fillers, which are for those who
//! have columns.

use super::{Piece, Table, Text};
use crate::{Line, Tone, table};

/// A line without what stands before and after it, and without gaps.
pub(super) fn said(line: &Line) -> Text {
    let mut text = Text::new();
    let mut gap = true;
    for span in &line.spans {
        let mut piece = String::new();
        for letter in span.text.chars() {
            if letter != ' ' || !gap {
                piece.push(letter);
            }
            gap = letter == ' ';
        }
        if !piece.is_empty() {
            text.push(Piece { text: piece, tone: span.tone });
        }
    }
    while let Some(last) = text.last_mut() {
        last.text.truncate(last.text.trim_end().len());
        if !last.text.is_empty() {
            break;
        }
        text.pop();
    }
    text
}

impl From<&Line> for Text {
    fn from(line: &Line) -> Self {
        said(line)
    }
}

/// Those lines that say something.
pub(super) fn all_said<'a>(lines: impl IntoIterator<Item = &'a Line>) -> Vec<Text> {
    lines.into_iter().map(said).filter(|text| !text.is_empty()).collect()
}

/// One piece of its own.
pub(super) fn piece(text: impl Into<String>, tone: Tone) -> Piece {
    Piece { text: text.into(), tone }
}

/// A text of one plain piece.
pub(super) fn plain(text: impl Into<String>) -> Text {
    vec![piece(text, Tone::Plain)]
}

/// A table under a caption; none without a row. What the table has over its first column becomes the caption if there is
/// no other.
pub(super) fn table(title: &str, table: table::Table) -> Option<Table> {
    let (mut rows, text_last) = table.into_rows();
    if rows.len() < 2 {
        return None;
    }
    let mut head: Vec<String> = rows.remove(0).into_iter().map(|(text, _)| text.trim().to_owned()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0).max(head.len());
    head.resize(columns, String::new());
    let cell =
        |(text, tone): (String, Tone)| piece(text.split_whitespace().collect::<Vec<_>>().join(" "), tone);
    let row = |row: Vec<(String, Tone)>| {
        let mut cells: Vec<Piece> = row.into_iter().map(cell).collect();
        cells.resize(columns, piece("", Tone::Plain));
        cells
    };
    Some(Table {
        title: title.to_owned(),
        head,
        rows: rows.into_iter().map(row).collect(),
        text: text_last.then(|| columns - 1).into_iter().collect(),
        runs: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_loses_its_indent_and_keeps_its_tones() {
        let line = Line::plain("  ").and(Tone::Good, "holds 5").then("   (between  5 and 6)").then("  ");
        let expected = [piece("holds 5", Tone::Good), piece(" (between 5 and 6)", Tone::Plain)];
        assert_eq!(said(&line), expected);
        assert!(said(&Line::plain("   ")).is_empty());
        let label = Line::empty().and(Tone::Faint, "  next: ").then(" <b>more</b> ");
        assert_eq!(said(&label).iter().map(|p| p.text.as_str()).collect::<String>(), "next: <b>more</b>");
    }

    #[test]
    fn a_table_keeps_its_cells() {
        let mut given = table::Table::with_text_last(&["  trial", "why"]);
        given.row([("  4 climb".to_owned(), Tone::Plain), ("it  fails".to_owned(), Tone::Bad)]);
        let found = table("steps", given).expect("a row");
        assert_eq!(found.head, ["trial", "why"]);
        assert_eq!(found.rows, [[piece("4 climb", Tone::Plain), piece("it fails", Tone::Bad)]]);
        assert_eq!(found.text, [1]);
        assert_eq!(table("none", table::Table::new(&["a"])), None);
    }
}
