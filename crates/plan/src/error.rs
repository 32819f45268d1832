use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Where a value was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceLocation {
    /// On the command line, by this option.
    Option(&'static str),
    /// In a file.
    File {
        /// The file's name as written.
        name: Arc<str>,
        /// Its entire text.
        text: Arc<str>,
        /// The byte range in question.
        span: Range<usize>,
    },
}

/// Why a text is not a plan: where, what was found, what was expected, and what to do.
///
/// For a file it prints the line with a caret below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Where, if in one place.
    pub location: Option<SourceLocation>,
    /// What was found and what was expected.
    pub message: String,
}

impl Error {
    pub(crate) fn at(location: &SourceLocation, message: impl Into<String>) -> Self {
        Self { location: Some(location.clone()), message: message.into() }
    }

    pub(crate) fn in_file(name: &str, text: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        Self::at(&SourceLocation::File { name: name.into(), text: text.into(), span }, message)
    }

    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { location: None, message: message.into() }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            None => f.write_str(&self.message),
            Some(SourceLocation::Option(option)) => write!(f, "{option}: {}", self.message),
            Some(SourceLocation::File { name, text, span }) => {
                let snippet = Snippet::new(text, span);
                let (line, column) = (snippet.line, snippet.column);
                writeln!(f, "{name}:{line}:{column}: {}", self.message)?;
                let margin = " ".repeat(line.to_string().len());
                writeln!(f, " {line} | {}", snippet.text)?;
                write!(f, " {margin} | {}{}", " ".repeat(snippet.indent), "^".repeat(snippet.length))
            }
        }
    }
}

/// One line of a file with a part of it marked.
struct Snippet<'a> {
    /// From 1.
    line: usize,
    /// From 1, in characters.
    column: usize,
    text: &'a str,
    /// Characters before and below the mark.
    indent: usize,
    length: usize,
}

impl<'a> Snippet<'a> {
    /// A mark over several lines is cut at the end of the first; a long line is shown around its mark.
    fn new(text: &'a str, span: &Range<usize>) -> Self {
        const MAX_BEFORE: usize = 60;
        const MAX_SHOWN: usize = 100;
        let start = text.floor_char_boundary(span.start.min(text.len()));
        let begin = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let stop = text.floor_char_boundary(span.end.min(end));
        let column = text[begin..start].chars().count();
        let shown_from =
            text[begin..start].char_indices().rev().nth(MAX_BEFORE).map_or(begin, |(at, _)| begin + at);
        let shown_to =
            text[shown_from..end].char_indices().nth(MAX_SHOWN).map_or(end, |(at, _)| shown_from + at);
        Self {
            line: text[..start].matches('\n').count() + 1,
            column: column + 1,
            text: text[shown_from..shown_to].trim_end_matches('\r'),
            indent: text[shown_from..start].chars().count(),
            length: text[start..stop.clamp(start, shown_to)].chars().count().max(1),
        }
    }
}

/// The known word closest to `found`, if any is close: by insertions, deletions, substitutions, and swaps of
/// neighbours.
pub(crate) fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |word: &str| word.to_ascii_lowercase().replace('-', "_");
    let found = plain(found);
    let limit = (found.chars().count() / 3).clamp(1, 3);
    known
        .into_iter()
        .map(|word| (strsim::osa_distance(&found, &plain(word)), word))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, word)| word)
}

/// The nearest name, or all of them.
pub(crate) fn advice(found: &str, known: &[&str]) -> String {
    match nearest(found, known.iter().copied()) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("expected one of: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_near_misses() {
        let known = ["rate", "duration", "connections", "unix_socket"];
        for (found, expected) in [
            ("rte", Some("rate")),
            ("raet", Some("rate")),
            ("Rate", Some("rate")),
            ("conections", Some("connections")),
            ("unix-socket", Some("unix_socket")),
            ("speed", None),
            ("", None),
        ] {
            assert_eq!(nearest(found, known), expected, "{found}");
        }
    }

    #[test]
    fn quotes_the_line_with_a_caret() {
        let place =
            |text: &str, span| SourceLocation::File { name: "p.toml".into(), text: text.into(), span };
        for (text, span, expected) in [
            ("a = 1\nb = \"é\" # x\n", 10..14, "p.toml:2:5: wrong\n 2 | b = \"é\" # x\n   |     ^^^"),
            ("a = '''\nx\n'''", 4..13, "p.toml:1:5: wrong\n 1 | a = '''\n   |     ^^^"),
            ("a = ", 4..4, "p.toml:1:5: wrong\n 1 | a = \n   |     ^"),
            ("", 0..0, "p.toml:1:1: wrong\n 1 | \n   | ^"),
            ("a\r\nb\r\n", 3..4, "p.toml:2:1: wrong\n 2 | b\n   | ^"),
        ] {
            assert_eq!(Error::at(&place(text, span), "wrong").to_string(), expected);
        }
        let long = format!("{}X{}", "a".repeat(500), "b".repeat(500));
        let error = Error::at(&place(&long, 500..501), "wrong").to_string();
        let lines: Vec<_> = error.lines().collect();
        assert_eq!(lines[0], "p.toml:1:501: wrong");
        assert_eq!(lines[1].find('X'), lines[2].find('^'));
        assert!(lines[1].len() < 120);
    }
}
