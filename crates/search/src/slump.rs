//! Whether a target does less as its queue grows: then it does more in the first parts of its overloads than later.
//!
//! A target that moves does so in some overloads, but as often less: on average, what it does does not depend on when an overload begins.

use crate::moving::Throughputs;

/// Fewer overloads tell nothing.
const MIN_OVERLOADS: usize = 2;
/// The queue is short in the first one, two, or three parts of each.
const MAX_FIRST: usize = 3;
/// It then does more by up to 40 %, in these steps; as a logarithm.
const STEP: f64 = 0.02;
const STEP_COUNT: u32 = 20;
/// Standard deviation of that beside what differs from overload to overload: two may agree by chance.
const MIN_DEVIATION: f64 = 0.02;

/// The log-odds that it does, by what it did in the parts of each overload. Zero if nothing speaks for it: it may have done less from the
/// beginning.
pub fn odds_of_slump(overloads: &[Throughputs]) -> f64 {
    if overloads.len() < MIN_OVERLOADS {
        return 0.0;
    }
    let likelier = (1..=MAX_FIRST).map(|first| likelier_than_none(overloads, first)).sum::<f64>();
    (likelier / MAX_FIRST as f64).ln().max(0.0)
}

/// How much likelier a slump after so many parts makes what was seen than none, whatever differs from overload to overload (the normal
/// likelihood, with its standard deviation integrated out).
fn likelier_than_none(overloads: &[Throughputs], first: usize) -> f64 {
    let mean = |did: &[f64]| did.iter().sum::<f64>() / did.len() as f64;
    let slumps: Vec<f64> = overloads
        .iter()
        .map(|did| (mean(&did[..first]).max(1.0) / mean(&did[first..]).max(1.0)).ln())
        .collect();
    let count = slumps.len() as f64;
    let squares = |by: f64| {
        slumps.iter().map(|slump| (slump - by).powi(2)).sum::<f64>() + count * MIN_DEVIATION.powi(2)
    };
    let none = squares(0.0);
    let likelier = |step: u32| (squares(f64::from(step) * STEP) / none).powf(-count / 2.0);
    (1..=STEP_COUNT).map(likelier).sum::<f64>() / f64::from(STEP_COUNT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moving::PARTS;

    /// Overloads that do these in the first two parts, and these in the others.
    fn overloads(first: [f64; 4], later: [f64; 4]) -> Vec<Throughputs> {
        let of = |(first, later)| std::array::from_fn(|part| if part < PARTS / 5 { first } else { later });
        first.into_iter().zip(later).map(of).collect()
    }

    #[test]
    fn less_and_less_is_a_slump() {
        let slumps = overloads([2000.0, 2050.0, 1980.0, 1900.0], [1740.0, 1700.0, 1760.0, 1720.0]);
        assert!(odds_of_slump(&slumps) > 2.0, "{}", odds_of_slump(&slumps));
        assert!(odds_of_slump(&slumps[..2]) > 1.0);
        assert_eq!(odds_of_slump(&slumps[..1]), 0.0, "one may be chance");
    }

    #[test]
    fn now_more_and_now_less_is_none() {
        let moves = overloads([2000.0, 1700.0, 1980.0, 1600.0], [1740.0, 1950.0, 1760.0, 1900.0]);
        assert!(odds_of_slump(&moves) < 0.5, "{}", odds_of_slump(&moves));
        let rises = overloads([1700.0; 4], [2000.0; 4]);
        assert_eq!(odds_of_slump(&rises), 0.0, "less from the beginning tells nothing");
    }
}
