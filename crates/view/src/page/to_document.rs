//! A page as a document.

use super::builder::PageBuilder;
use super::front;
use super::rows::PageColumn;
use crate::document::{Document, PageFront, SCHEMA};
use std::collections::BTreeSet;

impl PageBuilder {
    /// Texts, and all charts.
    pub fn front(&self) -> PageFront {
        front::build(self)
    }

    /// The complete document, with at most so many timeline rows, and only columns that are drawn.
    pub fn document(&self, rows_at_most: usize) -> Document {
        let front = self.front();
        let mut rows = self.rows.clone();
        rows.flush();
        let below = front.sections.iter().flat_map(|section| &section.charts);
        let drawn: BTreeSet<&str> = front
            .pictures
            .iter()
            .chain(below)
            .flat_map(|chart| &chart.series)
            .filter_map(|series| series.column.as_deref())
            .collect();
        let page_columns: Vec<PageColumn> =
            self.page_columns.iter().filter(|wanted| drawn.contains(wanted.id.as_str())).cloned().collect();
        let timeline = rows.timeline(0, &page_columns).downsampled(rows_at_most);
        Document { schema: SCHEMA, front, timeline }
    }
}
