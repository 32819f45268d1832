use record::Profile;
use stats::{Estimate, wilson_interval};
use std::collections::{BTreeMap, BTreeSet};

/// As good as all.
const NEARLY_ALL: f64 = 0.95;

/// Sample counts of a function or module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SampleCount {
    /// Index into the profile's list.
    pub index: u32,
    /// Samples in it itself.
    pub own: u64,
    /// Samples in it or its callees; recursion counts once.
    pub total: u64,
    /// Of `total`, the most in one direct callee that (nearly) nothing else calls.
    pub through: u64,
}

/// Sample counts of a profile's functions and modules.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally {
    /// Every function seen.
    pub functions: Vec<SampleCount>,
    /// Every module seen.
    pub modules: Vec<SampleCount>,
    /// All samples.
    pub samples: u64,
}

impl SampleCount {
    /// Whether it only leads to another function, and is the only path to it: what applies to one applies
    /// to the other.
    pub fn is_pass_through(&self) -> bool {
        self.through as f64 > NEARLY_ALL * self.total as f64
    }
}

impl Tally {
    /// Counts the samples of a profile.
    pub fn of(profile: &Profile) -> Self {
        let (mut functions, mut modules) =
            (Counter::of(profile.functions.len()), Counter::of(profile.modules.len()));
        let mut called: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for stack in &profile.stacks {
            functions.next(stack.2);
            modules.next(stack.2);
            let (mut callee, mut calls) = (None, BTreeSet::new());
            for function in profile.frames(*stack) {
                functions.add(function);
                modules.add(profile.functions[function as usize].module);
                calls.extend(
                    callee.replace(function).filter(|callee| *callee != function).map(|to| (function, to)),
                );
            }
            calls.into_iter().for_each(|call| *called.entry(call).or_default() += stack.2);
        }
        for ((caller, callee), samples) in called {
            if (samples as f64) < NEARLY_ALL * functions.counts[callee as usize].total as f64 {
                continue;
            }
            let through = &mut functions.counts[caller as usize].through;
            *through = samples.max(*through);
        }
        Self { functions: functions.into_counts(), modules: modules.into_counts(), samples: profile.samples }
    }

    /// Functions by own samples, the most first.
    pub fn by_own(&self) -> Vec<SampleCount> {
        sorted(&self.functions, |portion| (portion.own, portion.total))
    }

    /// Functions by total samples, the most first.
    pub fn by_total(&self) -> Vec<SampleCount> {
        sorted(&self.functions, |portion| (portion.total, portion.own))
    }

    /// Modules by own samples, the most first.
    pub fn modules_by_own(&self) -> Vec<SampleCount> {
        sorted(&self.modules, |portion| (portion.own, portion.total))
    }

    /// The share of the samples that `count` is, with its 95 % interval, as if samples were independent:
    /// Wilson's score (JASA 22, 1927). Samples of a thread that does the same for longer than the sampling
    /// interval are alike, so the true interval is then wider. None without samples.
    pub fn share(&self, count: u64) -> Option<Estimate> {
        wilson_interval(count, self.samples)
    }
}

fn sorted<K: Ord>(counts: &[SampleCount], by: impl Fn(&SampleCount) -> K) -> Vec<SampleCount> {
    let mut sorted = counts.to_vec();
    sorted.sort_by(|a, b| by(b).cmp(&by(a)).then(a.index.cmp(&b.index)));
    sorted
}

/// Counts each item once per stack.
struct Counter {
    counts: Vec<SampleCount>,
    /// The stack in which each was last seen, from 1.
    last: Vec<u64>,
    stack: u64,
    samples: u64,
    begun: bool,
}

impl Counter {
    fn of(things: usize) -> Self {
        let counts =
            (0..things as u32).map(|index| SampleCount { index, ..SampleCount::default() }).collect();
        Self { counts, last: vec![0; things], stack: 0, samples: 0, begun: false }
    }

    fn next(&mut self, samples: u64) {
        (self.stack, self.samples, self.begun) = (self.stack + 1, samples, false);
    }

    /// Call innermost first.
    fn add(&mut self, thing: u32) {
        let (at, is_innermost) = (thing as usize, !std::mem::replace(&mut self.begun, true));
        let Some(portion) = self.counts.get_mut(at) else { return };
        if is_innermost {
            portion.own += self.samples;
        }
        if std::mem::replace(&mut self.last[at], self.stack) != self.stack {
            portion.total += self.samples;
        }
    }

    fn into_counts(self) -> Vec<SampleCount> {
        self.counts.into_iter().filter(|portion| portion.total > 0).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::CallTree;
    use record::{CodeFunction, CodeModule, StackCount};

    /// Functions `a` and `b` of one module, `c` of another; stacks are strings of function letters from the
    /// root.
    pub(crate) fn profile(stacks: &[(&str, u64)]) -> Profile {
        let mut tree = CallTree::bounded(100);
        let counted = stacks.iter().map(|(letters, samples)| {
            let place = tree.add_stack(letters.bytes().map(|letter| u32::from(letter - b'a')));
            StackCount(0, place.expect("there is room"), *samples)
        });
        let counted: Vec<StackCount> = counted.collect();
        let function =
            |name: &str, module| CodeFunction { name: name.to_owned(), module, file: None, line: None };
        let module = |name: &str| CodeModule { name: name.to_owned(), nameless: None };
        Profile {
            hz: 99,
            samples: counted.iter().map(|stack| stack.2).sum(),
            threads: vec!["worker-N".to_owned()],
            modules: vec![module("one"), module("two")],
            functions: vec![function("a", 0), function("b", 0), function("c", 1)],
            calls: tree.into_nodes(),
            stacks: counted,
            ..Profile::default()
        }
    }

    #[test]
    fn own_and_total() {
        let tally = Tally::of(&profile(&[("a", 1), ("abc", 4), ("abab", 5)]));
        let portion = |index, own, total, through| SampleCount { index, own, total, through };
        assert_eq!(tally.functions, [portion(0, 1, 10, 9), portion(1, 5, 9, 4), portion(2, 4, 4, 0)]);
        assert_eq!(tally.modules, [portion(0, 6, 10, 0), portion(1, 4, 4, 0)]);
        let order =
            |portions: Vec<SampleCount>| portions.iter().map(|portion| portion.index).collect::<Vec<_>>();
        assert_eq!(order(tally.by_own()), [1, 2, 0]);
        assert_eq!(order(tally.by_total()), [0, 1, 2]);
        assert_eq!(order(tally.modules_by_own()), [0, 1]);
    }

    #[test]
    fn a_share_has_an_interval() {
        let tally = Tally::of(&profile(&[("ab", 700), ("ac", 300)]));
        let share = tally.share(700).expect("there are samples");
        assert!((share.value - 0.7).abs() < 1e-12, "{share:?}");
        assert!((share.low - 0.6709).abs() < 1e-3 && (share.high - 0.7276).abs() < 1e-3, "{share:?}");
        assert_eq!(Tally::default().share(0), None);
    }

    #[test]
    fn a_module_that_is_not_there_is_left_out() {
        let mut profile = profile(&[("ab", 1)]);
        profile.functions[1].module = 9;
        let tally = Tally::of(&profile);
        assert_eq!(tally.modules, [SampleCount { index: 0, total: 1, ..SampleCount::default() }]);
    }
}
