//! Merging the components of entities over several windows.

use super::entity::ValueVisitor;
use super::{CatalogueRow, Entity, ValueLabels};
use std::cmp::Ordering;

/// Weights of what was before, and of what is added.
#[derive(Debug, Clone, Copy)]
pub struct Weights {
    before: f64,
    next: f64,
}

impl Weights {
    /// From two durations, or numbers of looks.
    pub fn of(before: f64, next: f64) -> Self {
        let whole = (before + next).max(f64::MIN_POSITIVE);
        Self { before: before / whole, next: next / whole }
    }

    pub(super) fn mean(self, before: f64, next: f64) -> f64 {
        self.before * before + self.next * next
    }
}

/// An entity in a list of several.
pub trait ListEntity: Entity {
    /// Whether it is the same one in a later window.
    fn is_same(&self, other: &Self) -> bool;
    /// Sort order.
    fn order(&self, _other: &Self) -> Ordering {
        Ordering::Equal
    }
}

/// An optional entity, or a list of them.
pub(crate) trait Component {
    fn list(from: &CatalogueRow, list: &mut Vec<CatalogueRow>);
    fn visit(&self, of: &ValueLabels<'_>, see: &mut ValueVisitor<'_>);
    fn merge(&mut self, next: &Self, weights: Weights);
    fn dilute(&mut self, share: f64, gone: bool);
    /// Takes what was seen last; what was not seen stays.
    fn take_latest(&mut self, next: &Self);
}

impl<N: Entity + Clone> Component for Option<N> {
    fn list(from: &CatalogueRow, list: &mut Vec<CatalogueRow>) {
        N::list(from, list);
    }

    fn visit(&self, of: &ValueLabels<'_>, see: &mut ValueVisitor<'_>) {
        if let Some(entity) = self {
            entity.visit(of, see);
        }
    }

    fn merge(&mut self, next: &Self, weights: Weights) {
        match (self.as_mut(), next) {
            (Some(mine), Some(next)) => mine.merge(next, weights),
            _ => self.take_latest(next),
        }
    }

    fn dilute(&mut self, share: f64, gone: bool) {
        if let Some(entity) = self {
            entity.dilute(share, gone);
        }
    }

    fn take_latest(&mut self, next: &Self) {
        if next.is_some() {
            self.clone_from(next);
        }
    }
}

impl<N: ListEntity + Clone> Component for Vec<N> {
    fn list(from: &CatalogueRow, list: &mut Vec<CatalogueRow>) {
        N::list(from, list);
    }

    fn visit(&self, of: &ValueLabels<'_>, see: &mut ValueVisitor<'_>) {
        self.iter().for_each(|entity| entity.visit(of, see));
    }

    fn merge(&mut self, next: &Self, weights: Weights) {
        for mine in self.iter_mut().filter(|mine| !next.iter().any(|next| mine.is_same(next))) {
            mine.dilute(weights.before, true);
        }
        for next in next {
            match self.iter_mut().find(|mine| mine.is_same(next)) {
                Some(mine) => mine.merge(next, weights),
                None => {
                    self.push(next.clone());
                    if let Some(new) = self.last_mut().filter(|_| weights.before > 0.0) {
                        new.dilute(weights.next, false);
                    }
                }
            }
        }
        self.sort_by(N::order);
    }

    fn dilute(&mut self, share: f64, gone: bool) {
        self.iter_mut().for_each(|entity| entity.dilute(share, gone));
    }

    fn take_latest(&mut self, next: &Self) {
        self.clone_from(next);
    }
}

/// Keeps the last non-empty value.
pub(super) fn keep_latest<W: Default + PartialEq + Clone>(mine: &mut W, next: &W) {
    if *next != W::default() {
        mine.clone_from(next);
    }
}
