//! The target freezes now and then, and that left most of the waiting requests.

use crate::case::Case;
use crate::finding::{EvidenceExt, RuleFinding, fact, source};
use crate::format::{format_count, format_number, round_to_three_digits};
use crate::freezes::format_times;
use record::{Cause, Station, StationKind, StationUse};
use units::Rate;

/// Share of the outstanding requests in a second left by freezes,
const MIN_LEFT_SHARE: f64 = 0.5;
/// in this share of the degraded seconds.
const MIN_SECONDS_SHARE: f64 = 0.5;
/// If good trials freeze less often than bad ones by this share, freezes make these bad.
const MIN_RARER: f64 = 0.5;

pub(crate) fn freezes(case: &Case<'_>) -> Option<RuleFinding> {
    // Once is a hiccup.
    let impact = case.freeze_impact.filter(|frozen| frozen.freezes.each.len() > 1)?;
    let (freezes, seconds) = (&impact.freezes, &case.degraded.seconds);
    let mostly_left: Vec<bool> =
        seconds.iter().map(|s| impact.left_waiting(s) >= MIN_LEFT_SHARE * s.outstanding.max(1.0)).collect();
    let left_seconds = mostly_left.iter().filter(|held| **held).count();
    let share = left_seconds as f64 / mostly_left.len().max(1) as f64;
    if share < MIN_SECONDS_SHARE {
        return None;
    }
    let rate = case.held_rate.unwrap_or(Rate(case.degraded.load.offered));
    let leave = freezes
        .format_left(rate, |left| format_count(left as f64, "request"))
        .unwrap_or_else(|| "requests wait".to_owned());
    let queue = case.degraded.service().listeners.iter().max_by_key(|listener| listener.queued);
    // If they do not lower the limit, what they fill does not set it.
    let sets_limit = !case.freezes_leave_limit();
    let queue = queue.filter(|queue| sets_limit && queue.backlog > 0 && queue.queued * 2 >= queue.backlog);
    let queue = queue.map_or_else(String::new, |queue| {
        let from = f64::from(queue.backlog) / freezes.longest().as_secs_f64();
        let more = if from > rate.0 {
            format!(", from {} on more than", Rate(from.round()))
        } else {
            ", more than".to_owned()
        };
        format!("{more} its queue of {} new connections holds", queue.backlog)
    });
    let rarer = impact.frequency.map(|often| often.rarer_when_good());
    let effect: &str = match rarer {
        Some(rarer) if sets_limit && rarer >= MIN_RARER => {
            " It froze in every bad trial next to the limit, and in few good ones."
        }
        _ if !sets_limit => match case.held_rate.and_then(|held| freezes.sustained_rate(held)) {
            Some(rate) => &format!(
                " After a trial it catches up; for longer it holds about {}.",
                Rate(round_to_three_digits(rate.0))
            ),
            None => " This costs response time, not the limit.",
        },
        _ => "",
    };
    let name = case.name();
    let (froze, lengths) = (format_times(freezes.each.len()), freezes.format_lengths());
    let most = seconds.iter().map(|second| impact.left_waiting(second)).fold(0.0, f64::max);
    let station = Station {
        degraded: Some(StationUse { waiting: Some(most), ..StationUse::default() }),
        ..StationKind::Threads.station(format!("{name} stands still"))
    };
    let is_explained = !matches!(freezes.activity.code, "unseen" | "nothing" | "computing");
    let frequency = impact.frequency.and_then(|often| Some((often.when_bad?, often.when_good)));
    Some(
        RuleFinding::new(Cause::Freeze)
            .with_sentence(format!(
                "{name} {froze}{lengths}: {leave}{queue}; {}.{effect}",
                freezes.activity.text
            ))
            .margin(rarer.unwrap_or(1.0), 0.0, MIN_RARER)
            .persisting_for(share, left_seconds as u32, mostly_left.iter().position(|held| *held))
            .sources(1 + u32::from(is_explained))
            .fact(format!("frozen {} of the time under load", freezes.share()))
            .measured(freezes.share().0, 0.0, "share", source::LOAD)
            .fact(format!(
                "in {} of {} degraded seconds most of the waiting requests were left over from freezes",
                format_number(left_seconds as f64),
                format_number(mostly_left.len() as f64)
            ))
            .measured(share, MIN_SECONDS_SHARE, "share", source::LOAD)
            .evidences(frequency.map(|(bad, good)| {
                fact(format!(
                    "{} freezes a minute in the bad trials next to the limit, {} in the good ones",
                    format_number(bad),
                    format_number(good)
                ))
                .measured(bad, good / (1.0 - MIN_RARER), "freezes a minute", source::LOAD)
            }))
            .chain(["requests"])
            .limiting(station)
            .advise(freezes.advice())
            .unless("as many requests wait in trials without a freeze"),
    )
}
