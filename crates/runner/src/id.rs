use record::RunId;
use units::Moment;

/// UTC date and time, and three letters that keep runs of the same second apart.
pub(crate) fn new_id() -> RunId {
    let Moment(now) = sys::now();
    let noise = now % 1_000_000 + 7919 * u64::from(std::process::id());
    RunId(id_of(now / 1_000_000, noise))
}

fn id_of(unix_seconds: u64, noise: u64) -> String {
    let now = Moment::from_unix_ms(unix_seconds.saturating_mul(1000));
    let ((year, month, day), (hour, minute, second)) = (now.date(), now.time());
    // Letters and digits that cannot be mistaken for one another.
    const LETTERS: &[u8; 32] = b"23456789abcdefghjkmnpqrstuvwxyz0";
    let tail: String = (0..3).map(|i| char::from(LETTERS[(noise >> (5 * i)) as usize % 32])).collect();
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}-{tail}")
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
