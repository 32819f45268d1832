use crate::topics::Topics;
use record::Profile;
use std::collections::BTreeMap;

/// A function runs itself, and is no way to others, from this share of its samples on.
const ITSELF: f64 = 0.2;
/// What it calls is more than one of them if the largest has less than this share of it.
const ONE_OF_THEM: f64 = 0.4;
/// Ways part if the second one has this share; otherwise the first is looked at.
const ALSO: f64 = 0.1;
/// As good as all samples.
const NEARLY_ALL: f64 = 0.95;
/// Smaller parts are not looked into.
const LITTLE: f64 = 0.01;
/// What begins so is a runtime's way to somebody's code.
const GLUE: &[&str] = &[
    "core::",
    "std::",
    "alloc::",
    "<core::",
    "<std::",
    "<alloc::",
    "<F as core::",
    "tokio::",
    "java.lang.",
    "java.util.concurrent.",
    "jdk.internal.",
    "sun.",
    "runtime.",
    "__libc_start",
    "_start",
    "start_thread",
    "clone",
    "node::",
    "v8::",
    "Builtins_",
    "uv_",
];
/// How functions of Node.js itself end, which are written in JavaScript.
const OF_NODE: &str = " (node:";

/// Part of what a profile has seen: of what it is for if that is known, otherwise of a function with what it calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryPart {
    /// What it is for.
    pub topic: Option<&'static str>,
    /// The function; of what is known for something the one by which most of it comes.
    pub function: Option<u32>,
    /// Samples: each is of one part at most.
    pub samples: u64,
}

/// What a profile's samples are of, the largest part first: a whole that says more than the longest list of functions.
///
/// A stack is of what its innermost function that is known for something is for. All others are divided from the root on: where most of
/// a function's samples are in one that it calls, that one is looked at; where they part, each way is a part, named by its first
/// function that is nobody's glue.
pub fn summarize(profile: &Profile) -> Vec<SummaryPart> {
    let topics = Topics::of(profile);
    let mut of_topics: BTreeMap<&'static str, (u64, BTreeMap<u32, u64>)> = BTreeMap::new();
    let mut own = vec![0; profile.calls.len()];
    for stack in &profile.stacks {
        let frames: Vec<u32> = profile.frames(*stack).collect();
        match topics.of_stack(stack.0, &frames) {
            Some((topic, by)) => {
                let (samples, ways) = of_topics.entry(topic).or_default();
                *samples += stack.2;
                by.into_iter().for_each(|by| *ways.entry(by).or_default() += stack.2);
            }
            None => own.get_mut(stack.1 as usize).into_iter().for_each(|own| *own += stack.2),
        }
    }
    let mut parts: Vec<SummaryPart> = of_topics
        .into_iter()
        .map(|(topic, (samples, ways))| {
            let most = ways.into_iter().max_by_key(|(_, samples)| *samples).map(|(by, _)| by);
            SummaryPart { topic: Some(topic), function: most, samples }
        })
        .collect();
    let mut of_functions: BTreeMap<u32, u64> = BTreeMap::new();
    CallTotals::of(profile, own)
        .into_parts(&mut |function, samples| *of_functions.entry(function).or_default() += samples);
    parts.extend(of_functions.into_iter().map(|(function, samples)| SummaryPart {
        topic: None,
        function: Some(function),
        samples,
    }));
    parts.sort_by(|a, b| b.samples.cmp(&a.samples).then(a.function.cmp(&b.function)));
    parts
}

/// The calls of stacks, with their samples.
struct CallTotals<'a> {
    profile: &'a Profile,
    own: Vec<u64>,
    total: Vec<u64>,
    callees: Vec<Vec<u32>>,
    roots: Vec<u32>,
}

impl<'a> CallTotals<'a> {
    fn of(profile: &'a Profile, own: Vec<u64>) -> Self {
        let (mut total, mut callees, mut roots) = (own.clone(), vec![Vec::new(); own.len()], Vec::new());
        for (at, call) in profile.calls.iter().enumerate().rev() {
            // Callers stand before whom they call.
            match call.caller().map(|caller| caller as usize).filter(|caller| *caller < at) {
                Some(caller) => {
                    total[caller] += total[at];
                    callees[caller].push(at as u32);
                }
                None => roots.push(at as u32),
            }
        }
        Self { profile, own, total, callees, roots }
    }

    fn into_parts(self, part: &mut impl FnMut(u32, u64)) {
        let least = (self.profile.samples as f64 * LITTLE).max(1.0);
        // Each with the part that it is of, if that has begun: its function and samples.
        let mut ways: Vec<(u32, Option<(u32, u64)>)> = self.roots.iter().map(|root| (*root, None)).collect();
        while let Some((at, begun)) = ways.pop() {
            let (at, call) = (at as usize, self.profile.calls[at as usize]);
            let (samples, function) = (self.total[at], call.function());
            if (samples as f64) < least || function as usize >= self.profile.functions.len() {
                continue;
            }
            let begun = begun.or_else(|| (!self.is_glue(function)).then_some((function, samples)));
            let share = |samples: u64| samples as f64 / self.total[at] as f64;
            let mut callees: Vec<u32> = self.callees[at].clone();
            callees.sort_unstable_by_key(|callee| std::cmp::Reverse(self.total[*callee as usize]));
            let of = |nth: usize| callees.get(nth).map_or(0.0, |callee| share(self.total[*callee as usize]));
            if share(self.own[at]) >= ITSELF || of(0) < ONE_OF_THEM {
                let (function, samples) = begun.unwrap_or((function, samples));
                part(function, samples);
            } else if of(1) < ALSO {
                // Of what all comes through, the last is told, otherwise the first.
                let is_all = samples as f64 >= NEARLY_ALL * self.profile.samples as f64;
                ways.push((callees[0], begun.filter(|_| !is_all)));
            } else {
                ways.extend(callees.into_iter().map(|callee| (callee, None)));
            }
        }
    }

    fn is_glue(&self, function: u32) -> bool {
        let name = &self.profile.functions[function as usize].name;
        let of_a_trait = name.starts_with('<')
            && [" as core::", " as std::", " as alloc::"].iter().any(|of| name.contains(of));
        of_a_trait || name.contains(OF_NODE) || GLUE.iter().any(|start| name.starts_with(start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::tests::profile;
    use record::{CodeFunction, CodeModule};

    fn said(profile: &Profile) -> Vec<(String, u64)> {
        let name = |function: u32| profile.functions[function as usize].name.clone();
        let words = |part: &SummaryPart| match (part.topic, part.function) {
            (Some(topic), Some(by)) => format!("{topic} by {}", name(by)),
            (Some(topic), None) => topic.to_owned(),
            (None, by) => by.map(name).unwrap_or_default(),
        };
        summarize(profile).iter().map(|part| (words(part), part.samples)).collect()
    }

    #[test]
    fn where_ways_part_each_is_told_by_its_first_function() {
        let mut of = profile(&[("aab", 700), ("aacb", 300)]);
        assert_eq!(said(&of), [("b".to_owned(), 700), ("c".to_owned(), 300)]);
        let most = profile(&[("abc", 540), ("ab", 60), ("ac", 400)]);
        assert_eq!(said(&most), [("b".to_owned(), 600), ("c".to_owned(), 400)], "with what most of it is in");
        for glue in ["core::ops::call_once", "Builtins_JSEntry", "uv_run", "emit (node:events)"] {
            of.functions[2].name = glue.to_owned();
            let what = "glue is nobody's code, and one function is told once";
            assert_eq!(said(&of), [("b".to_owned(), 1000)], "{glue}: {what}");
        }
    }

    #[test]
    fn what_runs_itself_is_not_divided() {
        assert_eq!(said(&profile(&[("a", 300), ("ab", 600), ("ac", 100)])), [("a".to_owned(), 1000)]);
        assert_eq!(
            said(&profile(&[("abc", 1000)])),
            [("c".to_owned(), 1000)],
            "all of it comes through the others"
        );
    }

    #[test]
    fn what_is_known_for_something_is_told_by_that() {
        let mut of = profile(&[("ab", 500), ("abc", 300), ("a", 200)]);
        of.functions[1].name = "org.thymeleaf.TemplateEngine.process".to_owned();
        of.functions[2].name = "tcp_sendmsg".to_owned();
        of.modules[1] = CodeModule { name: "[kernel]".to_owned(), nameless: None };
        let template = "template rendering by org.thymeleaf.TemplateEngine.process";
        let expected = [(template, 500), ("the kernel's network by tcp_sendmsg", 300), ("a", 200)]
            .map(|(words, n)| (words.to_owned(), n));
        assert_eq!(said(&of), expected);
        of.threads[0] = "GC Thread#N".to_owned();
        assert_eq!(said(&of), [("garbage collection".to_owned(), 1000)]);
    }

    #[test]
    fn a_damaged_profile_has_no_parts() {
        let mut of = profile(&[("abc", 10)]);
        of.functions = Vec::<CodeFunction>::new();
        assert_eq!(said(&of), []);
    }
}
