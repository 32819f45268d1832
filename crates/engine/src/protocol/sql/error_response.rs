//! A server's error, in words for display and in words to count by.

use super::super::error_text::{first_line, is_word_char, without_values};

/// Characters of a statement shown, from the position of the error.
const SHOWN_PLACE: usize = 30;

/// An ErrorResponse (PostgreSQL's documentation, 55.8 "Error and Notice Message Fields").
#[derive(Default)]
pub(crate) struct ErrorResponse {
    severity: String,
    /// SQLSTATE.
    pub code: String,
    message: String,
    hint: String,
    /// The position of the error in the statement, in characters from 1.
    position: Option<usize>,
    /// Schema, table, column, type, constraint, if given beside the message.
    names: Vec<String>,
}

impl ErrorResponse {
    pub fn parse(mut body: &[u8]) -> Self {
        let mut this = Self::default();
        while let Some((field @ 1.., rest)) = body.split_first() {
            let end = rest.iter().position(|&b| b == 0).unwrap_or(rest.len());
            let text = String::from_utf8_lossy(&rest[..end]).into_owned();
            match field {
                // The untranslated one comes later, from 9.6 on.
                b'S' | b'V' => this.severity = text,
                b'C' => this.code = text,
                b'M' => this.message = text,
                b'H' => this.hint = text,
                b'P' => this.position = text.parse().ok(),
                b's' | b't' | b'c' | b'd' | b'n' => this.names.push(text),
                _ => {}
            }
            body = rest.get(end + 1..).unwrap_or_default();
        }
        this
    }

    /// Whether the session is over.
    pub fn is_fatal(&self) -> bool {
        matches!(self.severity.as_str(), "FATAL" | "PANIC")
    }

    /// All that helps the author of the statement, if there is one.
    pub fn describe(&self, statement: Option<&str>) -> String {
        let mut out = format!("{} ({})", first_line(&self.message), self.code);
        if let (Some(position), Some(statement)) = (self.position, statement) {
            let excerpt: String =
                statement.chars().skip(position.saturating_sub(1)).take(SHOWN_PLACE).collect();
            let excerpt = excerpt.trim_end();
            out += &if excerpt.is_empty() { " at its end".to_owned() } else { format!(" at: {excerpt}") };
        }
        if !self.hint.is_empty() {
            out = format!("{out}; {}", first_line(&self.hint));
        }
        out
    }

    /// The same text for all errors of one kind. Values are left out: each arrival has its own, and they are
    /// private. Names from `statement` may be shown.
    pub fn without_values(&self, statement: &str) -> String {
        let is_name =
            |text: &str| self.names.iter().any(|name| name == text) || contains_word(statement, text);
        format!("{} {}", self.code, without_values(first_line(&self.message), is_name))
    }
}

/// Whether the statement has this as a separate word.
fn contains_word(statement: &str, word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && statement.match_indices(word).any(|(at, _)| {
            !statement[..at].ends_with(is_word_char)
                && !statement[at + word.len()..].starts_with(is_word_char)
        })
}

#[cfg(test)]
mod tests {
    use super::super::super::error_text::SHOWN;
    use super::*;
    use proptest::prelude::*;

    fn complaint(fields: &[(char, &str)]) -> ErrorResponse {
        let mut body = Vec::new();
        for (field, text) in fields {
            body.push(*field as u8);
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
        body.push(0);
        ErrorResponse::parse(&body)
    }

    #[test]
    fn mistakes_of_one_kind_have_the_same_words() {
        let statement = "insert into pets values ($1, 'x')";
        for (message, name, expected) in [
            ("division by zero", "", "division by zero"),
            (
                "duplicate key value violates unique constraint \"p_pkey\"",
                "p_pkey",
                "duplicate key value violates unique constraint \"p_pkey\"",
            ),
            ("relation \"pets\" does not exist", "", "relation \"pets\" does not exist"),
            ("relation \"pet\" does not exist", "", "relation \"…\" does not exist"),
            (
                "invalid input syntax for type integer: \"1\"",
                "",
                "invalid input syntax for type integer: \"…\"",
            ),
            (
                "invalid input syntax for type integer: \"a\nb\"",
                "",
                "invalid input syntax for type integer: \"…",
            ),
            (
                "value too long for type character varying(10)",
                "",
                "value too long for type character varying(…)",
            ),
            ("no int4 but 4711, or 'x y'", "", "no int4 but …, or '…'"),
            ("l'objet «sk42» n'existe pas", "", "l'objet «…» n'existe pas"),
            ("Relation „ä“ existiert nicht", "", "Relation „…“ existiert nicht"),
        ] {
            let complaint = complaint(&[('S', "ERROR"), ('C', "12345"), ('M', message), ('n', name)]);
            assert_eq!(complaint.without_values(statement), format!("12345 {expected}"));
        }
    }

    #[test]
    fn a_mistake_is_told_with_its_place() {
        let at = |position: &'static str| {
            complaint(&[('M', "syntax error"), ('C', "42601"), ('P', position), ('H', "Try again.\nNow.")])
        };
        let statement = Some("select ä fro t where a_long_name_of_a_column = $1");
        let expected = "syntax error (42601) at: fro t where a_long_name_of_a_c; Try again.";
        assert_eq!(at("10").describe(statement), expected);
        assert_eq!(at("50").describe(statement), "syntax error (42601) at its end; Try again.");
        assert_eq!(at("1").describe(None), "syntax error (42601); Try again.");
    }

    proptest! {
        #[test]
        fn nothing_said_is_a_panic(body: Vec<u8>, statement: String, texts: Vec<String>) {
            let complaint = ErrorResponse::parse(&body);
            complaint.describe(Some(&statement));
            for text in &texts {
                let complaint = super::tests::complaint(&[('M', text), ('P', "3")]);
                prop_assert!(complaint.without_values(&statement).chars().count() <= SHOWN + 1);
                complaint.describe(Some(&statement));
            }
        }
    }
}
