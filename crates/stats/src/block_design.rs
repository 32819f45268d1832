use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// A randomised complete block design: every treatment once in every block.
///
/// Source: Box, Hunter and Hunter, *Statistics for Experimenters*, 2nd ed. 2005, chapter 4; Montgomery, *Design and Analysis of
/// Experiments*, chapter 4. The model is y = treatment + block + e, with independent e of one variance; what a whole block has in common
/// (a slow quarter of an hour) drops out of every comparison. The residuals are y − treatment mean − block mean + grand mean, with
/// (blocks − 1)(treatments − 1) degrees of freedom.
///
/// Degenerate: fewer than two blocks or two treatments leave no residuals, and give none.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockDesign {
    means: Vec<f64>,
    block_means: Vec<f64>,
    /// Block by block.
    residuals: Vec<f64>,
}

/// A comparison of treatment means, with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contrast {
    /// Σ weight × mean.
    pub estimate: f64,
    /// Its standard error; see [`BlockDesign::contrast`].
    pub error: f64,
}

/// The treatment with the largest residuals, against the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoisiestTreatment {
    /// Its index.
    pub treatment: usize,
    /// Its standard deviation ÷ that of the others.
    pub ratio: f64,
    /// The probability of a ratio this large if all were equal.
    pub chance: f64,
}

impl BlockDesign {
    /// Fits the model to `ys`, one row for each block, with the treatments in the same order.
    pub fn fit(ys: &[Vec<f64>]) -> Option<Self> {
        let (blocks, treatments) = (ys.len(), ys.first()?.len());
        if blocks < 2 || treatments < 2 || ys.iter().any(|row| row.len() != treatments) {
            return None;
        }
        let means: Vec<f64> =
            (0..treatments).map(|t| ys.iter().map(|row| row[t]).sum::<f64>() / blocks as f64).collect();
        let block_means: Vec<f64> =
            ys.iter().map(|row| row.iter().sum::<f64>() / treatments as f64).collect();
        let grand = means.iter().sum::<f64>() / treatments as f64;
        let residual = |(row, of_block): (&Vec<f64>, &f64)| {
            let shift = grand - of_block;
            row.iter().zip(&means).map(|(y, mean)| y - mean + shift).collect::<Vec<_>>()
        };
        let residuals = ys.iter().zip(&block_means).flat_map(residual).collect();
        Some(Self { means, block_means, residuals })
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.block_means.len()
    }

    /// Mean of each treatment.
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// Mean of each block: what everything in it had in common.
    pub fn block_means(&self) -> &[f64] {
        &self.block_means
    }

    /// Degrees of freedom of [`BlockDesign::variance`].
    pub fn freedom(&self) -> f64 {
        self.pool().freedom
    }

    /// The pooled residual variance of all treatments, except one that is plainly noisier. Below the numbers' precision it is 0.
    pub fn variance(&self) -> f64 {
        self.above_rounding(self.pool().variance())
    }

    fn above_rounding(&self, variance: f64) -> f64 {
        let size = self.means.iter().fold(1.0, |most: f64, mean| most.max(mean.abs()));
        if variance.sqrt() < size * 1e-13 { 0.0 } else { variance }
    }

    /// Sum of squared residuals of each treatment.
    fn squares(&self) -> Vec<f64> {
        let treatments = self.means.len();
        let of = |t: usize| self.residuals.iter().skip(t).step_by(treatments).map(|e| e * e).sum();
        (0..treatments).map(of).collect()
    }

    /// Pools the treatments that are alike.
    fn pool(&self) -> PooledVariance {
        let (squares, blocks) = (self.squares(), self.blocks());
        PooledVariance::all(&squares, blocks)
            .without_the_noisy(&squares, noisy_f_ratio(blocks, squares.len()))
    }

    /// Σ weight × mean, and its standard error: the root of a variance ÷ blocks. There are two such variances.
    ///
    /// The comparison's *own* from block to block, as in a paired t test: blocks − 1 degrees of freedom, and no assumption that
    /// treatments are equally noisy. And the *pooled* s² × Σ weight², the textbook's, which has more degrees and assumes it. With up to
    /// three treatments the own is taken: pooling would gain little there, and one noisy treatment weighs most. With more, the larger of
    /// both: that protects a comparison that is noisier than the average. A treatment that is plainly noisier than the rest
    /// ([`BlockDesign::unequal`], at 1 %, and by three times the deviation) does not lend its noise to comparisons without it: those are
    /// pooled, and counted, without it. The cost of these choices can be computed by whoever sets the bounds, for under the model the
    /// ratio of error to estimate does not depend on the variance ([`crate::half_widths`] uses the same rules).
    pub fn contrast(&self, weights: &[f64]) -> Contrast {
        let blocks = self.blocks() as f64;
        let rows = self.residuals.chunks(self.means.len());
        let dot = |row: &[f64]| row.iter().zip(weights).map(|(x, weight)| x * weight).sum::<f64>();
        let own = rows.map(|row| dot(row).powi(2)).sum::<f64>() / (blocks - 1.0);
        let all = PooledVariance::all(&self.squares(), self.blocks());
        let is_noiseless = self.above_rounding(all.variance()) == 0.0;
        let variance = if is_noiseless { 0.0 } else { contrast_variance(own, weights, all, self.pool()) };
        Contrast { estimate: dot(&self.means), error: (variance / blocks).sqrt() }
    }

    /// Whether one treatment is noisier than the others: the largest mean square of one treatment's residuals against that of the others
    /// among themselves, as an F ratio, its probability multiplied by the number of treatments (Bonferroni).
    ///
    /// With k treatments and n blocks, the squares of one treatment's residuals, × k ÷ (k − 1), have n − 1 degrees of freedom; those of
    /// the design without it, which are all squares less these, (n − 1)(k − 2); and the two are independent, as residuals of the smaller
    /// design do not see the treatment that is left out. Assumes normal residuals: heavy tails pass for unequal noise. None for two
    /// treatments, whose residuals mirror each other.
    pub fn unequal(&self) -> Option<NoisiestTreatment> {
        let (squares, blocks) = (self.squares(), self.blocks());
        let all = PooledVariance::all(&squares, blocks);
        if squares.len() < 3 || self.above_rounding(all.variance()) == 0.0 {
            return None;
        }
        let (treatment, ratio) = all.noisiest(&squares)?;
        let (one, others) = freedoms(blocks, squares.len());
        let above = FisherSnedecor::new(one, others).ok()?.sf(ratio);
        Some(NoisiestTreatment {
            treatment,
            ratio: ratio.sqrt(),
            chance: (above * squares.len() as f64).min(1.0),
        })
    }
}

/// Up to this many treatments a comparison's own variance is taken; see [`BlockDesign::contrast`].
const MAX_UNPOOLED: usize = 3;
/// The probability of a false alarm about a noisier treatment.
const NOISY_PROBABILITY: f64 = 0.01;
/// And it must have this many times the variance, three times the deviation: below that the others' comparisons are better off with a
/// little of its noise, which makes up for what their own lack.
const MIN_NOISY_RATIO: f64 = 9.0;

/// Pooled squares of residuals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PooledVariance {
    squares: f64,
    freedom: f64,
    treatments: usize,
    blocks: usize,
    /// The treatment left out.
    excluded: Option<usize>,
}

impl PooledVariance {
    /// Pools all treatments.
    pub(crate) fn all(squares: &[f64], blocks: usize) -> Self {
        let treatments = squares.len();
        let freedom = (blocks as f64 - 1.0) * (treatments as f64 - 1.0);
        Self { squares: squares.iter().sum(), freedom, treatments, blocks, excluded: None }
    }

    fn variance(&self) -> f64 {
        self.squares / self.freedom
    }

    /// The design without a treatment, whose residuals refer to other block means.
    fn without(self, treatment: usize, squares: &[f64]) -> Self {
        let k = self.treatments as f64;
        Self {
            squares: (self.squares - squares[treatment] * k / (k - 1.0)).max(0.0),
            freedom: (self.blocks as f64 - 1.0) * (k - 2.0),
            treatments: self.treatments - 1,
            excluded: Some(treatment),
            ..self
        }
    }

    /// The treatment with the largest squares, and its mean square ÷ that of the design without it.
    fn noisiest(&self, squares: &[f64]) -> Option<(usize, f64)> {
        let treatment = (0..squares.len()).max_by(|a, b| squares[*a].total_cmp(&squares[*b]))?;
        let k = self.treatments as f64;
        let own = squares[treatment] * k / (k - 1.0) / (self.blocks as f64 - 1.0);
        Some((treatment, own / self.without(treatment, squares).variance()))
    }

    /// Leaves out the noisiest treatment if its ratio exceeds `plainly`.
    pub(crate) fn without_the_noisy(self, squares: &[f64], min_ratio: f64) -> Self {
        match self.noisiest(squares) {
            Some((treatment, ratio)) if self.treatments > 2 && ratio > min_ratio => {
                self.without(treatment, squares)
            }
            _ => self,
        }
    }
}

/// Degrees of freedom of one treatment's mean square, and of the design without it.
fn freedoms(blocks: usize, treatments: usize) -> (f64, f64) {
    let one = blocks as f64 - 1.0;
    (one, one * (treatments as f64 - 2.0))
}

/// The F ratio above which a treatment is plainly noisier than the others.
pub(crate) fn noisy_f_ratio(blocks: usize, treatments: usize) -> f64 {
    let (one, others) = freedoms(blocks, treatments);
    match FisherSnedecor::new(one, others) {
        Ok(f) if treatments > 2 => {
            f.inverse_cdf(1.0 - NOISY_PROBABILITY / treatments as f64).max(MIN_NOISY_RATIO)
        }
        _ => f64::INFINITY,
    }
}

/// A comparison's variance, from its own, that of all treatments, and that of those that are alike.
pub(crate) fn contrast_variance(
    own: f64,
    weights: &[f64],
    all: PooledVariance,
    alike: PooledVariance,
) -> f64 {
    let is_part = alike.excluded.is_some_and(|noisy| weights[noisy] != 0.0);
    let pool = if is_part { all } else { alike };
    let pooled = pool.variance() * weights.iter().map(|weight| weight * weight).sum::<f64>();
    if pool.treatments <= MAX_UNPOOLED { own } else { own.max(pooled) }
}

/// Mean and variance of a comparison's standard error, as [`BlockDesign::contrast`] finds it, ÷ the true one.
///
/// The own error has ν = blocks − 1 degrees of freedom and is nearly normal, with mean 1 − 1/4ν and variance 1/2ν (Johnson and Welch,
/// Biometrika 31, 1940). The larger of it and the pooled one, which varies much less and is taken as the true one here, is 1 + max(0,
/// z)/√2ν with a standard normal z: mean 0.399, variance 0.341.
pub fn error_spread(blocks: usize, treatments: usize) -> (f64, f64) {
    let freedom = blocks as f64 - 1.0;
    if treatments <= MAX_UNPOOLED {
        (1.0 - 0.25 / freedom, 0.5 / freedom)
    } else {
        (1.0 + 0.399 / (2.0 * freedom).sqrt(), 0.341 / (2.0 * freedom))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Box, Hunter and Hunter, table 4.4: yield of penicillin by four methods in five blends.
    fn penicillin() -> Vec<Vec<f64>> {
        vec![
            vec![89.0, 88.0, 97.0, 94.0],
            vec![84.0, 77.0, 92.0, 79.0],
            vec![81.0, 87.0, 87.0, 85.0],
            vec![87.0, 92.0, 89.0, 84.0],
            vec![79.0, 81.0, 80.0, 88.0],
        ]
    }

    #[test]
    fn matches_the_textbook() {
        let fit = BlockDesign::fit(&penicillin()).expect("five blocks of four");
        assert_eq!(fit.means(), [84.0, 85.0, 89.0, 86.0]);
        assert_eq!(fit.block_means(), [92.0, 83.0, 85.0, 88.0, 82.0]);
        // Residual sum of squares 226 with 12 degrees of freedom.
        assert_eq!(fit.freedom(), 12.0);
        assert!((fit.variance() - 226.0 / 12.0).abs() < 1e-9);
        assert!(fit.unequal().is_some_and(|unequal| unequal.chance > 0.05));
    }

    #[test]
    fn a_comparison_takes_the_larger_of_two_variances() {
        let fit = BlockDesign::fit(&penicillin()).expect("five blocks of four");
        let pooled = (226.0 / 12.0 * 2.0 / 5.0_f64).sqrt();
        for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
            let mut weights = [0.0; 4];
            (weights[a], weights[b]) = (-1.0, 1.0);
            let found = fit.contrast(&weights);
            let pairs: Vec<f64> = penicillin().iter().map(|row| row[b] - row[a]).collect();
            let mean = pairs.iter().sum::<f64>() / 5.0;
            let own = (pairs.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 4.0 / 5.0).sqrt();
            assert!((found.estimate - mean).abs() < 1e-9);
            assert!((found.error - own.max(pooled)).abs() < 1e-9, "{a} {b}: {found:?}");
        }
    }

    #[test]
    fn of_few_treatments_it_is_the_paired_t_test() {
        let pairs: Vec<Vec<f64>> = penicillin().iter().map(|row| row[..3].to_vec()).collect();
        let found = BlockDesign::fit(&pairs).expect("five blocks of three").contrast(&[-1.0, 1.0, 0.0]);
        // Differences −1, −7, 6, 5, 2: variance 27.5.
        assert!((found.estimate - 1.0).abs() < 1e-9 && (found.error - (27.5_f64 / 5.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn a_block_effect_changes_nothing() {
        let shifted: Vec<Vec<f64>> = penicillin()
            .into_iter()
            .enumerate()
            .map(|(block, row)| row.into_iter().map(|y| y + 100.0 * block as f64).collect())
            .collect();
        let [plain, shifted] = [penicillin(), shifted].map(|ys| BlockDesign::fit(&ys).expect("a fit"));
        let weights = [-0.5, -0.5, 1.0, 0.0];
        let [a, b] = [plain.contrast(&weights), shifted.contrast(&weights)];
        assert!((a.estimate - b.estimate).abs() < 1e-9 && (a.error - b.error).abs() < 1e-9);
    }

    #[test]
    fn a_noisy_treatment_is_told() {
        let ys: Vec<Vec<f64>> = (0..10)
            .map(|i| {
                let small = |k: i32| f64::from((i * 7 + k * 5) % 11) / 11.0;
                vec![small(1), small(2), small(4), 30.0 * small(3)]
            })
            .collect();
        let unequal = BlockDesign::fit(&ys).and_then(|fit| fit.unequal()).expect("a test");
        assert!(unequal.treatment == 3 && unequal.chance < 0.01 && unequal.ratio > 2.0, "{unequal:?}");
    }

    #[test]
    fn a_noisy_treatment_keeps_its_noise_to_itself() {
        let small = |i: i32, k: i32| f64::from((i * 7 + k * 5) % 11) / 11.0;
        let row = |i: i32| vec![small(i, 1), small(i, 2), small(i, 4), small(i, 6), 30.0 * small(i, 3)];
        let whole = BlockDesign::fit(&(0..6).map(row).collect::<Vec<_>>()).expect("a fit");
        let quiet =
            BlockDesign::fit(&(0..6).map(|i| row(i)[..4].to_vec()).collect::<Vec<_>>()).expect("a fit");
        let (found, alone) =
            (whole.contrast(&[-1.0, 1.0, 0.0, 0.0, 0.0]), quiet.contrast(&[-1.0, 1.0, 0.0, 0.0]));
        assert!((found.estimate - alone.estimate).abs() < 1e-9);
        assert!((found.error - alone.error).abs() < 1e-9, "as if it had not been there: {found:?} {alone:?}");
        assert!((whole.variance() - quiet.variance()).abs() < 1e-9 && whole.freedom() == quiet.freedom());
        let with_it = whole.contrast(&[-1.0, 0.0, 0.0, 0.0, 1.0]);
        assert!(with_it.error > 5.0 * found.error, "{with_it:?}");
    }

    #[test]
    fn nothing_to_fit() {
        assert_eq!(BlockDesign::fit(&[]), None);
        assert_eq!(BlockDesign::fit(&[vec![1.0, 2.0]]), None);
        assert_eq!(BlockDesign::fit(&[vec![1.0], vec![2.0]]), None);
        assert_eq!(BlockDesign::fit(&[vec![1.0, 2.0], vec![2.0]]), None);
        let same = BlockDesign::fit(&[vec![1.1, 2.3], vec![1.1, 2.3]]).expect("a fit");
        assert_eq!((same.variance(), same.contrast(&[-1.0, 1.0]).error, same.unequal()), (0.0, 0.0, None));
    }
}
