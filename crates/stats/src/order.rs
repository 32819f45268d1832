//! Intervals from the order of values alone, whatever their distribution.

use crate::binomial::at_most;

/// A median with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Median {
    /// Of an even number of values the mean of the middle two.
    pub median: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Doubt on either side.
const TAIL: f64 = 0.025;

impl Median {
    /// Of these values; none of none, or if one is no number.
    ///
    /// The interval is that of the sign test (W. J. Conover, Practical Nonparametric Statistics): its ends are the values
    /// of such ranks that the true median is between them with at least 95 % if the values are independent and of one
    /// distribution; of 20 values the 6th and the 15th (95.9 %). Fewer than six values have no such ranks: the ends are
    /// then the smallest and the largest (of five 93.75 %, of three 75 %, of one nothing is known).
    pub fn of(values: &[f64]) -> Option<Self> {
        let values = sorted(values)?;
        let n = values.len();
        let ranks = (0..n).take_while(|hits| at_most(*hits as u64, n as u64, 0.5) <= TAIL).count();
        let below = ranks.saturating_sub(1);
        Some(Self {
            median: middle(&values),
            low: values[below.min((n - 1) / 2)],
            high: values[(n - 1 - below).max(n / 2)],
        })
    }
}

/// By what factor the second values are larger than the first, with its 95 % interval; none if either are none, or
/// one is not above 0.
///
/// The estimate of Hodges and Lehmann (Annals of Mathematical Statistics 34, 1963) on logarithms: the median of the ratios of all
/// pairs. The interval is that of the Mann-Whitney test, in its normal approximation, which is good from about eight values a
/// side; with fewer than four a side its ends are the smallest and the largest ratio. Assumes that both have the
/// same shape but for the factor.
pub fn ratio(first: &[f64], second: &[f64]) -> Option<Median> {
    if first.iter().chain(second).any(|value| *value <= 0.0) {
        return None;
    }
    let all: Vec<f64> = first.iter().flat_map(|a| second.iter().map(move |b| (b / a).ln())).collect();
    let all = sorted(&all)?;
    let (n, m) = (first.len() as f64, second.len() as f64);
    let spread = (n * m * (n + m + 1.0) / 12.0).sqrt();
    let rank = if n.min(m) < 4.0 { 0.0 } else { (n * m / 2.0 - 1.96 * spread).floor().max(0.0) };
    let rank = (rank as usize).min((all.len() - 1) / 2);
    Some(Median { median: middle(&all).exp(), low: all[rank].exp(), high: all[all.len() - 1 - rank].exp() })
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
        let found = ratio(&first, &second).expect("all are above 0");
        assert!((found.median - 1.3).abs() < 0.02, "{found:?}");
        assert!(found.low < 1.3 && found.high > 1.3 && found.low > 1.2 && found.high < 1.4, "{found:?}");
        let back = ratio(&second, &first).expect("all are above 0");
        assert!((back.median * found.median - 1.0).abs() < 1e-9);
        assert_eq!(ratio(&first, &[0.0]), None);
        assert_eq!(ratio(&[], &first), None);
        let few = ratio(&[1.0, 2.0], &[4.0]).expect("all are above 0");
        assert!((few.low - 2.0).abs() < 1e-9 && (few.high - 4.0).abs() < 1e-9);
    }
}
