//! The matrix.

mod combined;
mod java;
mod machine;
mod postgres;
mod waits;

use crate::cell::Cell;

/// All cells, in the order in which they are tried.
pub fn all() -> Vec<Cell> {
    [waits::cells(), machine::cells(), postgres::cells(), java::cells(), combined::cells()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Expected;
    use record::Cause;
    use std::collections::BTreeSet;

    #[test]
    fn the_matrix_is_complete() {
        let cells = all();
        let names: BTreeSet<&str> = cells.iter().map(|cell| cell.name).collect();
        assert_eq!(names.len(), cells.len(), "two cells have the same name");
        for name in names {
            assert!(
                name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
                "{name}"
            );
        }
        let truths: BTreeSet<Cause> = cells
            .iter()
            .filter_map(|cell| match cell.expected {
                Expected::First { cause, .. } => Some(cause),
                Expected::Nothing => None,
            })
            .collect();
        for cause in [
            Cause::Generator,
            Cause::Ports,
            Cause::AcceptQueue,
            Cause::TaskLimit,
            Cause::MemoryLimit,
            Cause::Descriptors,
            Cause::CpuQuota,
            Cause::Cpu,
            Cause::Neighbour,
            Cause::Pool,
            Cause::Workers,
            Cause::Lock,
            Cause::Downstream,
            Cause::PostgresWal,
            Cause::PostgresLock,
            Cause::PostgresCpu,
            Cause::PostgresReads,
            Cause::PostgresConnections,
            Cause::PostgresIdleInTransaction,
            Cause::Gc,
            Cause::ColdJit,
            Cause::Disk,
        ] {
            assert!(truths.contains(&cause), "no cell is broken by {cause:?}");
        }
        assert!(cells.iter().filter(|cell| cell.expected == Expected::Nothing).count() >= 3);
        assert_eq!(cells.iter().filter(|cell| cell.name.starts_with("both-")).count(), 4);
    }

    #[test]
    fn no_cell_takes_longer_than_a_quarter_of_a_minute() {
        for cell in all() {
            let load = cell.load;
            let time = load.warm_up + load.calm_for + load.over_for + load.timeout;
            assert!(time.as_secs() <= 15, "{}: {time:?}", cell.name);
            assert!(cell.pages.iter().all(|page| page.starts_with('/')), "{}", cell.name);
        }
    }
}
