//! Intervals for per-second counts, where requests of the same second are alike.

use crate::student_t;
use statrs::distribution::{ContinuousCDF, Normal};

/// A number with its 95 % interval; an end that the data leave open is infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The best guess.
    pub value: f64,
    /// The true one is above this,
    pub low: f64,
    /// and below this.
    pub high: f64,
}

/// Probability outside the interval on either side.
const TAIL: f64 = 0.025;
/// Fewer seconds than this say nothing of how seconds differ.
const MIN_BATCHES: usize = 5;
/// Fewest seconds per batch, if there are enough: by then what lasts for a second or two is over.
const SECONDS_PER_BATCH: usize = 3;
/// More batches than this gain little (Schmeiser, Operations Research 30, 1982), and longer ones are less correlated.
const MAX_BATCHES: usize = 15;

impl Estimate {
    /// A number that is known exactly.
    pub fn exact(value: f64) -> Self {
        Self { value, low: value, high: value }
    }

    /// Maps it by an increasing function.
    #[must_use]
    pub fn map(self, increasing: impl Fn(f64) -> f64) -> Self {
        Self { value: increasing(self.value), low: increasing(self.low), high: increasing(self.high) }
    }

    /// The interval's width, relative to its upper end.
    pub fn width(&self) -> f64 {
        (self.high - self.low) / self.high
    }

    /// The difference of two independent estimates.
    ///
    /// Source: the method of variance estimates recovery, Zou and Donner (Statistics in Medicine 27, 2008): towards each side the
    /// distances of the two ends that matter there are added as squares. With the intervals of [`wilson_interval`] it is method 10 of
    /// Newcombe (Statistics in Medicine 17, 1998). It needs no symmetry, and keeps an open end open.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        let value = self.value - other.value;
        let below = (self.value - self.low).hypot(other.high - other.value);
        let above = (self.high - self.value).hypot(other.value - other.low);
        Self { value, low: value - below, high: value + above }
    }

    /// The ratio of two independent estimates: [`Estimate::minus`] on logarithms. None unless both are above 0.
    pub fn over(self, other: Self) -> Option<Self> {
        let log = |of: Self| (of.value > 0.0).then(|| of.map(|x| x.max(0.0).ln()));
        Some(log(self)?.minus(log(other)?).map(f64::exp))
    }
}

/// Σ above ÷ Σ below over seconds, such as processor time ÷ requests; none with fewer than five seconds, or if nothing is below.
///
/// The ratio estimator of cluster sampling (Cochran, *Sampling Techniques*, 3rd ed. 1977, chapter 6), its clusters being batches of
/// neighbouring seconds, five to fifteen of them (batch means: Law, *Simulation Modeling and Analysis*, chapter 9): what lasts for some
/// seconds then counts once. The interval is value ± t · error with batches − 1 degrees of freedom. Assumes independent batches; a
/// disturbance as long as a batch or longer makes the interval too narrow.
pub fn ratio_of_sums(seconds: &[(f64, f64)]) -> Option<Estimate> {
    let (value, error, freedom) = ratio_and_error(seconds)?;
    let half = student_t(1.0 - TAIL, freedom) * error;
    Some(Estimate { value, low: value - half, high: value + half })
}

/// Half width of the interval of a share of hits on the logit scale: [`ratio_of_sums`] transformed, so that shares stay between 0 and 1
/// (Korn and Graubard, Survey Methodology 24, 1998). None for a share of 0 or 1, which has no error of its own.
fn logit_half(seconds: &[(u64, u64)]) -> Option<f64> {
    let floats: Vec<(f64, f64)> = seconds.iter().map(|(hits, all)| (*hits as f64, *all as f64)).collect();
    let (value, error, freedom) = ratio_and_error(&floats)?;
    (value > 0.0 && value < 1.0).then(|| student_t(1.0 - TAIL, freedom) * error / (value * (1.0 - value)))
}

/// This share moved by this much on the logit scale.
fn shift_logit(share: f64, by: f64) -> f64 {
    1.0 / (1.0 + (1.0 - share) / share * (-by).exp())
}

/// The share of hits, with the wider of two intervals: that of independent requests ([`wilson_interval`]), and that of seconds that
/// differ. None without requests.
pub fn clustered_share(seconds: &[(u64, u64)]) -> Option<Estimate> {
    let (hits, all) = seconds.iter().fold((0, 0), |(h, a), (hits, all)| (h + hits, a + all));
    let independent = wilson_interval(hits, all)?;
    Some(match logit_half(seconds) {
        Some(half) => Estimate {
            low: independent.low.min(shift_logit(independent.value, -half)),
            high: independent.high.max(shift_logit(independent.value, half)),
            ..independent
        },
        None => independent,
    })
}

/// The share of hits among independent requests, by Wilson's score (JASA 22, 1927); none without requests.
pub fn wilson_interval(hits: u64, all: u64) -> Option<Estimate> {
    wilson(hits, all, 1.959_963_984_540_054)
}

/// The same with a two-sided error probability of `doubt` instead of 5 %: for many intervals that are to hold at once.
pub fn share_interval(hits: u64, all: u64, doubt: f64) -> Option<Estimate> {
    wilson(hits, all, normal(doubt))
}

/// The expected number of events, given how many independent ones were counted (Poisson), with a two-sided error probability of `doubt`.
///
/// The score interval, which is Wilson's for a small share: never below 0, and not empty without events.
pub fn poisson_interval(events: u64, doubt: f64) -> Estimate {
    let (z, value) = (normal(doubt), events as f64);
    let (middle, half) = (value + z * z / 2.0, z * (value + z * z / 4.0).sqrt());
    // Without events the formula gives that end exactly, except for rounding.
    Estimate { value, low: if events == 0 { 0.0 } else { middle - half }, high: middle + half }
}

/// The two-sided normal quantile of this probability.
fn normal(doubt: f64) -> f64 {
    Normal::standard().inverse_cdf(1.0 - doubt / 2.0)
}

fn wilson(hits: u64, all: u64, z: f64) -> Option<Estimate> {
    if all == 0 || hits > all {
        return None;
    }
    let (n, value) = (all as f64, hits as f64 / all as f64);
    let middle = (value + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (value * (1.0 - value) / n + z * z / (4.0 * n * n)).sqrt();
    // If none or all were hit the formula gives that end exactly, except for rounding.
    let low = if hits == 0 { 0.0 } else { (middle - half).max(0.0) };
    let high = if hits == all { 1.0 } else { (middle + half).min(1.0) };
    Some(Estimate { value, low, high })
}

/// Between which quantiles of all times the true `q` quantile lies; `above` has, for each second, the number of times above the `q`
/// quantile found, and the number of times. None with fewer than five seconds, or if none or all were above.
///
/// Woodruff (JASA 47, 1952): the share above the quantile found is uncertain by some amount, so the times at the shares that much below
/// and above 1 − q are the ends of the quantile's interval. The share's own uncertainty is that of seconds that differ, on the logit
/// scale. An upper end with fewer than one time above it is none: the run was too short to see it.
pub fn quantile_bounds(q: f64, above: &[(u64, u64)]) -> Option<(f64, Option<f64>)> {
    let all: u64 = above.iter().map(|(_, all)| all).sum();
    let half = logit_half(above)?;
    let (least, most) = (shift_logit(1.0 - q, -half), shift_logit(1.0 - q, half));
    Some((1.0 - most, (least * all as f64 >= 1.0).then_some(1.0 - least)))
}

/// Σ above ÷ Σ below, its standard error, and its degrees of freedom.
fn ratio_and_error(seconds: &[(f64, f64)]) -> Option<(f64, f64, f64)> {
    let below: f64 = seconds.iter().map(|(_, below)| below).sum();
    if seconds.len() < MIN_BATCHES || below <= 0.0 {
        return None;
    }
    let value = seconds.iter().map(|(above, _)| above).sum::<f64>() / below;
    let count = (seconds.len() / SECONDS_PER_BATCH).clamp(MIN_BATCHES, MAX_BATCHES);
    let batches = (0..count).map(|k| &seconds[k * seconds.len() / count..(k + 1) * seconds.len() / count]);
    let squares: f64 =
        batches.map(|batch| batch.iter().map(|(a, b)| a - value * b).sum::<f64>().powi(2)).sum();
    let n = count as f64;
    Some((value, (squares * n / (n - 1.0)).sqrt() / below, n - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ContinuousCDF, Normal};
    use units::random;

    /// Uniform numbers between 0 and 1, and normal ones from them, the same each time.
    struct Random(random::Random);

    impl Random {
        fn even(&mut self) -> f64 {
            ((self.0.draw() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        }
        fn normal(&mut self) -> f64 {
            // Box and Muller (Annals of Mathematical Statistics 29, 1958).
            (-2.0 * self.even().ln()).sqrt() * (std::f64::consts::TAU * self.even()).cos()
        }
    }

    const SECONDS: usize = 40;
    const REQUESTS: usize = 200;
    /// Standard deviation between whole seconds, and between requests within one; in logarithms.
    const BETWEEN: f64 = 0.1;
    const WITHIN: f64 = 0.5;

    /// The response times of a run, second by second, log-normal.
    fn run(random: &mut Random, centre: f64) -> Vec<Vec<f64>> {
        (0..SECONDS)
            .map(|_| {
                let shift = BETWEEN * random.normal();
                (0..REQUESTS).map(|_| (centre + shift + WITHIN * random.normal()).exp()).collect()
            })
            .collect()
    }

    fn quantile(q: f64, centre: f64) -> f64 {
        (centre + BETWEEN.hypot(WITHIN) * Normal::standard().inverse_cdf(q)).exp()
    }

    /// What is done with histograms, done with the times themselves.
    fn estimate(seconds: &[Vec<f64>], q: f64) -> Estimate {
        let mut all: Vec<f64> = seconds.iter().flatten().copied().collect();
        all.sort_by(f64::total_cmp);
        let at = |q: f64| all[((q * all.len() as f64).ceil() as usize).clamp(1, all.len()) - 1];
        let value = at(q);
        let above = |second: &Vec<f64>| second.iter().filter(|time| **time > value).count() as u64;
        let counts: Vec<(u64, u64)> = seconds.iter().map(|s| (above(s), s.len() as u64)).collect();
        let (low, high) = quantile_bounds(q, &counts).expect("there are seconds, and some are above");
        Estimate { value, low: at(low), high: high.map_or(f64::INFINITY, at) }
    }

    /// In what share of cases the interval holds the truth.
    fn covered(cases: u32, mut case: impl FnMut() -> (Estimate, f64)) -> f64 {
        let hits = (0..cases).filter(|_| {
            let (found, truth) = case();
            found.low <= truth && truth <= found.high
        });
        let share = 100.0 * hits.count() as f64 / f64::from(cases);
        println!("{share} % of {cases}");
        share
    }

    #[test]
    fn a_quantiles_interval_covers_the_true_one() {
        for q in [0.5, 0.9, 0.99] {
            let mut random = Random(random::Random(1));
            let share = covered(1500, || (estimate(&run(&mut random, 0.0), q), quantile(q, 0.0)));
            assert!((93.0..=97.0).contains(&share), "p{}: {share} %", q * 100.0);
        }
    }

    #[test]
    fn so_does_the_ratio_of_two_runs() {
        for q in [0.5, 0.99] {
            let mut random = Random(random::Random(2));
            let share = covered(1000, || {
                let (first, second) = (run(&mut random, 0.0), run(&mut random, 0.4));
                let ratio = estimate(&second, q).over(estimate(&first, q));
                (ratio.expect("times are above 0"), 0.4_f64.exp())
            });
            assert!((93.0..=97.0).contains(&share), "p{}: {share} %", q * 100.0);
        }
    }

    #[test]
    fn and_a_ratio_of_sums_whose_seconds_hang_together() {
        // Processor time per request, with a disturbance that decays by a third from second to second.
        let mut random = Random(random::Random(3));
        let share = covered(3000, || {
            let mut drift = 0.0;
            let seconds: Vec<(f64, f64)> = (0..60)
                .map(|_| {
                    drift = 0.33 * drift + 0.1 * random.normal();
                    let requests = 800.0 + 400.0 * random.even();
                    (requests * (1.0 + drift), requests)
                })
                .collect();
            (ratio_of_sums(&seconds).expect("there are seconds"), 1.0)
        });
        assert!((92.0..=97.0).contains(&share), "{share} %");
    }

    #[test]
    fn lost_requests_in_bunches_widen_the_interval() {
        let spread: Vec<(u64, u64)> = (0..20).map(|_| (1, 100)).collect();
        let bunch: Vec<(u64, u64)> = (0..20).map(|k| (if k == 7 { 20 } else { 0 }, 100)).collect();
        let (spread, bunch) =
            (clustered_share(&spread).expect("some"), clustered_share(&bunch).expect("some"));
        assert_eq!(Some(spread), wilson_interval(20, 2000), "no bunches: as for independent requests");
        assert!((spread.value - bunch.value).abs() < 1e-12);
        assert!(bunch.low < spread.low && bunch.high > spread.high, "{spread:?} {bunch:?}");
    }

    #[test]
    fn shares_match_known_intervals() {
        // Wilson, as in Newcombe's tables (Statistics in Medicine 17, 1998): 81 of 263, 15 of 148, 0 of 20, 1 of 29.
        for (hits, all, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
            (20, 20, 0.8389, 1.0),
        ] {
            let found = wilson_interval(hits, all).expect("there are requests");
            assert!(
                (found.low - low).abs() < 1e-4 && (found.high - high).abs() < 1e-4,
                "{hits}/{all}: {found:?}"
            );
        }
        // Method 10 of the same author's second paper, its example (a): 56/70 − 48/80 is 0.2, from 0.0524 to 0.3339.
        let (first, second) =
            (wilson_interval(56, 70).expect("some"), wilson_interval(48, 80).expect("some"));
        let difference = first.minus(second);
        assert!(
            (difference.low - 0.0524).abs() < 1e-4 && (difference.high - 0.3339).abs() < 1e-4,
            "{difference:?}"
        );
    }

    #[test]
    fn where_there_is_little_or_nothing() {
        assert_eq!(wilson_interval(0, 0), None);
        assert_eq!(wilson_interval(3, 2), None);
        assert_eq!(clustered_share(&[]), None);
        assert_eq!(ratio_of_sums(&[(1.0, 1.0); 4]), None, "four seconds are too few");
        assert_eq!(ratio_of_sums(&[(1.0, 0.0); 9]), None, "nothing to divide by");
        assert_eq!(ratio_of_sums(&[(2.0, 1.0); 9]), Some(Estimate::exact(2.0)), "no second differs");
        assert_eq!(quantile_bounds(0.5, &[(0, 100); 9]), None, "none above");
        assert_eq!(quantile_bounds(0.5, &[(100, 100); 9]), None, "all above");
        // One of 900 is above: less than one may truly be.
        let one: Vec<(u64, u64)> = (0..9).map(|k| (u64::from(k == 4), 100)).collect();
        let (low, high) = quantile_bounds(0.999, &one).expect("one is above");
        assert!(low > 0.9 && low < 899.0 / 900.0 && high.is_none(), "{low} {high:?}");
        let open = Estimate { value: 2.0, low: 1.0, high: f64::INFINITY };
        let ratio = open.over(Estimate::exact(1.0)).expect("both are above 0");
        assert!(ratio.high.is_infinite() && (ratio.low - 1.0).abs() < 1e-12, "{ratio:?}");
        let inverse = Estimate::exact(1.0).over(open).expect("both are above 0");
        assert!(inverse.low == 0.0 && (inverse.high - 1.0).abs() < 1e-12, "{inverse:?}");
        assert_eq!(Estimate::exact(0.0).over(open), None);
    }
}
