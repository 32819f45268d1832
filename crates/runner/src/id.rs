use record::RunId;

/// Date and time in UTC, and three letters that keep two runs of the same second apart.
pub(crate) fn new_id() -> RunId {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let noise = u64::from(now.subsec_nanos()) / 1000 + 7919 * u64::from(std::process::id());
    RunId(id_of(now.as_secs(), noise))
}

fn id_of(unix_seconds: u64, noise: u64) -> String {
    let (year, month, day) = date(unix_seconds / 86_400);
    let (hour, minute, second) = (unix_seconds / 3600 % 24, unix_seconds / 60 % 60, unix_seconds % 60);
    // Letters and digits that cannot be mistaken for one another.
    const LETTERS: &[u8; 32] = b"23456789abcdefghjkmnpqrstuvwxyz0";
    let tail: String = (0..3).map(|i| char::from(LETTERS[(noise >> (5 * i)) as usize % 32])).collect();
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}-{tail}")
}

/// The Gregorian date of a day counted from 1970-01-01: years begin in March, so that the leap day
/// is the last, and 400 years are 146,097 days.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_time() {
        // Checked with date -u -d @SECONDS.
        for (seconds, expected) in [
            (0, "19700101-000000"),
            (951_827_696, "20000229-123456"),
            (1_795_190_399, "20261120-155959"),
            (4_107_542_400, "21000301-000000"),
        ] {
            assert_eq!(&id_of(seconds, 5)[..15], expected);
        }
        assert_ne!(id_of(0, 1), id_of(0, 2));
    }
}
