use crate::error::Error;
use std::ops::Range;

/// The values of one column of a CSV file (RFC 4180): a header line, then one row per line; a quoted field may
/// contain commas, line ends, and doubled quotes. Empty lines are skipped.
pub(crate) fn read_column(name: &str, text: &str, column: &str) -> Result<Vec<String>, Error> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let offset = text.len() - body.len();
    let error = |span: Range<usize>, message: String| {
        Error::in_file(name, text, span.start + offset..span.end + offset, message)
    };
    let mut rows = RowReader { text: body, at: 0 };
    let bad_quote = |at: usize| error(at..at + 1, "a quote that is never closed properly".to_owned());
    let header = match rows.next_row().map_err(bad_quote)? {
        Some(row) => row,
        None => return Err(error(0..0, "the file is empty; expected a header line".to_owned())),
    };
    let Some(index) = header.fields.iter().position(|field| field.trim() == column) else {
        let columns: Vec<_> = header.fields.iter().map(|field| field.trim()).collect();
        let message = format!("no column '{column}'; the file has: {}", columns.join(", "));
        return Err(error(header.span, message));
    };
    let mut values = Vec::new();
    while let Some(mut row) = rows.next_row().map_err(bad_quote)? {
        if row.fields.len() != header.fields.len() {
            let (found, expected) = (row.fields.len(), header.fields.len());
            return Err(error(
                row.span,
                format!("{found} fields; expected {expected}, as in the header line"),
            ));
        }
        values.push(row.fields.swap_remove(index));
    }
    if values.is_empty() {
        return Err(error(header.span, "only a header line; expected at least one row after it".to_owned()));
    }
    Ok(values)
}

struct RowReader<'a> {
    text: &'a str,
    at: usize,
}

struct Row {
    fields: Vec<String>,
    span: Range<usize>,
}

impl RowReader<'_> {
    /// The next non-empty row, or the position of the misplaced quote.
    fn next_row(&mut self) -> Result<Option<Row>, usize> {
        while self.text[self.at..].starts_with(['\n', '\r']) {
            self.at += 1;
        }
        if self.at == self.text.len() {
            return Ok(None);
        }
        let start = self.at;
        let mut fields = Vec::new();
        loop {
            fields.push(self.field()?);
            let end = self.at;
            match self.text.as_bytes().get(self.at) {
                Some(b',') => self.at += 1,
                _ => return Ok(Some(Row { fields, span: start..end })),
            }
        }
    }

    /// One field; leaves the position at the comma or line end after it.
    fn field(&mut self) -> Result<String, usize> {
        let rest = &self.text[self.at..];
        let Some(quoted) = rest.strip_prefix('"') else {
            let end = rest.find([',', '\n']).unwrap_or(rest.len());
            self.at += end;
            return Ok(rest[..end].trim_end_matches('\r').to_owned());
        };
        let (mut value, mut rest) = (String::new(), quoted);
        let open = self.at;
        loop {
            let end = rest.find('"').ok_or(open)?;
            value.push_str(&rest[..end]);
            rest = &rest[end + 1..];
            match rest.strip_prefix('"') {
                Some(more) => {
                    value.push('"');
                    rest = more;
                }
                None => break,
            }
        }
        self.at = self.text.len() - rest.trim_start_matches('\r').len();
        if rest.is_empty() || self.text[self.at..].starts_with([',', '\n']) { Ok(value) } else { Err(open) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_column() {
        let plain = "name,age\nAnn,1\nBob,2\n";
        let hard = "\u{feff}id,\"full name\"\r\n1,\"O'Neil, \"\"Ann\"\"\"\r\n\r\n2,\"two\nlines\"\r\n3,";
        for (text, name, expected) in [
            (plain, "name", vec!["Ann", "Bob"]),
            (plain, "age", vec!["1", "2"]),
            (hard, "full name", vec!["O'Neil, \"Ann\"", "two\nlines", ""]),
            (hard, "id", vec!["1", "2", "3"]),
            ("one\nx", "one", vec!["x"]),
        ] {
            assert_eq!(read_column("f.csv", text, name).expect(name), expected);
        }
    }

    #[test]
    fn errors_name_file_line_found_and_expected() {
        for (text, expected) in [
            ("", "f.csv:1:1: the file is empty; expected a header line"),
            ("a,b\n", "f.csv:1:1: only a header line; expected at least one row"),
            ("x, y\n1,2\n", "f.csv:1:1: no column 'b'; the file has: x, y"),
            ("a,b\n1,2\n3\n", "f.csv:3:1: 1 fields; expected 2"),
            ("a,b\n1,\"2\n", "f.csv:2:3: a quote that is never closed"),
            ("a,b\n1,\"2\"x\n", "f.csv:2:3: a quote that is never closed"),
        ] {
            let error = read_column("f.csv", text, "b").expect_err(text).to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
