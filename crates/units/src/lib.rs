//! Quantities with their unit in the type: durations, moments, rates, shares, bytes.
//!
//! Each parses from what people type (`30s`, `250ms`, `1,000/s`, `0.1%`, `2GiB`) and prints in the same form. This crate never reads a
//! clock and never rounds silently: a value that does not fit its type is an error when parsed. [`random`] has seeded random numbers, and
//! [`named!`] defines enums with names.

mod bytes;
mod calendar;
mod moment;
mod nanos;
mod parse_moment;
pub mod random;
mod rate;
mod share;

pub use bytes::Bytes;
pub use calendar::days_since_1970;
pub use moment::Moment;
pub use nanos::Nanos;
pub use rate::Rate;
pub use share::Share;

/// A list of string literals, packed as many to a line as fit.
#[macro_export]
macro_rules! texts {
    ($($text:literal)+) => {
        [$($text),+]
    };
}

/// An enum whose variants have names, with a list of all and the name of each.
#[macro_export]
macro_rules! named {
    ($(#[$about:meta])* $see:vis enum $type:ident { $($(#[$said:meta])* $value:ident = $name:literal,)+ }) => {
        $(#[$about])*
        $see enum $type {
            $($(#[$said])* $value,)+
        }

        #[allow(dead_code)] // not every one needs both
        impl $type {
            /// All variants, in order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// Its name, for people and programs.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }
    };
}

/// A parse error: what was found and what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{found}' is not {expected}")]
pub struct ParseError {
    /// The input text.
    pub found: String,
    /// What is accepted, with an example.
    pub expected: &'static str,
}

/// Splits `"12.5ms"` into `(12.5, "ms")`; commas and underscores may group digits.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '_'))).unwrap_or(text.len());
    let digits: String = text[..end].chars().filter(|c| !matches!(c, ',' | '_')).collect();
    let number: f64 = digits.parse().ok()?;
    number.is_finite().then_some((number, text[end..].trim()))
}

/// A number without trailing zeros, and without its point if nothing follows it: `12.50` is `12.5`, and `3.00` is `3`.
pub fn trim_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// Formats a whole number with digits grouped by three: `1,234,567`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}
