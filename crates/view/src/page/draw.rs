//! Charts that hold something.

use super::pages::Pages;
use crate::document::{Chart, Section};

impl Section {
    /// With a chart, if it holds anything.
    pub(super) fn chart(mut self, pages: &Pages, chart: Chart) -> Self {
        self.charts.extend(pages.filled(chart));
        self
    }
}

impl Pages {
    /// A chart without series that have no value; none if it holds nothing.
    pub(super) fn filled(&self, mut chart: Chart) -> Option<Chart> {
        chart.series.retain(|series| match &series.column {
            Some(column) => self.holds(column),
            None => !series.points.is_empty(),
        });
        (!chart.series.is_empty() || chart.heat.is_some()).then_some(chart)
    }

    /// Whether a column of the page has a value anywhere.
    pub(super) fn holds(&self, column: &str) -> bool {
        self.parts(column).any(|id| self.rows.is_used(id))
    }

    /// Whether it is more than zero anywhere.
    pub(super) fn moves(&self, column: &str) -> bool {
        self.parts(column).any(|id| self.rows.is_moved(id))
    }
}
