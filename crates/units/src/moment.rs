/// A moment, in microseconds since 1970-01-01 (UTC, without leap seconds).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(pub u64);

impl Moment {
    /// From milliseconds since 1970.
    pub fn from_unix_ms(ms: u64) -> Self {
        Self(ms.saturating_mul(1000))
    }

    /// This many seconds later.
    #[must_use]
    pub fn after(self, seconds: f64) -> Self {
        Self(self.0.saturating_add((seconds * 1e6).round() as u64))
    }

    /// Year, month and day of the Gregorian calendar. Years begin in March here, so that the leap day is the last, and
    /// 400 years are 146,097 days.
    pub fn date(self) -> (u64, u64, u64) {
        let days = self.0 / 86_400_000_000 + 719_468;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        (era * 400 + year_of_era + u64::from(month <= 2), month, day)
    }

    /// Hour, minute and second of the day.
    pub fn time(self) -> (u64, u64, u64) {
        let seconds = self.0 / 1_000_000;
        (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)
    }
}

/// RFC 3339: `2026-11-20T16:15:02.500000Z`.
impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ((year, month, day), (hour, minute, second)) = (self.date(), self.time());
        let micros = self.0 % 1_000_000;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_calendars_have_them() {
        // Checked with `date -u -d @SECONDS`.
        for (micros, expected) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (5_097_600_000_000, "1970-03-01T00:00:00.000000Z"),
            (951_827_696_000_001, "2000-02-29T12:34:56.000001Z"),
            (1_795_190_399_500_000, "2026-11-20T15:59:59.500000Z"),
            (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
        ] {
            assert_eq!(Moment(micros).to_string(), expected);
        }
        assert_eq!(Moment::from_unix_ms(1500).after(0.25), Moment(1_750_000));
    }
}
