//! What holds, how far the search came, and what to do if it found no limit.

use super::generator_limited_line;
use crate::contrary_trials::fell_behind;
use crate::remedy::remedy;
use crate::summary::{generator_limit, limit};
use crate::trial_state::{what_to_check, why_mostly_failed};
use crate::wording::format_rate;
use crate::wording::number_of;
use crate::{RunView, Text, Tone, freezes};
use record::{
    Cause, CaveatKind, Failure, Finding, GeneratorCapacity, Outcome, Outcomes, Purpose, Recovery, SearchEnd,
    Verdict,
};
use std::collections::BTreeMap;
use units::{Share, grouped};

/// What holds, and how far the search came.
pub(super) fn headline(view: &RunView, ended: &SearchEnd) -> Vec<Text> {
    let holds = || match view.limits.first().zip(view.held()) {
        Some((limit, held)) => {
            limit::limit_line(view, limit, held, ended, limit::tone(ended, freezes::is_recurrent(view)))
        }
        None => {
            let tone = if ended.is_at_least() { Tone::Warn } else { Tone::Bad };
            let open = limit::open_limit_words(ended, None, None, Some(view.is_generator_limited()))
                .map(|open| format!(": {open}"));
            let raised = view.arrival_kind().raised();
            Text::new(tone, format!("no {raised} was shown to hold{}", open.unwrap_or_default()))
        }
    };
    match ended {
        SearchEnd::Converged => vec![holds()],
        SearchEnd::MaxReached => {
            std::iter::once(holds()).chain(raise_advice(view)).chain(raise_gain(view)).collect()
        }
        SearchEnd::BelowMin => vec![below_min(view)],
        SearchEnd::BudgetSpent => {
            let more = budget(view, 2);
            // More time helps little while it freezes.
            let then = match freezes::next_steps(view).is_empty() {
                true => format!("give it more: --budget {more}"),
                false => "find out first why the target froze".to_owned(),
            };
            vec![holds(), Text::plain(format!("time ran out before the bounds were close enough; {then}"))]
        }
        SearchEnd::Noisy => vec![holds(), Text::plain(noise(view))],
        SearchEnd::GeneratorLimit if !view.is_generator_limited() => vec![holds()],
        SearchEnd::GeneratorLimit if let Some(capacity) = generator(view) => {
            let mut lines = vec![holds()];
            lines.extend(generator_limit::lines(view, capacity));
            lines
        }
        SearchEnd::GeneratorLimit => {
            let why = view.trials.iter().rev().find_map(|t| t.void_reasons().first());
            let why = why.map(|why| Text::plain(why.to_string()));
            std::iter::once(holds()).chain(why).chain(generator_next_steps(view)).collect()
        }
        SearchEnd::NonStationary => vec![
            holds(),
            Text::new(Tone::Warn, "the target kept changing, so no bound held").with_plain(
                ": let it warm up longer, and look for jobs, caches or neighbours that come and go",
            ),
        ],
        SearchEnd::NotRecovered => std::iter::once(holds()).chain(not_recovered_line(view)).collect(),
        SearchEnd::Interrupted => known(view, limit::tone(ended, false))
            .into_iter()
            .chain(generator_limited_line(view))
            .chain([Text::new(Tone::Warn, "interrupted").with_plain(": that is what is known so far")])
            .collect(),
        SearchEnd::TargetFails => target_fails(view),
        SearchEnd::FleetFailed => vec![
            holds(),
            Text::new(Tone::Bad, "workers of the fleet were lost again and again")
                .with_plain(": each is listed below, with the cause"),
        ],
    }
}

/// That an overload took the target down, and what it does since; `None` if it recovered.
pub(crate) fn not_recovered_line(view: &RunView) -> Option<Text> {
    (view.search_ended() == Some(&SearchEnd::NotRecovered)).then_some(())?;
    let waited = view.trials.iter().rev().find_map(|t| match t.recovery {
        Recovery::Not(limit) => Some(format!(" within {limit}")),
        _ => None,
    });
    // What it ran out of in the overload, though something else gave first.
    let lacks = |finding: &&Finding| {
        matches!(finding.cause, Cause::Descriptors | Cause::TaskLimit | Cause::MemoryLimit)
    };
    let lacked = view.diagnosis.iter().flat_map(|diagnosis| &diagnosis.findings).find(lacks);
    let lacked =
        lacked.map(|finding| format!("; in that overload {}", finding.sentence.trim_end_matches('.')));
    let lacked = lacked.unwrap_or_default();
    let recovery = view.trials.iter().rfind(|trial| trial.purpose == Purpose::Recovery);
    let then = match recovery.and_then(why_mostly_failed) {
        Some(why) => format!(
            ": since then {why}; a short peak may take it down until it is restarted, and its log should say why"
        ),
        None => {
            ": a short peak may take it down until it is restarted; look for retries and unbounded queues"
                .to_owned()
        }
    };
    let text = format!("the target did not recover from an overload{}", waited.unwrap_or_default());
    Some(Text::new(Tone::Bad, text).with_plain(then + &lacked))
}

/// What to do if the limit was not reached. A torment that fell behind here would also do so at higher rates.
pub(crate) fn raise_advice(view: &RunView) -> Option<Text> {
    let held = view.limits.first().and_then(|limit| limit.lower)?;
    let max = (held * RAISE_FACTOR).ceil();
    let text = match fell_behind(view) {
        Some(trials) => format!(
            "torment fell behind in {}, so {}; then raise --max to {max:.0}",
            number_of(trials, "trial"),
            remedy(view, None)
        ),
        None => format!("raise the highest {} allowed: --max {max:.0}", view.arrival_kind().raised()),
    };
    Some(Text::labelled("next", text))
}

/// Where to look next, as a multiple of the highest rate.
const RAISE_FACTOR: f64 = 4.0;

/// The gain expected from it.
pub(crate) fn raise_gain(view: &RunView) -> Option<Text> {
    let text = "no estimate: no limit was reached, so the headroom is unknown";
    (view.search_ended() == Some(&SearchEnd::MaxReached)).then(|| Text::labelled("expect", text))
}

/// What helps if torment was the limit, and the expected gain.
pub(crate) fn generator_next_steps(view: &RunView) -> Vec<Text> {
    if !view.is_generator_limited() {
        return Vec::new();
    }
    let capacity = generator(view);
    vec![generator_limit::next_step(view, capacity), generator_limit::expected_gain(view, capacity)]
}

/// The generator's capacity, if it was the limit.
fn generator(view: &RunView) -> Option<&GeneratorCapacity> {
    match view.verdict()? {
        Verdict::Limits { generator, .. } => generator.as_ref(),
        _ => None,
    }
}

/// The precision of a limit found within the target's noise, and what more time would gain.
fn noise(view: &RunView) -> String {
    let bounds = view.limits.first().and_then(|limit| limit.lower.zip(limit.upper));
    let known = match bounds {
        Some((lower, upper)) => format!("known to ±{}", Share((upper - lower) / (upper + lower)).rounded(2)),
        None => "not known better".to_owned(),
    };
    if view.is_slowing_down() {
        return format!(
            "it slowed down from trial to trial, so no limit holds for long: this one is {known}"
        );
    }
    let more = budget(view, 4);
    // How much of it is the target's own is unknown.
    let too = if view.has_caveat(&CaveatKind::OthersAtWork) {
        ", and others use its processors"
    } else if view.has_caveat(&CaveatKind::UnevenMachine) {
        ", and so does the machine's own speed"
    } else {
        ""
    };
    format!(
        "its capacity varies{too}, so the limit is {known}; halving that takes four times as long: --budget {more}"
    )
}

/// So many times the load after the warm-up, in whole minutes, as one types it.
fn budget(view: &RunView, times: u32) -> String {
    let seconds = f64::from(times) * (view.time_under_load() - view.time_warming_up()).as_secs_f64();
    format!("{:.0}min", (seconds / 60.0).ceil())
}

/// What is known without a verdict.
pub(super) fn known(view: &RunView, tone: Tone) -> Option<Text> {
    let limit = view.limits.first()?;
    let (unit, raised) = (&limit.unit, view.arrival_kind().raised());
    let text = match (limit.lower, limit.upper) {
        (Some(lower), Some(upper)) => {
            let rest = match limit.held {
                Some(_) => format!(" so far (between {} and {})", format_rate(lower), format_rate(upper)),
                None => format!(", fails at {}; the limit lies between", format_rate(upper)),
            };
            let held = format_rate(limit.held.unwrap_or(lower));
            return Some(Text::new(tone, format!("holds {held} {unit}")).with_plain(rest));
        }
        (Some(lower), None) => format!("holds {} {unit}, perhaps more", format_rate(lower)),
        (None, Some(upper)) => {
            format!("fails at {} {unit}; no {raised} was shown to hold", format_rate(upper))
        }
        (None, None) => format!("no {raised} was tried long enough to say anything"),
    };
    Some(Text::new(tone, text))
}

fn below_min(view: &RunView) -> Text {
    let limit = view.limits.first();
    let upper = limit.and_then(|limit| Some(format!(" {} {}", format_rate(limit.upper?), limit.unit)));
    let raised = view.arrival_kind().raised();
    Text::new(Tone::Bad, format!("does not hold even{}", upper.unwrap_or_default()))
        .with_plain(format!(", the lowest {raised} tried: start lower with --from, or relax --goal"))
}

/// Only errors came back: which, how often, and what to check.
fn target_fails(view: &RunView) -> Vec<Text> {
    let (mut outcomes, mut due) = (Outcomes::default(), 0);
    let mut failures: BTreeMap<&Failure, u64> = BTreeMap::new();
    for trial in &view.trials {
        outcomes.merge(&trial.figures.outcomes);
        due += trial.figures.due;
        for (failure, count) in &trial.figures.failures {
            *failures.entry(failure).or_default() += count;
        }
    }
    let head =
        Text::new(Tone::Bad, format!("the target fails from the first {} on", view.arrival_kind().arrival()))
            .with_plain(": there is no limit to find");
    let worst = failures.iter().max_by_key(|(_, count)| **count);
    let (what, check) = match worst {
        Some((failure, count)) if outcomes.failed >= outcomes.timeout => (
            format!("{}: {} of {}", failure, grouped(*count), view.arrival_kind().count(due)),
            what_to_check(failure),
        ),
        _ if outcomes.timeout > 0 => (
            format!(
                "no complete answer in time: {} of {}",
                grouped(outcomes.get(Outcome::Timeout)),
                view.arrival_kind().count(due)
            ),
            "check the address, raise --timeout, or look with --once at how long one request takes",
        ),
        _ => return vec![head],
    };
    vec![head, Text::new(Tone::Strong, what), Text::plain(check)]
}
