//! The divergence rule: does the number of outstanding arrivals grow without end?
//!
//! Timeouts alone see an overload only once it has lasted as long as the timeout; a growing queue is seen at once. But a queue close to
//! saturation also wanders. The rule says "grows" only if both bounds of the slope are above the threshold:
//!
//! - the lower bound of a least-squares line through eight block means, which is right for a queue that fluctuates around a level
//!   (independent residuals), and overconfident for one that wanders;
//! - the lower bound of the mean step between the block means, which is right for a random walk with a drift. The means `m` of successive
//!   blocks of a random walk of variance s² a block have steps of variance 2/3 s², correlated by 1/4, so the eight-block rise has
//!   variance (7 − 1/3) s² where seven independent steps would have 7 · 2/3 s²: the standard error is widened by √(20/3 ÷ 14/3) = 1.195.

use stats::{Slope, student_t};

/// Block means the line is fitted to.
const POINT_COUNT: usize = 8;
/// Share of a trial dropped at its start, while the target fills up.
const MIN_DROP: f64 = 0.2;
/// At most this share may be dropped for a target with long response times; beyond that, nothing can be said.
const MAX_DROP: f64 = 0.6;
/// Widens the standard error of correlated steps; derived above.
const WALK_FACTOR: f64 = 1.195;
/// A smaller rise over the trial, in requests, is no growth: at a low rate a single slow answer is a rise.
const MIN_RISE: f64 = 3.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// Arrivals per second, by least squares.
    pub per_second: f64,
    /// Lower bound at the requested confidence.
    pub at_least: f64,
}

/// The growth of outstanding arrivals from means over successive blocks of `block` seconds.
///
/// `fastest` is the shortest response time seen, in seconds: every target fills up for that long, so at least one and a half of it is
/// dropped. None if fewer than ten blocks remain.
pub fn growth(blocks: &[f64], block: f64, fastest: f64, confidence: f64) -> Option<Growth> {
    let total = blocks.len() as f64 * block;
    let drop = MIN_DROP.max(1.5 * fastest / total.max(block));
    if drop > MAX_DROP {
        return None;
    }
    let kept = &blocks[(blocks.len() as f64 * drop).ceil() as usize..];
    let size = kept.len() / POINT_COUNT;
    if size == 0 {
        return None;
    }
    let kept = &kept[kept.len() - size * POINT_COUNT..];
    let means: Vec<f64> = kept.chunks(size).map(|c| c.iter().sum::<f64>() / size as f64).collect();
    let step = size as f64 * block;
    let line = Slope::fit(&means, step)?;
    let at_least = line.lower_bound(confidence).min(walk_bound(&means, step, confidence));
    Some(Growth { per_second: line.per_unit, at_least })
}

fn walk_bound(means: &[f64], step: f64, confidence: f64) -> f64 {
    let steps: Vec<f64> = means.windows(2).map(|w| w[1] - w[0]).collect();
    let n = steps.len() as f64;
    let mean = steps.iter().sum::<f64>() / n;
    let variance = steps.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean - student_t(confidence, n - 1.0) * WALK_FACTOR * (variance / n).sqrt()) / step
}

/// Whether growth means overload: surely more than `share` of `rate`, and a rise of some requests over `seconds`.
pub fn is_overload(growth: Growth, share: f64, rate: f64, seconds: f64) -> bool {
    growth.at_least > share * rate && growth.per_second * seconds >= MIN_RISE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, queue: impl Fn(f64) -> f64, expected: bool) {
        let blocks: Vec<f64> = (0..100).map(|i| queue(i as f64 * 0.1)).collect();
        let found = growth(&blocks, 0.1, 0.001, 0.95).is_some_and(|g| is_overload(g, 0.005, 1000.0, 10.0));
        assert_eq!(found, expected, "{name}");
    }

    #[test]
    fn tells_growth_from_filling_up() {
        check("level", |_| 20.0, false);
        check("overload of 1 %", |t| 10.0 * t, true);
        check("overload below the threshold", |t| 4.0 * t, false);
        check("fills up in the first two seconds", |t| 500.0 * t.min(2.0), false);
        check("drains", |t| 500.0 - 20.0 * t, false);
        check("one stall, half drained", |t| if t < 5.0 { 5.0 } else { 300.0 - 40.0 * (t - 5.0) }, false);
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(growth(&[1.0; 8], 0.1, 0.0, 0.95), None);
        assert_eq!(growth(&[1.0; 10], 0.1, 0.9, 0.95), None);
        assert!(growth(&[1.0; 10], 0.1, 0.01, 0.95).is_some());
    }
}
