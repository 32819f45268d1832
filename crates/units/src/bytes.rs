use crate::{ParseError, number_and_unit};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An amount of memory or data, in bytes; printed in powers of 1024.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

const UNITS: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // From where one decimal would round to 1024 of the next smaller unit.
        let fits = |(_, size): &&(&str, u64)| self.0 >= size - size / 1024 / 20;
        match UNITS.iter().find(fits) {
            Some((unit, size)) => {
                let text = format!("{:.1}", self.0 as f64 / *size as f64);
                f.pad(&format!("{} {unit}", text.trim_end_matches(".0")))
            }
            None => f.pad(&format!("{} B", self.0)),
        }
    }
}

/// `512`, `64KiB`, `2 GiB`; `K`, `M`, `G`, `T` alone mean the same powers of 1024.
impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = || ParseError { found: text.to_owned(), expected: "a size such as 512, 64KiB or 2GiB" };
        let (number, unit) = number_and_unit(text).ok_or_else(error)?;
        let factor = match unit {
            "" | "B" => 1,
            _ => UNITS
                .iter()
                .find(|(name, _)| *name == unit || name[..1] == *unit)
                .map(|(_, size)| *size)
                .ok_or_else(error)?,
        };
        let bytes = (number * factor as f64).round();
        // 2^64 is the first that does not fit.
        if bytes >= u64::MAX as f64 { Err(error()) } else { Ok(Self(bytes as u64)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_prints() {
        for (text, bytes, printed) in [
            ("512", 512, "512 B"),
            ("64KiB", 65536, "64 KiB"),
            ("2G", 2 << 30, "2 GiB"),
            ("1.5 MiB", 1_572_864, "1.5 MiB"),
        ] {
            let parsed: Bytes = text.parse().expect(text);
            assert_eq!(parsed.0, bytes, "{text}");
            assert_eq!(parsed.to_string(), printed);
        }
        // A size too large for u64 was taken for the largest one.
        for text in ["2 elephants", "99999999999TiB", "16777216TiB"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
        for (bytes, printed) in
            [(1023, "1023 B"), (1024, "1 KiB"), ((1 << 20) - 1, "1 MiB"), ((1 << 30) - (1 << 10), "1 GiB")]
        {
            assert_eq!(Bytes(bytes).to_string(), printed);
        }
    }
}
