//! The last rows, settled or not, for showing the current moment.

use super::{Row, TimelineRows, measured};
use crate::document::{Timeline, TimelineColumn};

/// Older measurements are not current, in seconds.
const RECENT_S: f64 = 10.0;

/// A row with its measurements.
pub(in crate::page) struct LatestRow<'a> {
    rows: &'a TimelineRows,
    at: RowSource<'a>,
}

enum RowSource<'a> {
    Open(&'a Row),
    Settled(usize),
}

impl LatestRow<'_> {
    /// The value of a column.
    pub fn of(&self, id: &str) -> Option<f64> {
        let place = *self.rows.column_index.get(id)?;
        match self.at {
            RowSource::Open(row) => cell(row, place),
            RowSource::Settled(row) => measured(self.rows.columns[place].values[row]),
        }
    }
}

fn cell(row: &Row, place: usize) -> Option<f64> {
    row.cells.iter().find(|(column, _)| *column == place).and_then(|(_, value)| measured(*value))
}

impl TimelineRows {
    /// The last row with a value in this column, if recent.
    pub fn latest_row(&self, id: &str) -> Option<LatestRow<'_>> {
        let place = *self.column_index.get(id)?;
        let open = self.open.iter().rev().find(|row| cell(row, place).is_some()).map(RowSource::Open);
        let settled = || {
            let now = self.end() - RECENT_S;
            let recent = (0..self.at.len()).rev().take_while(|row| self.at[*row] >= now);
            recent.into_iter().find(|row| !self.columns[place].values[*row].is_nan()).map(RowSource::Settled)
        };
        Some(LatestRow { rows: self, at: open.or_else(settled)? })
    }

    /// These columns from `since` on, including open rows; missing columns have no values.
    pub fn recent(&self, since: f64, ids: &[&str]) -> Timeline {
        let first = self.at.partition_point(|at| *at < since);
        let open = || self.open.iter().filter(|row| row.from >= since);
        let column = |id: &&str| {
            let place = self.column_index.get(*id).copied();
            let settled = (first..self.at.len())
                .map(|row| place.and_then(|place| measured(self.columns[place].values[row])));
            let values = settled.chain(open().map(|row| place.and_then(|place| cell(row, place)))).collect();
            TimelineColumn { id: (*id).to_owned(), values, adds: false }
        };
        Timeline {
            at: self.at[first..].iter().copied().chain(open().map(|row| row.from)).collect(),
            columns: ids.iter().map(column).collect(),
        }
    }
}
