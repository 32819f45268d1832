//! The median of a few figures, and its confidence interval.

use serde::Serialize;

/// The usual confidence, if there are enough rounds.
const CONFIDENCE: f64 = 0.95;

/// A median and its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MedianEstimate {
    /// The median of the figures.
    pub median: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The probability that such an interval holds the true median.
    pub confidence: f64,
    /// Number of figures.
    pub count: usize,
}

/// The median with its interval by order statistics, i.e. the inverted sign test (David and
/// Nagaraja, Order Statistics, 3rd edition, 2003, section 7.1).
///
/// The interval from the k-th smallest to the k-th largest of n figures misses the true median only if
/// fewer than k of them lie on one side of it; each does with probability one half, so it holds with
/// confidence 1 − 2·P(Binomial(n, ½) < k), whatever the distribution. Takes the largest k that still gives
/// 95 %; where even the whole range gives less (n < 6: five figures give 93.75 %), the range.
/// Assumes independent figures of one distribution; rounds within minutes of each
/// other on a shared machine are so only roughly. `None` without figures.
pub fn estimate_median(figures: &[f64]) -> Option<MedianEstimate> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    if n == 0 {
        return None;
    }
    let median = f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]);
    // P(Binomial(n, ½) < k) of the present k, and the probability of exactly k.
    let half_to_the_n = 0.5f64.powi(i32::try_from(n).ok()?);
    let (mut k, mut below, mut exactly) = (1, half_to_the_n, n as f64 * half_to_the_n);
    while 2 * (k + 1) <= n && 1.0 - 2.0 * (below + exactly) >= CONFIDENCE {
        below += exactly;
        exactly *= (n - k) as f64 / (k + 1) as f64;
        k += 1;
    }
    let confidence = if n == 1 { 0.0 } else { 1.0 - 2.0 * below };
    Some(MedianEstimate { median, low: sorted[k - 1], high: sorted[n - k], confidence, count: n })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_are_those_of_the_tables() {
        // n, k and confidence as in tables of the sign test (for instance Conover, Practical
        // Nonparametric Statistics, table A3).
        for (n, k, confidence) in [
            (1, 1, 0.0),
            (2, 1, 0.5),
            (5, 1, 0.9375),
            (6, 1, 0.96875),
            (8, 1, 0.992_187_5),
            (9, 2, 0.960_937_5),
            (10, 2, 0.978_515_625),
            (12, 3, 0.961_425_781_25),
            (20, 6, 0.958_610_534_667_968_8),
        ] {
            let figures: Vec<f64> = (1..=n).rev().map(f64::from).collect();
            let e = estimate_median(&figures).expect("there are figures");
            assert_eq!((e.low, e.high), (f64::from(k), f64::from(n + 1 - k)), "{n}");
            assert!((e.confidence - confidence).abs() < 1e-12, "{n}: {e:?}");
        }
        assert_eq!(estimate_median(&[]), None);
    }

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert_eq!(estimate_median(&[4.0, 1.0, 3.0, 2.0]).map(|e| e.median), Some(2.5));
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_median_and_lies_within_the_figures(
            figures in prop::collection::vec(-1e6f64..1e6, 1..60)
        ) {
            let e = estimate_median(&figures).expect("there are figures");
            let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
            let most = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(least <= e.low && e.low <= e.median && e.median <= e.high && e.high <= most);
            prop_assert!((0.0..1.0).contains(&e.confidence));
        }
    }
}
