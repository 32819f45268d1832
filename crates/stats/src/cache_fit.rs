//! The throughput of random reads from a cache in front of something slow: the fitted hyperbola, and which reads missed.

use crate::{Histogram, Median};
use units::Nanos;

/// The rate of sequential, uniformly random reads over a set of this size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CachePoint {
    /// Size of the set, in bytes.
    pub size: f64,
    /// Reads per second.
    pub rate: f64,
    /// The share of reads that missed, if counted.
    pub missed: Option<f64>,
}

/// Time per read = h·hit + (1 − h)·miss, where h = min(1, cache / size) is the share that the cache holds, under any policy that keeps it
/// full of the set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheFit {
    /// Seconds per read from the cache.
    pub hit: f64,
    /// Seconds per read from behind it.
    pub miss: f64,
    /// Cache size, in bytes.
    pub size: f64,
    /// Root of the mean square of ln(rate) − ln(model): 0.1 is some 10 % off.
    pub error: f64,
}

/// Why the points do not determine the three parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheFitError {
    /// Fewer than four points, or an invalid rate.
    TooFew,
    /// The rates hardly differ, and nothing says whether all reads hit or all miss.
    Flat,
    /// Not even the two smallest sets fit, so nothing says what a hit takes.
    AllMiss,
    /// The rates rise with the size, or fall only at the largest set.
    NoHyperbola,
}

/// If the largest rate is less than this many times the smallest, there is no cliff.
const MIN_CLIFF: f64 = 1.3;
/// Candidate cache sizes between two points in the first pass.
const STEPS_PER_POINT: usize = 24;
/// Golden-section steps around the best of them.
const REFINE_STEPS: u32 = 40;
/// Steps of the descent for hit and miss; it has converged long before.
const NEWTON_STEPS: u32 = 30;

impl CacheFit {
    /// Least squares on the logarithm of the rate, so that a slow point counts as much as a fast one.
    ///
    /// If the misses of all sets are counted, they determine the size, and the times only hit and miss: a disk that is slower for a while
    /// does not move the size. Else, for each cache size tried between the smallest and the largest set, hit and miss are found by
    /// Gauss-Newton descent in their logarithms; the best size is refined by golden section. At least two sets must fit to determine hit,
    /// and at least two must not to determine miss and the size.
    ///
    /// # Errors
    /// If the points do not determine all three.
    pub fn fit(points: &[CachePoint]) -> Result<Self, CacheFitError> {
        let mut points = points.to_vec();
        points.sort_by(|a, b| a.size.total_cmp(&b.size));
        if points.len() < 4 || points.iter().any(|p| !(p.rate > 0.0 && p.size > 0.0 && p.rate.is_finite())) {
            return Err(CacheFitError::TooFew);
        }
        let fastest = points.iter().map(|p| p.rate).fold(0.0, f64::max);
        let slowest = points.iter().map(|p| p.rate).fold(f64::INFINITY, f64::min);
        if fastest < MIN_CLIFF * slowest {
            return Err(CacheFitError::Flat);
        }
        let fit = match size_from_misses(&points) {
            Some(fits) => Self::of_size(&points, fits.median),
            None => {
                points.iter_mut().for_each(|p| p.missed = None);
                Self::best(&points)
            }
        };
        let beyond = points.iter().filter(|p| p.size > fit.size).count();
        match points.iter().filter(|p| p.size <= fit.size * 1.001).count() {
            // One set alone may be one that just does not fit: any smaller cache would explain it as well.
            0 | 1 => Err(CacheFitError::AllMiss),
            _ if beyond < 2 || fit.miss < fit.hit * MIN_CLIFF => Err(CacheFitError::NoHyperbola),
            _ => Ok(fit),
        }
    }

    /// The best size between the smallest set and the largest.
    fn best(points: &[CachePoint]) -> Self {
        let (first, last) = (points[0].size.ln(), points[points.len() - 1].size.ln());
        let steps = STEPS_PER_POINT * points.len();
        let at = |step: f64| (first + (last - first) * step / steps as f64).exp();
        let error = |step: f64| Self::of_size(points, at(step)).error;
        let best =
            (0..=steps).min_by(|a, b| error(*a as f64).total_cmp(&error(*b as f64))).unwrap_or(0) as f64;
        let (mut low, mut high) = ((best - 1.0).max(0.0), (best + 1.0).min(steps as f64));
        for _ in 0..REFINE_STEPS {
            let third = (high - low) * 0.382;
            if error(low + third) < error(high - third) { high -= third } else { low += third }
        }
        Self::of_size(points, at(f64::midpoint(low, high)))
    }

    /// The best hit and miss for a cache of this size.
    fn of_size(points: &[CachePoint], size: f64) -> Self {
        let hits = |p: &CachePoint| p.missed.map_or((size / p.size).min(1.0), |missed| 1.0 - missed);
        let time = |p: &CachePoint| 1.0 / p.rate;
        let mean = |weight: &dyn Fn(&CachePoint) -> f64| {
            let weights: f64 = points.iter().map(weight).sum();
            let logs: f64 = points.iter().map(|p| weight(p) * time(p).ln()).sum();
            (weights > 0.0).then(|| logs / weights)
        };
        // Start: the mean of those that mostly hit, and of those that mostly miss.
        let mut hit = mean(&|p| f64::from(hits(p) > 0.999)).unwrap_or_else(|| time(&points[0]).ln());
        let slow = points.iter().map(time).fold(0.0, f64::max).ln();
        let mut miss = slow + 0.1;
        for _ in 0..NEWTON_STEPS {
            // J'J·step = J'r in two unknowns, with a little added to the diagonal if one is not determined.
            let (mut hh, mut hm, mut mm, mut hr, mut mr) = (1e-9, 0.0, 1e-9, 0.0, 0.0);
            for p in points {
                let (by_hit, by_miss) = (hits(p) * hit.exp(), (1.0 - hits(p)) * miss.exp());
                let model = by_hit + by_miss;
                let (dh, dm, off) = (by_hit / model, by_miss / model, time(p).ln() - model.ln());
                hh += dh * dh;
                hm += dh * dm;
                mm += dm * dm;
                hr += dh * off;
                mr += dm * off;
            }
            let det = hh * mm - hm * hm;
            if det.abs() < 1e-18 {
                break;
            }
            // At most a factor of e per step.
            hit += ((hr * mm - mr * hm) / det).clamp(-1.0, 1.0);
            miss += ((mr * hh - hr * hm) / det).clamp(-1.0, 1.0);
        }
        let fit = Self { hit: hit.exp(), miss: miss.exp(), size, error: 0.0 };
        let squares: f64 = points.iter().map(|p| (p.rate.ln() - fit.rate(p.size).ln()).powi(2)).sum();
        let error = (squares / points.len() as f64).sqrt();
        Self { error: if error.is_finite() { error } else { f64::INFINITY }, ..fit }
    }

    /// The share of reads that miss.
    pub fn misses(&self, size: f64) -> f64 {
        1.0 - (self.size / size).min(1.0)
    }

    /// Reads per second of a set of this size.
    pub fn rate(&self, size: f64) -> f64 {
        let misses = self.misses(size);
        1.0 / ((1.0 - misses) * self.hit + misses * self.miss)
    }

    /// The set size at which the rate is half of that from the cache; none if it never is.
    ///
    /// Half the rate is twice the time: (1 − cache/size)·(miss − hit) = hit. With r = miss/hit, a share of 1/(r − 1) misses, at size =
    /// cache·(r − 1)/(r − 2).
    pub fn half_rate_size(&self) -> Option<f64> {
        let ratio = self.miss / self.hit;
        (ratio > 2.0).then(|| self.size * (ratio - 1.0) / (ratio - 2.0))
    }
}

/// Shares of misses from which the size follows.
const TELLING_MISSES: std::ops::Range<f64> = 0.1..0.9;

/// The cache size from counted misses alone, without any time: set × (1 − share), the median over sets with neither few nor mostly
/// misses. None if there is no such set, or one whose misses are not counted.
pub fn size_from_misses(points: &[CachePoint]) -> Option<Median> {
    let missed: Option<Vec<(f64, f64)>> = points.iter().map(|p| p.missed.map(|m| (p.size, m))).collect();
    let telling = missed?.into_iter().filter(|(_, missed)| TELLING_MISSES.contains(missed));
    Median::of(&telling.map(|(size, missed)| size * (1.0 - missed)).collect::<Vec<f64>>())
}

/// Times are counted in classes a quarter of an octave wide,
const CLASSES_PER_OCTAVE: f64 = 4.0;
/// two modes are at least this many classes apart (a factor of four),
const MIN_CLASSES_APART: usize = 8;
/// and between them is a class with less than this share of the smaller mode.
const MAX_VALLEY: f64 = 0.3;
/// A mode has at least this share of all.
const MIN_PEAK_SHARE: f64 = 0.002;

/// The time that separates hits from misses: the valley between the two highest modes of a histogram. None if there is only one.
pub fn hit_miss_threshold(times: &Histogram) -> Option<Nanos> {
    let (shortest, longest) = (times.quantile(0.0)?, times.max()?);
    let class = |time: Nanos| ((time.0.max(1) as f64).log2() * CLASSES_PER_OCTAVE).floor() as usize;
    let edge = |class: usize| Nanos(2_f64.powf(class as f64 / CLASSES_PER_OCTAVE) as u64);
    let (first, last) = (class(shortest), class(longest));
    let count = |class: usize| {
        let above = |at: usize| times.count_above(edge(at));
        above(class).saturating_sub(above(class + 1)) as f64
    };
    // The very first lies on its own lower edge.
    let counts: Vec<f64> = (first.saturating_sub(1)..=last).map(count).collect();
    let least = times.count() as f64 * MIN_PEAK_SHARE;
    let mut best: Option<(f64, usize)> = None;
    for low in 0..counts.len() {
        for high in low + MIN_CLASSES_APART..counts.len() {
            let smaller = counts[low].min(counts[high]);
            if smaller < least || best.is_some_and(|(found, _)| smaller <= found) {
                continue;
            }
            let floor = counts[low + 1..high].iter().copied().fold(f64::INFINITY, f64::min);
            if floor < MAX_VALLEY * smaller {
                // The middle of the classes that are this empty.
                let flat: Vec<usize> = (low + 1..high).filter(|at| counts[*at] <= floor).collect();
                best = Some((smaller, flat[flat.len() / 2]));
            }
        }
    }
    best.map(|(_, lowest)| edge(first.saturating_sub(1) + lowest + 1))
}

#[cfg(test)]
mod tests;
