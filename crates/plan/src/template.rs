use crate::form;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::Write as _;
use units::ParseError;

/// Text with placeholders, rendered anew for each arrival.
///
/// What the k-th arrival sends depends on k and the seed alone, so that W workers together send
/// exactly what one would have sent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Template {
    /// Literal and varying parts in order.
    pub pieces: Vec<Piece>,
}

/// One part of a [`Template`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// Sent as it is.
    Literal(Vec<u8>),
    /// `{1..1000}`: one after the other, then from the start again.
    Sequence {
        /// First value.
        from: i64,
        /// Last value, included.
        to: i64,
    },
    /// `{random:1..1000}`: each equally likely.
    Random {
        /// Smallest value.
        from: i64,
        /// Largest value, included.
        to: i64,
    },
    /// `{uuid}`: a version 4 UUID made from the seed.
    Uuid,
    /// `{counter}`: the number of the arrival, from 0, across the whole run.
    Counter,
    /// `{name}`: a value that an earlier step of the flow took from its answer.
    Taken {
        /// Its name.
        name: String,
        /// Which of the flow's takes.
        number: usize,
        /// How it is written where it stands.
        fit: Fit,
    },
    /// `{file:names.csv:column}`: the column's values one after the other, then from the start again.
    Column {
        /// The file as written in the plan.
        file: String,
        /// The column's name in the file's first line.
        column: String,
        /// Its values; empty until [`crate::Plan::bind`] has read the file.
        #[serde(skip)]
        values: Vec<String>,
    },
}

/// How a value that comes from outside is written, by where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Fit {
    /// As it is.
    #[default]
    Raw,
    /// In a path or query: what no path can hold is escaped.
    Path,
    /// In a form field.
    Form,
    /// In a header: control characters are left out.
    Header,
}

/// Whose text is rendered.
#[derive(Debug, Clone, Copy)]
pub struct Who<'a> {
    /// Number of the arrival, from 0, across the whole run.
    pub number: u64,
    /// Seed of everything random.
    pub seed: u64,
    /// What this user took from answers so far; what is not there is rendered as nothing.
    pub taken: &'a [Vec<u8>],
}

impl Template {
    /// Text without placeholders, whatever it holds.
    pub fn literal(text: impl Into<Vec<u8>>) -> Self {
        let text = text.into();
        Self { pieces: if text.is_empty() { Vec::new() } else { vec![Piece::Literal(text)] } }
    }

    /// Finds the placeholders in a text. Braces around anything else are text, as in JSON.
    ///
    /// # Errors
    /// If something begins like a placeholder and is none, such as `{random:1..}`.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Self::parse_bytes(text.as_bytes())
    }

    /// As [`Template::parse`], for a body that need not be text.
    ///
    /// # Errors
    /// As [`Template::parse`].
    pub fn parse_bytes(mut text: &[u8]) -> Result<Self, ParseError> {
        let (mut pieces, mut literal) = (Vec::new(), Vec::new());
        while let Some(open) = text.iter().position(|&b| b == b'{') {
            literal.extend_from_slice(&text[..open]);
            text = &text[open..];
            if let Some((piece, length)) = placeholder(text)? {
                if !literal.is_empty() {
                    pieces.push(Piece::Literal(std::mem::take(&mut literal)));
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
            pieces.push(Piece::Literal(literal));
        }
        Ok(Self { pieces })
    }

    /// Adds the other's pieces at the end, as if their texts had been written one after the other.
    pub fn append(&mut self, other: Self) {
        for piece in other.pieces {
            match (self.pieces.last_mut(), piece) {
                (Some(Piece::Literal(text)), Piece::Literal(more)) => text.extend(more),
                (_, piece) => self.pieces.push(piece),
            }
        }
    }

    /// Whether every arrival sends the same.
    pub fn is_constant(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Literal(_)))
    }

    /// Whether nothing is ever sent.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The text with its placeholders; not the same as [`fmt::Display`] if it is not UTF-8.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => out.extend_from_slice(text),
                other => write!(out, "{other}").expect("a Vec takes every write"),
            }
        }
        out
    }

    /// Appends what this arrival sends. Nothing is allocated beyond the growth of `out`.
    ///
    /// `salt` is the place of this template in the request: templates with different salts draw
    /// independently of each other. [`crate::Request`] has methods that choose it.
    pub fn render(&self, who: &Who<'_>, salt: u64, out: &mut Vec<u8>) {
        let (k, seed) = (who.number, who.seed);
        for (place, piece) in self.pieces.iter().enumerate() {
            // One stream of draws for each piece, one draw for each arrival.
            let draw = || mix(mix(mix(seed, salt), place as u64), k);
            match piece {
                Piece::Literal(text) => out.extend_from_slice(text),
                Piece::Sequence { from, to } => number(within(*from, *to, |span| u128::from(k) % span), out),
                Piece::Random { from, to } => {
                    // The product's upper half is below the span, and as good as even for any span that
                    // people type.
                    let pick = |span: u128| (u128::from(draw()) * span) >> 64;
                    number(within(*from, *to, pick), out);
                }
                Piece::Uuid => uuid(draw(), out),
                Piece::Counter => number(i128::from(k), out),
                Piece::Taken { number, fit, .. } => {
                    if let Some(value) = who.taken.get(*number) {
                        fit.write(value, out);
                    }
                }
                Piece::Column { values, .. } => {
                    if let Some(turn) = k.checked_rem(values.len() as u64) {
                        out.extend_from_slice(values[turn as usize].as_bytes());
                    }
                }
            }
        }
    }
}

impl Fit {
    fn write(self, value: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Raw => out.extend_from_slice(value),
            Self::Path => out.extend_from_slice(form::encode_path(value).as_bytes()),
            Self::Form => out.extend_from_slice(form::encode(value).as_bytes()),
            Self::Header => out.extend(value.iter().filter(|b| !b.is_ascii_control())),
        }
    }
}

/// Back to the text it was parsed from; what is not UTF-8 is shown as `�`.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces.iter().try_for_each(|piece| write!(f, "{piece}"))
    }
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(text) => f.write_str(&String::from_utf8_lossy(text)),
            Self::Sequence { from, to } => write!(f, "{{{from}..{to}}}"),
            Self::Random { from, to } => write!(f, "{{random:{from}..{to}}}"),
            Self::Uuid => f.write_str("{uuid}"),
            Self::Counter => f.write_str("{counter}"),
            Self::Taken { name, .. } => write!(f, "{{{name}}}"),
            Self::Column { file, column, .. } => write!(f, "{{file:{file}:{column}}}"),
        }
    }
}

/// The placeholder at the start of `text`, which is an opening brace, and its length.
fn placeholder(text: &[u8]) -> Result<Option<(Piece, usize)>, ParseError> {
    let named = text.starts_with(b"{random:") || text.starts_with(b"{file:");
    let end = text[1..].iter().position(|b| matches!(b, b'{' | b'}' | b'\n')).map(|end| end + 1);
    let Some(end) = end.filter(|&end| text[end] == b'}') else {
        return if named { Err(mistake(text, "a placeholder that ends in '}'")) } else { Ok(None) };
    };
    let Ok(inner) = std::str::from_utf8(&text[1..end]) else {
        return if named { Err(mistake(&text[..=end], "a placeholder in UTF-8")) } else { Ok(None) };
    };
    let wrong = |expected| mistake(&text[..=end], expected);
    let piece = if let Some(range) = inner.strip_prefix("random:") {
        let (from, to) =
            bounds(range).ok_or_else(|| wrong("a random number such as {random:1..1000}, smallest first"))?;
        Piece::Random { from, to }
    } else if let Some(names) = inner.strip_prefix("file:") {
        // The last colon: a column's name seldom holds one, a path sometimes does.
        let (file, column) = names
            .rsplit_once(':')
            .filter(|(file, column)| !file.is_empty() && !column.is_empty())
            .ok_or_else(|| wrong("a column of a CSV file such as {file:names.csv:column}"))?;
        Piece::Column { file: file.to_owned(), column: column.to_owned(), values: Vec::new() }
    } else if inner == "uuid" {
        Piece::Uuid
    } else if inner == "counter" {
        Piece::Counter
    } else if inner.contains("..") && inner.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'-')) {
        let (from, to) =
            bounds(inner).ok_or_else(|| wrong("a sequence such as {1..1000}, smallest first"))?;
        Piece::Sequence { from, to }
    } else {
        return Ok(None);
    };
    Ok(Some((piece, end + 1)))
}

fn bounds(text: &str) -> Option<(i64, i64)> {
    let (from, to) = text.split_once("..")?;
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (from <= to).then_some((from, to))
}

fn mistake(text: &[u8], expected: &'static str) -> ParseError {
    const SHOWN: usize = 60;
    ParseError { found: String::from_utf8_lossy(&text[..text.len().min(SHOWN)]).into_owned(), expected }
}

/// The value in `from..=to` that stands at the place chosen among all of them.
fn within(from: i64, to: i64, choose: impl FnOnce(u128) -> u128) -> i128 {
    let span = (i128::from(to) - i128::from(from)) as u128 + 1;
    i128::from(from) + choose(span) as i128
}

fn number(value: i128, out: &mut Vec<u8>) {
    write!(out, "{value}").expect("a Vec takes every write");
}

fn uuid(draw: u64, out: &mut Vec<u8>) {
    // RFC 9562: 122 random bits, version 4, variant 10.
    let high = draw & !0xf000 | 0x4000;
    let low = mix(draw, 1) >> 2 | 1 << 63;
    write!(
        out,
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
    .expect("a Vec takes every write");
}

/// A hash of two numbers, one to one in each: the finaliser of SplitMix64 (Steele, Lea and Flood,
/// "Fast splittable pseudorandom number generators", 2014).
fn mix(state: u64, value: u64) -> u64 {
    let mut z = state.rotate_left(32).wrapping_add(value).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &str, k: u64) -> String {
        let mut out = Vec::new();
        let who = Who { number: k, seed: 7, taken: &[] };
        Template::parse(text).expect(text).render(&who, 0, &mut out);
        String::from_utf8(out).expect("text stays text")
    }

    #[test]
    fn renders_placeholders() {
        for (text, k, expected) in [
            ("", 0, ""),
            ("/owners/{1..3}", 0, "/owners/1"),
            ("/owners/{1..3}", 5, "/owners/3"),
            ("/owners/{1..3}", 6, "/owners/1"),
            ("{-2..2}", 1, "-1"),
            ("{5..5}{counter}", 12, "512"),
            ("a{counter}b{counter}c", 42, "a42b42c"),
            ("{random:8..8}", 3, "8"),
        ] {
            assert_eq!(rendered(text, k), expected, "{text} {k}");
        }
    }

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
        ] {
            let template = Template::parse(text).expect(text);
            assert!(template.is_constant(), "{text}");
            assert_eq!(rendered(text, 1), text);
        }
        assert_eq!(rendered(r#"{"id": {1..9}}"#, 3), r#"{"id": 4}"#);
        assert_eq!(rendered("{{counter}}", 3), "{3}");
    }

    #[test]
    fn prints_what_it_parsed() {
        for text in [
            "/a/{1..1000}?q={random:-5..5}&u={uuid}#{counter}",
            "{file:dir:x/names.csv:first name}",
            "{\"a\":{counter}}",
        ] {
            let template = Template::parse(text).expect(text);
            assert!(!template.is_constant());
            assert_eq!(template.to_string(), text);
            assert_eq!(template.to_bytes(), text.as_bytes());
        }
        let bytes = b"\xff{counter}\xfe";
        assert_eq!(Template::parse_bytes(bytes).expect("bytes").to_bytes(), bytes);
    }

    #[test]
    fn mistakes_say_what_was_found_and_expected() {
        for (text, found) in [
            ("/{random:1..}", "{random:1..}"),
            ("/{random:}", "{random:}"),
            ("/{random:9..1}", "{random:9..1}"),
            ("/{random:1..9", "{random:1..9"),
            ("/{1..}", "{1..}"),
            ("/{..5}", "{..5}"),
            ("/{9..1}", "{9..1}"),
            ("/{1..99999999999999999999}", "{1..99999999999999999999}"),
            ("x{file:x}y", "{file:x}"),
            ("x{file:x:}y", "{file:x:}"),
            ("x{file::c}y", "{file::c}"),
        ] {
            let error = Template::parse(text).expect_err(text);
            assert_eq!(error.found, found);
            assert!(error.expected.contains('{') || error.expected.contains('}'), "{error}");
        }
    }

    #[test]
    fn each_random_piece_draws_on_its_own() {
        let template = Template::parse("{random:0..9},{random:0..9}").expect("valid");
        let values = |salt| -> Vec<(u8, u8)> {
            (0..10_000)
                .map(|k| {
                    let mut out = Vec::new();
                    template.render(&Who { number: k, seed: 1, taken: &[] }, salt, &mut out);
                    (out[0] - b'0', out[2] - b'0')
                })
                .collect()
        };
        let (here, there) = (values(0), values(1));
        let mut pairs = [0_u32; 100];
        here.iter().for_each(|(a, b)| pairs[usize::from(a * 10 + b)] += 1);
        // 100 cells of 100 each: χ² with 99 degrees of freedom is below 149 but once in a thousand.
        let chi: f64 = pairs.iter().map(|&n| (f64::from(n) - 100.0).powi(2) / 100.0).sum();
        assert!((50.0..149.0).contains(&chi), "{chi}");
        let equal = here.iter().zip(&there).filter(|(a, b)| a.0 == b.0).count();
        assert!((850..1150).contains(&equal), "{equal}");
    }

    #[test]
    fn uuids_are_version_4_and_differ() {
        let all: std::collections::HashSet<String> = (0..10_000).map(|k| rendered("{uuid}", k)).collect();
        assert_eq!(all.len(), 10_000);
        for uuid in &all {
            assert_eq!(uuid.len(), 36);
            assert_eq!(&uuid[14..15], "4", "{uuid}");
            assert!("89ab".contains(&uuid[19..20]), "{uuid}");
        }
    }

    /// Whoever repeats a run with its seed must send the same requests.
    #[test]
    fn a_seed_means_the_same_text_in_every_version() {
        assert_eq!(
            rendered("{random:1..1000} {random:1..1000} {uuid}", 0),
            "160 361 17b40eef-fae8-4ab9-96f1-a0a1932d2475"
        );
        assert_eq!(
            rendered("{random:1..1000} {random:1..1000} {uuid}", 1),
            "165 752 0163c58c-65db-4ce0-9a8b-095778f8f1b4"
        );
    }

    #[test]
    fn the_full_range_of_numbers_is_no_overflow() {
        let text = format!("{{random:{}..{}}}", i64::MIN, i64::MAX);
        let negative = (0..1000).filter(|&k| rendered(&text, k).starts_with('-')).count();
        assert!((400..600).contains(&negative), "{negative}");
        assert_eq!(rendered(&format!("{{{}..{}}}", i64::MIN, i64::MAX), 0), i64::MIN.to_string());
    }
}
