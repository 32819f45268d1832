//! The fault matrix.

mod combined;
mod java;
mod machine;
mod postgres;
mod waits;

use crate::case::FaultCase;

/// All cases, in the order in which they run.
pub fn all_cases() -> Vec<FaultCase> {
    [waits::cases(), machine::cases(), postgres::cases(), java::cases(), combined::cases()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::ExpectedCause;
    use record::Cause;
    use std::collections::BTreeSet;

    /// Causes without a case yet; a new one needs a case.
    const WITHOUT: [Cause; 10] = [
        Cause::OwnDescriptors,
        Cause::Inside,
        Cause::Freeze,
        Cause::Safepoint,
        Cause::Retransmissions,
        Cause::PacketDrops,
        Cause::DelayedAcks,
        Cause::Tracking,
        Cause::Bandwidth,
        Cause::PostgresCheckpoints,
    ];

    #[test]
    fn the_matrix_is_complete() {
        let cases = all_cases();
        let names: BTreeSet<&str> = cases.iter().map(|cell| cell.name).collect();
        assert_eq!(names.len(), cases.len(), "two cells have the same name");
        for name in names {
            assert!(
                name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
                "{name}"
            );
        }
        let truths: BTreeSet<Cause> = cases
            .iter()
            .filter_map(|case| match case.expected {
                ExpectedCause::First { cause, .. } => Some(cause),
                ExpectedCause::Nothing => None,
            })
            .collect();
        for cause in Cause::ALL {
            let is_shown = truths.contains(cause);
            let is_without = WITHOUT.contains(cause);
            assert_ne!(is_shown, is_without, "{cause:?}: give it a FaultCase, or else name it in WITHOUT");
        }
        assert!(cases.iter().filter(|cell| cell.expected == ExpectedCause::Nothing).count() >= 3);
        assert_eq!(cases.iter().filter(|cell| cell.name.starts_with("both-")).count(), 4);
    }

    #[test]
    fn no_cell_takes_longer_than_a_quarter_of_a_minute() {
        for case in all_cases() {
            let load = case.load;
            let time = load.warm_up + load.base_time + load.overload_time + load.timeout;
            assert!(time.as_secs() <= 15, "{}: {time:?}", case.name);
            assert!(case.pages.iter().all(|page| page.starts_with('/')), "{}", case.name);
        }
    }
}
