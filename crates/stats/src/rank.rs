//! Distribution-free intervals from order statistics.

use crate::binomial::binomial_cdf;

/// A median with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Median {
    /// For an even number of values the mean of the middle two.
    pub median: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Probability outside the interval on either side.
const TAIL: f64 = 0.025;

impl Median {
    /// The median of these values; none if there are none, or one is NaN.
    ///
    /// The interval is that of the sign test (W. J. Conover, Practical Nonparametric Statistics): its ends are the values of such ranks
    /// that the true median is between them with at least 95 % if the values are independent and identically distributed; of 20 values
    /// the 6th and the 15th (95.9 %). Fewer than six values have no such ranks: the ends are then the smallest and the largest (of five
    /// 93.75 %, of three 75 %, of one nothing is known).
    pub fn of(values: &[f64]) -> Option<Self> {
        let values = sorted(values)?;
        let n = values.len();
        let ranks = (0..n).take_while(|hits| binomial_cdf(*hits as u64, n as u64, 0.5) <= TAIL).count();
        let below = ranks.saturating_sub(1);
        Some(Self {
            median: middle(&values),
            low: values[below.min((n - 1) / 2)],
            high: values[(n - 1 - below).max(n / 2)],
        })
    }
}

/// By what factor the second values are larger than the first, with its 95 % interval; none if either is empty, or a value is not above
/// 0.
///
/// The estimate of Hodges and Lehmann (Annals of Mathematical Statistics 34, 1963) on logarithms: the median of the ratios of all pairs.
/// The interval is that of the Mann-Whitney test: its ends are the ratios of such ranks that the true factor is between them with at
/// least 95 %, by the exact distribution of the test's count up to [`MAX_EXACT`] values a side (of four and four the smallest and the largest
/// ratio, 97.1 %), by its normal approximation beyond. With too few for any such ranks (3 and 4, 2 and 7) it is open: from 0 to infinity.
/// Assumes that both have the same shape but for the factor, and no ties; with ties it covers more.
pub fn ratio_of_medians(first: &[f64], second: &[f64]) -> Option<Median> {
    if first.iter().chain(second).any(|value| *value <= 0.0) {
        return None;
    }
    let all: Vec<f64> = first.iter().flat_map(|a| second.iter().map(move |b| (b / a).ln())).collect();
    let all = sorted(&all)?;
    let (low, high) = match outside_rank(first.len(), second.len()) {
        Some(rank) => (all[rank].exp(), all[all.len() - 1 - rank].exp()),
        None => (0.0, f64::INFINITY),
    };
    Some(Median { median: middle(&all).exp(), low, high })
}

/// Up to this many values on the smaller side the distribution is exact.
const MAX_EXACT: usize = 20;

/// How many of the smallest ratios of all pairs, and of the largest, may be left out so that the rest covers 95 %; none if not even all
/// of them do.
///
/// A pair counts if the second value is the smaller. Of the orders of n and m values without a difference, all equally likely,
/// `counts[u]` have u such pairs (H. B. Mann and D. R. Whitney, Annals of Mathematical Statistics 18, 1947): the coefficients of the
/// Gaussian binomial, the product of (1 − x^(m + i)) ÷ (1 − x^i) for i from 1 to n.
fn outside_rank(n: usize, m: usize) -> Option<usize> {
    let (n, m) = (n.min(m), n.max(m));
    if n > MAX_EXACT {
        let (n, m) = (n as f64, m as f64);
        let spread = (n * m * (n + m + 1.0) / 12.0).sqrt();
        return Some((n * m / 2.0 - 1.96 * spread).floor().max(0.0) as usize);
    }
    // Once counts exceed what a float holds exactly, the loss is far below the precision needed.
    let mut counts = vec![0.0_f64; n * m / 2 + 1];
    counts[0] = 1.0;
    for i in 1..=n {
        for u in (m + i..counts.len()).rev() {
            counts[u] -= counts[u - m - i];
        }
        for u in i..counts.len() {
            counts[u] += counts[u - i];
        }
    }
    let orders: f64 = (1..=n).map(|i| (m + i) as f64 / i as f64).product();
    let mut sum = 0.0;
    let within = |count: &&f64| {
        sum += **count;
        sum / orders <= TAIL
    };
    counts.iter().take_while(within).count().checked_sub(1)
}

fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    Some(values)
}

fn middle(sorted: &[f64]) -> f64 {
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_the_sign_test() {
        let twenty: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        assert_eq!(Median::of(&twenty), Some(Median { median: 10.5, low: 6.0, high: 15.0 }));
        let six: Vec<f64> = (1..=6).map(f64::from).collect();
        assert_eq!(Median::of(&six), Some(Median { median: 3.5, low: 1.0, high: 6.0 }));
        assert_eq!(Median::of(&[3.0, 1.0]), Some(Median { median: 2.0, low: 1.0, high: 3.0 }));
        assert_eq!(Median::of(&[7.0]), Some(Median { median: 7.0, low: 7.0, high: 7.0 }));
        assert_eq!(Median::of(&[]), None);
        assert_eq!(Median::of(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn a_factor_is_found_and_covered() {
        let first: Vec<f64> = (0..20).map(|i| 100.0 + f64::from(i * 7 % 20)).collect();
        let second: Vec<f64> = first.iter().rev().map(|value| value * 1.3).collect();
        let found = ratio_of_medians(&first, &second).expect("all are above 0");
        assert!((found.median - 1.3).abs() < 0.02, "{found:?}");
        assert!(found.low < 1.3 && found.high > 1.3 && found.low > 1.2 && found.high < 1.4, "{found:?}");
        let back = ratio_of_medians(&second, &first).expect("all are above 0");
        assert!((back.median * found.median - 1.0).abs() < 1e-9);
        assert_eq!(ratio_of_medians(&first, &[0.0]), None);
        assert_eq!(ratio_of_medians(&[], &first), None);
        let few = ratio_of_medians(&[1.0, 2.0], &[4.0]).expect("all are above 0");
        assert_eq!((few.low, few.high), (0.0, f64::INFINITY), "two ratios cover nothing");
    }

    /// With four and five values a side the normal approximation took ranks of 94.3 %, and called them 95 %.
    #[test]
    fn ranks_of_the_mann_whitney_test() {
        // Tables of the Mann-Whitney U test, two-sided at 5 %: the largest count that is significant.
        for (n, m, critical) in [
            (1, 38, None),
            (1, 40, Some(0)),
            (2, 7, None),
            (2, 8, Some(0)),
            (3, 4, None),
            (3, 5, Some(0)),
            (4, 4, Some(0)),
            (4, 5, Some(1)),
            (5, 5, Some(2)),
            (8, 8, Some(13)),
            (10, 10, Some(23)),
            (20, 20, Some(127)),
        ] {
            assert_eq!((outside_rank(n, m), outside_rank(m, n)), (critical, critical), "{n} and {m}");
        }
        // The approximation continues where the tables end.
        let (exact, beyond) = (outside_rank(20, 21).expect("many"), outside_rank(21, 21).expect("many"));
        assert!((130..=145).contains(&exact) && (140..=155).contains(&beyond), "{exact} {beyond}");
    }

    /// Enumerates every order of five and five: how often the interval holds the truth.
    #[test]
    fn what_an_interval_covers() {
        let mut held = 0;
        let all: Vec<u32> = (0..1 << 10).filter(|order: &u32| order.count_ones() == 5).collect();
        for order in &all {
            let side = |is: bool| -> Vec<f64> {
                (0..10)
                    .filter(|at| (order >> at & 1 == 1) == is)
                    .map(|at| 1.0 + f64::from(at * at) / 1e3)
                    .collect()
            };
            let found = ratio_of_medians(&side(true), &side(false)).expect("five a side");
            held += usize::from(found.low <= 1.0 && found.high >= 1.0);
        }
        assert!(held as f64 >= 0.95 * all.len() as f64, "{held} of {}", all.len());
    }
}
