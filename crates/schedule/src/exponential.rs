use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// Independent exponential gaps of mean 1, the same for a seed in every version and on every machine: ChaCha8
/// is a published cipher, and the logarithm uses only operations that IEEE 754 defines to the last bit, unlike
/// a C library's.
#[derive(Debug, Clone)]
pub(crate) struct ExponentialGaps(ChaCha8Rng);

/// Separates this stream from any other use of the seed.
const LABEL: [u8; 24] = *b"torment arrival schedule";

impl ExponentialGaps {
    pub(crate) fn new(seed: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..].copy_from_slice(&LABEL);
        Self(ChaCha8Rng::from_seed(key))
    }

    pub(crate) fn next(&mut self) -> f64 {
        // 53 random bits, and half a step so that neither 0 nor 1 is ever drawn.
        let uniform = ((self.0.next_u64() >> 11) as f64 + 0.5) * (1.0 / (1_u64 << 53) as f64);
        -ln(uniform)
    }
}

/// Natural logarithm of a positive, normal number, within two units in the last place of `max(1, |ln x|)`.
///
/// With `x = m·2^e` and m in [√½, √2): `ln x = e·ln 2 + ln m`, and with `s = (m−1)/(m+1)`, `|s| < 0.172`, `ln m
/// = 2(s + s³/3 + s⁵/5 + …)`; the omitted terms are below 10⁻¹⁸.
fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let mut mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let series = (0..11).rev().fold(0.0, |sum, n| sum * square + 1.0 / (2 * n + 1) as f64);
    exponent as f64 * std::f64::consts::LN_2 + 2.0 * s * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_one() {
        let mut rng = ChaCha8Rng::from_seed([7; 32]);
        for i in 0..100_000 {
            let spread = 2.0_f64.powi(-(i % 54));
            let x = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 * spread + 1e-17;
            let (actual, expected) = (ln(x), x.ln());
            assert!(
                (actual - expected).abs() <= 4e-16 * expected.abs().max(1.0),
                "ln {x:e}: {actual} and {expected}"
            );
        }
    }

    #[test]
    fn gaps_have_the_moments_of_an_exponential() {
        let n = 1_000_000;
        let mut gaps = ExponentialGaps::new(42);
        let (mut sum, mut squares, mut above_three) = (0.0, 0.0, 0);
        for _ in 0..n {
            let gap = gaps.next();
            assert!(gap > 0.0);
            sum += gap;
            squares += gap * gap;
            above_three += u32::from(gap > 3.0);
        }
        let n = f64::from(n);
        // Five standard errors each: 1/√n, √20/√n, √(p(1−p)/n).
        assert!((sum / n - 1.0).abs() < 5e-3, "mean {}", sum / n);
        assert!((squares / n - 2.0).abs() < 23e-3, "second moment {}", squares / n);
        let tail = (-3.0_f64).exp();
        assert!((f64::from(above_three) / n - tail).abs() < 1.1e-3, "tail {above_three}");
    }
}
