//! The capacity as a distribution: it differs from trial to trial.
//!
//! A trial that was overloaded has measured the capacity while it lasted; one that was not bounds it from below. The logarithm is assumed
//! normal; centre and spread are estimated together, on a grid, from all trials (a censored regression, Tobin 1958, with its posterior
//! instead of a point). The quantiles of that distribution are the limits: the rate held in nine in ten trials, and in half of them.

use crate::grid::{Cell, grid, normalised};
use crate::moving::{Kinds, Shape, TrialParts, posterior};
use crate::observation::Observation;
use stats::Estimate;
use std::f64::consts::SQRT_2;
use std::sync::Arc;

/// The smallest and largest spread considered, as shares.
const SPREAD_RANGE: (f64, f64) = (5e-4, 0.5);
const SPREAD_COUNT: usize = 24;
/// The prior of a spread falls with its size: the density of its logarithm goes with this power of it. Chosen by simulation: without it,
/// the intervals are a third wider than needed; with one, too narrow.
const PRIOR: f64 = 0.4;
/// If the target surely moves, larger spreads are likelier: a few trials that happen to agree say little. Also by simulation.
const PRIOR_MOVING: f64 = -0.5;
/// A sinking target differs from trial to trial in when it tips over, not in what it can do: large spreads are as unlikely as for a steady one.
const PRIOR_SINKING: f64 = 0.4;
/// What a sinking target does under a queue lies within this much, as a logarithm, below what it holds; at least a third of it.
const MAX_SUNK_LOG: f64 = 1.1;
/// Probability outside an interval, on each side: it holds the truth with 95 %.
const TAIL_PROBABILITY: f64 = 0.015;
/// For a target that moves, whose consecutive ten-second spans are correlated: its trials say less than as many of a steady one.
const TAIL_PROBABILITY_MOVING: f64 = 0.001;
/// For a sinking target, of which only good and bad are known.
const TAIL_PROBABILITY_SINKING: f64 = 0.006;

/// The same if what it did in each part of its trials is known, of at least this many.
const TAIL_PROBABILITY_PARTS: f64 = 0.006;
const MIN_WITH_PARTS: usize = 3;
/// Then the probability that whole trials tell of it what parts do not: that they are independent and normal, but parts are not.
const WHOLE_PROBABILITY: f64 = 0.5;

/// The capacity by all trials together.
#[derive(Debug, Clone)]
pub struct Capacity {
    /// The weights sum to one.
    cells: Vec<Cell>,
    shapes: Vec<Arc<Shape>>,
    /// Probability outside an interval, on each side.
    tail_probability: f64,
}

impl Capacity {
    /// None unless the trials bound it from both sides.
    pub fn of(observations: &[Observation]) -> Option<Self> {
        Self::fit(observations, PRIOR, TAIL_PROBABILITY)
    }

    /// The same for a target that moves, of whose trials `parts` are known too, in the same order.
    pub fn of_moving(observations: &[Observation], parts: &TrialParts, kinds: &mut Kinds) -> Option<Self> {
        let whole = Self::fit(observations, PRIOR_MOVING, TAIL_PROBABILITY_MOVING);
        if parts.measured() < MIN_WITH_PARTS || parts.are_in_two_groups() {
            return whole;
        }
        let (cells, shapes) = posterior(observations, parts, kinds);
        let by_parts = Self { cells: normalised(cells), shapes, tail_probability: TAIL_PROBABILITY_PARTS };
        Some(by_parts.mixed_with(whole.as_ref(), WHOLE_PROBABILITY))
    }

    /// The same for a sinking target.
    pub fn of_sinking(observations: &[Observation]) -> Option<Self> {
        Self::fit(observations, PRIOR_SINKING, TAIL_PROBABILITY_SINKING)
    }

    fn fit(observations: &[Observation], prior: f64, tail_probability: f64) -> Option<Self> {
        let measured = observations.iter().any(|one| one.measured().is_some());
        let bounded = observations.iter().any(|one| matches!(one, Observation::AtLeast(_)))
            && observations.iter().any(|one| matches!(one, Observation::Below(_) | Observation::Between(..)));
        if !measured && !bounded {
            return None;
        }
        let cells = Self::cells(observations, mean_log(observations), prior);
        Some(Self { cells: normalised(cells), shapes: Vec::new(), tail_probability })
    }

    /// Grid of centres around `middle` and spreads, with the log-likelihood of each given all observations.
    fn cells(observations: &[Observation], middle: f64, prior: f64) -> Vec<Cell> {
        let mut cells = Vec::new();
        let logs: Vec<Observation> = observations.iter().map(|one| one.logs()).collect();
        let spreads: Vec<f64> = spreads().collect();
        for (centre, width) in grid(middle, logs.iter().map(|one| one.rate())) {
            for spread in spreads.iter().copied() {
                let log_likelihood: f64 = logs.iter().map(|one| likelihood(*one, centre, spread)).sum();
                let weight = log_likelihood + width.ln() - prior * spread.ln();
                cells.push(Cell { centre, spread, weight, shape: None });
            }
        }
        cells
    }

    /// The log-odds of a sinking target, whose overloads say what is in `sunk`, against one whose capacity they measure, which is in
    /// `moving`.
    pub fn odds_of_sinking(sunk: &[Observation], moving: &[Observation]) -> f64 {
        let middle = mean_log(moving);
        let evidence = |said| log_sum(Self::cells(said, middle, PRIOR).into_iter().map(|cell| cell.weight));
        // A measurement under both hypotheses says nothing of a queue.
        let sank = moving.iter().zip(sunk).filter(|(_, sunk)| sunk.measured().is_none());
        let logs: Vec<f64> = sank.filter_map(|(did, _)| did.measured()).map(f64::ln).collect();
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let squares: f64 = logs.iter().map(|did| (did - mean).powi(2)).sum();
        // What it does under a queue is somewhere below what it holds, and differs between overloads: that is integrated out.
        let weights = log_sum(spreads().map(|spread| -PRIOR * spread.ln()));
        let overloads = log_sum(spreads().map(|spread| {
            -PRIOR * spread.ln() - (count - 1.0) * spread.ln() - squares / (2.0 * spread * spread)
        }));
        let offset = (std::f64::consts::TAU / count).ln() / 2.0 - MAX_SUNK_LOG.ln();
        evidence(sunk) + overloads - weights + offset - evidence(moving)
    }

    /// A mixture: the other with this probability, else this.
    pub fn mixed_with(mut self, other: Option<&Self>, probability: f64) -> Self {
        if let Some(other) = other {
            let first = self.shapes.len();
            self.cells.iter_mut().for_each(|cell| cell.weight *= 1.0 - probability);
            self.cells.extend(other.cells.iter().map(|cell| Cell {
                weight: cell.weight * probability,
                shape: cell.shape.map(|shape| first + shape),
                ..*cell
            }));
            self.shapes.extend_from_slice(&other.shapes);
        }
        self
    }

    /// The rate that this share of trials hold: the median of the posterior, with its interval.
    pub fn held_by(&self, share: f64) -> Estimate {
        let deviation = normal_quantile(1.0 - share);
        let offsets: Vec<f64> = self.shapes.iter().map(|shape| shape.held_by(share)).collect();
        let offset = |cell: &Cell| cell.shape.map_or(deviation * cell.spread, |shape| offsets[shape]);
        let rates = self.cells.iter().map(|cell| (cell.centre + offset(cell), cell.weight));
        let mut rates: Vec<(f64, f64)> = rates.collect();
        rates.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let at = |part: f64| {
            let mut sum = 0.0;
            let found = rates.iter().find(|(_, weight)| {
                sum += weight;
                sum >= part
            });
            found.or(rates.last()).map_or(f64::NAN, |(rate, _)| rate.exp())
        };
        Estimate { value: at(0.5), low: at(self.tail_probability), high: at(1.0 - self.tail_probability) }
    }

    /// The probability that the capacity's spread exceeds this share.
    pub fn spreads_beyond(&self, share: f64) -> f64 {
        self.cells.iter().filter(|cell| cell.spread > share).map(|cell| cell.weight).sum()
    }

    /// The standard deviation of the capacity between trials, as a share.
    pub fn spread(&self) -> f64 {
        self.cells.iter().map(|cell| cell.spread.ln() * cell.weight).sum::<f64>().exp()
    }
}

fn spreads() -> impl Iterator<Item = f64> {
    let ratio = SPREAD_RANGE.1 / SPREAD_RANGE.0;
    (0..SPREAD_COUNT)
        .map(move |number| SPREAD_RANGE.0 * ratio.powf(number as f64 / (SPREAD_COUNT - 1) as f64))
}

/// The mean logarithm of what was measured, or of everything if nothing was.
fn mean_log(observations: &[Observation]) -> f64 {
    let measured = observations.iter().any(|one| one.measured().is_some());
    let telling = observations.iter().filter(|one| !measured || one.measured().is_some());
    let logs: Vec<f64> = telling.map(|one| one.rate().ln()).collect();
    logs.iter().sum::<f64>() / logs.len() as f64
}

/// The logarithm of the sum of what these are the logarithms of.
fn log_sum(logs: impl Iterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = logs.collect();
    let max_log = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    max_log + logs.iter().map(|log| (log - max_log).exp()).sum::<f64>().ln()
}

/// The log density, or log probability, of an observation, given as logarithms.
fn likelihood(observation: Observation, centre: f64, spread: f64) -> f64 {
    let deviation = (observation.rate() - centre) / spread;
    match observation {
        Observation::Measured(_) => -spread.ln() - deviation * deviation / 2.0,
        Observation::AtLeast(_) => normal_tail(deviation).max(1e-12).ln(),
        Observation::Below(_) => normal_tail(-deviation).max(1e-12).ln(),
        Observation::Between(least, _) => {
            (normal_tail(-deviation) - normal_tail((centre - least) / spread)).max(1e-12).ln()
        }
    }
}

/// The upper tail of the standard normal distribution: half of erfc(x/√2), by the rational approximation of Press et al., *Numerical
/// Recipes*, whose relative error is below 1.2 · 10⁻⁷ everywhere.
fn normal_tail(x: f64) -> f64 {
    const POWERS: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let z = x.abs() / SQRT_2;
    let t = 1.0 / (1.0 + 0.5 * z);
    let sum = POWERS.iter().rev().fold(0.0, |sum, power| sum * t + power);
    let above = 0.5 * t * (sum - z * z).exp();
    if x < 0.0 { 1.0 - above } else { above }
}

/// The standard normal quantile, by bisection of [`normal_tail`].
fn normal_quantile(below: f64) -> f64 {
    let (mut low, mut high) = (-9.0, 9.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if normal_tail(middle) > 1.0 - below { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use Observation::{AtLeast, Below, Measured};

    #[test]
    fn the_normal_distribution_is_that() {
        for (x, above) in
            [(0.0, 0.5), (1.0, 0.158_655), (-1.0, 0.841_345), (3.0, 1.349_9e-3), (6.0, 9.866e-10)]
        {
            assert!((normal_tail(x) / above - 1.0).abs() < 1e-4, "{x}");
        }
        assert!((normal_quantile(0.1) + 1.281_552).abs() < 1e-5 && normal_quantile(0.5).abs() < 1e-5);
    }

    #[test]
    fn a_steady_capacity_is_known_at_once() {
        let said = [AtLeast(991.0), Measured(1000.1), AtLeast(991.0), Measured(999.9), Measured(1000.0)];
        let capacity = Capacity::of(&said).expect("it was measured");
        for share in [0.9, 0.5] {
            let known = capacity.held_by(share);
            assert!(known.low < 1000.0 && known.high > 999.0 && known.width() < 0.01, "{known:?}");
        }
        assert!(capacity.spread() < 0.005);
    }

    #[test]
    fn one_that_moves_is_known_as_well_as_its_trials_say() {
        let said = [
            Measured(900.0),
            Measured(1010.0),
            AtLeast(950.0),
            Measured(1100.0),
            Below(1000.0),
            Measured(980.0),
            AtLeast(900.0),
        ];
        let capacity = Capacity::of(&said).expect("it was measured");
        let (most, half) = (capacity.held_by(0.9), capacity.held_by(0.5));
        assert!(most.value < half.value && most.low < most.value && half.value < half.high);
        assert!((900.0..1100.0).contains(&half.value), "{half:?}");
        assert!((0.03..0.2).contains(&capacity.spread()), "{}", capacity.spread());
    }

    #[test]
    fn what_is_bounded_from_one_side_only_is_not_known() {
        assert!(Capacity::of(&[]).is_none());
        assert!(Capacity::of(&[AtLeast(1000.0), AtLeast(2000.0)]).is_none());
        assert!(Capacity::of(&[Below(1000.0)]).is_none());
        assert!(Capacity::of(&[AtLeast(990.0), Below(1010.0)]).is_some());
    }
}
