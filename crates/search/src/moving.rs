//! The capacity of a target that moves, from every tenth of the trials that overloaded it.
//!
//! Ten trials say little of how much a target differs from one to the next, and next to nothing of the slowest of ten. But what it did in
//! each tenth of an overload, and how alike neighbouring tenths are, tells how much whole trials differ. The throughput of a tenth is
//! assumed normal, a share of its variance correlated in time (an Ornstein-Uhlenbeck process) and the rest white. Centre, standard
//! deviation, share and correlation time are estimated together, on a grid. The rate that a trial of such a target holds follows by
//! simulation.

use crate::grid::{Cell, grid};
use crate::observation::Observation;
use std::sync::Arc;
use units::random::{Random, unit_float};

/// Parts of a trial.
pub const PARTS: usize = 10;
/// What a target did in each of them, in requests per second.
pub type Throughputs = [f64; PARTS];

/// What is known of the parts of several trials.
#[derive(Debug, Clone)]
pub struct TrialParts {
    /// What the target did in each of them, of the trials that measured it.
    pub throughputs: Vec<Option<Throughputs>>,
    /// The drain, in parts of a trial.
    pub drain: f64,
}

impl TrialParts {
    /// How many trials measured it.
    pub fn measured(&self) -> usize {
        self.throughputs.iter().flatten().count()
    }

    /// Whether the parts lie in two groups, as those of a target with two states do: their excess kurtosis is far below that of one group.
    pub fn are_in_two_groups(&self) -> bool {
        let parts: Vec<f64> = self.throughputs.iter().flatten().flatten().copied().collect();
        let count = parts.len() as f64;
        let mean = parts.iter().sum::<f64>() / count;
        let moment = |power: i32| parts.iter().map(|part| (part - mean).powi(power)).sum::<f64>() / count;
        moment(4) / moment(2).powi(2) - 3.0 < MAX_KURTOSIS_OF_TWO
    }
}

/// Correlation times considered, in parts of a trial,
const CORRELATION_TIMES: [f64; 3] = [1.5, 4.0, 12.0];
/// and shares of the variance that are correlated.
const CORRELATED_SHARES: [f64; 4] = [0.2, 0.5, 0.8, 1.0];
/// Standard deviations of a part: the smallest, the ratio from each to the next, and how many.
const DEVIATION: f64 = 0.01;
const DEVIATION_RATIO: f64 = 1.3;
const DEVIATION_COUNT: usize = 18;
/// Trials simulated for each of these.
const SIMULATED: usize = 400;
/// The least that a target does, as a share of its centre.
const LEAST: f64 = 0.02;
/// Two equal groups have an excess kurtosis of −2, evenly spread parts of −1.2, normal ones of 0.
const MAX_KURTOSIS_OF_TWO: f64 = -0.7;
/// How much of what the parts say counts, for they are not quite normal.
const TEMPER: f64 = 0.6;
/// Kinds of target whose parts are less likely by this log-odds are not considered: they would hardly weigh anything.
const MAX_LESS_LIKELY: f64 = 100.0;

/// What trials of a target hold, as a logarithm relative to its centre.
#[derive(Debug, Clone)]
pub struct Shape {
    /// In ascending order.
    held: Vec<f64>,
    mean: f64,
    spread: f64,
}

impl Shape {
    fn new(mut held: Vec<f64>) -> Self {
        held.sort_unstable_by(f64::total_cmp);
        let count = held.len() as f64;
        let mean = held.iter().sum::<f64>() / count;
        let spread = (held.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / count).sqrt();
        Self { held, mean, spread }
    }

    /// What this share of trials hold.
    pub fn held_by(&self, share: f64) -> f64 {
        self.held[(((1.0 - share) * SIMULATED as f64) as usize).min(SIMULATED - 1)]
    }

    /// The share of trials that hold less than this.
    fn below(&self, log: f64) -> f64 {
        self.held.partition_point(|held| *held < log) as f64 / SIMULATED as f64
    }

    /// Of an observation, given as logarithms.
    fn log_likelihood(&self, observation: Observation, centre: f64) -> f64 {
        let below = |log: f64| self.below(log - centre);
        let probability = match observation {
            Observation::Measured(did) => {
                let deviation = (did - centre - self.mean) / self.spread;
                return -self.spread.ln() - deviation * deviation / 2.0;
            }
            Observation::AtLeast(rate) => 1.0 - below(rate),
            Observation::Below(rate) => below(rate),
            Observation::Between(least, most) => below(most) - below(least),
        };
        probability.max(0.2 / SIMULATED as f64).ln()
    }
}

/// A correlation of the parts of a trial: its matrix as Cholesky's triangle, and the inverse.
#[derive(Debug, Clone)]
struct Correlation {
    triangle: [[f64; PARTS]; PARTS],
    inverse: [[f64; PARTS]; PARTS],
}

impl Correlation {
    fn all() -> impl Iterator<Item = Self> {
        CORRELATION_TIMES
            .iter()
            .flat_map(|time| CORRELATED_SHARES.iter().map(move |share| Self::new(*time, *share)))
    }

    fn new(time: f64, share: f64) -> Self {
        let between = |a: usize, b: usize| match a.abs_diff(b) {
            0 => 1.0,
            apart => share * (-(apart as f64) / time).exp(),
        };
        let mut triangle = [[0.0; PARTS]; PARTS];
        for a in 0..PARTS {
            for b in 0..=a {
                let rest = between(a, b) - (0..b).map(|k| triangle[a][k] * triangle[b][k]).sum::<f64>();
                triangle[a][b] = if a == b { rest.sqrt() } else { rest / triangle[b][b] };
            }
        }
        let mut inverse = [[0.0; PARTS]; PARTS];
        for column in 0..PARTS {
            let mut solved = [0.0; PARTS];
            for a in 0..PARTS {
                let rest = f64::from(a == column) - (0..a).map(|k| triangle[a][k] * solved[k]).sum::<f64>();
                solved[a] = rest / triangle[a][a];
            }
            for a in (0..PARTS).rev() {
                let rest = solved[a] - (a + 1..PARTS).map(|k| triangle[k][a] * solved[k]).sum::<f64>();
                solved[a] = rest / triangle[a][a];
            }
            inverse.iter_mut().zip(solved).for_each(|(row, value)| row[column] = value);
        }
        Self { triangle, inverse }
    }

    fn log_determinant(&self) -> f64 {
        2.0 * (0..PARTS).map(|k| self.triangle[k][k].ln()).sum::<f64>()
    }

    fn product(&self, a: &Throughputs, b: &Throughputs) -> f64 {
        let row = |(a, row): (&f64, &[f64; PARTS])| a * row.iter().zip(b).map(|(r, b)| r * b).sum::<f64>();
        a.iter().zip(&self.inverse).map(row).sum()
    }

    /// What a trial would hold that did this in its parts, relative to the centre: as in `would_have_held`, no moment's queue may outlast
    /// the drain, of this many parts.
    fn shape(&self, deviation: f64, drain: f64, numbers: &[Throughputs]) -> Shape {
        let held = numbers.iter().map(|white| {
            let did: Throughputs = std::array::from_fn(|a| {
                let correlated: f64 = (0..=a).map(|k| self.triangle[a][k] * white[k]).sum();
                (1.0 + deviation * correlated).max(LEAST)
            });
            let drained = drain * did.iter().sum::<f64>() / PARTS as f64;
            let mut sum = 0.0;
            let since = did.iter().rev().enumerate().map(|(parts, did)| {
                sum += did;
                (sum + drained) / (parts + 1) as f64
            });
            since.fold(f64::INFINITY, f64::min).ln()
        });
        Shape::new(held.collect())
    }
}

/// The kinds of target considered, and what trials of each hold, simulated when it is first asked for: a search asks after every trial.
#[derive(Debug, Clone)]
pub struct Kinds {
    correlations: Vec<Correlation>,
    numbers: Vec<Throughputs>,
    /// The drain that the shapes are of, in parts of a trial.
    drain: f64,
    /// Of each correlation, for each deviation.
    shapes: Vec<[Option<Arc<Shape>>; DEVIATION_COUNT]>,
}

impl Default for Kinds {
    fn default() -> Self {
        Self {
            correlations: Correlation::all().collect(),
            numbers: normal_numbers(),
            drain: f64::NAN,
            shapes: Vec::new(),
        }
    }
}

impl Kinds {
    /// Forgets the shapes of another drain.
    fn set_drain(&mut self, drain: f64) {
        if self.drain != drain {
            self.drain = drain;
            self.shapes = vec![[const { None }; DEVIATION_COUNT]; self.correlations.len()];
        }
    }

    fn shape(&mut self, correlation: usize, deviation: usize) -> Arc<Shape> {
        let of = &self.correlations[correlation];
        let simulated = || Arc::new(of.shape(deviations()[deviation], self.drain, &self.numbers));
        self.shapes[correlation][deviation].get_or_insert_with(simulated).clone()
    }
}

/// Standard deviations of a part considered, as shares of the centre.
fn deviations() -> [f64; DEVIATION_COUNT] {
    std::array::from_fn(|number| DEVIATION * DEVIATION_RATIO.powi(number as i32))
}

/// Normal random numbers, always the same (Box and Muller).
fn normal_numbers() -> Vec<Throughputs> {
    let mut random = Random(1);
    let mut uniform = || unit_float(random.draw());
    let mut number = || (-2.0 * (1.0 - uniform()).ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
    (0..SIMULATED).map(|_| std::array::from_fn(|_| number())).collect()
}

/// The posterior of the centre and the shape, by all trials: what each said, and what it did in its parts if that is known.
pub fn posterior(
    observations: &[Observation],
    parts: &TrialParts,
    kinds: &mut Kinds,
) -> (Vec<Cell>, Vec<Arc<Shape>>) {
    kinds.set_drain(parts.drain);
    let measured: Vec<Throughputs> = parts.throughputs.iter().copied().flatten().collect();
    let others: Vec<Observation> = observations
        .iter()
        .zip(&parts.throughputs)
        .filter(|(_, parts)| parts.is_none())
        .map(|(said, _)| said.logs())
        .collect();
    let count = (measured.len() * PARTS) as f64;
    let unit = measured.iter().flatten().sum::<f64>() / count;
    let relative: Vec<Throughputs> = measured.iter().map(|did| did.map(|did| did / unit - 1.0)).collect();
    let centre =
        |(log, width): (f64, f64)| Centre { log, middle: log.exp() / unit - 1.0, log_width: width.ln() };
    let centres = grid(unit.ln(), observations.iter().map(|said| said.rate().ln()));
    let centres: Vec<Centre> = centres.into_iter().map(centre).collect();
    let fits: Vec<_> = kinds.correlations.iter().map(|one| PartsFit::new(one, &relative)).collect();
    let best = |fit: &PartsFit, deviation| fit.log_likelihood(fit.sum / fit.ones, deviation);
    let likeliest = fits.iter().flat_map(|fit| deviations().map(|deviation| best(fit, deviation)));
    let least = likeliest.fold(f64::NEG_INFINITY, f64::max) - MAX_LESS_LIKELY;
    let (mut cells, mut shapes) = (Vec::new(), Vec::new());
    for (correlation, fit) in fits.iter().enumerate() {
        for (number, deviation) in deviations().into_iter().enumerate() {
            if best(fit, deviation) < least {
                continue;
            }
            let shape = kinds.shape(correlation, number);
            for Centre { log, middle, log_width } in &centres {
                let did = fit.log_likelihood(*middle, deviation);
                if did >= least {
                    let said: f64 = others.iter().map(|said| shape.log_likelihood(*said, *log)).sum();
                    let weight = TEMPER * did + said + log_width;
                    cells.push(Cell {
                        centre: *log,
                        spread: shape.spread,
                        weight,
                        shape: Some(shapes.len()),
                    });
                }
            }
            shapes.push(shape);
        }
    }
    (cells, shapes)
}

/// A centre considered.
struct Centre {
    log: f64,
    /// Relative to the mean of all parts.
    middle: f64,
    log_width: f64,
}

/// What the likelihood of the parts depends on, given their correlation.
struct PartsFit {
    count: f64,
    squares: f64,
    sum: f64,
    ones: f64,
    log_determinant: f64,
}

impl PartsFit {
    fn new(correlation: &Correlation, relative: &[Throughputs]) -> Self {
        let (one, trials) = ([1.0; PARTS], relative.len() as f64);
        Self {
            count: trials * PARTS as f64,
            squares: relative.iter().map(|did| correlation.product(did, did)).sum(),
            sum: relative.iter().map(|did| correlation.product(did, &one)).sum(),
            ones: correlation.product(&one, &one) * trials,
            log_determinant: correlation.log_determinant() * trials,
        }
    }

    fn log_likelihood(&self, middle: f64, deviation: f64) -> f64 {
        let distance = self.squares - 2.0 * self.sum * middle + self.ones * middle * middle;
        -distance / (2.0 * deviation * deviation) - self.log_determinant / 2.0 - self.count * deviation.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::Capacity;

    #[test]
    fn the_inverse_is_that_of_the_matrix() {
        for correlation in Correlation::all() {
            let white = correlation.triangle.map(|row| row[0]);
            // Cholesky's first column is the matrix's; the inverse maps it to the first unit vector.
            let unit: Throughputs = std::array::from_fn(|a| {
                correlation.inverse[a].iter().zip(&white).map(|(inverse, white)| inverse * white).sum()
            });
            assert!(
                unit.iter().enumerate().all(|(a, one)| (one - f64::from(a == 0)).abs() < 1e-9),
                "{unit:?}"
            );
        }
    }

    /// Trials of 1,000/s whose tenths vary by 10 %, each like its neighbours; and what they hold.
    fn moving_trials(first: usize, count: usize) -> (Vec<Observation>, TrialParts) {
        let correlation = Correlation::new(4.0, 1.0);
        let numbers = &normal_numbers()[first..first + count];
        let throughputs: Vec<Throughputs> = numbers
            .iter()
            .map(|white| {
                std::array::from_fn(|a| {
                    let sum: f64 = (0..=a).map(|k| correlation.triangle[a][k] * white[k]).sum();
                    1000.0 * (1.0 + 0.1 * sum)
                })
            })
            .collect();
        let held = |did: &Throughputs| {
            let since = |parts: usize| did[PARTS - parts..].iter().sum::<f64>() / parts as f64;
            Observation::Measured((1..=PARTS).map(since).fold(f64::INFINITY, f64::min))
        };
        let observations = throughputs.iter().map(held).collect();
        (observations, TrialParts { throughputs: throughputs.into_iter().map(Some).collect(), drain: 0.0 })
    }

    #[test]
    fn parts_tell_more_than_whole_trials() {
        let shape = Correlation::new(4.0, 1.0).shape(0.1, 0.0, &normal_numbers());
        let mut kinds = Kinds::default();
        for share in [0.9, 0.5] {
            let truth = 1000.0 * shape.held_by(share).exp();
            let (mut by_parts, mut by_whole) = (0.0, 0.0);
            for first in (0..100).step_by(10) {
                let (observations, parts) = moving_trials(first, 10);
                let unknown = TrialParts { throughputs: vec![None; 10], drain: 0.0 };
                let mut known = |parts| {
                    let known = Capacity::of_moving(&observations, parts, &mut kinds)
                        .expect("it was measured")
                        .held_by(share);
                    assert!(known.low < truth && truth < known.high, "{known:?} without {truth}");
                    known.width()
                };
                by_parts += known(&parts);
                by_whole += known(&unknown);
            }
            assert!(by_parts < 0.9 * by_whole, "{share}: {by_parts} against {by_whole}");
        }
    }

    #[test]
    fn two_states_are_seen_in_the_parts() {
        let parts = |throughputs: &[Throughputs]| TrialParts {
            throughputs: throughputs.iter().copied().map(Some).collect(),
            drain: 0.1,
        };
        let half: Throughputs = std::array::from_fn(|part| if part < 4 { 500.0 } else { 1000.0 });
        assert!(parts(&[half, [1000.0; PARTS], half, [500.0; PARTS], half]).are_in_two_groups());
        assert!(!moving_trials(0, 10).1.are_in_two_groups());
    }

    #[test]
    fn a_few_measured_trials_tell_no_correlation() {
        let (observations, parts) = moving_trials(0, 2);
        let unknown = TrialParts { throughputs: vec![None; 2], drain: 0.0 };
        let mut kinds = Kinds::default();
        let mut of = |parts| {
            Capacity::of_moving(&observations, parts, &mut kinds).expect("it was measured").held_by(0.9)
        };
        assert_eq!(of(&parts), of(&unknown));
    }
}
