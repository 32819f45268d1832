//! Downsampling that keeps extremes: a load generator's page that smooths away the one slow second is worse than none.

use crate::document::{Timeline, TimelineColumn};
use std::ops::Range;

/// Joins rows into two: the mean in both for columns that add up, else the minimum and maximum in order of occurrence. `None` if no row
/// has a value.
pub(super) fn join_rows(values: impl Iterator<Item = Option<f64>>, adds: bool) -> (Option<f64>, Option<f64>) {
    let (mut sum, mut count) = (0.0, 0u32);
    let mut least: Option<(usize, f64)> = None;
    let mut most: Option<(usize, f64)> = None;
    for (place, value) in values.enumerate() {
        let Some(value) = value else { continue };
        sum += value;
        count += 1;
        if least.is_none_or(|(_, known)| value < known) {
            least = Some((place, value));
        }
        if most.is_none_or(|(_, known)| value > known) {
            most = Some((place, value));
        }
    }
    let (Some((first, least)), Some((second, most))) = (least, most) else { return (None, None) };
    match (adds, first <= second) {
        (true, _) => {
            let mean = sum / f64::from(count);
            (Some(mean), Some(mean))
        }
        (false, true) => (Some(least), Some(most)),
        (false, false) => (Some(most), Some(least)),
    }
}

/// Times of the two joined rows: the beginning and the middle.
pub(super) fn moments(at: &[f64]) -> (f64, f64) {
    (at[0], at[at.len() / 2])
}

impl Timeline {
    /// Downsamples to at most `rows` rows (but at least two). Of columns that do not add up, each stretch keeps minimum and maximum;
    /// others are averaged.
    #[must_use]
    pub fn downsampled(&self, rows: usize) -> Self {
        let all = self.at.len();
        if all <= rows.max(2) {
            return self.clone();
        }
        let stretches = (rows / 2).max(1);
        let stretch =
            |number: usize| -> Range<usize> { number * all / stretches..(number + 1) * all / stretches };
        let ranges: Vec<Range<usize>> = (0..stretches).map(stretch).collect();
        let of_column = |column: &TimelineColumn| TimelineColumn {
            id: column.id.clone(),
            values: joined(&ranges, |range| join_rows(column.values[range].iter().copied(), column.adds)),
            adds: column.adds,
        };
        let at = joined(&ranges, |range| moments(&self.at[range]));
        Self { at, columns: self.columns.iter().map(of_column).collect() }
    }
}

/// Each range as two values; a range of one row as one.
pub(super) fn joined<T>(ranges: &[Range<usize>], two: impl Fn(Range<usize>) -> (T, T)) -> Vec<T> {
    let each = ranges.iter().flat_map(|range| {
        let (first, second) = two(range.clone());
        std::iter::once(first).chain((range.len() > 1).then_some(second))
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(rows: usize) -> Timeline {
        let value = |row: usize| ((row * 7919) % 1009) as f64;
        let column =
            |id: &str, adds, values: Vec<Option<f64>>| TimelineColumn { id: id.to_owned(), values, adds };
        let unmeasured = |row: usize| (row < rows / 2).then(|| value(row));
        Timeline {
            at: (0..rows).map(|row| row as f64).collect(),
            columns: vec![
                column("response_max", false, (0..rows).map(|row| Some(value(row))).collect()),
                column("a", true, (0..rows).map(|row| Some(value(row))).collect()),
                column("b", true, (0..rows).map(|row| Some(1009.0 - value(row))).collect()),
                column("heap", false, (0..rows).map(unmeasured).collect()),
            ],
        }
    }

    #[test]
    fn extremes_survive_sums_stay_and_nothing_stays_nothing() {
        for (rows, most) in [(1800, 200), (1801, 333), (10, 4), (7, 2), (3, 1)] {
            let whole = timeline(rows);
            let thin = whole.downsampled(most);
            assert!(thin.at.len() <= most.max(2), "{} of {most}", thin.at.len());
            assert!(thin.at.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", thin.at);
            let extreme = |timeline: &Timeline, column: usize| {
                let values = timeline.columns[column].values.iter().flatten().copied();
                values.clone().fold(f64::INFINITY, f64::min)..values.fold(f64::NEG_INFINITY, f64::max)
            };
            assert_eq!(extreme(&thin, 0), extreme(&whole, 0));
            assert_eq!(extreme(&thin, 3), extreme(&whole, 3));
            for (a, b) in thin.columns[1].values.iter().zip(&thin.columns[2].values) {
                let sum = a.expect("measured") + b.expect("measured");
                assert!((sum - 1009.0).abs() < 1e-6, "{sum}");
            }
            if rows > 100 {
                assert_eq!(thin.columns[3].values.last(), Some(&None));
            }
            assert!(thin.columns.iter().all(|column| column.values.len() == thin.at.len()));
        }
    }

    #[test]
    fn what_is_short_stays_as_it_is() {
        let whole = timeline(50);
        assert_eq!(whole.downsampled(50), whole);
        assert_eq!(Timeline::default().downsampled(0), Timeline::default());
    }
}
