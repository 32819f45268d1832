use super::RowOrigin;
use super::columns::Columns;
use record::Slice;
use record::catalogue::{LOAD, LoadReader};
use units::Nanos;

/// A histogram bucket.
pub(super) struct Bucket {
    at: RowOrigin,
    of: &'static str,
    from: Nanos,
    to: Nanos,
    count: u64,
}

pub(super) fn columns() -> Columns<Bucket> {
    Columns::new()
        .at(|b: &Bucket| &b.at)
        .text("of", "`response`, `service`, `lateness` or `pacing`", |b| Some(b.of))
        .number("from_seconds", "the least time counted in this bucket", |b| Some(b.from.as_secs_f64()))
        .number("to_seconds", "the largest; 0.1 % more at most", |b| Some(b.to.as_secs_f64()))
        .whole("count", "how many times are in it", |b| Some(b.count))
}

/// All buckets of a trial.
pub(super) fn of(at: &RowOrigin, total: &Slice) -> Vec<Bucket> {
    let times = LOAD.iter().filter_map(|row| match row.read {
        LoadReader::Times(get) => Some((row.measure.name, get(total))),
        _ => None,
    });
    let buckets = times.flat_map(|(of, times)| {
        times.buckets().map(move |(from, to, count)| Bucket { at: at.clone(), of, from, to, count })
    });
    buckets.collect()
}
