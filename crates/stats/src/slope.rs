use statrs::distribution::{ContinuousCDF, StudentsT};

/// A least-squares line through points, with the standard error of its slope.
///
/// Source: any text on simple regression; the slope's standard error is `sqrt(Σ residual² / (n − 2) / Σ (x − x̄)²)`, with `n − 2` degrees
/// of freedom. Assumes independent residuals: feed it block means, not raw samples of a queue, which are strongly autocorrelated.
/// Degenerate: fewer than three points have no standard error and give none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    /// Rise per unit of x.
    pub per_unit: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom of the error.
    pub freedom: f64,
}

impl Slope {
    /// Fits points `(i × step, ys[i])`; none for fewer than three points.
    pub fn fit(ys: &[f64], step: f64) -> Option<Self> {
        let points: Vec<(f64, f64)> = ys.iter().enumerate().map(|(i, y)| (i as f64 * step, *y)).collect();
        Self::through(&points)
    }

    /// Fits points `(x, y)`; none for fewer than three points, if all have the same x, or for values that are NaN or whose squares
    /// overflow.
    pub fn through(points: &[(f64, f64)]) -> Option<Self> {
        Self::weighted(&points.iter().map(|(x, y)| (*x, *y, 1.0)).collect::<Vec<_>>())
    }

    /// Fits points `(x, y)` above 0, each known to the same relative error: each residual counts as a share of its y, or the largest
    /// would decide alone. None as in [`Slope::through`].
    pub fn by_shares(points: &[(f64, f64)]) -> Option<Self> {
        let known: Vec<_> =
            points.iter().filter(|(_, y)| *y > 0.0).map(|(x, y)| (*x, *y, y.powi(-2))).collect();
        Self::weighted(&known)
    }

    /// Fits points `(x, y, weight)`; weights are proportional to the inverse variance of each y.
    fn weighted(points: &[(f64, f64, f64)]) -> Option<Self> {
        if points.len() < 3 {
            return None;
        }
        let weights: f64 = points.iter().map(|(_, _, w)| w).sum();
        let mean_x = points.iter().map(|(x, _, w)| w * x).sum::<f64>() / weights;
        let mean_y = points.iter().map(|(_, y, w)| w * y).sum::<f64>() / weights;
        let sxx: f64 = points.iter().map(|(x, _, w)| w * (x - mean_x).powi(2)).sum();
        // If all coincide, rounding the mean leaves a spurious spread.
        if points.iter().all(|(x, ..)| *x == points[0].0) {
            return None;
        }
        let per_unit = points.iter().map(|(x, y, w)| w * (x - mean_x) * (y - mean_y)).sum::<f64>() / sxx;
        let residual = |x: f64, y: f64| y - mean_y - per_unit * (x - mean_x);
        let squares: f64 = points.iter().map(|(x, y, w)| w * residual(*x, *y).powi(2)).sum();
        let freedom = points.len() as f64 - 2.0;
        let error = (squares / freedom / sxx).sqrt();
        let is_known = [sxx, per_unit, error].iter().all(|value| value.is_finite());
        is_known.then_some(Self { per_unit, error, freedom })
    }

    /// The one-sided lower bound of the slope at `confidence` (0.95 = 95 %).
    pub fn lower_bound(&self, confidence: f64) -> f64 {
        self.per_unit - student_t(confidence, self.freedom) * self.error
    }
}

/// The `confidence` quantile of Student's t with `freedom` degrees of freedom.
pub fn student_t(confidence: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).expect("freedom is positive").inverse_cdf(confidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_has_no_doubt() {
        let s = Slope::fit(&[1.0, 3.0, 5.0, 7.0], 0.5).expect("four points");
        assert!((s.per_unit - 4.0).abs() < 1e-12 && s.error < 1e-9);
    }

    #[test]
    fn matches_a_textbook_table() {
        // Anscombe's first set in order of x: slope 0.5001, standard error 0.1179.
        let ys = [4.26, 5.68, 7.24, 4.82, 6.95, 8.81, 8.04, 8.33, 10.84, 7.58, 9.96];
        let s = Slope::fit(&ys, 1.0).expect("eleven points");
        assert!((s.per_unit - 0.5001).abs() < 1e-4 && (s.error - 0.1179).abs() < 1e-4, "{s:?}");
        assert!((student_t(0.95, 6.0) - 1.9432).abs() < 1e-3);
    }

    #[test]
    fn points_may_stand_anywhere() {
        // Anscombe's fourth set: ten points at 8 and one at 19; slope 0.4999, standard error 0.1178.
        let ys = [6.58, 5.76, 7.71, 8.84, 8.47, 7.04, 5.25, 5.56, 7.91, 6.89];
        let points: Vec<(f64, f64)> = ys.iter().map(|y| (8.0, *y)).chain([(19.0, 12.5)]).collect();
        let s = Slope::through(&points).expect("eleven points");
        assert!((s.per_unit - 0.4999).abs() < 1e-4 && (s.error - 0.1178).abs() < 1e-4, "{s:?}");
        let steep = Slope::through(&[(0.0, 1.0), (1.0, 3.0), (10.0, 21.0)]).expect("three points");
        assert!((steep.per_unit - 2.0).abs() < 1e-12 && steep.error < 1e-9);
        assert_eq!(Slope::through(&points[..10]), None, "all at the same place");
    }

    #[test]
    fn a_large_point_does_not_decide_alone() {
        // Near y = 10 + 2x, the last twice too high: relative residuals keep the slope of the others.
        let points = [(0.0, 10.0), (5.0, 20.1), (20.0, 49.8), (100.0, 210.0), (400.0, 1620.0)];
        let plain = Slope::through(&points).expect("five points");
        let shares = Slope::by_shares(&points).expect("five points");
        assert!(plain.per_unit > 3.5, "{plain:?}");
        assert!((2.0..2.5).contains(&shares.per_unit), "{shares:?}");
        assert_eq!(Slope::by_shares(&[(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)]), None, "two are left");
    }

    /// Three points at 0.1, whose mean is 0.10000000000000002, had a slope of 10 to the 16.
    #[test]
    fn points_at_one_place_have_no_slope() {
        for points in [
            [(0.1, 1.0), (0.1, 2.0), (0.1, 3.0)],
            [(0.0, 1.0), (1.0, f64::NAN), (2.0, 1.0)],
            [(0.0, 1.0), (1.0, f64::INFINITY), (2.0, 1.0)],
            [(0.0, 1.0), (1e200, 2.0), (2e200, 1.0)],
        ] {
            assert_eq!(Slope::through(&points), None, "{points:?}");
        }
        assert_eq!(Slope::by_shares(&[(0.0, 1e-200), (1.0, 1e-200), (2.0, 1e-200)]), None);
    }

    #[test]
    fn two_points_say_nothing() {
        assert_eq!(Slope::fit(&[1.0, 2.0], 1.0), None);
    }
}
