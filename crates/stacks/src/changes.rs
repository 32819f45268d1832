use crate::summary::summarize;
use crate::{SampleCount, Tally};
use record::{CodeFunction, Profile};
use stats::{Estimate, poisson_interval, share_interval};
use std::collections::{BTreeMap, BTreeSet};

/// Error probability of all intervals together.
const ERROR_PROBABILITY: f64 = 0.05;
/// Functions below this share in both profiles are left out: their changes are noise, and widen all other
/// intervals.
const MIN_SHARE: f64 = 0.005;

/// A change between two profiles.
#[derive(Debug, Clone, PartialEq)]
pub struct CodeChange {
    /// The function's name, or the topic.
    pub name: String,
    /// The function's module, if compared.
    pub module: String,
    /// Value in the first profile,
    pub before: f64,
    /// in the second,
    pub after: f64,
    /// and the difference, with an interval simultaneous for all that are compared (95 %).
    pub difference: Estimate,
}

impl CodeChange {
    /// Whether it is significantly greater.
    pub fn grew(&self) -> bool {
        self.difference.low > 0.0
    }

    /// Whether it differs significantly.
    pub fn is_sure(&self) -> bool {
        self.difference.low > 0.0 || self.difference.high < 0.0
    }
}

/// Changes of functions' shares of processor time, callees excluded; the largest growth first.
///
/// The interval is that of a difference of two shares by [`Estimate::minus`], each with Wilson's, at a
/// confidence at which all hold together (Bonferroni): otherwise five in a hundred functions would be said
/// to change when none did.
pub fn share_changes(before: &Profile, after: &Profile) -> Vec<CodeChange> {
    let samples = (before.samples, after.samples);
    differences((by_function(before), by_function(after)), samples, share_interval, share_interval)
}

/// The same by topic.
pub fn topic_changes(before: &Profile, after: &Profile) -> Vec<CodeChange> {
    let samples = (before.samples, after.samples);
    differences((by_topic(before), by_topic(after)), samples, share_interval, share_interval)
}

/// What counts as a function's processor time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeScope {
    /// Its own.
    Itself,
    /// Its own and its callees'; pass-through functions are left out.
    WithCallees,
}

/// Changes in processor time per request, in seconds: samples ÷ their rate ÷ requests. None without
/// requests.
///
/// Functions are matched by name alone: another version may be another file. Sample counts are taken as
/// Poisson; intervals as in [`share_changes`].
pub fn request_changes(before: &Profile, after: &Profile, scope: CodeScope) -> Option<Vec<CodeChange>> {
    let one = |profile: &Profile| {
        let requests = profile.requests.filter(|requests| *requests > 0)?;
        Some(1.0 / (f64::from(profile.hz.max(1)) * requests as f64))
    };
    let (first, second) = (one(before)?, one(after)?);
    let whose = |samples: u64, scale: f64| {
        move |hits: u64, _: u64, error_probability: f64| {
            (samples > 0).then(|| poisson_interval(hits, error_probability).map(|count| count * scale))
        }
    };
    let (first, second) = (whose(before.samples, first), whose(after.samples, second));
    let (mut first_named, mut second_named) = (by_name(before, scope), by_name(after, scope));
    if scope == CodeScope::WithCallees {
        // A function that passes through in only one of them would seem to cost nothing there.
        let both: BTreeSet<_> = pass_through(before).intersection(&pass_through(after)).cloned().collect();
        for named in [&mut first_named, &mut second_named] {
            named.retain(|(name, _), _| !both.contains(name));
        }
    }
    Some(differences((first_named, second_named), (before.samples, after.samples), first, second))
}

type NamedCounts = BTreeMap<(String, String), u64>;

fn by_function(profile: &Profile) -> NamedCounts {
    counts_by(profile, CodeScope::Itself, |function| profile.module(function.module).to_owned())
}

/// Totals by name, whatever the module.
fn by_name(profile: &Profile, scope: CodeScope) -> NamedCounts {
    counts_by(profile, scope, |_| String::new())
}

fn counts_by(profile: &Profile, scope: CodeScope, module: impl Fn(&CodeFunction) -> String) -> NamedCounts {
    let mut named = NamedCounts::new();
    for portion in Tally::of(profile).functions {
        let Some(function) = profile.functions.get(portion.index as usize) else { continue };
        let samples = if scope == CodeScope::Itself { portion.own } else { portion.total };
        *named.entry((function.name.clone(), module(function))).or_default() += samples;
    }
    named
}

/// The functions that only lead to another.
fn pass_through(profile: &Profile) -> BTreeSet<String> {
    let functions = Tally::of(profile).functions.into_iter().filter(SampleCount::is_pass_through);
    functions
        .filter_map(|portion| Some(profile.functions.get(portion.index as usize)?.name.clone()))
        .collect()
}

fn by_topic(profile: &Profile) -> NamedCounts {
    let known = summarize(profile).into_iter().filter_map(|part| Some((part.topic?, part.samples)));
    known.map(|(topic, samples)| ((topic.to_owned(), String::new()), samples)).collect()
}

fn differences(
    (before, after): (NamedCounts, NamedCounts),
    (all_before, all_after): (u64, u64),
    first: impl Fn(u64, u64, f64) -> Option<Estimate>,
    second: impl Fn(u64, u64, f64) -> Option<Estimate>,
) -> Vec<CodeChange> {
    let large = |hits: u64, all: u64| hits as f64 > MIN_SHARE * all as f64;
    let mut names: Vec<&(String, String)> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let counts = names.into_iter().map(|name| {
        let of = |named: &NamedCounts| named.get(name).copied().unwrap_or(0);
        (name, of(&before), of(&after))
    });
    let counts: Vec<_> =
        counts.filter(|(_, before, after)| large(*before, all_before) || large(*after, all_after)).collect();
    let error_probability = ERROR_PROBABILITY / counts.len().max(1) as f64;
    let change = |(name, before, after): (&(String, String), u64, u64)| {
        let (before, after) =
            (first(before, all_before, error_probability)?, second(after, all_after, error_probability)?);
        let (name, module) = name.clone();
        let difference = after.minus(before);
        Some(CodeChange { name, module, before: before.value, after: after.value, difference })
    };
    let mut changes: Vec<CodeChange> = counts.into_iter().filter_map(change).collect();
    changes
        .sort_by(|a, b| b.difference.value.total_cmp(&a.difference.value).then_with(|| a.name.cmp(&b.name)));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::tests::profile;

    #[test]
    fn what_grew_is_told_from_what_is_chance() {
        let (well, above) = (
            profile(&[("ab", 500), ("ac", 20), ("a", 480)]),
            profile(&[("ab", 480), ("ac", 170), ("a", 350)]),
        );
        let changes = share_changes(&well, &above);
        let told: Vec<(&str, bool, bool)> =
            changes.iter().map(|change| (change.name.as_str(), change.grew(), change.is_sure())).collect();
        assert_eq!(told, [("c", true, true), ("b", false, false), ("a", false, true)]);
        assert!(
            (changes[0].difference.value - 0.15).abs() < 1e-9 && changes[0].difference.low > 0.1,
            "{changes:?}"
        );
        assert_eq!(share_changes(&well, &Profile::default()), []);
    }

    #[test]
    fn who_leads_to_another_in_one_of_them_only_costs_what_it_does_in_both() {
        let of = |stacks: &[(&str, u64)]| Profile { requests: Some(1000), ..profile(stacks) };
        let (before, after) = (of(&[("rab", 990)]), of(&[("rab", 990), ("rac", 990)]));
        let changes = request_changes(&before, &after, CodeScope::WithCallees).expect("there were requests");
        let told: Vec<(&str, f64)> =
            changes.iter().map(|change| (change.name.as_str(), change.before)).collect();
        // The root passes through to `a` in both.
        assert_eq!(told, [("a", 0.01), ("c", 0.0), ("b", 0.01)]);
        assert_eq!(changes.iter().filter(|change| change.grew()).count(), 2, "{changes:?}");
    }

    #[test]
    fn twice_the_time_of_a_request() {
        let of = |samples, requests| Profile { requests, ..profile(&[("ab", samples), ("a", 200)]) };
        let changes = |scope| {
            request_changes(&of(990, Some(1000)), &of(1980, Some(1000)), scope).expect("there were requests")
        };
        let own = changes(CodeScope::Itself);
        assert_eq!((own[0].name.as_str(), own[0].grew()), ("b", true));
        assert!((own[0].difference.value - 0.01).abs() < 1e-9, "{own:?}");
        assert!(!own[1].is_sure(), "{own:?}");
        let total = changes(CodeScope::WithCallees);
        assert!(total.iter().all(CodeChange::grew), "{total:?}");
        assert_eq!(request_changes(&of(1, None), &of(1, Some(1)), CodeScope::Itself), None);
    }
}
