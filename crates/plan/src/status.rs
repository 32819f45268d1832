use crate::StatusRange;
use std::fmt;
use std::str::FromStr;
use units::ParseError;

/// `200`, `2xx`, `200-299`.
impl FromStr for StatusRange {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = || ParseError {
            found: text.to_owned(),
            expected: "a status such as 200, 2xx or 200-299, between 100 and 999",
        };
        let text = text.trim();
        let digits =
            |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let status = |text: &str| digits(text.trim()).filter(|s| (100..=999).contains(s));
        let (first, last) = if let Some(class) = text.strip_suffix("xx").or_else(|| text.strip_suffix("XX")) {
            let class = digits(class).filter(|c| (1..=9).contains(c)).ok_or_else(error)?;
            (class * 100, class * 100 + 99)
        } else {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            (status(first).ok_or_else(error)?, status(last).ok_or_else(error)?)
        };
        if first > last {
            return Err(error());
        }
        Ok(Self(first, last))
    }
}

/// As parsed, in the shortest form.
impl fmt::Display for StatusRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self(first, last) if first == last => write!(f, "{first}"),
            Self(first, last) if first % 100 == 0 && last == first + 99 => write!(f, "{}xx", first / 100),
            Self(first, last) => write!(f, "{first}-{last}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_prints() {
        for (text, first, last) in
            [("200", 200, 200), ("2xx", 200, 299), ("200-204", 200, 204), ("999", 999, 999)]
        {
            assert_eq!(text.parse(), Ok(StatusRange(first, last)));
            assert_eq!(StatusRange(first, last).to_string(), text);
        }
        assert_eq!("400-499".parse::<StatusRange>().expect("valid").to_string(), "4xx");
        for text in ["", "20", "1000", "10xx", "x", "xx", "2x", "299-200", "200-", "-", "0xx", "+200"] {
            assert!(text.parse::<StatusRange>().is_err(), "{text}");
        }
    }
}
