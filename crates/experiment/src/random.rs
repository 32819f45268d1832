//! Normal random numbers from a given seed, the same in every version: ChaCha8 is a published cipher.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// Standard normal numbers: the polar method of Marsaglia and Bray (SIAM Review 6, 1964).
pub(crate) struct Normal {
    random: ChaCha8Rng,
    spare: Option<f64>,
}

impl Normal {
    pub(crate) fn new(label: [u8; 32]) -> Self {
        Self { random: ChaCha8Rng::from_seed(label), spare: None }
    }

    pub(crate) fn next(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (self.side(), self.side());
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let scale = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(y * scale);
                return x * scale;
            }
        }
    }

    /// Uniform from −1 to 1, in 2³² steps: half of a cipher draw, which suffices here.
    fn side(&mut self) -> f64 {
        f64::from(self.random.next_u32().cast_signed()) / f64::from(1_u32 << 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_numbers_have_its_moments() {
        let mut normal = Normal::new([7; 32]);
        let n = 400_000;
        let (mut sum, mut squares, mut beyond) = (0.0, 0.0, 0);
        for _ in 0..n {
            let x = normal.next();
            sum += x;
            squares += x * x;
            beyond += u32::from(x.abs() > 1.959_964);
        }
        let n = f64::from(n);
        assert!((sum / n).abs() < 5.0 / n.sqrt(), "mean {}", sum / n);
        assert!((squares / n - 1.0).abs() < 5.0 * (2.0 / n).sqrt(), "variance {}", squares / n);
        assert!((f64::from(beyond) / n - 0.05).abs() < 5.0 * (0.05 * 0.95 / n).sqrt(), "tails {beyond}");
    }
}
