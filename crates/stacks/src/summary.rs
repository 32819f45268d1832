use crate::topics::Topics;
use record::Profile;
use std::collections::BTreeMap;

/// From this share of its own samples on, a function does work itself rather than pass it on.
const OWN_WORK_SHARE: f64 = 0.2;
/// If its largest callee has less than this share, a function stands for all its callees.
const MAIN_CALLEE_SHARE: f64 = 0.4;
/// Paths divide if the second callee has this share; otherwise only the first is followed.
const SECOND_CALLEE_SHARE: f64 = 0.1;
/// As good as all samples without a topic.
const NEARLY_ALL: f64 = 0.95;
/// A function with less than this share of own samples only wraps a callee that has at least the next share.
const WRAPPER_OWN_SHARE: f64 = 0.05;
/// Frameworks do other work beside what they run: a seventh in Keycloak's invokeHandler, a fifth in getWellKnown.
const WRAPPED_SHARE: f64 = 0.75;
/// Smaller parts are not followed.
const MIN_SHARE: f64 = 0.01;
/// Prefixes of a runtime's glue around application code.
const GLUE_PREFIXES: &[&str] = &[
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
/// Suffix of Node.js's own functions that are written in JavaScript.
const NODE_SUFFIX: &str = " (node:";

/// A part of a profile: a topic if known, otherwise a function with its callees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryPart {
    /// The topic, if known.
    pub topic: Option<&'static str>,
    /// The function; for a topic, the one through which most of it comes.
    pub function: Option<u32>,
    /// Samples; each belongs to at most one part.
    pub samples: u64,
}

/// Divides a profile's samples into parts, the largest first: a whole that says more than the longest list
/// of functions.
///
/// A stack belongs to the topic of its innermost function that has one. All other stacks are divided from
/// the root: where one callee has most of a function's samples, it is followed; where paths divide, each
/// becomes a part, named after its first function that is neither glue nor a mere wrapper.
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
    let part = |(function, samples)| SummaryPart { topic: None, function: Some(function), samples };
    parts.extend(of_functions.into_iter().map(part));
    parts.sort_by(|a, b| b.samples.cmp(&a.samples).then(a.function.cmp(&b.function)));
    parts
}

/// The function that a path's part is to be named after.
#[derive(Clone, Copy)]
struct Candidate {
    function: u32,
    samples: u64,
    /// Nothing up to here but wrapped calls: the next function that is not glue tells more.
    gives_way: bool,
}

/// Call tree nodes with their samples.
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
            // Callers precede callees.
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
        let least = (self.profile.samples as f64 * MIN_SHARE).max(1.0);
        let all: u64 = self.own.iter().sum();
        let mut pending: Vec<(u32, Option<Candidate>)> =
            self.roots.iter().map(|root| (*root, None)).collect();
        while let Some((at, candidate)) = pending.pop() {
            let (at, call) = (at as usize, self.profile.calls[at as usize]);
            let (samples, function) = (self.total[at], call.function());
            if (samples as f64) < least || function as usize >= self.profile.functions.len() {
                continue;
            }
            let here = Candidate { function, samples, gives_way: true };
            let named = candidate
                .filter(|candidate| !candidate.gives_way)
                .or_else(|| (!self.is_glue(function)).then_some(here))
                .or(candidate);
            let share = |samples: u64| samples as f64 / self.total[at] as f64;
            let mut callees: Vec<u32> = self.callees[at].clone();
            callees.sort_unstable_by_key(|callee| std::cmp::Reverse(self.total[*callee as usize]));
            let of = |nth: usize| callees.get(nth).map_or(0.0, |callee| share(self.total[*callee as usize]));
            if share(self.own[at]) >= OWN_WORK_SHARE || of(0) < MAIN_CALLEE_SHARE {
                let Candidate { function, samples, .. } = named.unwrap_or(here);
                part(function, samples);
            } else if of(1) < SECOND_CALLEE_SHARE {
                // What nearly all samples come through says as little as a wrapper.
                let is_all = samples as f64 >= NEARLY_ALL * all as f64;
                let wraps = share(self.own[at]) < WRAPPER_OWN_SHARE && of(0) >= WRAPPED_SHARE;
                let named =
                    named.map(|named| Candidate { gives_way: named.gives_way && (is_all || wraps), ..named });
                pending.push((callees[0], named));
            } else {
                pending.extend(callees.into_iter().map(|callee| (callee, None)));
            }
        }
    }

    fn is_glue(&self, function: u32) -> bool {
        let name = &self.profile.functions[function as usize].name;
        let of_a_trait = name.starts_with('<')
            && [" as core::", " as std::", " as alloc::"].iter().any(|of| name.contains(of));
        of_a_trait || name.contains(NODE_SUFFIX) || GLUE_PREFIXES.iter().any(|start| name.starts_with(start))
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
        let ways = profile(&[("aab", 700), ("aacb", 270), ("aac", 30)]);
        assert_eq!(said(&ways), [("b".to_owned(), 700), ("c".to_owned(), 300)]);
        let most = profile(&[("abc", 540), ("ab", 60), ("ac", 400)]);
        assert_eq!(said(&most), [("b".to_owned(), 600), ("c".to_owned(), 400)], "with what most of it is in");
        let mut of = profile(&[("aab", 700), ("aacb", 300)]);
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
        let mut of = profile(&[("ab", 860), ("c", 140)]);
        of.functions[2].name = "tcp_sendmsg".to_owned();
        of.modules[1] = CodeModule { name: "[kernel]".to_owned(), nameless: None };
        let expected = [("b", 860), ("the kernel's network by tcp_sendmsg", 140)];
        let expected = expected.map(|(words, n)| (words.to_owned(), n));
        assert_eq!(said(&of), expected, "all that has no topic comes through main");
    }

    /// `code:` said "47 % in org.jboss.threads.ThreadLocalResettingRunnable.run" of a Keycloak, through which all work
    /// of a pool passes; what it ran was OIDCWellKnownProvider.getConfig, ten calls below.
    #[test]
    fn a_wrapper_gives_way_to_what_it_runs() {
        let said_of = |of: &[(&str, u64)]| said(&profile(of));
        let says = |expected: [(&str, u64); 2]| expected.map(|(words, n)| (words.to_owned(), n));
        let passes = [("abc", 810), ("aba", 90), ("abb", 90), ("ab", 10), ("aa", 200)];
        assert_eq!(said_of(&passes), says([("c", 810), ("a", 200)]));
        let works = [("abc", 900), ("ab", 100), ("aa", 200)];
        assert_eq!(said_of(&works), says([("b", 1000), ("a", 200)]), "a tenth is its own");
        let branches = [("abc", 720), ("aba", 90), ("abb", 90), ("abd", 90), ("ab", 10), ("aa", 200)];
        let mut of = profile(&branches);
        of.functions.push(CodeFunction { name: "d".to_owned(), ..of.functions[0].clone() });
        assert_eq!(said(&of), says([("b", 1000), ("a", 200)]), "it calls several");
        let mut of = profile(&passes);
        of.functions[2].name = "java.lang.String.concat".to_owned();
        assert_eq!(said(&of), says([("b", 1000), ("a", 200)]), "glue is no better name");
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
