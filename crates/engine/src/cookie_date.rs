//! Parses cookie dates as browsers do (RFC 6265, 5.1.1): day, month, year and time in almost any order and with
//! almost anything between them, as servers write them in many ways.

/// Seconds since 1970; `None` if it is no date.
pub(crate) fn parse(text: &[u8]) -> Option<i64> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(|&b| is_delimiter(b)).filter(|token| !token.is_empty()) {
        if time.is_none()
            && let Some(found) = time_of_day(token)
        {
            time = Some(found);
        } else if day.is_none()
            && let Some(found) = number(token, 1, 2)
        {
            day = Some(found);
        } else if month.is_none()
            && let Some(found) = month_named(token)
        {
            month = Some(found);
        } else if year.is_none()
            && let Some(found) = number(token, 2, 4)
        {
            year = Some(match found {
                70..=99 => found + 1900,
                0..=69 => found + 2000,
                _ => found,
            });
        }
    }
    let ([hour, minute, second], day, month, year) = (time?, day?, month?, year?);
    let is_time = hour <= 23 && minute <= 59 && second <= 59;
    let days = units::days_since_1970(year, month, day)?;
    (is_time && year >= 1601).then_some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b'\t' | 0x20..=0x2f | 0x3b..=0x40 | 0x5b..=0x60 | 0x7b..=0x7e)
}

/// The number at the start of a token, if it has `least` to `most` digits; no digit may follow.
fn number(token: &[u8], least: usize, most: usize) -> Option<i64> {
    let digits = token.iter().take_while(|b| b.is_ascii_digit()).count();
    let value = || token[..digits].iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    (least..=most).contains(&digits).then(value)
}

/// `hh:mm:ss`, whatever the numbers; something other than a digit may follow.
fn time_of_day(token: &[u8]) -> Option<[i64; 3]> {
    let mut parts = token.splitn(3, |&b| b == b':');
    let mut next = || parts.next();
    let (hour, minute, second) = (next()?, next()?, next()?);
    let only_digits = hour.iter().chain(minute).all(u8::is_ascii_digit);
    only_digits.then_some([number(hour, 1, 2)?, number(minute, 1, 2)?, number(second, 1, 2)?])
}

/// 1 to 12, by the first three letters, case-insensitive.
fn month_named(token: &[u8]) -> Option<i64> {
    const NAMES: [&[u8; 3]; 12] =
        [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];
    let found = NAMES
        .into_iter()
        .zip(1..)
        .find(|(name, _)| token.get(..3).is_some_and(|t| t.eq_ignore_ascii_case(*name)));
    found.map(|(_, number)| number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates_are_read_as_browsers_do() {
        for (text, seconds) in [
            ("Wed, 09 Jun 2021 10:18:14 GMT", Some(1_623_233_894)),
            ("Wed, 09-Jun-2021 10:18:14 GMT", Some(1_623_233_894)),
            ("Wednesday, 09-Jun-21 10:18:14 GMT", Some(1_623_233_894)),
            ("Wed Jun  9 10:18:14 2021", Some(1_623_233_894)),
            ("2021 june 9 10:18:14", Some(1_623_233_894)),
            ("9 Jun 2021 1:2:3", Some(1_623_200_523)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Thu, 01-Jan-1970 00:00:10 GMT", Some(10)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799)),
            ("Thu, 29 Feb 2024 00:00:00 GMT", Some(1_709_164_800)),
            ("Thu, 29 Feb 2400 00:00:00 GMT", Some(13_574_563_200)),
            ("Wed, 31 Dec 1969 23:59:59 GMT", Some(-1)),
            ("Mon, 01 Jan 1601 00:00:00 GMT", Some(-11_644_473_600)),
            ("Fri, 01 Jan 1600 00:00:00 GMT", None),
            ("Wed, 29 Feb 2023 00:00:00 GMT", None),
            ("Wed, 31 Apr 2023 00:00:00 GMT", None),
            ("Wed, 00 Apr 2023 00:00:00 GMT", None),
            ("Wed, 09 Jun 2021 24:00:00 GMT", None),
            ("Wed, 09 Jun 2021 10:60:00 GMT", None),
            ("Wed, 09 Jun 2021 10:18 GMT", None),
            ("Wed, 09 Jun 10:18:14 GMT", None),
            ("Wed, 09 2021 10:18:14 GMT", None),
            ("1623233894", None),
            ("0", None),
            ("", None),
        ] {
            assert_eq!(parse(text.as_bytes()), seconds, "{text}");
        }
    }

    proptest! {
        #[test]
        fn garbage_never_panics(text in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = parse(&text);
        }

        #[test]
        fn broken_dates_never_panic(at in 0usize..29, with in any::<u8>()) {
            let mut text = *b"Wed, 09 Jun 2021 10:18:14 GMT";
            text[at] = with;
            let _ = parse(&text);
        }
    }
}
