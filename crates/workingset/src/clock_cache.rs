//! A cache of known size, with CLOCK replacement (F. J. Corbató, 1968): a second chance for whatever was
//! used since the hand last passed.

/// No block, no frame.
const NONE: u32 = u32::MAX;

/// Maps blocks to frames.
#[derive(Debug)]
pub struct ClockCache {
    /// The frame of each block.
    frames: Vec<u32>,
    /// The block in each frame, and whether it was used since the hand passed.
    blocks: Vec<(u32, bool)>,
    hand: usize,
}

/// Result of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheLookup {
    /// In this frame.
    Hit(usize),
    /// Not cached; belongs in this frame, whose block was evicted.
    Miss(usize),
}

impl ClockCache {
    /// Room for `frames` of `blocks`; at least one frame.
    pub fn new(frames: usize, blocks: usize) -> Self {
        Self { frames: vec![NONE; blocks], blocks: vec![(NONE, false); frames.max(1)], hand: 0 }
    }

    pub fn access(&mut self, block: u32) -> CacheLookup {
        let frame = self.frames[block as usize];
        if frame != NONE {
            self.blocks[frame as usize].1 = true;
            return CacheLookup::Hit(frame as usize);
        }
        while std::mem::take(&mut self.blocks[self.hand].1) {
            self.advance();
        }
        let frame = self.hand;
        self.advance();
        let (old, _) = std::mem::replace(&mut self.blocks[frame], (block, false));
        if old != NONE {
            self.frames[old as usize] = NONE;
        }
        self.frames[block as usize] = frame as u32;
        CacheLookup::Miss(frame)
    }

    fn advance(&mut self) {
        self.hand = (self.hand + 1) % self.blocks.len();
    }

    pub fn clear(&mut self) {
        self.frames.fill(NONE);
        self.blocks.fill((NONE, false));
        self.hand = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xorshift::Xorshift;

    #[test]
    fn a_second_chance() {
        let mut clock = ClockCache::new(2, 10);
        assert_eq!(clock.access(5), CacheLookup::Miss(0));
        assert_eq!(clock.access(6), CacheLookup::Miss(1));
        assert_eq!(clock.access(5), CacheLookup::Hit(0));
        // 5 was used since the hand passed, 6 was not.
        assert_eq!(clock.access(7), CacheLookup::Miss(1));
        assert_eq!(clock.access(5), CacheLookup::Hit(0));
        assert_eq!(clock.access(6), CacheLookup::Miss(1));
        clock.clear();
        assert_eq!(clock.access(5), CacheLookup::Miss(0));
    }

    /// The law that the fit rests on: with uniform draws a full cache of any policy holds cache/set.
    #[test]
    fn uniform_draws_hit_by_the_share_that_fits() {
        for (frames, blocks) in [(100, 100), (100, 125), (100, 400), (1, 50)] {
            let (mut clock, mut draws) = (ClockCache::new(frames, blocks), Xorshift::new(3));
            (0..blocks as u32).for_each(|block| assert!(matches!(clock.access(block), CacheLookup::Miss(_))));
            let hits = (0..200_000)
                .filter(|_| matches!(clock.access(draws.below(blocks as u64) as u32), CacheLookup::Hit(_)));
            let (share, truth) = (hits.count() as f64 / 200_000.0, (frames as f64 / blocks as f64).min(1.0));
            assert!((share - truth).abs() < 0.01, "{share} instead of {truth}");
        }
    }
}
