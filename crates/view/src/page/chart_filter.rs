//! Drops empty charts.

use super::builder::PageBuilder;
use crate::document::{Chart, Section};

impl Section {
    /// Adds a chart, unless empty.
    pub(super) fn chart(mut self, page: &PageBuilder, chart: Chart) -> Self {
        self.charts.extend(page.without_empty_series(chart));
        self
    }
}

impl PageBuilder {
    /// A chart without its empty series; `None` if nothing is left.
    pub(super) fn without_empty_series(&self, mut chart: Chart) -> Option<Chart> {
        chart.series.retain(|series| match &series.column {
            Some(column) => self.has_values(column),
            None => !series.points.is_empty(),
        });
        (!chart.series.is_empty() || chart.heat.is_some()).then_some(chart)
    }

    /// Whether a page column has any value.
    pub(super) fn has_values(&self, column: &str) -> bool {
        self.parts(column).any(|id| self.rows.has_values(id))
    }

    /// Whether it is above zero anywhere.
    pub(super) fn has_nonzero(&self, column: &str) -> bool {
        self.parts(column).any(|id| self.rows.has_nonzero(id))
    }
}
