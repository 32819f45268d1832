use record::Profile;
use std::collections::BTreeMap;

/// Maximum branches: more could not be told apart on a screen, and would make a page heavy.
const MOST: usize = 1_000;
/// Minimum shares of a branch; the smallest that leaves few enough branches applies.
const MIN_SHARES: [f64; 7] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1];

/// A call tree with the samples of a profile, and of another one for comparison.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FlameGraph {
    /// Distinct functions and threads with their modules; a thread has none.
    pub names: Vec<(String, String)>,
    /// Depth first: callers before callees.
    pub calls: Vec<FlameCall>,
    /// Samples of the profile.
    pub samples: u64,
    /// Samples of the other profile, if any.
    pub other_samples: Option<u64>,
    /// Branches below this share in both profiles are left out.
    pub min_share: f64,
}

/// A call, including its callees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlameCall {
    /// Number of callers.
    pub depth: u32,
    /// Index into `names`.
    pub name: u32,
    /// Samples of the profile.
    pub samples: u64,
    /// Samples of the other profile.
    pub other_samples: u64,
}

#[derive(Default)]
struct Node {
    counts: [u64; 2],
    callees: BTreeMap<u32, usize>,
}

/// The call tree of a profile, from threads inwards; the other profile counts where names match all the
/// way.
pub fn flame_graph(profile: &Profile, other: Option<&Profile>) -> FlameGraph {
    let mut names: Vec<(String, String)> = Vec::new();
    let mut numbers: BTreeMap<(String, String), u32> = BTreeMap::new();
    let mut nodes = vec![Node::default()];
    for (side, profile) in [Some(profile), other].into_iter().enumerate() {
        let Some(profile) = profile else { continue };
        let mut number = |name: &str, module: &str| {
            let key = (name.to_owned(), module.to_owned());
            *numbers.entry(key).or_insert_with_key(|key| {
                names.push(key.clone());
                names.len() as u32 - 1
            })
        };
        let functions = profile.functions.iter();
        let functions: Vec<u32> =
            functions.map(|function| number(&function.name, profile.module(function.module))).collect();
        let threads: Vec<u32> = profile.threads.iter().map(|thread| number(thread, "")).collect();
        for stack in &profile.stacks {
            let mut frames: Vec<u32> =
                profile.frames(*stack).map(|function| functions[function as usize]).collect();
            frames.extend(threads.get(stack.0 as usize));
            let mut at = 0;
            nodes[at].counts[side] += stack.2;
            for frame in frames.into_iter().rev() {
                let next = nodes.len();
                let known = *nodes[at].callees.entry(frame).or_insert(next);
                if known == next {
                    nodes.push(Node::default());
                }
                at = known;
                nodes[at].counts[side] += stack.2;
            }
        }
    }
    let all = [profile.samples, other.map_or(0, |profile| profile.samples)];
    let share = |counts: [u64; 2]| {
        counts.iter().zip(all).map(|(count, all)| *count as f64 / all.max(1) as f64).fold(0.0, f64::max)
    };
    let few = |least: &&f64| nodes.iter().filter(|node| share(node.counts) >= **least).count() <= MOST + 1;
    let min_share = MIN_SHARES.iter().find(few).copied().unwrap_or(MIN_SHARES[MIN_SHARES.len() - 1]);
    let mut calls = Vec::new();
    // A stack: the last is next, so the largest goes last.
    let inner = |node: &Node, depth: u32| {
        let mut inner: Vec<(u32, usize, u32)> = node
            .callees
            .iter()
            .map(|(name, at)| (depth, *at, *name))
            .filter(|(_, at, _)| share(nodes[*at].counts) >= min_share)
            .collect();
        inner.sort_by_key(|(_, at, name)| (nodes[*at].counts, std::cmp::Reverse(*name)));
        inner
    };
    let mut next = inner(&nodes[0], 0);
    while let Some((depth, at, name)) = next.pop() {
        let [samples, other_samples] = nodes[at].counts;
        calls.push(FlameCall { depth, name, samples, other_samples });
        next.extend(inner(&nodes[at], depth + 1));
    }
    // Only names still used.
    let mut kept: BTreeMap<u32, u32> = BTreeMap::new();
    let mut left = Vec::new();
    for call in &mut calls {
        call.name = *kept.entry(call.name).or_insert_with(|| {
            left.push(names[call.name as usize].clone());
            left.len() as u32 - 1
        });
    }
    let other_samples = other.map(|profile| profile.samples);
    FlameGraph { names: left, calls, samples: all[0], other_samples, min_share }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::tests::profile;

    fn told(flames: &FlameGraph) -> Vec<(u32, &str, u64, u64)> {
        let name = |call: &FlameCall| flames.names[call.name as usize].0.as_str();
        flames.calls.iter().map(|call| (call.depth, name(call), call.samples, call.other_samples)).collect()
    }

    #[test]
    fn each_call_comes_before_what_it_calls() {
        let flames = flame_graph(&profile(&[("a", 1), ("ab", 5), ("ac", 4)]), Some(&profile(&[("ac", 3)])));
        let expected = [(0, "worker-N", 10, 3), (1, "a", 10, 3), (2, "b", 5, 0), (2, "c", 4, 3)];
        assert_eq!((told(&flames), flames.other_samples), (expected.to_vec(), Some(3)));
    }

    #[test]
    fn small_branches_are_left_out_with_their_names() {
        let flames = flame_graph(&profile(&[("ab", 1_999_999), ("ac", 1)]), None);
        assert_eq!(told(&flames).len(), 3, "{flames:?}");
        assert_eq!((flames.names.len(), flames.min_share), (3, 0.001));
    }

    /// As many branches as reach the bound, all of equal size.
    #[test]
    fn a_tree_is_no_larger_than_can_be_seen() {
        let stacks: Vec<(String, u64)> = (0..4096_u32)
            .map(|n| ((0..12).map(|bit| if n >> bit & 1 == 0 { 'a' } else { 'b' }).collect::<String>(), 1))
            .collect();
        let stacks: Vec<(&str, u64)> =
            stacks.iter().map(|(stack, samples)| (stack.as_str(), *samples)).collect();
        let mut wide = profile(&[]);
        let mut tree = crate::CallTree::bounded(100_000);
        for (stack, samples) in stacks {
            let place =
                tree.add_stack(stack.bytes().map(|letter| u32::from(letter - b'a'))).expect("there is room");
            wide.stacks.push(record::StackCount(0, place, samples));
        }
        (wide.calls, wide.samples) = (tree.into_nodes(), 4096);
        let flames = flame_graph(&wide, None);
        assert!(
            flames.calls.len() <= MOST && flames.calls.len() > 100 && flames.min_share > 0.001,
            "{}",
            flames.calls.len()
        );
    }
}
