use record::{HypothesisAnswer, Interval};
use stats::BlockDesign;

/// The state of one comparison, on the logarithmic scale.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ComparisonEstimate {
    /// The estimate at the latest look.
    pub(crate) estimate: f64,
    /// The intersection of the intervals of all looks so far. Before the first look, what a look would give.
    pub(crate) bounds: Option<(f64, f64)>,
    /// Looks were made: the bounds are part of the simultaneous ones.
    pub(crate) has_looked: bool,
    pub(crate) answer: Option<HypothesisAnswer>,
    /// Complete blocks at the latest look.
    pub(crate) blocks: usize,
    /// Degrees of freedom of the noise.
    pub(crate) freedom: f64,
    /// The ratio was identical in every block.
    pub(crate) is_noiseless: bool,
    /// Intervals of two looks are disjoint.
    pub(crate) looks_clash: bool,
}

/// The smallest effect worth having, and its better side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EffectThreshold {
    /// On the logarithmic scale: ln(1 + effect).
    pub(crate) delta: f64,
    /// As [`plan::ArmMeasure::more_is_better`].
    pub(crate) more_is_better: bool,
}

impl ComparisonEstimate {
    /// Updates the comparison, with `half_width` standard errors to either side. From the design's first look on this is a look, which may
    /// decide; before that it is only shown.
    pub(crate) fn add_blocks(
        &mut self,
        fit: &BlockDesign,
        weights: &[f64],
        half_width: f64,
        look: bool,
        threshold: EffectThreshold,
    ) {
        let contrast = fit.contrast(weights);
        let (mut low, mut high) = (
            contrast.estimate - half_width * contrast.error,
            contrast.estimate + half_width * contrast.error,
        );
        if let (true, Some((least, most))) = (self.has_looked, self.bounds) {
            if low.max(least) > high.min(most) {
                self.looks_clash = true;
                (low, high) = (least, most);
            } else {
                (low, high) = (low.max(least), high.min(most));
            }
        }
        self.has_looked = look;
        self.bounds = Some((low, high));
        self.estimate = contrast.estimate.clamp(low, high);
        (self.blocks, self.freedom, self.is_noiseless) = (fit.blocks(), fit.freedom(), contrast.error == 0.0);
        if look {
            self.answer = self.answer.or_else(|| threshold.answer(low, high));
        }
    }

    /// The ratio, with its interval.
    pub(crate) fn ratio(&self) -> Option<Interval> {
        let (low, high) = self.bounds?;
        Some(Interval { value: self.estimate.exp(), low: low.exp(), high: high.exp() })
    }

    /// The interval excludes a ratio of 1.
    pub(crate) fn some_effect(&self) -> bool {
        self.has_looked && self.bounds.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }
}

impl EffectThreshold {
    /// The answer that an interval gives, if any.
    fn answer(self, low: f64, high: f64) -> Option<HypothesisAnswer> {
        let (above, below) = (low > self.delta, high < -self.delta);
        match self.more_is_better {
            _ if low >= -self.delta && high <= self.delta => Some(HypothesisAnswer::NoDifference),
            more if (above && more) || (below && !more) => Some(HypothesisAnswer::Better),
            _ if above || below => Some(HypothesisAnswer::Worse),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_needs_the_whole_interval() {
        let delta = 1.1_f64.ln();
        for (low, high, more, less) in [
            (1.11, 1.3, Some(HypothesisAnswer::Better), Some(HypothesisAnswer::Worse)),
            (0.7, 0.9, Some(HypothesisAnswer::Worse), Some(HypothesisAnswer::Better)),
            (0.92, 1.09, Some(HypothesisAnswer::NoDifference), Some(HypothesisAnswer::NoDifference)),
            (1.01, 1.2, None, None),
            (0.8, 1.2, None, None),
            (0.905, 0.95, None, None),
            (1.2, 1.2, Some(HypothesisAnswer::Better), Some(HypothesisAnswer::Worse)),
            (1.0, 1.0, Some(HypothesisAnswer::NoDifference), Some(HypothesisAnswer::NoDifference)),
        ] {
            let (low, high) = (f64::ln(low), f64::ln(high));
            assert_eq!(
                EffectThreshold { delta, more_is_better: true }.answer(low, high),
                more,
                "{low} {high}"
            );
            assert_eq!(
                EffectThreshold { delta, more_is_better: false }.answer(low, high),
                less,
                "{low} {high}"
            );
        }
    }

    #[test]
    fn looks_narrow_what_is_left_and_an_answer_stays() {
        let rows = |effect: f64, n: i32| -> BlockDesign {
            let noise = |i: i32| f64::from(i % 3 - 1) * 0.01;
            BlockDesign::fit(&(0..n).map(|i| vec![noise(i), effect - noise(i + 1)]).collect::<Vec<_>>())
                .expect("a fit")
        };
        let (weights, worth) = ([-1.0, 1.0], EffectThreshold { delta: 0.1, more_is_better: true });
        let mut found = ComparisonEstimate::default();
        found.add_blocks(&rows(0.3, 3), &weights, 20.0, false, worth);
        assert!(found.answer.is_none() && !found.some_effect(), "shown, not looked at: {found:?}");
        let shown = found.bounds.expect("an interval");
        found.add_blocks(&rows(0.5, 3), &weights, 2.0, true, worth);
        let first = found.bounds.expect("an interval");
        assert!(
            first.0 > 0.4 && found.answer == Some(HypothesisAnswer::Better) && shown.1 < first.0,
            "{first:?} {shown:?}"
        );
        found.add_blocks(&rows(0.49, 6), &weights, 2.0, true, worth);
        let second = found.bounds.expect("an interval");
        assert!(second.0 >= first.0 && second.1 < first.1);
        found.add_blocks(&rows(0.0, 6), &weights, 2.0, true, worth);
        assert!(
            found.looks_clash
                && found.bounds == Some(second)
                && found.answer == Some(HypothesisAnswer::Better)
        );
    }
}
