//! The grid on which the posterior of a capacity is computed.

/// Centre distances on each side of the middle of what was seen: from the least to this, by equal ratios.
const DISTANCE_COUNT: usize = 80;
const MIN_DISTANCE: f64 = 1e-4;
/// A cell that weighs less than this, relative to the heaviest, is left out.
const MIN_WEIGHT: f64 = 1e-9;

/// A cell of the grid.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    /// Logarithm of the rate.
    pub centre: f64,
    /// Standard deviation of the logarithm between trials.
    pub spread: f64,
    /// The posterior probability; a logarithm until all are known.
    pub weight: f64,
    /// Which shape the distribution has, if it is not normal.
    pub shape: Option<usize>,
}

/// The cells that weigh anything, by their log-likelihoods.
pub fn normalised(mut cells: Vec<Cell>) -> Vec<Cell> {
    let max_log = cells.iter().map(|cell| cell.weight).fold(f64::NEG_INFINITY, f64::max);
    cells.iter_mut().for_each(|cell| cell.weight = (cell.weight - max_log).exp());
    cells.retain(|cell| cell.weight > MIN_WEIGHT);
    let sum: f64 = cells.iter().map(|cell| cell.weight).sum();
    cells.iter_mut().for_each(|cell| cell.weight /= sum);
    cells
}

/// Centres around `middle` that reach beyond what was seen, each with the width of its cell; as logarithms.
pub fn grid(middle: f64, seen: impl Iterator<Item = f64>) -> Vec<(f64, f64)> {
    let furthest = seen.map(|log| (log - middle).abs()).fold(0.01, f64::max) + 1.0;
    let step = (furthest / MIN_DISTANCE).powf(1.0 / (DISTANCE_COUNT - 1) as f64);
    let beside = |sign: f64| {
        (0..DISTANCE_COUNT)
            .map(move |place| cell_at(middle, sign, MIN_DISTANCE * step.powi(place as i32), step))
    };
    beside(-1.0).rev().chain([(middle, MIN_DISTANCE)]).chain(beside(1.0)).collect()
}

/// A centre at this distance, and the width of its cell.
fn cell_at(middle: f64, sign: f64, distance: f64, step: f64) -> (f64, f64) {
    (middle + sign * distance, distance * (step.sqrt() - 1.0 / step.sqrt()))
}
