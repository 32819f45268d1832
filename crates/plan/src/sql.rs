//! Statements: placeholders become the parameters of a prepared statement.
//!
//! A placeholder that stands alone is a parameter. One inside a quoted text makes the whole text a parameter: for
//! `'user-{counter}'` the server sees `$1`. Lexical rules follow PostgreSQL's documentation, 4.1.

mod scan;

use crate::placeholder::NameScope;
use crate::{RenderContext, Statement, Template, TemplatePiece};
use scan::{TokenKind, is_word, scan};
use std::fmt::Write as _;

/// Stands for a placeholder while the surrounding text is scanned; no statement can contain it.
const PLACEHOLDER_MARK: char = '\0';
/// Only a quoted literal can follow these, so not a parameter either.
const LITERAL_TYPES: [&str; 5] = ["date", "time", "timestamp", "timestamptz", "interval"];

impl Statement {
    /// Parses a statement with placeholders.
    pub(crate) fn parse(text: &str, names: &NameScope<'_>) -> Result<Self, String> {
        let text = text.trim();
        if text.contains(PLACEHOLDER_MARK) {
            return Err("a statement cannot hold a NUL character".to_owned());
        }
        let template = Template::parse_with(text.as_bytes(), names).map_err(|e| e.to_string())?;
        let mut marked = String::with_capacity(text.len());
        let mut placeholders = Vec::new();
        for piece in template.pieces {
            match piece {
                TemplatePiece::Literal(text) => marked += &String::from_utf8_lossy(&text),
                piece => {
                    marked.push(PLACEHOLDER_MARK);
                    placeholders.push(piece);
                }
            }
        }
        let mut parser =
            StatementParser { placeholders: placeholders.into_iter(), ..StatementParser::default() };
        for (kind, chunk) in scan(&marked)? {
            parser.push_token(kind, chunk)?;
        }
        let StatementParser { text, parameters, .. } = parser;
        let text = text.trim();
        if text.is_empty() {
            return Err("no statement; expected one such as select 1".to_owned());
        }
        // The protocol numbers parameters with 16 bits.
        if parameters.len() > usize::from(u16::MAX) {
            return Err(format!("{} placeholders; a statement has at most {}", parameters.len(), u16::MAX));
        }
        Ok(Self { text: text.to_owned(), parameters })
    }

    /// The statement with its placeholders; parses to this again.
    pub fn to_text(&self) -> String {
        let mut out = String::with_capacity(self.text.len());
        // It was scanned when parsed.
        for (kind, chunk) in scan(&self.text).unwrap_or_default() {
            if kind != TokenKind::Plain {
                out += chunk;
                continue;
            }
            let mut rest = chunk;
            while let Some(at) = rest.find('$') {
                out += &rest[..at];
                let digits = rest[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
                let number = rest[at + 1..at + 1 + digits].parse::<usize>().unwrap_or(0);
                match number.checked_sub(1).and_then(|index| self.parameters.get(index)) {
                    Some(parameter) => out += &parameter_text(parameter),
                    None => out += &rest[at..at + 1 + digits],
                }
                rest = &rest[at + 1 + digits..];
            }
            out += rest;
        }
        out
    }

    /// Appends this arrival's value of parameter number `index`.
    ///
    /// # Panics
    /// If there is no such parameter.
    pub fn render_parameter(&self, index: usize, context: &RenderContext<'_>, out: &mut Vec<u8>) {
        self.parameters[index].render(context, index as u64, out);
    }
}

/// A parameter as written in a statement.
fn parameter_text(parameter: &Template) -> String {
    match parameter.pieces.as_slice() {
        [piece] if !matches!(piece, TemplatePiece::Literal(_)) => piece.to_string(),
        pieces => {
            let text = |piece: &TemplatePiece| match piece {
                TemplatePiece::Literal(_) => piece.to_string().replace('\'', "''"),
                piece => piece.to_string(),
            };
            format!("'{}'", pieces.iter().map(text).collect::<String>())
        }
    }
}

#[derive(Default)]
struct StatementParser {
    placeholders: std::vec::IntoIter<TemplatePiece>,
    text: String,
    parameters: Vec<Template>,
    /// A `;` was seen.
    is_finished: bool,
    /// The last thing written was a parameter.
    after_parameter: bool,
}

impl StatementParser {
    fn push_token(&mut self, kind: TokenKind, chunk: &str) -> Result<(), String> {
        let marks = chunk.matches(PLACEHOLDER_MARK).count();
        match kind {
            TokenKind::Plain => return chunk.chars().try_for_each(|c| self.push_char(c)),
            TokenKind::Comment => {
                // It has no effect: its braces are text.
                for c in chunk.chars() {
                    match if c == PLACEHOLDER_MARK { self.placeholders.next() } else { None } {
                        Some(piece) => write!(self.text, "{piece}").expect("a String takes every write"),
                        None => self.text.push(c),
                    }
                }
                self.after_parameter = false;
                return Ok(());
            }
            _ if self.is_finished => return Err(ONE_STATEMENT.to_owned()),
            TokenKind::Quoted if marks > 0 => {
                let before = self.text.trim_end().rsplit(|c: char| !is_word(c)).next().unwrap_or("");
                if LITERAL_TYPES.iter().any(|name| name.eq_ignore_ascii_case(before)) {
                    return Err(format!(
                        "{before} '…' takes no parameter: write the text with its placeholder alone, and ::{before} \
                         after it"
                    ));
                }
                let inner = chunk[1..chunk.len() - 1].replace("''", "'");
                let mut template = Template::default();
                for (i, literal) in inner.split(PLACEHOLDER_MARK).enumerate() {
                    if i > 0 {
                        template.pieces.extend(self.placeholders.next());
                    }
                    template.append(Template::literal(literal));
                }
                return self.push_parameter(template);
            }
            TokenKind::Dollar | TokenKind::Escaped if self.after_parameter => {
                return Err(PARTIAL_VALUE.to_owned());
            }
            _ if marks > 0 => return Err(format!("a placeholder cannot stand in {}", kind.description())),
            _ => {}
        }
        self.text += chunk;
        self.after_parameter = false;
        Ok(())
    }

    fn push_char(&mut self, c: char) -> Result<(), String> {
        if self.is_finished && !c.is_whitespace() && c != ';' {
            return Err(ONE_STATEMENT.to_owned());
        }
        if c == PLACEHOLDER_MARK {
            let piece = self.placeholders.next().into_iter().collect();
            return self.push_parameter(Template::from_pieces(piece));
        }
        if c == ';' {
            self.is_finished = true;
            return Ok(());
        }
        if self.after_parameter && (is_word(c) || c == '$') {
            return Err(PARTIAL_VALUE.to_owned());
        }
        if c.is_ascii_digit() && self.text.ends_with('$') {
            return Err(
                "a parameter is written as a placeholder, such as {random:1..1000}, not as $1".to_owned()
            );
        }
        self.text.push(c);
        self.after_parameter = false;
        Ok(())
    }

    fn push_parameter(&mut self, template: Template) -> Result<(), String> {
        if self.after_parameter || self.text.ends_with(|c: char| is_word(c) || c == '$') {
            return Err(PARTIAL_VALUE.to_owned());
        }
        self.parameters.push(template);
        write!(self.text, "${}", self.parameters.len()).expect("a String takes every write");
        self.after_parameter = true;
        Ok(())
    }
}

const ONE_STATEMENT: &str =
    "one statement at a time: several are several requests, each with its --sql or [[request]]";
const PARTIAL_VALUE: &str =
    "a placeholder stands for a whole value: it cannot be a part of a name or of a number";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Statement, String> {
        Statement::parse(text, &NameScope::default())
    }

    #[test]
    fn placeholders_become_parameters() {
        for (text, expected, parameters) in [
            ("select 1", "select 1", &[][..]),
            (" select 1 ; ", "select 1", &[]),
            ("select 1;;-- done", "select 1-- done", &[]),
            ("select {random:1..5}+{counter}", "select $1+$2", &["{random:1..5}", "{counter}"]),
            ("where name = 'user-{counter}'", "where name = $1", &["user-{counter}"]),
            ("select '{uuid}'::uuid", "select $1::uuid", &["{uuid}"]),
            ("like '%it''s {counter}%'", "like $1", &["%it's {counter}%"]),
            ("select 'it''s', '{a,b}'", "select 'it''s', '{a,b}'", &[]),
            ("select E'it\\'s', {counter}", "select E'it\\'s', $1", &["{counter}"]),
            (
                "select \"a\"\"b{x}\", $$a'b$$, $x$ ' $$ $x$, {uuid}",
                "select \"a\"\"b{x}\", $$a'b$$, $x$ ' $$ $x$, $1",
                &["{uuid}"],
            ),
            (
                "select /* {counter} /* ' */ */ 1 -- {counter} '\n+{counter}",
                "select /* {counter} /* ' */ */ 1 -- {counter} '\n+$1",
                &["{counter}"],
            ),
        ] {
            let statement = parse(text).expect(text);
            assert_eq!(statement.text, expected);
            let found: Vec<String> = statement.parameters.iter().map(ToString::to_string).collect();
            assert_eq!(found, parameters, "{text}");
            assert_eq!(parse(&statement.to_text()), Ok(statement), "{text}");
        }
    }

    #[test]
    fn refuses_with_advice() {
        for (text, advice) in [
            ("", "no statement"),
            (" ; ", "no statement"),
            ("select 1; select 2", "one statement at a time"),
            ("select 1; 'x'", "one statement at a time"),
            ("select $1", "written as a placeholder"),
            // A dollar inside a name is not a parameter, but telling them apart is not worth it.
            ("select a$1b from t", "written as a placeholder"),
            ("select * from t{1..4}", "a whole value"),
            ("select {1..4}0", "a whole value"),
            ("select {1..4}{counter}", "a whole value"),
            ("select '{1..4}'5", "a whole value"),
            ("select {1..4}$$x$$", "a whole value"),
            ("select {1..4}e'x'", "a whole value"),
            ("select \"t{1..4}\"", "cannot stand in a name"),
            ("select E'{1..4}'", "without"),
            ("select u&'{1..4}'", "without"),
            ("select $$ {1..4} $$", "between dollars"),
            ("select date '2024-01-0{1..4}'", "::date"),
            ("select 'x", "a ' that is never closed"),
            ("select \"x", "a \" that is never closed"),
            ("select $a$ x $b$", "$a$ is never closed"),
            ("select /* x", "a /* that is never closed"),
            ("select {random:1..}", "{random:1..1000}"),
            ("select '\0'", "NUL"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(advice), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_printed_and_read_again(
            parts in prop::collection::vec(prop_oneof![
                Just("'"), Just("''"), Just("\""), Just("$$"), Just("$a$"), Just("{counter}"), Just("{uuid}"), Just(" "),
                Just("--"), Just("\n"), Just("/*"), Just("*/"), Just("a"), Just("1"), Just("$"), Just("E"), Just("é"),
                Just("\\"), Just(";"), Just("{"), Just("}"),
            ], 0..16),
        ) {
            if let Ok(statement) = parse(&parts.concat()) {
                let text = statement.to_text();
                prop_assert_eq!(parse(&text), Ok(statement), "{}", text);
            }
        }
    }
}
