//! The curve: response time at fixed shares of the capacity.

use record::{CurvePoint, TrialResult};
use units::{Nanos, Rate};

/// Where the curve is measured, as shares of the capacity.
pub const SHARES: [f64; 5] = [0.25, 0.5, 0.8, 0.9, 0.95];

/// The point of a trial; none if nothing was answered.
pub fn curve_point(share: f64, result: &TrialResult) -> Option<CurvePoint> {
    let total = &result.total;
    let q = total.response.quantiles()?;
    let blocks = &total.outstanding;
    Some(CurvePoint {
        share,
        rate: Rate::of(total.due, result.loaded),
        due: total.due,
        response_p50: q.p50,
        response_p99: q.p99,
        response_max: q.max,
        outstanding: blocks.iter().sum::<f64>() / blocks.len().max(1) as f64,
        response_mean: total.response.mean().unwrap_or(Nanos::ZERO),
    })
}
