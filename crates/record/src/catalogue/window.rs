//! Merging windows.

use super::entity::ValueVisitor;
use super::{CatalogueRow, Component, Entity, ValueLabels, Weights};
use crate::watch::{Host, Network, TormentUsage};
use crate::watch::{Metrics, PostgresWindow, TreeWindow, Window};

impl Window {
    /// Merges all into one window, from zero, as long as they are together.
    pub fn merged<'a>(windows: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut merged = Self::default();
        windows.into_iter().for_each(|window| merged.add(window));
        merged
    }

    /// Merges another window; they need not be contiguous.
    pub fn add(&mut self, next: &Self) {
        let weights = Weights::of(self.length().as_secs_f64(), next.length().as_secs_f64());
        let count = self.subjects.len().max(next.subjects.len());
        self.subjects.resize_with(count, TreeWindow::default);
        for (mine, next) in self.subjects.iter_mut().zip(&next.subjects) {
            mine.merge(next, weights);
        }
        self.host.merge(&next.host, weights);
        self.network.merge(&next.network, weights);
        self.postgres.merge(&next.postgres, weights);
        self.metrics.take_latest(&next.metrics);
        self.own.merge(&next.own, weights);
        self.changes.extend(next.changes.iter().cloned());
        self.to = self.from + self.length() + next.length();
    }

    /// Visits all its values.
    pub fn visit(&self, see: &mut ValueVisitor<'_>) {
        for (place, subject) in self.subjects.iter().enumerate() {
            subject.visit(&ValueLabels { subject: Some(place), ..ValueLabels::default() }, see);
        }
        let of = ValueLabels::default();
        self.host.visit(&of, see);
        self.network.visit(&of, see);
        self.postgres.visit(&of, see);
        self.metrics.visit(&of, see);
        self.own.visit(&of, see);
    }

    pub(super) fn list(from: &CatalogueRow, list: &mut Vec<CatalogueRow>) {
        TreeWindow::list(from, list);
        Option::<Host>::list(from, list);
        Option::<Network>::list(from, list);
        Option::<PostgresWindow>::list(from, list);
        Option::<Metrics>::list(from, list);
        TormentUsage::list(from, list);
    }
}
