//! Charts that hold something.

use super::pages::Pages;
use crate::document::{Chart, Section};

impl Section {
    /// With a chart, if it holds anything: series without a value are left out.
    pub(super) fn chart(mut self, pages: &Pages, mut chart: Chart) -> Self {
        chart.series.retain(|series| match &series.column {
            Some(column) => pages.holds(column),
            None => !series.points.is_empty(),
        });
        if !chart.series.is_empty() || chart.heat.is_some() {
            self.charts.push(chart);
        }
        self
    }
}

impl Pages {
    /// Whether a column of the page has a value anywhere.
    pub(super) fn holds(&self, column: &str) -> bool {
        self.parts(column).any(|id| self.rows.is_used(id))
    }

    /// Whether it is more than zero anywhere.
    pub(super) fn moves(&self, column: &str) -> bool {
        self.parts(column).any(|id| self.rows.is_moved(id))
    }
}
