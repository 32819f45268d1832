use statrs::distribution::{ContinuousCDF, StudentsT};

/// A least-squares line through equally spaced points, with the doubt of its slope.
///
/// Source: any text on simple regression; the slope's standard error is
/// `sqrt(Σ residual² / (n − 2) / Σ (x − x̄)²)`, with `n − 2` degrees of freedom. Assumes independent
/// residuals: feed it block means, not raw samples of a queue, which are strongly autocorrelated.
/// Degenerate: fewer than three points have no standard error and give none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    /// Rise for each unit of x.
    pub per_unit: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom of the error.
    pub freedom: f64,
}

impl Slope {
    /// Fits points `(i × step, ys[i])`; none for fewer than three points.
    pub fn fit(ys: &[f64], step: f64) -> Option<Self> {
        let n = ys.len();
        if n < 3 {
            return None;
        }
        let count = n as f64;
        let (mean_x, mean_y) = ((count - 1.0) / 2.0 * step, ys.iter().sum::<f64>() / count);
        let (mut sxx, mut sxy) = (0.0, 0.0);
        for (i, y) in ys.iter().enumerate() {
            let dx = i as f64 * step - mean_x;
            sxx += dx * dx;
            sxy += dx * (y - mean_y);
        }
        let per_unit = sxy / sxx;
        let squares: f64 = ys
            .iter()
            .enumerate()
            .map(|(i, y)| (y - mean_y - per_unit * (i as f64 * step - mean_x)).powi(2))
            .sum();
        let freedom = count - 2.0;
        Some(Self { per_unit, error: (squares / freedom / sxx).sqrt(), freedom })
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
    fn two_points_say_nothing() {
        assert_eq!(Slope::fit(&[1.0, 2.0], 1.0), None);
    }
}
