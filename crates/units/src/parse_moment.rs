//! A moment as people type it: a date, or how long ago.

use crate::{Moment, ParseError, days_since_1970};

const EXPECTED: &str =
    "a moment: how long ago, such as 30m, 2h or 3d, or a date, such as 2026-11-20 or 2026-11-20T16:15:02Z";

impl Moment {
    /// Milliseconds since 1970, rounded down.
    pub fn unix_ms(self) -> u64 {
        self.0 / 1000
    }

    /// `90s`, `30m`, `2h`, `3d`, `4w` before now, with or without `ago`; or an RFC 3339 date: without a time of day its beginning,
    /// without an offset in UTC.
    ///
    /// # Errors
    /// Anything else, and moments before 1970.
    pub fn parse(text: &str, now: Self) -> Result<Self, ParseError> {
        let text = text.trim();
        let found = parse_ago(text)
            .map(|micros| Self(now.0.saturating_sub(micros)))
            .or_else(|| Self::from_date(text));
        found.ok_or_else(|| ParseError { found: text.to_owned(), expected: EXPECTED })
    }

    /// RFC 3339, section 5.6, except that a space may precede the time of day, and seconds, offset and its colon are optional. None
    /// before 1970.
    pub fn from_date(text: &str) -> Option<Self> {
        let (day, time) = match text.split_once(['T', 't', ' ']) {
            Some((day, time)) => (day, Some(time)),
            None => (text, None),
        };
        let mut parts = day.split('-');
        let (year, month, date) = (
            parse_digits(parts.next()?, 4)?,
            parse_digits(parts.next()?, 2)?,
            parse_digits(parts.next()?, 2)?,
        );
        if parts.next().is_some() {
            return None;
        }
        let days = days_since_1970(year as i64, month as i64, date as i64)?;
        let (micros, offset_s) = time.map_or(Some((0, 0)), parse_time_of_day)?;
        let seconds = u64::try_from(days * 86_400 - offset_s).ok()?;
        Some(Self(seconds.checked_mul(1_000_000)?.checked_add(micros)?))
    }
}

/// An age, in microseconds.
fn parse_ago(text: &str) -> Option<u64> {
    let text = text.strip_suffix("ago").map_or(text, str::trim_end);
    let end = text.find(|letter: char| !letter.is_ascii_digit())?;
    let number: u64 = text[..end].parse().ok()?;
    let seconds: u64 = match text[end..].trim_start() {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        _ => return None,
    };
    number.checked_mul(seconds)?.checked_mul(1_000_000)
}

/// Microseconds of the day, and the clock's offset ahead of UTC, in seconds.
fn parse_time_of_day(text: &str) -> Option<(u64, i64)> {
    let at = text.find(['Z', 'z', '+', '-']).unwrap_or(text.len());
    let (clock, offset) = text.split_at(at);
    let (clock, fraction) = clock.split_once('.').map_or((clock, None), |(clock, rest)| (clock, Some(rest)));
    let mut parts = clock.split(':');
    let (hour, minute) = (parse_digits(parts.next()?, 2)?, parse_digits(parts.next()?, 2)?);
    let second = parts.next().map_or(Some(0), |second| parse_digits(second, 2))?;
    // A leap second is the one after it: Unix time does not count it.
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let micros = match fraction {
        None => 0,
        Some(fraction) => {
            let is_number = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| format!("{fraction:0<6}")[..6].parse().ok())??
        }
    };
    let offset_s = match offset {
        "" | "Z" | "z" => 0,
        _ => {
            let digits_of = &offset[1..];
            let (hours, minutes) = digits_of.split_once(':').or_else(|| digits_of.split_at_checked(2))?;
            let (hours, minutes) = (parse_digits(hours, 2)?, parse_digits(minutes, 2)?);
            let ahead = (hours < 24 && minutes < 60).then_some((hours * 3600 + minutes * 60) as i64)?;
            if offset.starts_with('-') { -ahead } else { ahead }
        }
    };
    Some(((hour * 3600 + minute * 60 + second) * 1_000_000 + micros, offset_s))
}

/// A number of exactly `count` digits.
fn parse_digits(text: &str, count: usize) -> Option<u64> {
    (text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment(1_795_190_399_500_000);

    #[test]
    fn how_long_ago() {
        for (text, seconds) in [
            ("90s", 90),
            ("30m", 1800),
            ("30min", 1800),
            ("12h", 43_200),
            ("2d", 172_800),
            ("4w", 2_419_200),
            ("2 h ago", 7200),
            ("3d ago", 259_200),
        ] {
            assert_eq!(Moment::parse(text, NOW), Ok(Moment(NOW.0 - seconds * 1_000_000)), "{text}");
        }
        assert_eq!(Moment::parse("9999999w", NOW), Ok(Moment(0)), "long ago is the beginning");
    }

    #[test]
    fn dates() {
        // Checked with `date -u -d`.
        for (text, expected) in [
            ("1970-01-01", "1970-01-01T00:00:00.000000Z"),
            ("2024-02-29", "2024-02-29T00:00:00.000000Z"),
            ("2026-11-20T16:15:02Z", "2026-11-20T16:15:02.000000Z"),
            ("2026-11-20t16:15:02.5z", "2026-11-20T16:15:02.500000Z"),
            ("2026-11-20 16:15", "2026-11-20T16:15:00.000000Z"),
            ("2026-11-20T00:15:00+01:00", "2026-11-19T23:15:00.000000Z"),
            ("2026-12-31T23:59:60-05:30", "2027-01-01T05:30:00.000000Z"),
            ("2026-11-20T16:15-0530", "2026-11-20T21:45:00.000000Z"),
        ] {
            assert_eq!(
                Moment::parse(text, NOW).map(|moment| moment.to_string()),
                Ok(expected.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn every_day_is_read_as_it_is_written() {
        for day in 0..60_000u64 {
            let moment = Moment(day * 86_400_000_000);
            assert_eq!(Moment::parse(&moment.to_string(), NOW), Ok(moment));
        }
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "2",
            "d",
            "-2d",
            "2y",
            "99999999999999999999d",
            "9999999999999999999w",
            "1.5d",
            "٢d",
            "yesterday",
            "2026-13-01",
            "2026-02-30",
            "2026-1-1",
            "2026-01-01T",
            "2026-01-01T25:00",
            "2026-01-01T10:00:00+1",
            "2026-01-01T10:00:00.",
            "1969-12-31",
            "2026-01-01T10:00é",
            "2026-01-01T10:00+é:00",
            "é",
        ] {
            let refused = Moment::parse(text, NOW).expect_err(text).to_string();
            assert!(refused.contains(&format!("'{text}'")) && refused.contains("2h"), "{refused}");
        }
    }
}
