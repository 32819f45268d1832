//! A page with a known profile: two functions that share its processor time as requested.

use super::contended::burn;
use std::hint::black_box;
use std::time::Duration;

/// Maximum recursion depth before the work begins: some 100 KB of stack.
pub(super) const MAX_DEPTH: u32 = 2_000;

/// Processor time of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BurnWork {
    /// Time of the first function, and of the second.
    pub times: [Duration; 2],
    /// Recursive calls that lead to them.
    pub depth: u32,
}

impl BurnWork {
    pub fn spend(self, is_stopping: &dyn Fn() -> bool) {
        burn_deeper(self.depth, &|| {
            burn_first(self.times[0], is_stopping);
            burn_second(self.times[1], is_stopping);
        });
    }
}

/// Never inlined, or its time would be the caller's.
#[inline(never)]
fn burn_first(time: Duration, is_stopping: &dyn Fn() -> bool) {
    burn(time, is_stopping);
    // Otherwise both would be merged: their code is the same but for this.
    black_box(1);
}

#[inline(never)]
fn burn_second(time: Duration, is_stopping: &dyn Fn() -> bool) {
    burn(time, is_stopping);
    black_box(2);
}

/// Recurses `levels` deep first.
#[inline(never)]
fn burn_deeper(levels: u32, work: &dyn Fn()) {
    match levels {
        0 => work(),
        levels => burn_deeper(levels - 1, work),
    }
    // Work after the call prevents a tail call.
    black_box(levels);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_work_is_done_once_however_deep() {
        let done = Cell::new(0);
        burn_deeper(MAX_DEPTH, &|| done.set(done.get() + 1));
        assert_eq!(done.get(), 1);
        let times = [Duration::from_secs(3_600), Duration::from_secs(3_600)];
        BurnWork { times, depth: 3 }.spend(&|| true);
    }
}
