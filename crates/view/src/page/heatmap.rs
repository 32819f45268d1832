//! Response times over time, as counts.

use crate::document::Heatmap;
use stats::Histogram;

/// Maximum columns: narrow screens cannot show more.
const MAX_COLUMNS: usize = 240;
/// Maximum rows.
const MAX_ROWS: usize = 48;
/// Stored rows per decade; pairs are joined where times spread widely.
const ROWS_PER_DECADE: f64 = 12.0;
/// From a microsecond to a hundred seconds; outliers count in the outermost rows.
const STORED_ROWS: usize = 96;
const MIN_TIME_S: f64 = 1e-6;

/// Counts over the whole run, in columns as wide as necessary.
#[derive(Debug, Clone)]
pub(super) struct ResponseHeatmap {
    /// Seconds.
    width: f64,
    columns: Vec<[u32; STORED_ROWS]>,
}

impl Default for ResponseHeatmap {
    fn default() -> Self {
        Self { width: 1.0, columns: Vec::new() }
    }
}

impl ResponseHeatmap {
    /// Adds the answers of the second at `at`.
    pub fn add(&mut self, at: f64, response: &Histogram) {
        if response.is_empty() || !(0.0..1e12).contains(&at) {
            return;
        }
        while at / self.width >= MAX_COLUMNS as f64 {
            self.width *= 2.0;
            let pairs = self.columns.chunks(2);
            let sum = |pair: &[[u32; STORED_ROWS]]| {
                let mut sum = pair[0];
                for other in &pair[1..] {
                    sum.iter_mut().zip(other).for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
                }
                sum
            };
            self.columns = pairs.map(sum).collect();
        }
        let place = (at / self.width) as usize;
        if place >= self.columns.len() {
            self.columns.resize(place + 1, [0; STORED_ROWS]);
        }
        for (time, count) in response.counts() {
            let row = ((time.as_secs_f64() / MIN_TIME_S).log10() * ROWS_PER_DECADE)
                .floor()
                .clamp(0.0, STORED_ROWS as f64 - 1.0);
            let cell = &mut self.columns[place][row as usize];
            *cell = cell.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        }
    }

    /// The filled part of the grid; `None` if nothing was answered.
    pub fn grid(&self) -> Option<Heatmap> {
        let used = |row: &usize| self.columns.iter().any(|column| column[*row] > 0);
        let low = (0..STORED_ROWS).find(used)?;
        let high = (0..STORED_ROWS).rfind(used)?;
        let joined = if high - low < MAX_ROWS { 1 } else { 2 };
        let low = low / joined * joined;
        let rows = (high - low) / joined + 1;
        let first = self.columns.iter().position(|column| column.iter().any(|count| *count > 0))?;
        let edge = |row: usize| MIN_TIME_S * 10f64.powf(row as f64 / ROWS_PER_DECADE);
        let counts = self.columns[first..].iter().flat_map(|column| {
            (0..rows).map(move |row| {
                let from = low + row * joined;
                column[from..(from + joined).min(STORED_ROWS)]
                    .iter()
                    .fold(0u32, |sum, c| sum.saturating_add(*c))
            })
        });
        Some(Heatmap {
            x: (first..=self.columns.len()).map(|column| column as f64 * self.width).collect(),
            y: (0..=rows).map(|row| edge(low + row * joined)).collect(),
            counts: counts.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Nanos;

    fn of(times: &[(u64, u64)]) -> Histogram {
        let mut histogram = Histogram::default();
        times.iter().for_each(|(us, count)| histogram.record_many(Nanos::from_micros(*us), *count));
        histogram
    }

    #[test]
    fn every_answer_is_in_one_cell() {
        let mut answers = ResponseHeatmap::default();
        assert_eq!(answers.grid(), None);
        answers.add(3.2, &of(&[(1000, 90), (30_000, 2)]));
        answers.add(4.2, &of(&[(1000, 50)]));
        let grid = answers.grid().expect("something was answered");
        assert_eq!(grid.x, [3.0, 4.0, 5.0]);
        let rows = grid.y.len() - 1;
        assert_eq!(grid.counts.len(), 2 * rows);
        assert_eq!((grid.counts[0], grid.counts[rows - 1], grid.counts[rows]), (90, 2, 50));
        assert!(grid.y[0] <= 0.001_001 && grid.y[1] > 0.001, "{:?}", grid.y);
        assert!(grid.y[rows] > 0.03 && grid.y[rows - 1] <= 0.0301, "{:?}", grid.y);
    }

    #[test]
    fn a_long_run_has_no_more_cells_and_loses_no_answer() {
        let mut answers = ResponseHeatmap::default();
        for second in 0..10_000 {
            answers.add(f64::from(second), &of(&[(10, 3), (90_000_000, 1), (500_000_000, 1)]));
        }
        let grid = answers.grid().expect("something was answered");
        assert!(grid.x.len() <= MAX_COLUMNS + 1 && grid.x.len() > MAX_COLUMNS / 2, "{}", grid.x.len());
        assert!(grid.y.len() <= MAX_ROWS + 1, "{}", grid.y.len());
        assert_eq!(grid.counts.iter().map(|c| u64::from(*c)).sum::<u64>(), 50_000);
        answers.add(f64::INFINITY, &of(&[(1, 1)]));
    }
}
