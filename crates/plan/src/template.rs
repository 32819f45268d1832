use crate::{Escaping, RowOrder, RowSource, SecretSource, SecretValue};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::Write as _;
use std::sync::Arc;
use units::random::{mix, one_of};

/// Text with placeholders, rendered for each arrival.
///
/// The k-th arrival's text depends on k and the seed alone, so that W workers together send exactly what one would
/// have sent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Template {
    /// Literal and varying parts in order.
    pub pieces: Vec<TemplatePiece>,
    /// Index of its step in the flow: each step has its own random draws.
    pub(crate) step: u32,
}

/// One part of a [`Template`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TemplatePiece {
    /// Sent as is.
    Literal(#[serde(with = "serde_bytes")] Vec<u8>),
    /// `{1..1000}`: in order, then from the start again.
    Sequence {
        /// First value.
        from: i64,
        /// Last value, inclusive.
        to: i64,
    },
    /// `{random:1..1000}`: uniformly distributed.
    Random {
        /// Smallest value.
        from: i64,
        /// Largest value, inclusive.
        to: i64,
    },
    /// `{uuid}`: a version 4 UUID derived from the seed.
    Uuid,
    /// `{counter}`: the arrival's number, from 0, across the whole run.
    Counter,
    /// `{name}`: a value that an earlier step of the flow extracted from its answer.
    Taken {
        /// Its name.
        name: String,
        /// Index among the flow's extractions.
        number: usize,
        /// How it is escaped where it stands.
        fit: Escaping,
    },
    /// `{file:names.csv:column}` or `{users.column}`: a value from the arrival's row.
    Field {
        /// Where its rows come from.
        of: RowSource,
        /// The column's name in the file's first line, or a key of its JSON objects.
        column: String,
        /// Which row an arrival uses.
        order: RowOrder,
        /// How it is escaped where it stands.
        fit: Escaping,
        /// The column's values as escaped; empty until [`crate::Plan::bind`] has read the file.
        #[serde(skip)]
        values: Arc<[String]>,
    },
    /// `{env:NAME}`, `{secret:FILE}`, or a secret written into the plan.
    Secret {
        /// Where it comes from.
        from: SecretSource,
        /// How it is escaped where it stands.
        fit: Escaping,
        /// The value itself; empty until [`crate::Plan::bind`] has read it.
        #[serde(skip)]
        value: SecretValue,
    },
    /// The base64 encoding of the rendered template.
    Base64(Template),
}

/// The arrival, seed and user that a template is rendered for.
#[derive(Debug, Clone, Copy)]
pub struct RenderContext<'a> {
    /// The arrival's number, from 0, across the whole run.
    pub number: u64,
    /// Seed of everything random.
    pub seed: u64,
    /// Values this user has extracted from answers so far; missing ones render as nothing.
    pub extracted: &'a [Vec<u8>],
}

impl Template {
    pub(crate) fn from_pieces(pieces: Vec<TemplatePiece>) -> Self {
        Self { pieces, step: 0 }
    }

    /// Text taken literally, without placeholders.
    pub fn literal(text: impl Into<Vec<u8>>) -> Self {
        let text = text.into();
        Self::from_pieces(if text.is_empty() { Vec::new() } else { vec![TemplatePiece::Literal(text)] })
    }

    /// Appends the other's pieces, as if their texts had been written one after the other.
    pub fn append(&mut self, other: Self) {
        for piece in other.pieces {
            match (self.pieces.last_mut(), piece) {
                (Some(TemplatePiece::Literal(text)), TemplatePiece::Literal(more)) => text.extend(more),
                (_, piece) => self.pieces.push(piece),
            }
        }
    }

    /// Whether every arrival sends the same text.
    pub fn is_constant(&self) -> bool {
        self.pieces.iter().all(|piece| match piece {
            TemplatePiece::Literal(_) | TemplatePiece::Secret { .. } => true,
            TemplatePiece::Base64(inner) => inner.is_constant(),
            _ => false,
        })
    }

    /// What every arrival sends if it is constant.
    pub(crate) fn constant(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.render(&RenderContext { number: 0, seed: 0, extracted: &[] }, 0, &mut out);
        out
    }

    /// Whether nothing is ever sent.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The text with its placeholders; differs from [`fmt::Display`] if it is not UTF-8.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for piece in &self.pieces {
            match piece {
                TemplatePiece::Literal(text) => out.extend_from_slice(text),
                other => write!(out, "{other}").expect("a Vec takes every write"),
            }
        }
        out
    }

    /// Sets where the template stands, so that values from outside are escaped for that place.
    pub(crate) fn set_escaping(&mut self, escaping: Escaping) {
        for piece in &mut self.pieces {
            match piece {
                TemplatePiece::Taken { fit, .. }
                | TemplatePiece::Field { fit, .. }
                | TemplatePiece::Secret { fit, .. } => *fit = escaping,
                _ => {}
            }
        }
    }

    /// Calls `visit` for each piece, nested ones included.
    pub(crate) fn visit_mut(&mut self, visit: &mut dyn FnMut(&mut TemplatePiece)) {
        for piece in &mut self.pieces {
            visit(piece);
            if let TemplatePiece::Base64(inner) = piece {
                inner.visit_mut(visit);
            }
        }
    }

    /// Appends what this arrival sends. Allocates only as `out` grows.
    ///
    /// `salt` is the template's place in the request: templates with different salts draw independently.
    /// [`crate::Request`] has methods that choose it.
    pub fn render(&self, context: &RenderContext<'_>, salt: u64, out: &mut Vec<u8>) {
        let (k, seed) = (context.number, context.seed);
        // The first step draws as a single request does.
        let salt = if self.step == 0 { salt } else { mix(salt, self.step.into()) };
        for (place, piece) in self.pieces.iter().enumerate() {
            // One stream of draws per piece, one draw per arrival.
            let draw = || mix(mix(mix(seed, salt), place as u64), k);
            match piece {
                TemplatePiece::Literal(text) => out.extend_from_slice(text),
                TemplatePiece::Sequence { from, to } => {
                    write_number(pick_in_range(*from, *to, |span| u128::from(k) % span), out)
                }
                TemplatePiece::Random { from, to } => {
                    write_number(pick_in_range(*from, *to, |span| one_of(draw(), span)), out)
                }
                TemplatePiece::Uuid => write_uuid(draw(), out),
                TemplatePiece::Counter => write_number(i128::from(k), out),
                TemplatePiece::Taken { number, fit, .. } => {
                    if let Some(value) = context.extracted.get(*number) {
                        fit.write(value, out);
                    }
                }
                TemplatePiece::Field { of, order, values, .. } => {
                    if let Some(row) = order.row(k, seed, of, values.len()) {
                        out.extend_from_slice(values[row].as_bytes());
                    }
                }
                TemplatePiece::Secret { fit, value, .. } => fit.write(value.bytes(), out),
                TemplatePiece::Base64(inner) => {
                    let start = out.len();
                    inner.render(context, mix(salt, place as u64), out);
                    base64_from(start, out);
                }
            }
        }
    }
}

/// Encodes what starts at `start` to base64 in place, from the last group of three backwards, since each group of
/// four ends beyond those still to be read.
fn base64_from(start: usize, out: &mut Vec<u8>) {
    let length = out.len() - start;
    out.resize(start + length.div_ceil(3) * 4, 0);
    let text = &mut out[start..];
    for group in (0..length.div_ceil(3)).rev() {
        let (mut three, end) = ([0; 3], length.min(group * 3 + 3));
        let three = &mut three[..end - group * 3];
        three.copy_from_slice(&text[group * 3..end]);
        BASE64_STANDARD
            .encode_slice(three, &mut text[group * 4..group * 4 + 4])
            .expect("four bytes take three");
    }
}

/// The text it was parsed from; what is not UTF-8 is shown as `�`.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces.iter().try_for_each(|piece| write!(f, "{piece}"))
    }
}

impl fmt::Display for TemplatePiece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(text) => f.write_str(&String::from_utf8_lossy(text)),
            Self::Sequence { from, to } => write!(f, "{{{from}..{to}}}"),
            Self::Random { from, to } => write!(f, "{{random:{from}..{to}}}"),
            Self::Uuid => f.write_str("{uuid}"),
            Self::Counter => f.write_str("{counter}"),
            Self::Taken { name, .. } => write!(f, "{{{name}}}"),
            Self::Field { of: RowSource::File(file), column, .. } => write!(f, "{{file:{file}:{column}}}"),
            Self::Field { of: RowSource::Data(name), column, .. } => write!(f, "{{{name}.{column}}}"),
            Self::Secret { from, .. } => from.fmt(f),
            Self::Base64(_) => SecretSource::Given.fmt(f),
        }
    }
}

/// The value in `from..=to` at the index that `choose` picks.
fn pick_in_range(from: i64, to: i64, choose: impl FnOnce(u128) -> u128) -> i128 {
    let span = (i128::from(to) - i128::from(from)) as u128 + 1;
    i128::from(from) + choose(span) as i128
}

fn write_number(value: i128, out: &mut Vec<u8>) {
    write!(out, "{value}").expect("a Vec takes every write");
}

fn write_uuid(draw: u64, out: &mut Vec<u8>) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &str, k: u64) -> String {
        let mut out = Vec::new();
        let context = RenderContext { number: k, seed: 7, extracted: &[] };
        Template::parse(text).expect(text).render(&context, 0, &mut out);
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
    fn json_stays_json() {
        assert_eq!(rendered(r#"{"id": {1..9}}"#, 3), r#"{"id": 4}"#);
        assert_eq!(rendered("{{counter}}", 3), "{3}");
    }

    #[test]
    fn base64_is_made_in_place() {
        for text in ["", "a", "ab", "abc", "abcd", "user:{counter}{counter}", "0123456789abcdef"] {
            let template = Template::from_pieces(vec![
                TemplatePiece::Literal(b"Basic ".to_vec()),
                TemplatePiece::Base64(Template::parse(text).expect(text)),
                TemplatePiece::Literal(b".".to_vec()),
            ]);
            let mut out = Vec::new();
            template.render(&RenderContext { number: 42, seed: 7, extracted: &[] }, 0, &mut out);
            let expected = format!("Basic {}.", BASE64_STANDARD.encode(rendered(text, 42)));
            assert_eq!(String::from_utf8(out).expect("text"), expected);
        }
    }

    #[test]
    fn values_from_outside_fit_where_they_stand() {
        let value = "Zoë & \"Co\"/a?b\r\n".as_bytes();
        for (fit, expected) in [
            (Escaping::Raw, "Zoë & \"Co\"/a?b\r\n"),
            (Escaping::Path, "Zo%C3%AB%20&%20%22Co%22/a?b%0D%0A"),
            (Escaping::Form, "Zo%C3%AB+%26+%22Co%22%2Fa%3Fb%0D%0A"),
            (Escaping::Header, "Zoë & \"Co\"/a?b"),
        ] {
            let mut template = Template::from_pieces(vec![TemplatePiece::Taken {
                name: "x".to_owned(),
                number: 1,
                fit: Escaping::Raw,
            }]);
            template.set_escaping(fit);
            let mut out = Vec::new();
            template.render(
                &RenderContext { number: 0, seed: 1, extracted: &[Vec::new(), value.to_vec()] },
                0,
                &mut out,
            );
            assert_eq!(String::from_utf8(out).expect("text"), expected);
            // A value that was not extracted renders as nothing.
            template.render(&RenderContext { number: 0, seed: 1, extracted: &[] }, 0, &mut Vec::new());
        }
    }

    #[test]
    fn each_random_piece_draws_on_its_own() {
        let mut template = Template::parse("{random:0..9},{random:0..9}").expect("valid");
        let values = |template: &Template, salt| -> Vec<(u8, u8)> {
            (0..10_000)
                .map(|k| {
                    let mut out = Vec::new();
                    template.render(&RenderContext { number: k, seed: 1, extracted: &[] }, salt, &mut out);
                    (out[0] - b'0', out[2] - b'0')
                })
                .collect()
        };
        let (here, there) = (values(&template, 0), values(&template, 1));
        let mut pairs = [0_u32; 100];
        here.iter().for_each(|(a, b)| pairs[usize::from(a * 10 + b)] += 1);
        // 100 cells of 100 each: χ² with 99 degrees of freedom exceeds 149 only once in a thousand.
        let chi: f64 = pairs.iter().map(|&n| (f64::from(n) - 100.0).powi(2) / 100.0).sum();
        assert!((50.0..149.0).contains(&chi), "{chi}");
        let equal = here.iter().zip(&there).filter(|(a, b)| a.0 == b.0).count();
        assert!((850..1150).contains(&equal), "{equal}");
        template.step = 1;
        let equal = here.iter().zip(&values(&template, 0)).filter(|(a, b)| a.0 == b.0).count();
        assert!((850..1150).contains(&equal), "steps draw alike: {equal}");
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

    /// Repeating a run with its seed must send the same requests.
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
