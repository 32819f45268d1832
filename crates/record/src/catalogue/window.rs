//! A window, and several as one.

use super::noun::See;
use super::{Listed, Noun, Of, Part, Weights};
use crate::watch::{Host, Network, Own};
use crate::watch::{Metrics, Postgres, SubjectWindow, Window};

impl Window {
    /// All of them as one window, from nothing on and as long as they are together.
    pub fn merged<'a>(windows: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut merged = Self::default();
        windows.into_iter().for_each(|window| merged.add(window));
        merged
    }

    /// Adds a window to others that are one already; they need not be in one piece.
    pub fn add(&mut self, next: &Self) {
        let weights = Weights::of(self.length().as_secs_f64(), next.length().as_secs_f64());
        let count = self.subjects.len().max(next.subjects.len());
        self.subjects.resize_with(count, SubjectWindow::default);
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

    /// All its values.
    pub fn visit(&self, see: &mut See<'_>) {
        for (place, subject) in self.subjects.iter().enumerate() {
            subject.visit(&Of { subject: Some(place), ..Of::default() }, see);
        }
        let of = Of::default();
        self.host.visit(&of, see);
        self.network.visit(&of, see);
        self.postgres.visit(&of, see);
        self.metrics.visit(&of, see);
        self.own.visit(&of, see);
    }

    pub(super) fn list(from: &Listed, list: &mut Vec<Listed>) {
        SubjectWindow::list(from, list);
        Option::<Host>::list(from, list);
        Option::<Network>::list(from, list);
        Option::<Postgres>::list(from, list);
        Option::<Metrics>::list(from, list);
        Own::list(from, list);
    }
}
