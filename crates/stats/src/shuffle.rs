//! Random orders from a given seed, the same in every version: ChaCha8 is a published cipher.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// Separates the order within blocks from any other use of the same seed.
const KEY_SUFFIX: [u8; 16] = *b"torment blocks  ";

/// A uniformly random permutation of 0 … n−1 (Fisher and Yates, as Durstenfeld gave it). Each block has a stream of its own, so its order
/// does not depend on earlier blocks.
pub fn shuffled(n: usize, seed: u64, block: u32) -> Vec<usize> {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..12].copy_from_slice(&block.to_le_bytes());
    key[16..].copy_from_slice(&KEY_SUFFIX);
    let mut random = ChaCha8Rng::from_seed(key);
    let mut order: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        let choices = last as u64 + 1;
        // 64 random bits for a dozen choices: the modulo bias is below 1e-18.
        order.swap(last, (random.next_u64() % choices) as usize);
    }
    order
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
}
