//! Randomness from a given seed, the same in every version: ChaCha8 is a published cipher.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// Keeps the order within blocks apart from any other use of the same seed.
const ORDER: [u8; 16] = *b"torment blocks  ";

/// 0 … n−1 in an order of which each is equally likely (Fisher and Yates, as Durstenfeld gave it). Each block has
/// a stream of its own, so that its order does not depend on how the blocks before it went.
pub(crate) fn shuffled(n: usize, seed: u64, block: u32) -> Vec<usize> {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..12].copy_from_slice(&block.to_le_bytes());
    key[16..].copy_from_slice(&ORDER);
    let mut random = ChaCha8Rng::from_seed(key);
    let mut order: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        let choices = last as u64 + 1;
        // 64 random bits for a dozen choices: the bias of the remainder is below 1e-18.
        order.swap(last, (random.next_u64() % choices) as usize);
    }
    order
}

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

    /// Evenly from −1 to 1, in 2³² steps: half of what a draw of the cipher gives, which is enough here.
    fn side(&mut self) -> f64 {
        f64::from(self.random.next_u32().cast_signed()) / f64::from(1_u32 << 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_a_permutation_and_reproducible_and_blocks_differ() {
        for n in 0..9 {
            let mut order = shuffled(n, 7, 3);
            assert_eq!(order, shuffled(n, 7, 3));
            order.sort_unstable();
            assert_eq!(order, (0..n).collect::<Vec<_>>());
        }
        let orders: std::collections::BTreeSet<_> = (0..200).map(|block| shuffled(3, 1, block)).collect();
        assert_eq!(orders.len(), 6, "each order of three comes up in two hundred blocks");
        assert_ne!(shuffled(8, 1, 1), shuffled(8, 2, 1));
    }

    #[test]
    fn every_place_is_equally_likely() {
        let mut first = [0_u32; 4];
        for seed in 0..4000 {
            first[shuffled(4, seed, 1)[0]] += 1;
        }
        // Five standard errors of a binomial share of 1/4 of 4,000.
        assert!(first.iter().all(|n| n.abs_diff(1000) < 137), "{first:?}");
    }

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
