//! Encodes a statement's execution: Bind, Execute and Sync in one piece.

use super::message::{write_cstring, write_length_prefixed, write_message};
use plan::{RenderContext, Statement};

/// Encodes each arrival's execution. Everything but the parameters is prepared once.
pub(crate) struct StatementWriter {
    statement: Statement,
    /// Its number among the session's statements.
    pub number: usize,
    /// All that the previous arrival sent; all share its prefix.
    bytes: Vec<u8>,
    /// The length of the shared prefix, up to the first parameter.
    start: usize,
    /// What follows the last parameter.
    end: Vec<u8>,
    /// Whether every arrival sends the same `bytes`.
    constant: bool,
}

/// The statement's name on every connection.
pub(crate) fn statement_name(number: usize) -> String {
    format!("s{number}")
}

impl StatementWriter {
    /// For a statement that the session prepares as number `number`.
    pub fn new(statement: &Statement, number: usize) -> Self {
        let mut bytes = Vec::new();
        write_message(b'B', &mut bytes, |out| {
            // The unnamed portal, which lives until the next Bind.
            write_cstring("", out);
            write_cstring(&statement_name(number), out);
            // No parameter formats: all text.
            out.extend_from_slice(&0u16.to_be_bytes());
            let count = u16::try_from(statement.parameters.len()).expect("the plan takes no more");
            out.extend_from_slice(&count.to_be_bytes());
        });
        let start = bytes.len();
        let mut end = 0u16.to_be_bytes().to_vec();
        write_message(b'E', &mut end, |out| {
            write_cstring("", out);
            // All rows.
            out.extend_from_slice(&0u32.to_be_bytes());
        });
        write_message(b'S', &mut end, |_| {});
        let mut this = Self { statement: statement.clone(), number, bytes, start, end, constant: false };
        if statement.parameters.iter().all(plan::Template::is_constant) {
            this.write(&RenderContext { number: 0, seed: 0, extracted: &[] });
            this.constant = true;
        }
        this
    }

    pub fn encode(&mut self, context: &RenderContext<'_>) -> &[u8] {
        if !self.constant {
            self.write(context);
        }
        &self.bytes
    }

    fn write(&mut self, context: &RenderContext<'_>) {
        let out = &mut self.bytes;
        out.truncate(self.start);
        for index in 0..self.statement.parameters.len() {
            write_length_prefixed(out, false, |out| self.statement.render_parameter(index, context, out));
        }
        // The message ends with the result formats, none given: all text.
        let length = (out.len() - 1 + 2) as u32;
        out[1..5].copy_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&self.end);
    }

    /// What this arrival sends, for display.
    pub fn preview(&self, context: &RenderContext<'_>) -> Vec<u8> {
        let mut out = self.statement.text.as_bytes().to_vec();
        for index in 0..self.statement.parameters.len() {
            out.extend_from_slice(format!("\n${} = ", index + 1).as_bytes());
            self.statement.render_parameter(index, context, &mut out);
        }
        out.push(b'\n');
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Template;

    fn statement(parameters: &[&str]) -> Statement {
        let parameters = parameters.iter().map(|text| Template::parse(text).expect(text)).collect();
        Statement { text: "select $1, $2".to_owned(), parameters }
    }

    #[test]
    fn an_execution_is_what_the_protocol_says() {
        let mut writer = StatementWriter::new(&statement(&["{counter}", "it's ä"]), 3);
        for (number, counter, length) in
            [(7, &b"\0\0\0\x017"[..], 30u8), (12, b"\0\0\0\x0212", 31), (7, b"\0\0\0\x017", 30)]
        {
            let bytes = writer.encode(&RenderContext { number, seed: 1, extracted: &[] });
            let bind =
                [b"B\0\0\0", &[length][..], b"\0s3\0\0\0\0\x02", counter, b"\0\0\0\x07it's \xc3\xa4\0\0"]
                    .concat();
            let rest = b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
            assert_eq!(bytes, [&bind[..], rest].concat());
            assert_eq!(bind.len(), 1 + usize::from(length));
        }
        let shown = writer.preview(&RenderContext { number: 7, seed: 1, extracted: &[] });
        assert_eq!(shown, "select $1, $2\n$1 = 7\n$2 = it's ä\n".as_bytes());
    }

    #[test]
    fn what_never_changes_is_written_once() {
        let mut writer = StatementWriter::new(&statement(&["a", ""]), 0);
        let first = writer.encode(&RenderContext { number: 1, seed: 1, extracted: &[] }).as_ptr();
        assert_eq!(first, writer.encode(&RenderContext { number: 2, seed: 2, extracted: &[] }).as_ptr());
    }
}
