//! The timeline columns of a load.

use super::rows::{Cells, TimelineRows};
use crate::Outstanding;
use crate::load_second::is_whole;
use record::catalogue::{LOAD, LoadReader};
use record::{Outcome, Slice};
use units::Nanos;

/// Every load's columns, except outcomes.
const COLUMNS: &str = "offered achieved goodput resent outstanding_max outstanding_mean backlog connections response_p50 \
                       response_p90 response_p99 response_max lateness_p99 service_p99 generator_cpu";

/// The column id of an outcome.
pub(super) fn outcome(outcome: Outcome) -> String {
    format!("outcomes.{}", outcome.name())
}

/// All columns, and whether they add up.
pub(super) fn columns() -> impl Iterator<Item = (String, bool)> {
    let outcomes = Outcome::ALL.map(|each| (outcome(each), true));
    COLUMNS.split(' ').map(|id| (id.to_owned(), false)).chain(outcomes)
}

/// Their values.
pub(super) fn cells(rows: &mut TimelineRows, slice: &Slice) -> Cells {
    let cell = |(id, adds): (String, bool)| {
        let column = rows.column(&id, adds, None);
        Some((column, value(&id, slice).filter(|value| value.is_finite())? as f32))
    };
    columns().filter_map(cell).collect()
}

/// The value of a catalogue measure, by name or field: a percentile if it is a time, the mean or maximum if known per tenth, since what
/// comes and goes within a second is not visible at its end. Counters are per second; partial seconds make no rates, and the drain offers
/// nothing.
fn value(id: &str, slice: &Slice) -> Option<f64> {
    let rate = |counted: f64| is_whole(slice.elapsed).then(|| counted / slice.elapsed.as_secs_f64());
    if let Some(row) = LOAD.iter().find(|row| [row.measure.name, row.measure.field].contains(&id)) {
        return match row.read {
            LoadReader::Rate(get) => rate(get(slice) as f64),
            LoadReader::Number(get) if row.measure.grows => rate(row.measure.quantity.of(get(slice))),
            LoadReader::Number(get) => Some(get(slice)),
            LoadReader::Longest(get) => get(slice).max().map(Nanos::as_secs_f64),
            _ => None,
        };
    }
    let (name, part) = id.rsplit_once('_')?;
    let row = LOAD.iter().find(|row| row.measure.name == name)?;
    if let LoadReader::Tenths(get) = row.read {
        let Outstanding { mean, max, .. } = Outstanding::of(get(slice))?;
        return Some(if part == "max" { max } else { mean });
    }
    let LoadReader::Times(get) = row.read else { return None };
    let time = get(slice).quantile(part.strip_prefix('p')?.parse::<f64>().ok()? / 100.0)?;
    // Nothing is late in a closed loop.
    (name != "lateness" || time > Nanos(1)).then(|| time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An unknown name would draw nothing.
    #[test]
    fn every_column_has_a_value() {
        let mut slice =
            Slice { elapsed: record::SLICE, outstanding: vec![1.0, 1.0, 320.0, 1.0], ..Slice::default() };
        for times in [&mut slice.response, &mut slice.service, &mut slice.lateness] {
            (1..=997u64).for_each(|i| times.record(Nanos::from_micros(i * i)));
        }
        for (id, adds) in columns() {
            assert!(value(&id, &slice).is_some_and(|value| !adds || value == 0.0), "{id}");
        }
        for (id, q) in [("response_p50", 0.5), ("response_p90", 0.9), ("response_max", 1.0)] {
            assert_eq!(value(id, &slice), slice.response.quantile(q).map(Nanos::as_secs_f64), "{id}");
        }
        let (most, mean) = (value("outstanding_max", &slice), value("outstanding_mean", &slice));
        assert_eq!((most, mean), (Some(320.0), Some(80.75)), "what came and went within the second");
    }

    #[test]
    fn the_rest_of_a_second_makes_no_rate() {
        let mut rows = TimelineRows::default();
        let mut slice = Slice { due: 5, elapsed: Nanos::from_millis(60), backlog: 3, ..Slice::default() };
        let at = |rows: &mut TimelineRows, cells: &Cells, id: &str| {
            let column = rows.column(id, false, None);
            cells.iter().find(|(place, _)| *place == column).map(|(_, value)| *value)
        };
        let short = cells(&mut rows, &slice);
        assert_eq!(at(&mut rows, &short, "offered"), None);
        assert_eq!(at(&mut rows, &short, "backlog"), Some(3.0));
        slice.elapsed = Nanos::from_millis(800);
        let whole = cells(&mut rows, &slice);
        assert_eq!(at(&mut rows, &whole, "offered"), Some(6.25));
    }
}
