//! Seeded pseudorandom numbers. What is stored, such as a plan, gives the same numbers in every version: they are SplitMix64's (Steele,
//! Lea and Flood, "Fast splittable pseudorandom number generators", 2014).

/// SplitMix64's increment: the golden ratio's fraction, of 2⁶⁴.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's finaliser: a bijection that scatters neighbours.
#[inline]
fn scatter(number: u64) -> u64 {
    let z = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// A hash of two numbers, bijective in each.
#[inline]
pub fn mix(state: u64, value: u64) -> u64 {
    scatter(state.rotate_left(32).wrapping_add(value).wrapping_add(STEP))
}

/// Maps all bits of a number to 0 … count − 1 (Lemire's multiplication, without the rejection): as even as 64 bits allow.
#[inline]
pub fn one_of(bits: u64, count: u128) -> u128 {
    (u128::from(bits) * count) >> 64
}

/// All bits of a number as a float in [0, 1).
#[inline]
pub fn unit_float(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// The sequence of a seed; any seed will do.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// The next number, all 64 bits.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        scatter(self.0)
    }

    /// The number at this index after the first, without computing those before it.
    pub fn nth(seed: u64, number: u64) -> u64 {
        Self(seed.wrapping_add(STEP.wrapping_mul(number))).draw()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_splitmixs() {
        // As the authors' program gives them for the seed 1234567.
        let known = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        let mut random = Random(1_234_567);
        assert_eq!([(); 3].map(|()| random.draw()), known);
        assert_eq!([0, 1, 2].map(|n| Random::nth(1_234_567, n)), known);
    }

    #[test]
    fn shares_are_below_one() {
        assert_eq!(unit_float(0), 0.0);
        assert!(unit_float(u64::MAX) < 1.0);
    }

    #[test]
    fn stored_plans_give_what_they_gave() {
        assert_eq!(mix(0, 0), 16_294_208_416_658_607_535);
        assert_eq!(mix(7, 3), 18_244_702_527_029_869_672);
        assert_eq!(mix(mix(7, 1), 2), 6_293_660_195_693_693_236);
    }
}
