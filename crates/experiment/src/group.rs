use plan::{ArmMeasure, Hypothesis};
use record::{ArmStart, Design};
use stats::{BlockDesign, LookSchedule, half_widths};
use std::sync::Arc;

use crate::random::Normal;

/// Experiments simulated for the bounds: the error probability is accurate to about 0.1 points at 5 %.
const MAX_PATHS: usize = 40_000;
/// Maximum normal numbers drawn, a second's work: long and wide designs get fewer paths.
const MAX_DRAWS: usize = 32_000_000;
/// The share of the error probability spent at the first look; `docs/method/experiment.md` explains why so much.
pub(crate) const FIRST_LOOK_SHARE: f64 = 0.62;
/// The bounds are the same for every seed of the order.
const SEED_LABEL: [u8; 32] = *b"torment experiment bounds       ";

/// Hypotheses answered from the same figures.
#[derive(Debug, Clone)]
pub(crate) struct HypothesisGroup {
    pub(crate) probe: usize,
    pub(crate) measure: ArmMeasure,
    /// Indices of the hypotheses.
    pub(crate) hypotheses: Vec<usize>,
    /// What has a figure in every block.
    pub(crate) rows: Vec<Row>,
    /// Half widths for each number of blocks from two on; none if nothing can be compared.
    pub(crate) bounds: Option<Arc<Vec<f64>>>,
}

/// One start in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) arm: usize,
    pub(crate) placebo: bool,
}

/// The arms that a contrast compares.
pub(crate) fn compared_arms(contrast: &[(usize, f64)]) -> impl Iterator<Item = usize> {
    contrast.iter().filter(|(_, weight)| *weight != 0.0).map(|(arm, _)| *arm)
}

/// Whether a start counts for this arm in the blocks.
pub(crate) fn counts(start: &ArmStart, arm: usize) -> bool {
    start.arm == arm && start.block > 0 && start.void.is_none()
}

/// The starts of the baseline that make the pilot.
pub(crate) fn pilot(starts: &[ArmStart]) -> impl Iterator<Item = &ArmStart> {
    starts.iter().filter(|start| start.block == 0 && start.void.is_none())
}

/// Bounds by their comparisons.
pub(crate) type BoundsCache = Vec<(Vec<Vec<f64>>, Arc<Vec<f64>>)>;

impl HypothesisGroup {
    /// The groups of a design, in the order of its hypotheses.
    pub(crate) fn all(design: &Design) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for (place, hypothesis) in design.hypotheses.iter().enumerate() {
            let same =
                |group: &&mut Self| group.probe == hypothesis.probe && group.measure == hypothesis.measure;
            if let Some(group) = groups.iter_mut().find(same) {
                group.hypotheses.push(place);
                continue;
            }
            let Hypothesis { probe, measure, .. } = *hypothesis;
            groups.push(Self { probe, measure, hypotheses: vec![place], rows: Vec::new(), bounds: None });
        }
        groups
    }

    /// Determines the comparable arms, and recomputes the bounds if those changed. An arm is left out if it was dropped, or if its starts
    /// so far never gave this figure: it must not cost the others theirs.
    pub(crate) fn update(
        &mut self,
        design: &Design,
        dropped: &[Option<String>],
        starts: &[ArmStart],
        cache: &mut BoundsCache,
    ) {
        let has_figures = |arm: usize| {
            let mut of = starts.iter().filter(|visit| counts(visit, arm));
            of.clone().next().is_none() || of.any(|visit| self.figure(visit).is_some())
        };
        let mut arms = design.probes[self.probe].arms.clone();
        arms.retain(|arm| dropped[*arm].is_none() && has_figures(*arm));
        arms.sort_unstable();
        arms.dedup();
        let placebo = arms.contains(&0).then_some(Row { arm: 0, placebo: true });
        let rows: Vec<Row> =
            arms.iter().map(|arm| Row { arm: *arm, placebo: false }).chain(placebo).collect();
        if rows == self.rows {
            return;
        }
        self.rows = rows;
        let contrasts: Vec<Vec<f64>> =
            self.hypotheses.iter().filter_map(|asked| self.weights(&design.hypotheses[*asked])).collect();
        self.bounds = (!contrasts.is_empty()).then(|| self.bounds(design, contrasts, cache));
    }

    fn bounds(&self, design: &Design, contrasts: Vec<Vec<f64>>, cache: &mut BoundsCache) -> Arc<Vec<f64>> {
        if let Some((_, known)) = cache.iter().find(|(of, _)| *of == contrasts) {
            return Arc::clone(known);
        }
        let (treatments, least, most) = (self.rows.len(), design.least as usize, design.most as usize);
        let alpha = (1.0 - design.confidence.0) / Self::all(design).len() as f64;
        let paths = MAX_PATHS.min(MAX_DRAWS / (treatments * most));
        let schedule = LookSchedule {
            treatments,
            contrasts: &contrasts,
            first_look: least,
            last_look: most,
            alpha,
            first_share: FIRST_LOOK_SHARE,
            paths,
        };
        let mut normal = Normal::new(SEED_LABEL);
        let found = Arc::new(half_widths(&schedule, || normal.next()));
        cache.push((contrasts, Arc::clone(&found)));
        found
    }

    /// The weights of a hypothesis for each row; none if one of its arms is missing. The baseline's weight is shared by its two starts in
    /// a block: both are of the unchanged plan, and the placebo distinguishes them.
    pub(crate) fn weights(&self, hypothesis: &Hypothesis) -> Option<Vec<f64>> {
        let mut weights = vec![0.0; self.rows.len()];
        for (arm, weight) in hypothesis.contrast.iter().filter(|(_, weight)| *weight != 0.0) {
            let rows: Vec<usize> = (0..self.rows.len()).filter(|row| self.rows[*row].arm == *arm).collect();
            if rows.is_empty() {
                return None;
            }
            rows.iter().for_each(|row| weights[*row] = weight / rows.len() as f64);
        }
        Some(weights)
    }

    /// The weights that compare the baseline's second start of a block with its first.
    pub(crate) fn placebo(&self) -> Option<Vec<f64>> {
        let weight = |row: &Row| match (row.arm, row.placebo) {
            (0, false) => -1.0,
            (0, true) => 1.0,
            _ => 0.0,
        };
        self.rows.iter().any(|row| row.placebo).then(|| self.rows.iter().map(weight).collect())
    }

    /// The logarithm of a start's figure. A figure of zero or below has none, and is missing.
    pub(crate) fn figure(&self, start: &ArmStart) -> Option<f64> {
        let taken = start.taken.iter().find(|taken| taken.probe == self.probe)?;
        let (_, figure) = taken.figures.iter().find(|(measure, _)| *measure == self.measure)?;
        (figure.is_finite() && *figure > 0.0).then(|| figure.ln())
    }

    /// The blocks in which every row has a figure.
    pub(crate) fn fit(&self, starts: &[ArmStart]) -> Option<BlockDesign> {
        let of_row = |block: &[ArmStart], row: &Row| {
            let same = |visit: &&ArmStart| counts(visit, row.arm) && visit.placebo == row.placebo;
            block.iter().find(same).and_then(|visit| self.figure(visit))
        };
        let block_row =
            |block: &[ArmStart]| self.rows.iter().map(|row| of_row(block, row)).collect::<Option<Vec<f64>>>();
        let blocks = starts.chunk_by(|a, b| a.block == b.block);
        BlockDesign::fit(&blocks.filter_map(block_row).collect::<Vec<_>>())
    }
}
