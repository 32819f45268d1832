//! Which text in braces is a placeholder.

use crate::{DataSet, Escaping, RowOrder, RowSource, SecretSource, Template, TemplatePiece};
use units::ParseError;

/// The placeholder names known at one place of a plan, beside the built-in ones.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NameScope<'a> {
    /// `{name.column}`.
    pub(crate) data: &'a [DataSet],
    /// `{name}`: extracted by earlier steps, in the order of their numbers.
    pub(crate) extracted: &'a [String],
    /// Extracted by this step or a later one.
    pub(crate) later: &'a [String],
}

impl Template {
    /// Parses the placeholders in a text. Braces around anything else are text, as in JSON.
    ///
    /// # Errors
    /// If something begins like a placeholder but is not one, such as `{random:1..}`.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Self::parse_with(text.as_bytes(), &NameScope::default())
    }

    /// As [`Template::parse`], with known names; the text need not be UTF-8.
    pub(crate) fn parse_with(mut text: &[u8], names: &NameScope<'_>) -> Result<Self, ParseError> {
        let (mut pieces, mut literal) = (Vec::new(), Vec::new());
        while let Some(open) = text.iter().position(|&b| b == b'{') {
            literal.extend_from_slice(&text[..open]);
            text = &text[open..];
            if let Some((piece, length)) = parse_placeholder(text, names)? {
                if !literal.is_empty() {
                    pieces.push(TemplatePiece::Literal(std::mem::take(&mut literal)));
                }
                pieces.push(piece);
                text = &text[length..];
            } else {
                literal.push(b'{');
                text = &text[1..];
            }
        }
        literal.extend_from_slice(text);
        if !literal.is_empty() {
            pieces.push(TemplatePiece::Literal(literal));
        }
        Ok(Self::from_pieces(pieces))
    }
}

/// Reserved words: no step may extract a value under these names.
pub(crate) const RESERVED_NAMES: [&str; 3] = ["uuid", "counter", "redacted"];

/// Whether a text can name a value or a data set.
pub(crate) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// The placeholder at the start of `text`, which is an opening brace, and its length.
fn parse_placeholder(
    text: &[u8],
    names: &NameScope<'_>,
) -> Result<Option<(TemplatePiece, usize)>, ParseError> {
    const PREFIXES: [&str; 4] = ["{random:", "{file:", "{env:", "{secret:"];
    let prefix = PREFIXES.into_iter().find(|prefix| text.starts_with(prefix.as_bytes()));
    let end = text[1..].iter().position(|b| matches!(b, b'{' | b'}' | b'\n')).map(|end| end + 1);
    let Some(end) = end.filter(|&end| text[end] == b'}') else {
        // What follows may be secret, and is not shown.
        let unclosed = |prefix: &str| parse_error(prefix.as_bytes(), "a placeholder that ends in '}'");
        return prefix.map_or(Ok(None), |prefix| Err(unclosed(prefix)));
    };
    let found = &text[..=end];
    let Ok(inner) = std::str::from_utf8(&text[1..end]) else {
        return prefix.map_or(Ok(None), |_| Err(parse_error(found, "a placeholder in UTF-8")));
    };
    let piece = match inner.split_once(':').filter(|_| prefix.is_some()) {
        Some((word, value)) => {
            parse_prefixed(word, value).map_err(|expected| parse_error(found, expected))?
        }
        None => match parse_word(inner, names).map_err(|expected| parse_error(found, expected))? {
            Some(piece) => piece,
            None => return Ok(None),
        },
    };
    Ok(Some((piece, end + 1)))
}

/// `{prefix:value}`.
fn parse_prefixed(prefix: &str, value: &str) -> Result<TemplatePiece, &'static str> {
    match prefix {
        "random" => {
            let range =
                parse_range(value).ok_or("a random number such as {random:1..1000}, smallest first")?;
            Ok(TemplatePiece::Random { from: range.0, to: range.1 })
        }
        "file" => {
            // The last colon: a column's name seldom contains one, a path sometimes does.
            let (file, column) = value
                .rsplit_once(':')
                .filter(|(file, column)| !file.is_empty() && !column.is_empty())
                .ok_or("a column of a CSV file such as {file:names.csv:column}")?;
            Ok(field(RowSource::File(file.to_owned()), column, RowOrder::Cycle))
        }
        "env" => {
            let is_variable = is_name(value) && !value.contains('-');
            let name = is_variable.then(|| value.to_owned());
            let name = name.ok_or("an environment variable such as {env:PASSWORD}")?;
            Ok(secret(SecretSource::Env(name)))
        }
        _ if value.is_empty() => Err("a file that holds a secret such as {secret:token.txt}"),
        _ => Ok(secret(SecretSource::File(value.to_owned()))),
    }
}

/// `{word}`.
fn parse_word(inner: &str, names: &NameScope<'_>) -> Result<Option<TemplatePiece>, &'static str> {
    if inner == "redacted" {
        return Err("a value: this secret was not kept; give it again, best as {env:NAME}");
    }
    if inner == "uuid" {
        return Ok(Some(TemplatePiece::Uuid));
    }
    if inner == "counter" {
        return Ok(Some(TemplatePiece::Counter));
    }
    if inner.contains("..") && inner.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'-')) {
        let (from, to) = parse_range(inner).ok_or("a sequence such as {1..1000}, smallest first")?;
        return Ok(Some(TemplatePiece::Sequence { from, to }));
    }
    // The last of several with one name: a flow may extract a value again.
    if let Some(number) = names.extracted.iter().rposition(|name| name == inner) {
        return Ok(Some(TemplatePiece::Taken { name: inner.to_owned(), number, fit: Escaping::Raw }));
    }
    if names.later.iter().any(|name| name == inner) {
        return Err("known here: it is taken from the answer of this step or of a later one");
    }
    if let Some((name, column)) = inner.split_once('.')
        && let Some(data) = names.data.iter().find(|data| data.name == name)
    {
        if column.is_empty() {
            return Err("a column of a data set such as {users.name}");
        }
        return Ok(Some(field(RowSource::Data(name.to_owned()), column, data.order)));
    }
    Ok(None)
}

fn field(of: RowSource, column: &str, order: RowOrder) -> TemplatePiece {
    TemplatePiece::Field { of, column: column.to_owned(), order, fit: Escaping::Raw, values: [].into() }
}

fn secret(from: SecretSource) -> TemplatePiece {
    TemplatePiece::Secret { from, fit: Escaping::Raw, value: Default::default() }
}

fn parse_range(text: &str) -> Option<(i64, i64)> {
    let (from, to) = text.split_once("..")?;
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (from <= to).then_some((from, to))
}

fn parse_error(text: &[u8], expected: &'static str) -> ParseError {
    const MAX_SHOWN: usize = 60;
    ParseError { found: String::from_utf8_lossy(&text[..text.len().min(MAX_SHOWN)]).into_owned(), expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_braces_are_text() {
        for text in [
            r#"{"name": "a", "list": [{}], "n": {"x": 1}}"#,
            "{",
            "}",
            "{}",
            "{{}}",
            "{uuid4}",
            "{ counter }",
            "{a..b}",
            "{1.5}",
            "{\"range\": \"1..5\"}",
            "{unclosed {",
            "{line\n}",
            "{token}",
            "{users.name}",
            "{environment}",
        ] {
            let template = Template::parse(text).expect(text);
            assert!(template.is_constant(), "{text}");
            assert_eq!(template.to_string(), text);
        }
    }

    #[test]
    fn prints_what_it_parsed() {
        for text in [
            "/a/{1..1000}?q={random:-5..5}&u={uuid}#{counter}",
            "{file:dir:x/names.csv:first name}",
            "{\"a\":{counter}}",
            "{env:PASS_WORD2}{secret:/run/a b.txt}",
        ] {
            let template = Template::parse(text).expect(text);
            assert_eq!(template.to_string(), text);
            assert_eq!(template.to_bytes(), text.as_bytes());
        }
        let bytes = b"\xff{counter}\xfe";
        assert_eq!(Template::parse_with(bytes, &NameScope::default()).expect("bytes").to_bytes(), bytes);
    }

    #[test]
    fn mistakes_say_what_was_found_and_expected() {
        for (text, found) in [
            ("/{random:1..}", "{random:1..}"),
            ("/{random:}", "{random:}"),
            ("/{random:9..1}", "{random:9..1}"),
            ("/{random:1..9", "{random:"),
            ("/{1..}", "{1..}"),
            ("/{..5}", "{..5}"),
            ("/{9..1}", "{9..1}"),
            ("/{1..99999999999999999999}", "{1..99999999999999999999}"),
            ("x{file:x}y", "{file:x}"),
            ("x{file:x:}y", "{file:x:}"),
            ("x{file::c}y", "{file::c}"),
            ("{env:}", "{env:}"),
            ("{env:A-B}", "{env:A-B}"),
            ("{env:1}", "{env:1}"),
            ("{env:A", "{env:"),
            ("{secret:}", "{secret:}"),
        ] {
            let error = Template::parse(text).expect_err(text);
            assert_eq!(error.found, found);
            assert!(error.expected.contains('{') || error.expected.contains('}'), "{error}");
        }
        let error = Template::parse("a{redacted}").expect_err("it is gone").to_string();
        assert!(error.contains("not kept; give it again, best as {env:NAME}"), "{error}");
    }

    #[test]
    fn names_are_placeholders_where_they_are_known() {
        let data = [DataSet { name: "users".to_owned(), file: "u.csv".to_owned(), order: RowOrder::Once }];
        let (extracted, later) =
            (["id".to_owned(), "token".to_owned(), "id".to_owned()], ["cart".to_owned()]);
        let names = NameScope { data: &data, extracted: &extracted, later: &later };
        let parse = |text: &str| Template::parse_with(text.as_bytes(), &names);
        let number = |text: &str| match &parse(text).expect(text).pieces[..] {
            [TemplatePiece::Taken { number, .. }] => *number,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!((number("{id}"), number("{token}")), (2, 1));
        let user = parse("{users.first name}").expect("a column");
        assert!(
            matches!(&user.pieces[..], [TemplatePiece::Field { order: RowOrder::Once, column, .. }] if column == "first name")
        );
        assert_eq!(user.to_string(), "{users.first name}");
        for text in ["{pets.name}", "{users}", "{user.name}", "{Token}"] {
            assert!(parse(text).expect(text).is_constant(), "{text}");
        }
        assert!(parse("{cart}").expect_err("later").to_string().contains("of this step or of a later one"));
        assert!(parse("{users.}").expect_err("no column").to_string().contains("{users.name}"));
    }
}
