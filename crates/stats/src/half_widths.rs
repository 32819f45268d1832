use crate::block_design::{PooledVariance, contrast_variance, noisy_f_ratio};

/// The looks at a growing randomised complete block design.
#[derive(Debug, Clone, PartialEq)]
pub struct LookSchedule<'a> {
    /// Treatments per block.
    pub treatments: usize,
    /// Comparisons: weights of the treatments, which sum to 0.
    pub contrasts: &'a [Vec<f64>],
    /// Blocks at the first look; at least two.
    pub first_look: usize,
    /// Blocks at the last look; there is one after each block in between.
    pub last_look: usize,
    /// The probability that any of all the intervals misses.
    pub alpha: f64,
    /// The share of it spent at the first look.
    pub first_share: f64,
    /// Experiments drawn. The error of the probability is at most √(alpha ÷ paths): 0.1 points at 5 % and 40,000.
    pub paths: usize,
}

/// Half widths of intervals, in standard errors as [`crate::BlockDesign::contrast`] gives them, for each number of blocks from two on:
/// such that, over all comparisons and all looks, the probability that any interval misses is `alpha`.
///
/// Source: repeated confidence intervals, Jennison and Turnbull, *Group Sequential Methods*, 1999, chapter 9; a level that is the same at
/// every look, Pocock (Biometrika 64, 1977), here at every look but the first, which has a part of its own; many comparisons with one
/// control, Dunnett (JASA 50, 1955). Their tables are for known variances or for other designs. Under the normal model, the statistic
/// (error of the estimate ÷ standard error) has a distribution that depends on the design alone, so it is simulated: `paths` experiments
/// without any effect, from independent standard normal numbers. A pair of levels is then found that spends alpha exactly on these paths:
///
/// * at the first look, half widths exceeded by `first` × alpha of the paths;
/// * at every later one, those exceeded by one and the same share of all paths, so that of the paths that did not exceed the first, (1 −
///   first) × alpha exceed any.
///
/// Before the first look nothing is decided; for those who want to see an interval all the same, the half widths there are those of a
/// single look, exceeded by alpha of the paths.
///
/// Assumes independent normal residuals of equal variance. Degenerate: a single look spends all of alpha.
pub fn half_widths(looks: &LookSchedule<'_>, mut normal: impl FnMut() -> f64) -> Vec<f64> {
    let drawn = draw(looks, &mut normal);
    let sorted = |values: &[f32]| {
        let mut order: Vec<u32> = (0..values.len() as u32).collect();
        order.sort_unstable_by(|a, b| values[*b as usize].total_cmp(&values[*a as usize]));
        order
    };
    let paths = looks.paths as f64;
    let value_at_rank = |values: &[f32], order: &[u32], count: f64| {
        let place = (count.round() as usize).min(order.len() - 1);
        f64::from(values[order[place] as usize])
    };
    let single = looks.first_look == looks.last_look;
    let first_alpha = if single { looks.alpha } else { looks.alpha * looks.first_share };
    let mut found = Vec::with_capacity(drawn.len());
    let before_first_look = looks.first_look - 2;
    for values in &drawn[..before_first_look] {
        found.push(value_at_rank(values, &sorted(values), looks.alpha * paths));
    }
    let order = sorted(&drawn[before_first_look]);
    found.push(value_at_rank(&drawn[before_first_look], &order, first_alpha * paths));
    if single {
        return found;
    }
    // For each path its smallest rank at any later look; those that exceed the first look are out.
    let mut min_ranks = vec![u32::MAX; looks.paths];
    let orders: Vec<Vec<u32>> = drawn[before_first_look + 1..].iter().map(|values| sorted(values)).collect();
    for order in &orders {
        for (rank, path) in order.iter().enumerate() {
            let smallest = &mut min_ranks[*path as usize];
            *smallest = (*smallest).min(rank as u32);
        }
    }
    let excluded = (first_alpha * paths).round() as usize;
    order[..excluded].iter().for_each(|path| min_ranks[*path as usize] = u32::MAX);
    min_ranks.sort_unstable();
    let rest = ((looks.alpha - first_alpha) * paths).round() as usize;
    let level = f64::from(min_ranks[rest.min(looks.paths - 1)].min(looks.paths as u32 - 1));
    found.extend(
        drawn[before_first_look + 1..]
            .iter()
            .zip(&orders)
            .map(|(values, order)| value_at_rank(values, order, level)),
    );
    found
}

/// For each number of blocks from two on, and each path: the largest |estimate ÷ standard error| over the comparisons.
fn draw(looks: &LookSchedule<'_>, normal: &mut impl FnMut() -> f64) -> Vec<Vec<f32>> {
    let treatments = looks.treatments;
    let mut drawn = vec![Vec::with_capacity(looks.paths); looks.last_look - 1];
    let noisy_ratios: Vec<f64> =
        (0..=looks.last_look).map(|blocks| noisy_f_ratio(blocks.max(2), treatments)).collect();
    let mut residual = vec![0.0; treatments];
    let mut row = vec![0.0; treatments];
    for _ in 0..looks.paths {
        let (mut sums, mut totals) = (vec![0.0; treatments], vec![0.0; treatments]);
        let mut contrast_sums = vec![(0.0, 0.0); looks.contrasts.len()];
        for block in 1..=looks.last_look {
            row.iter_mut().for_each(|y| *y = normal());
            let mean = row.iter().sum::<f64>() / treatments as f64;
            for ((y, sum), total) in row.iter_mut().zip(&mut sums).zip(&mut totals) {
                *y -= mean;
                *sum += *y;
                *total += *y * *y;
            }
            for (weights, (sum, square)) in looks.contrasts.iter().zip(&mut contrast_sums) {
                let value: f64 = weights.iter().zip(&row).map(|(weight, y)| weight * y).sum();
                *sum += value;
                *square += value * value;
            }
            if block == 1 {
                continue;
            }
            let n = block as f64;
            for ((residual, total), sum) in residual.iter_mut().zip(&totals).zip(&sums) {
                *residual = total - sum * sum / n;
            }
            let all = PooledVariance::all(&residual, block);
            let alike = all.without_the_noisy(&residual, noisy_ratios[block]);
            let mut largest = 0.0_f64;
            for ((sum, square), weights) in contrast_sums.iter().zip(looks.contrasts) {
                let own = (square - sum * sum / n) / (n - 1.0);
                let variance = contrast_variance(own, weights, all, alike);
                largest = largest.max(sum * sum / n / variance);
            }
            drawn[block - 2].push(largest.sqrt() as f32);
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::student_t;

    /// Normal numbers from uniform ones, by the quantile function.
    fn normals(seed: u64) -> impl FnMut() -> f64 {
        use statrs::distribution::{ContinuousCDF, Normal};
        let (normal, mut random) = (Normal::standard(), units::random::Random(seed));
        move || {
            let even = (random.draw() >> 11) as f64 + 0.5;
            normal.inverse_cdf(even / (1_u64 << 53) as f64)
        }
    }

    fn looks(contrasts: &[Vec<f64>], least: usize, most: usize) -> LookSchedule<'_> {
        LookSchedule {
            treatments: contrasts[0].len(),
            contrasts,
            first_look: least,
            last_look: most,
            alpha: 0.05,
            first_share: 0.62,
            paths: 20_000,
        }
    }

    #[test]
    fn one_pair_and_one_look_are_students_t() {
        // With two treatments the pooled variance is that of the pairs: the paired t test.
        let found = half_widths(&looks(&[vec![-1.0, 1.0]], 6, 6), normals(1));
        assert_eq!(found.len(), 5);
        for (place, blocks) in [(2, 4.0), (4, 6.0)] {
            let table = student_t(0.975, blocks - 1.0);
            assert!((found[place] / table - 1.0).abs() < 0.03, "{blocks}: {} against {table}", found[place]);
        }
    }

    #[test]
    fn many_blocks_with_one_control_are_dunnetts() {
        // Dunnett's two-sided 5 % point for four treatments and a control with many degrees of freedom: 2.44
        // (Bechhofer and Dunnett 1988: 2.442). The variance of the pairs, which may be larger, makes ours smaller.
        let contrasts: Vec<Vec<f64>> = (1..5)
            .map(|arm| (0..5).map(|t| f64::from(i8::from(t == arm) - i8::from(t == 0))).collect())
            .collect();
        let asked = LookSchedule { paths: 6_000, ..looks(&contrasts, 80, 80) };
        let found = half_widths(&asked, normals(2));
        let last = found[found.len() - 1];
        assert!(last > 2.27 && last < 2.47, "{last}");
    }

    #[test]
    fn all_looks_together_miss_as_often_as_they_may() {
        let contrasts = [vec![-0.5, -0.5, 1.0, 0.0], vec![-0.5, -0.5, 0.0, 1.0]];
        let asked = looks(&contrasts, 4, 12);
        let found = half_widths(&asked, normals(3));
        assert_eq!(found.len(), 11);
        // Other paths than those the bounds were computed from.
        let drawn = draw(&asked, &mut normals(4));
        let missed = |from: usize, to: usize| {
            let any = |path: &usize| (from..to).any(|look| f64::from(drawn[look][*path]) > found[look]);
            (0..asked.paths).filter(any).count() as f64 / asked.paths as f64
        };
        // Four standard errors, of these paths and of those.
        let (first, all) = (missed(2, 3), missed(2, 11));
        assert!((first - 0.031).abs() < 0.007, "{first}");
        assert!((all - 0.05).abs() < 0.0088, "{all}");
    }
}
