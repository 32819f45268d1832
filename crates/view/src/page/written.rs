//! A page as a document.

use super::front;
use super::pages::Pages;
use super::rows::Wanted;
use crate::document::{Document, Front, SCHEMA};
use std::collections::BTreeSet;

impl Pages {
    /// What is said, and every chart.
    pub fn front(&self) -> Front {
        front::of(self)
    }

    /// All of it as it stands, its timeline in at most so many rows, with only the columns that are drawn.
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
        let wanted: Vec<Wanted> =
            self.wanted.iter().filter(|wanted| drawn.contains(wanted.id.as_str())).cloned().collect();
        let timeline = rows.timeline(0, &wanted).thinned(rows_at_most);
        Document { schema: SCHEMA, front, timeline }
    }
}
