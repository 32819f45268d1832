//! The target freezes now and then, and that left most of the waiting requests.

use crate::case::Case;
use crate::finding::{EvidenceExt, RuleFinding, fact, source};
use crate::format::{format_count, format_number, round_to_three_digits};
use crate::freezes::format_times;
use record::{Cause, Station, StationKind, StationUse};
use units::Rate;

/// Share of the outstanding requests in a second left by freezes,
const LEFT: f64 = 0.5;
/// in this share of the degraded seconds.
const MOST: f64 = 0.5;
/// If good trials freeze less often than bad ones by this share, freezes make these bad.
const RARER: f64 = 0.5;

pub(crate) fn freezes(case: &Case<'_>) -> Option<RuleFinding> {
    // Once is a hiccup.
    let frozen = case.frozen.filter(|frozen| frozen.freezes.each.len() > 1)?;
    let (found, seconds) = (&frozen.freezes, &case.bad.seconds);
    let held: Vec<bool> = seconds.iter().map(|s| frozen.left(s) >= LEFT * s.outstanding.max(1.0)).collect();
    let count_held = held.iter().filter(|held| **held).count();
    let share = count_held as f64 / held.len().max(1) as f64;
    if share < MOST {
        return None;
    }
    let rate = case.held.unwrap_or(Rate(case.bad.load.offered));
    let leave = found
        .format_left(rate, |left| format_count(left as f64, "request"))
        .unwrap_or_else(|| "requests wait".to_owned());
    let queue = case.bad.service().listeners.iter().max_by_key(|listener| listener.queued);
    // If they do not lower the limit, what they fill does not set it.
    let sets = !case.freezes_leave_limit();
    let queue = queue.filter(|queue| sets && queue.backlog > 0 && queue.queued * 2 >= queue.backlog);
    let queue = queue.map_or_else(String::new, |queue| {
        let from = f64::from(queue.backlog) / found.longest().as_secs_f64();
        let more = if from > rate.0 {
            format!(", from {} on more than", Rate(from.round()))
        } else {
            ", more than".to_owned()
        };
        format!("{more} its queue of {} new connections holds", queue.backlog)
    });
    let rarer = frozen.often.map(|often| often.rarer_when_good());
    let decides: &str = match rarer {
        Some(rarer) if sets && rarer >= RARER => {
            " It froze in every bad trial next to the limit, and in few good ones."
        }
        _ if !sets => match case.held.and_then(|held| found.sustained_rate(held)) {
            Some(rate) => &format!(
                " After a trial it catches up; for longer it holds about {}.",
                Rate(round_to_three_digits(rate.0))
            ),
            None => " This costs response time, not the limit.",
        },
        _ => "",
    };
    let name = case.name();
    let (froze, lengths) = (format_times(found.each.len()), found.format_lengths());
    let most = seconds.iter().map(|second| frozen.left(second)).fold(0.0, f64::max);
    let station = Station {
        degraded: Some(StationUse { waiting: Some(most), ..StationUse::default() }),
        ..StationKind::Threads.station(format!("{name} stands still"))
    };
    let is_explained = !matches!(found.meanwhile.code, "unseen" | "nothing");
    let often = frozen.often.and_then(|often| Some((often.bad?, often.good)));
    Some(
        RuleFinding::new(Cause::Freeze)
            .with_sentence(format!(
                "{name} {froze}{lengths}: {leave}{queue}; {}.{decides}",
                found.meanwhile.text
            ))
            .margin(rarer.unwrap_or(1.0), 0.0, RARER)
            .lasting(share, count_held as u32, held.iter().position(|held| *held))
            .sources(1 + u32::from(is_explained))
            .fact(format!("frozen {} of the time under load", found.share()))
            .measured(found.share().0, 0.0, "share", source::LOAD)
            .fact(format!(
                "in {} of {} degraded seconds most of the waiting requests were left over from freezes",
                format_number(count_held as f64),
                format_number(held.len() as f64)
            ))
            .measured(share, MOST, "share", source::LOAD)
            .evidences(often.map(|(bad, good)| {
                fact(format!(
                    "{} freezes a minute in the bad trials next to the limit, {} in the good ones",
                    format_number(bad),
                    format_number(good)
                ))
                .measured(bad, good / (1.0 - RARER), "freezes a minute", source::LOAD)
            }))
            .chain(["requests".to_owned()])
            .gave(station)
            .advise(found.advice())
            .unless("as many requests wait in trials without a freeze"),
    )
}
