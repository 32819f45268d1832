//! Waits as numbers, so that looking at a thread allocates nothing.

use record::watch::{FutexOp, ThreadWait};
use std::collections::HashMap;

/// Maximum distinct waits: many files may be waited for.
const MOST: usize = 2_000;
/// Classes of futex timeouts, in seconds.
const TIMEOUT_CLASSES: [u32; 10] = [1, 2, 5, 10, 20, 30, 35, 60, 120, 600];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct WaitId(pub u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThreadActivity {
    /// A known wait.
    Wait(WaitId),
    /// Waits for another thread at this address; whether others wait there too shows when all have been
    /// looked at.
    Futex { op: FutexOp, within_s: Option<u32>, address: u64 },
}

/// All waits seen, by number.
#[derive(Debug, Default)]
pub(crate) struct WaitTable {
    waits: Vec<ThreadWait>,
    ids: HashMap<ThreadWait, WaitId>,
}

impl WaitTable {
    /// The number of a wait.
    pub fn intern(&mut self, wait: ThreadWait) -> WaitId {
        if let Some(number) = self.ids.get(&wait) {
            return *number;
        }
        // A file in /proc becomes "others": there is one for each process. Futex waits are few.
        let others = ThreadWait::Other { what: "others".to_owned() };
        if self.waits.len() >= MOST && wait != others && !matches!(wait, ThreadWait::Futex { .. }) {
            return self.intern(others);
        }
        let number = WaitId(u32::try_from(self.waits.len()).expect("there are few"));
        self.waits.push(wait.clone());
        self.ids.insert(wait, number);
        number
    }

    pub fn wait(&self, number: WaitId) -> &ThreadWait {
        &self.waits[number.0 as usize]
    }

    pub fn len(&self) -> usize {
        self.waits.len()
    }
}

/// The smallest class that is not less; the last for anything longer.
pub(crate) fn within_s(left_ns: u64) -> u32 {
    let bound = TIMEOUT_CLASSES.iter().find(|seconds| left_ns <= u64::from(**seconds) * 1_000_000_000);
    bound.or(TIMEOUT_CLASSES.last()).copied().expect("there are bounds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds() {
        let second = 1_000_000_000;
        for (left, bound) in [(0, 1), (second, 1), (second + 1, 2), (29 * second, 30), (31 * second, 35)] {
            assert_eq!(within_s(left), bound);
        }
        assert_eq!(within_s(u64::MAX), 600);
    }

    #[test]
    fn many_files_are_others() {
        let mut waits = WaitTable::default();
        let disk = |n: usize| ThreadWait::Disk { what: format!("/{n}") };
        let first = waits.intern(disk(0));
        assert_eq!(waits.intern(disk(0)), first);
        (0..3_000).for_each(|n| {
            waits.intern(disk(n));
            waits.intern(ThreadWait::Other { what: format!("/proc/{n}/stat") });
        });
        assert_eq!(waits.len(), MOST + 1);
        let last = waits.intern(disk(9_999));
        assert_eq!(waits.wait(last), &ThreadWait::Other { what: "others".to_owned() });
    }
}
