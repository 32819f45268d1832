//! The timeline's rows as they arrive: the last few are open, since observations of a second arrive a little after its load; earlier ones
//! are settled. Long runs join neighbours to bound memory.

mod latest;
#[cfg(test)]
mod tests;

pub(super) use latest::LatestRow;

use super::downsample::{join_rows, joined, moments};
use crate::document::{Timeline, TimelineColumn};
use std::collections::{BTreeMap, VecDeque};

/// Maximum rows: an hour of load by the second, and four times the pixel columns of a wide screen.
pub(super) const MAX_ROWS: usize = 4_000;
const OPEN_ROWS: usize = 2;
/// Observations waiting for their second.
const MAX_PENDING: usize = 16;
/// Shorter rows, the rest of a load or its drain, make no rates: the second before extends to their beginning, so that even a one-second
/// load has a visible length.
const WHOLE_S: f64 = 0.75;
/// From a load's end to the first point without measurements.
const AFTER_S: f64 = 0.001;
/// A row that begins this long after the previous one's end is preceded by a gap.
const GAP_S: f64 = 0.5;
/// Initial width of joined stretches, in seconds: each becomes two rows.
const FIRST_WIDTH_S: f64 = 4.0;

/// Column indices and values at one moment.
pub(super) type Cells = Vec<(usize, f32)>;

#[derive(Debug, Clone)]
struct StoredColumn {
    adds: bool,
    /// The column that says whether this was observed: if that has a value and this has none, it is zero.
    whole: Option<usize>,
    /// One value per settled row; NaN where nothing was measured. Seven digits suffice.
    values: Vec<f32>,
    /// Has a value somewhere.
    has_value: bool,
    /// Has a nonzero value somewhere.
    has_nonzero: bool,
}

#[derive(Debug, Clone)]
struct Row {
    from: f64,
    to: f64,
    cells: Cells,
    /// Missing values are those of the row before.
    carries_forward: bool,
}

impl Row {
    fn new(from: f64, to: f64, cells: Cells) -> Self {
        let to = to.max(from + AFTER_S);
        Self { from, to, cells, carries_forward: to - from < WHOLE_S }
    }
}

/// All rows of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct TimelineRows {
    at: Vec<f64>,
    columns: Vec<StoredColumn>,
    column_index: BTreeMap<String, usize>,
    open: VecDeque<Row>,
    /// Values set by the last settled row itself.
    last: Vec<f32>,
    pending: VecDeque<Row>,
    /// Width of joined stretches, in seconds; zero while there are none.
    width: f64,
    generation: u32,
}

impl TimelineRows {
    /// A column's index; created if missing. `whole` is the index of an earlier column.
    pub fn column(&mut self, id: &str, adds: bool, whole: Option<usize>) -> usize {
        if let Some(place) = self.column_index.get(id) {
            return *place;
        }
        let zero = |row: usize| match whole {
            Some(whole) if !self.columns[whole].values[row].is_nan() => 0.0,
            _ => f32::NAN,
        };
        let values: Vec<f32> = (0..self.at.len()).map(zero).collect();
        let used = values.iter().any(|value| !value.is_nan());
        self.columns.push(StoredColumn { adds, whole, values, has_value: used, has_nonzero: false });
        self.column_index.insert(id.to_owned(), self.columns.len() - 1);
        self.columns.len() - 1
    }

    pub fn column_count(&self) -> usize {
        self.columns.len()
    }

    /// Changes whenever settled rows have changed.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// Marks settled rows as changed.
    pub fn renew(&mut self) {
        self.generation += u32::from(!self.at.is_empty());
    }

    /// Number of settled rows.
    pub fn settled(&self) -> usize {
        self.at.len()
    }

    /// End of the last row.
    pub fn end(&self) -> f64 {
        self.open.back().map(|row| row.to).or(self.at.last().copied()).unwrap_or(0.0)
    }

    pub fn has_column(&self, id: &str) -> bool {
        self.column_index.contains_key(id)
    }

    /// Whether a column has any value.
    pub fn has_values(&self, id: &str) -> bool {
        let Some(place) = self.column_index.get(id) else { return false };
        let mut open = self.open.iter().flat_map(|row| &row.cells);
        self.columns[*place].has_value || open.any(|(column, _)| column == place)
    }

    /// Whether it has a nonzero value.
    pub fn has_nonzero(&self, id: &str) -> bool {
        let Some(place) = self.column_index.get(id) else { return false };
        let mut open = self.open.iter().flat_map(|row| &row.cells);
        self.columns[*place].has_nonzero || open.any(|(column, value)| column == place && *value != 0.0)
    }

    /// Adds a second of load.
    pub fn push(&mut self, from: f64, to: f64, cells: Cells) {
        let from = from.max(self.end());
        self.early(from);
        let last = self.open.back().map(|row| row.to);
        if let Some(end) = last.filter(|end| from - end > GAP_S) {
            self.open.push_back(Row::new(end, end, Cells::new()));
            let nothing = Row { carries_forward: false, ..Row::new(end + AFTER_S, from, Cells::new()) };
            self.open.push_back(nothing);
        }
        self.open.push_back(Row::new(from, to, cells));
        while let Some(observed) = self.pending.front() {
            let middle = (observed.from + observed.to) / 2.0;
            let row = self.open.back_mut().expect("one was just pushed");
            if middle >= row.to {
                break;
            }
            let observed = self.pending.pop_front().expect("there is a first");
            row.cells.extend(observed.cells);
        }
        self.settle(OPEN_ROWS);
    }

    /// Adds an observation: it belongs to the second that covers its middle. `expected`: that second is not over yet, and its row will
    /// come.
    pub fn push_observed(&mut self, from: f64, to: f64, cells: Cells, expected: bool) {
        let middle = (from + to) / 2.0;
        let covers = |row: &&mut Row| row.from <= middle && middle < row.to;
        if let Some(row) = self.open.iter_mut().rev().find(covers) {
            row.cells.extend(cells);
        } else if middle < self.end() {
            self.late(middle, cells);
        } else if expected && self.pending.len() < MAX_PENDING {
            self.pending.push_back(Row::new(from, to, cells));
        } else {
            self.push(from, to, cells);
        }
    }

    /// Turns waiting observations into rows, and settles all rows.
    pub fn flush(&mut self) {
        self.early(f64::INFINITY);
        self.settle(0);
    }

    /// Observations whose second never came become their own rows.
    fn early(&mut self, before: f64) {
        while self.pending.front().is_some_and(|observed| (observed.from + observed.to) / 2.0 < before) {
            let observed = self.pending.pop_front().expect("there is a first");
            let from = observed.from.max(self.end());
            self.open.push_back(Row::new(from, observed.to, observed.cells));
        }
    }

    /// Adds an observation to a second settled long ago.
    fn late(&mut self, middle: f64, cells: Cells) {
        let Some(row) = self.at.partition_point(|at| *at <= middle).checked_sub(1) else { return };
        for (place, value) in &cells {
            let column = &mut self.columns[*place];
            column.values[row] = *value;
            column.has_value = true;
            column.has_nonzero |= *value != 0.0;
        }
        let seen = |place: usize| cells.iter().any(|(column, _)| *column == place);
        for column in &mut self.columns {
            if column.whole.is_some_and(seen) && column.values[row].is_nan() {
                column.values[row] = 0.0;
            }
        }
        self.renew();
    }

    /// Settles all but the last `open` rows; if rows are joined, only whole stretches.
    fn settle(&mut self, open: usize) {
        while self.open.len() > open {
            let count = if self.width > 0.0 { self.stretch() } else { 1 };
            if open > 0 && self.open.len() < count + open {
                break;
            }
            let rows: Vec<Row> = self.open.drain(..count).collect();
            self.append(&rows);
            if self.at.len() > MAX_ROWS {
                self.join();
            }
        }
    }

    /// Number of open rows in the first stretch.
    fn stretch(&self) -> usize {
        let stretch = |row: &Row| (row.from / self.width).floor();
        let first = self.open.front().map(stretch);
        self.open.iter().take_while(|row| Some(stretch(row)) == first).count()
    }

    /// Appends one row as it is, several as two.
    fn append(&mut self, rows: &[Row]) {
        let all = self.columns.len();
        let mut values = vec![f32::NAN; all * rows.len()];
        for (number, row) in rows.iter().enumerate() {
            let of_row = &mut values[number * self.columns.len()..][..self.columns.len()];
            row.cells.iter().for_each(|(place, value)| of_row[*place] = *value);
            for (place, column) in self.columns.iter().enumerate() {
                if of_row[place].is_nan() && column.whole.is_some_and(|whole| !of_row[whole].is_nan()) {
                    of_row[place] = 0.0;
                }
            }
            let own = of_row.to_vec();
            if row.carries_forward {
                let before = of_row.iter_mut().zip(&self.last).filter(|(value, _)| value.is_nan());
                before.for_each(|(value, last)| *value = *last);
            }
            self.last = own;
        }
        let whole = 0..rows.len();
        let whole = std::slice::from_ref(&whole);
        for (place, column) in self.columns.iter_mut().enumerate() {
            let of_column = (0..rows.len()).map(|row| values[row * all + place]);
            column.has_value |= of_column.clone().any(|value| !value.is_nan());
            column.has_nonzero |= of_column.clone().any(|value| !value.is_nan() && value != 0.0);
            column.values.extend(joined(whole, |_| join_stored(of_column.clone(), column.adds)));
        }
        let at: Vec<f64> = rows.iter().map(|row| row.from).collect();
        self.at.extend(joined(whole, |range| moments(&at[range])));
    }

    /// Doubles the joined width until about half of the rows suffice.
    fn join(&mut self) {
        while self.at.len() > MAX_ROWS / 4 * 3 {
            self.width = if self.width > 0.0 { self.width * 2.0 } else { FIRST_WIDTH_S };
            if !self.width.is_finite() {
                return;
            }
            let stretch = |at: &f64| (at / self.width).floor();
            let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
            for (row, at) in self.at.iter().enumerate() {
                match ranges.last_mut() {
                    Some(range) if stretch(&self.at[range.start]) == stretch(at) => range.end = row + 1,
                    _ => ranges.push(row..row + 1),
                }
            }
            for StoredColumn { values, adds, .. } in &mut self.columns {
                *values = joined(&ranges, |range| join_stored(values[range].iter().copied(), *adds));
            }
            self.at = joined(&ranges, |range| moments(&self.at[range]));
            self.renew();
        }
    }

    /// These columns of the settled rows from index `first` on. Summed columns add up their parts; missing columns are left out.
    pub fn timeline(&self, first: usize, page_columns: &[PageColumn]) -> Timeline {
        let first = first.min(self.at.len());
        let column = |wanted: &PageColumn| {
            let parts: Vec<&StoredColumn> = wanted
                .sources
                .iter()
                .filter_map(|id| Some(&self.columns[*self.column_index.get(id)?]))
                .collect();
            let whole = parts.first()?;
            let value = |row: usize| {
                let values = parts.iter().filter_map(|part| measured(part.values[row]));
                let any = parts.iter().any(|part| !part.values[row].is_nan());
                any.then(|| values.sum::<f64>())
            };
            let values = (first..self.at.len()).map(value).collect();
            Some(TimelineColumn { id: wanted.id.clone(), values, adds: whole.adds })
        };
        Timeline { at: self.at[first..].to_vec(), columns: page_columns.iter().filter_map(column).collect() }
    }
}

/// A page's column: a stored one, or the sum of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageColumn {
    pub id: String,
    pub sources: Vec<String>,
}

fn measured(value: f32) -> Option<f64> {
    (!value.is_nan()).then(|| f64::from(value))
}

/// As [`join_rows`].
fn join_stored(values: impl Iterator<Item = f32>, adds: bool) -> (f32, f32) {
    let stored = |value: Option<f64>| value.map_or(f32::NAN, |value| value as f32);
    let (first, second) = join_rows(values.map(measured), adds);
    (stored(first), stored(second))
}
