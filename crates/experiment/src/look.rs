use crate::experiment::{Experiment, effect_threshold};

impl Experiment {
    /// Updates which arms are comparable.
    pub(crate) fn update_groups(&mut self) {
        for group in &mut self.groups {
            group.settle(&self.design, &self.dropped, &self.visits, &mut self.cache);
        }
    }

    /// Analyses the blocks so far.
    pub(crate) fn analyse(&mut self) {
        self.update_groups();
        for (group, placebo) in self.groups.iter().zip(&mut self.placebos) {
            let (Some(fit), Some(bounds)) = (group.fit(&self.visits), &group.bounds) else { continue };
            let blocks = fit.blocks();
            let Some(half) = bounds.get(blocks - 2).copied() else { continue };
            let look = blocks >= self.design.least as usize;
            for place in &group.asked {
                let asked = &self.design.hypotheses[*place];
                let Some(weights) = group.weights(asked) else { continue };
                self.found[*place].take(&fit, &weights, half, look, effect_threshold(asked));
            }
            let least = group.asked.iter().map(|place| effect_threshold(&self.design.hypotheses[*place]));
            let least = least.min_by(|a, b| a.delta.total_cmp(&b.delta));
            if let (Some(weights), Some(worth)) = (group.placebo(), least) {
                placebo.take(&fit, &weights, half, look, worth);
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
                lost || self.found[*place].answer.is_some()
            };
            group.asked.iter().all(done)
        })
    }
}
