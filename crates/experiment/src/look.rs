use crate::experiment::{Experiment, effect_threshold};

impl Experiment {
    /// Updates which arms are comparable.
    pub(crate) fn update_groups(&mut self) {
        for group in &mut self.groups {
            group.update(&self.design, &self.dropped, &self.starts, &mut self.cache);
        }
    }

    /// Analyses the blocks so far.
    pub(crate) fn analyse(&mut self) {
        self.update_groups();
        for (group, placebo) in self.groups.iter().zip(&mut self.placebo_estimates) {
            let (Some(fit), Some(bounds)) = (group.fit(&self.starts), &group.bounds) else { continue };
            let blocks = fit.blocks();
            let Some(half_width) = bounds.get(blocks - 2).copied() else { continue };
            let look = blocks >= self.design.least as usize;
            for place in &group.hypotheses {
                let hypothesis = &self.design.hypotheses[*place];
                let Some(weights) = group.weights(hypothesis) else { continue };
                self.estimates[*place].add_blocks(
                    &fit,
                    &weights,
                    half_width,
                    look,
                    effect_threshold(hypothesis),
                );
            }
            let smallest =
                group.hypotheses.iter().map(|place| effect_threshold(&self.design.hypotheses[*place]));
            let least = smallest.min_by(|a, b| a.delta.total_cmp(&b.delta));
            if let (Some(weights), Some(threshold)) = (group.placebo(), least) {
                placebo.add_blocks(&fit, &weights, half_width, look, threshold);
            }
        }
    }

    /// There are hypotheses, and none can be compared.
    pub(crate) fn is_nothing_comparable(&self) -> bool {
        !self.groups.is_empty() && self.groups.iter().all(|group| group.bounds.is_none())
    }

    /// Each hypothesis has an answer, or never will.
    pub(crate) fn is_decided(&self) -> bool {
        self.groups.iter().all(|group| {
            let done = |place: &usize| {
                let lost = group.weights(&self.design.hypotheses[*place]).is_none();
                lost || self.estimates[*place].answer.is_some()
            };
            group.hypotheses.iter().all(done)
        })
    }
}
