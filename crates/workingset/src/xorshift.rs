//! Uniform, independent random numbers in a few instructions, so that the read dominates.

use units::random::one_of;

/// Marsaglia's 64-bit xorshift (Journal of Statistical Software 8, 2003), period 2^64 − 1.
#[derive(Debug, Clone)]
pub struct Xorshift(u64);

impl Xorshift {
    /// The same numbers for the same seed.
    pub fn new(seed: u64) -> Self {
        // Nearby seeds start far apart, and none starts at 0, where it would stay.
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.next_mixed(0)
    }

    /// Mixes `extra` in first, so that the number cannot be known before `extra` is.
    pub fn next_mixed(&mut self, extra: u64) -> u64 {
        let mut state = self.0 ^ extra;
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.0 = state;
        state
    }

    /// A number in `0..count`.
    pub fn below(&mut self, count: u64) -> u64 {
        one_of(self.next(), count.into()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_comes_as_often_as_the_others() {
        for seed in [0, 1, 2, u64::MAX] {
            let (mut draws, mut counts) = (Xorshift::new(seed), [0_u32; 16]);
            (0..160_000).for_each(|_| counts[draws.below(16) as usize] += 1);
            // Five standard deviations of a binomial count of 10,000.
            assert!(counts.iter().all(|count| count.abs_diff(10_000) < 485), "{seed}: {counts:?}");
        }
        assert_eq!(Xorshift::new(7).next(), Xorshift::new(7).next());
        assert_ne!(Xorshift::new(7).next(), Xorshift::new(8).next());
    }
}
