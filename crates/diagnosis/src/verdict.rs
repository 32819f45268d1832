//! From findings to one verdict: what explains what, which came first, with what confidence.

use crate::case::Case;
use crate::finding::{CONTRADICTION_FACTOR, RuleFinding};
use crate::format::{format_list, format_number};
use crate::request_path;
use crate::rules;
use record::watch::{AccessLevel, ThreadWait};
use record::{CapacityCheck, Cause, Diagnosis, Finding, NoFinding, Prediction};
use units::Rate;

/// Below this confidence a finding is no verdict.
const MIN_CONFIDENCE: f64 = 0.3;
/// Findings that do not explain each other tie if their confidence differs by at most this.
const TIE_MARGIN: f64 = 0.1;

/// Whether `cause`, where it holds, explains `symptom`.
fn explains(cause: Cause, symptom: Cause) -> bool {
    use Cause::*;
    let waits = matches!(symptom, Lock | Pool | Workers | Downstream | Inside | AcceptQueue | Safepoint);
    let behind = matches!(symptom, PostgresIdleInTransaction | PacketDrops | Retransmissions);
    match cause {
        Generator | Ports | OwnDescriptors => !symptom.is_of_torment(),
        // Whatever lacks a processor waits longer for everything else.
        Neighbour | CpuQuota => {
            waits || behind || matches!(symptom, Cpu | PostgresCpu | ColdJit | Gc | Freeze)
        }
        // Waits for a lock or a pool while processors are available are not caused by compilers.
        ColdJit => matches!(symptom, Cpu | Inside | AcceptQueue | Safepoint),
        Gc => {
            waits && symptom != Downstream
                || matches!(symptom, ColdJit | Cpu | PostgresIdleInTransaction | Freeze)
        }
        Cpu => waits || behind,
        PostgresLock
        | PostgresWal
        | PostgresReads
        | PostgresCpu
        | PostgresConnections
        | PostgresIdleInTransaction => {
            matches!(
                symptom,
                Pool | Workers | Downstream | Inside | AcceptQueue | TaskLimit | Lock | Disk | Freeze
            ) || cause == PostgresLock && matches!(symptom, PostgresIdleInTransaction)
                || cause == PostgresWal && matches!(symptom, PostgresLock)
        }
        PostgresCheckpoints => {
            waits && symptom != Safepoint
                || matches!(symptom, PostgresWal | PostgresReads | PostgresLock | Disk | Freeze)
        }
        Bandwidth => {
            matches!(symptom, PacketDrops | Retransmissions | Workers | Downstream | Inside | AcceptQueue)
        }
        Tracking => matches!(symptom, PacketDrops | Retransmissions | Downstream | Inside),
        PacketDrops => matches!(symptom, Retransmissions | Downstream | Inside),
        MemoryLimit => {
            matches!(
                symptom,
                Disk | PostgresReads | Gc | Inside | AcceptQueue | Workers | Lock | Pool | Cpu | Freeze
            )
        }
        TaskLimit | Descriptors => matches!(symptom, AcceptQueue | Inside | Workers),
        Pool => matches!(symptom, Workers | Downstream | AcceptQueue | Inside | Descriptors),
        Disk => matches!(symptom, Workers | Lock | Pool | AcceptQueue | Inside | Freeze),
        Lock => matches!(symptom, Workers | AcceptQueue | Inside),
        Workers => matches!(symptom, Downstream | AcceptQueue | Inside),
        Downstream => matches!(symptom, Inside | AcceptQueue | Freeze),
        Retransmissions => matches!(symptom, Inside | AcceptQueue),
        // Arrivals in a freeze wait in the accept queue; what holds all the time has its own rule.
        Freeze => matches!(symptom, AcceptQueue | Inside | Retransmissions),
        AcceptQueue => symptom == Retransmissions,
        DelayedAcks => matches!(symptom, Workers | Downstream | Inside | AcceptQueue),
        Safepoint => symptom == Freeze,
        Inside => false,
    }
}

/// A finding and its place.
struct LocatedFinding<'a, 'c> {
    found: RuleFinding,
    case: &'a Case<'c>,
    /// Other places.
    also: Vec<&'a str>,
}

/// A service looks as busy as what it waits for: a downstream's finding precedes one whose confidence is higher by at most this.
const DOWNSTREAM_BONUS: f64 = 0.2;

/// The findings of all places, each cause once: where its confidence is highest.
fn all_findings<'a, 'c>(cases: &'a [Case<'c>], behind: &'a [Case<'c>]) -> Vec<LocatedFinding<'a, 'c>> {
    let of_case = |case: &'a Case<'c>| {
        let rules = if case.front.is_some() { rules::BEHIND } else { rules::ALL };
        let found = rules.iter().filter_map(|rule| rule(case));
        found.map(move |found| LocatedFinding { found, case, also: Vec::new() })
    };
    let mut all: Vec<LocatedFinding<'a, 'c>> = behind.iter().chain(cases).flat_map(of_case).collect();
    all.retain(|LocatedFinding { found, .. }| {
        found.confidence.value() >= MIN_CONFIDENCE || found.cause == Cause::Inside
    });
    let waits = |cause: Cause| matches!(cause, Cause::Workers | Cause::Disk | Cause::AcceptQueue);
    let sure = |LocatedFinding { found, case, .. }: &LocatedFinding<'a, 'c>| {
        let ahead = case.front.is_some() && waits(found.cause);
        found.confidence.value() + if ahead { DOWNSTREAM_BONUS } else { 0.0 }
    };
    all.sort_by(|a, b| sure(b).total_cmp(&sure(a)));
    let mut merged: Vec<LocatedFinding<'a, 'c>> = Vec::new();
    for next in all {
        match merged.iter_mut().find(|known| known.found.cause == next.found.cause) {
            // One cause may be seen from two sides.
            Some(known) if known.case.place == next.case.place || next.found.cause.is_of_torment() => {}
            Some(known) if known.also.contains(&next.case.place) => {}
            Some(known) => known.also.push(next.case.place),
            None => merged.push(next),
        }
    }
    merged
}

/// Judges all places, and the downstreams (`behind`) there.
pub(crate) fn judge(cases: &[Case<'_>], behind: &[Case<'_>]) -> Diagnosis {
    let mut findings = all_findings(cases, behind);
    let causes: Vec<Cause> = findings.iter().map(|at| at.found.cause).collect();
    // Freezes that do not lower the limit fill queues, and do not explain what sets it.
    let is_aside = |cause: Cause| cause == Cause::Freeze && cases.iter().any(Case::freezes_leave_limit);
    let is_collector_minor = cases.iter().any(rules::is_collector_minor);
    let is_why = |cause: Cause, symptom: Cause| match (cause, symptom) {
        // Nor cold code, which explains full processors: the three would follow from one another, and none be the verdict.
        (Cause::Gc, Cause::Cpu | Cause::ColdJit) => !is_collector_minor,
        (Cause::Cpu, Cause::Gc) => is_collector_minor,
        (_, Cause::Inside) if is_aside(cause) => false,
        _ => explains(cause, symptom),
    };
    let cause_of = |symptom: Cause| {
        causes.iter().copied().find(|cause| is_why(*cause, symptom) && !is_why(symptom, *cause))
    };
    let rank = |found: &RuleFinding| {
        let first = found.first_window.unwrap_or(0) as f64;
        // Onset before size, but a second's difference is chance.
        found.confidence.value() - 0.02 * (first / 2.0).floor()
    };
    findings.sort_by(|LocatedFinding { found: a, .. }, LocatedFinding { found: b, .. }| {
        let follows = |found: &RuleFinding| is_aside(found.cause) || cause_of(found.cause).is_some();
        follows(a).cmp(&follows(b)).then(rank(b).total_cmp(&rank(a)))
    });
    let is_root =
        |at: &&LocatedFinding<'_, '_>| !is_aside(at.found.cause) && cause_of(at.found.cause).is_none();
    let roots: Vec<&LocatedFinding<'_, '_>> = findings.iter().filter(is_root).collect();
    let Some(LocatedFinding { found: best, case, also }) = roots.first().copied() else {
        return no_finding(cases);
    };
    let tie = roots.len() > 1 && rank(&roots[0].found) - rank(&roots[1].found) < TIE_MARGIN;
    let mut sentences = vec![at_place(case, best.cause, &best.sentence)];
    if let Some(arithmetic) = &best.arithmetic {
        sentences.push(format_arithmetic(arithmetic, case.held_rate));
    } else if tie {
        let LocatedFinding { found, case, .. } = roots[1];
        sentences.push(format!("As likely: {}", at_place(case, found.cause, &found.sentence)));
    }
    if !also.is_empty() {
        let places: Vec<String> = also.iter().map(|place| place_phrase(place)).collect();
        sentences.push(format!("The same holds {}.", format_list(&places)));
    }
    sentences.extend(lost_sentences(cases));
    let mut diagnosis = empty_diagnosis(case);
    diagnosis.sentences = sentences;
    diagnosis.tie = tie;
    diagnosis.chain = request_path::station_names(case, best);
    diagnosis.stations = request_path::full_path(case, best);
    diagnosis.arithmetic.clone_from(&best.arithmetic);
    diagnosis.next.clone_from(&best.next);
    let from = (case.degraded.load.answered > 0.0).then_some(Rate(case.degraded.load.answered));
    diagnosis.prediction = best.prediction.clone().map(|prediction| Prediction { from, ..prediction });
    diagnosis.unless.clone_from(&best.unless);
    if let Some(LocatedFinding { found: loser, case, .. }) = roots.get(1) {
        let lacks = format!("{} is the cause (confidence {})", loser.cause.words(), loser.confidence.word());
        diagnosis.unless.push(format!("{lacks}: {}", at_place(case, loser.cause, &loser.sentence)));
    }
    diagnosis.findings = findings
        .into_iter()
        .map(|LocatedFinding { found, case, also }| Finding {
            follows_from: cause_of(found.cause),
            place: if found.cause.is_of_torment() { String::new() } else { case.place.to_owned() },
            also_at: also.into_iter().map(str::to_owned).collect(),
            cause: found.cause,
            sentence: found.sentence,
            confidence: found.confidence,
            since_trial: case.first_trial,
            evidence: found.evidence,
        })
        .collect();
    // A generator that cannot send more to a saturated target may have been held up by that.
    if let Some(full) = diagnosis.also_saturated().map(|full| full.sentence.clone()) {
        diagnosis.findings[0].confidence.independence *= CONTRADICTION_FACTOR;
        diagnosis.sentences.push(format!("The target was nearly saturated, too: {full}"));
    }
    diagnosis
}

/// A rule's sentence, with its place unless that is torment's.
fn at_place(case: &Case<'_>, cause: Cause, sentence: &str) -> String {
    if case.is_remote() && !cause.is_of_torment() {
        format!("On {}: {sentence}", case.place)
    } else {
        sentence.to_owned()
    }
}

fn place_phrase(place: &str) -> String {
    if place.is_empty() { "here".to_owned() } else { format!("on {place}") }
}

/// What was not observed any more because observers were lost.
fn lost_sentences(cases: &[Case<'_>]) -> impl Iterator<Item = String> {
    cases.iter().filter_map(|case| {
        let lost = case.watched.lost.as_ref()?;
        Some(format!("What happened {} is not known {lost}.", place_phrase(case.place)))
    })
}

/// What was not observable at all places, and so not ruled out.
pub(crate) fn unseen_notes(cases: &[Case<'_>]) -> Vec<String> {
    let of_case = |case: &Case<'_>| -> Vec<String> {
        let place = if case.is_remote() { format!("on {}, ", case.place) } else { String::new() };
        let missing = case.watched.missing.iter();
        missing.map(|missing| format!("{place}{}: {}", missing.what, missing.why)).collect()
    };
    cases.iter().flat_map(of_case).chain(lost_sentences(cases)).collect()
}

fn format_arithmetic(arithmetic: &CapacityCheck, held: Option<Rate>) -> String {
    let CapacityCheck { formula, ceiling, measured } = arithmetic;
    if held.is_some_and(|held| arithmetic.differs_from(held)) {
        return format!("{formula} = {ceiling}: that is about what it answered in overloads ({measured}).");
    }
    let about = if arithmetic.is_near() { "" } else { "about " };
    format!("{formula} = {ceiling}: that is {about}the limit; {measured} were measured.")
}

/// The parts common to all diagnoses of this case.
pub(crate) fn empty_diagnosis(case: &Case<'_>) -> Diagnosis {
    let rate = |offered: f64| (offered > 0.0).then_some(Rate(offered));
    Diagnosis {
        degraded_at: rate(case.degraded.load.offered),
        well_at: case.well.as_ref().and_then(|well| rate(well.load.offered)),
        ..Diagnosis::default()
    }
}

/// Degraded, and no rule holds.
fn no_finding(cases: &[Case<'_>]) -> Diagnosis {
    let is_seen = |case: &&Case<'_>| {
        case.watched.level != AccessLevel::Outside && !case.degraded.windows.is_empty()
            || case.degraded.merged.postgres.is_some()
    };
    let mut diagnosis = empty_diagnosis(&cases[0]);
    let Some(case) = cases.iter().find(is_seen) else {
        diagnosis.none = Some(NoFinding::NotObservable);
        diagnosis.sentences = vec!["What gave first is unknown: the target could not be watched.".to_owned()];
        diagnosis.sentences.extend(lost_sentences(cases));
        diagnosis.next = vec![
            "watch the target's machine (--watch-on ssh:HOST), run torment there, or tell it what to watch: --pid, --postgres, --metrics"
                .to_owned(),
        ];
        return diagnosis;
    };
    diagnosis.none = Some(NoFinding::Unexplained);
    diagnosis.sentences = vec![format!("What gave first is unknown. {}", largest_state(case))];
    diagnosis.sentences.extend(lost_sentences(cases));
    diagnosis.next = vec![
        "look at the threads while it is slow (torment watch), or at a profile".to_owned(),
        "name what the service talks to: --postgres URL, --metrics URL".to_owned(),
    ];
    diagnosis
}

/// What most threads did, as a hint for further investigation.
fn largest_state(case: &Case<'_>) -> String {
    let groups = &case.degraded.service().groups;
    let mut states: Vec<(f64, String)> = groups
        .iter()
        .flat_map(|group| group.states.iter().map(move |state| (group, state)))
        .filter(|(_, state)| {
            !matches!(state.wait, ThreadWait::Events | ThreadWait::Accept | ThreadWait::Client)
        })
        .map(|(group, state)| {
            (state.threads, format!("{} of {} ({})", format_number(state.threads), group.name, state.wait))
        })
        .collect();
    states.sort_by(|a, b| b.0.total_cmp(&a.0));
    let largest: Vec<String> = states.into_iter().take(2).map(|(_, text)| text).collect();
    if largest.is_empty() { String::new() } else { format!("The largest states: {}.", format_list(&largest)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RabbitMQ held 705/s, and beside that stood "489/s: that is about the limit; 456/s were measured".
    #[test]
    fn what_holds_less_than_was_held_is_no_limit() {
        let formula = "1 processor / 2 ms per request".to_owned();
        let found = CapacityCheck { formula, ceiling: Rate(489.0), measured: Rate(456.0) };
        let said = |held: Option<f64>| format_arithmetic(&found, held.map(Rate));
        assert!(said(Some(705.0)).ends_with("that is about what it answered in overloads (456/s)."));
        assert!(said(Some(450.0)).ends_with("that is about the limit; 456/s were measured."));
        assert!(said(None).ends_with("that is about the limit; 456/s were measured."));
    }

    /// Otherwise causes that explain each other in a circle would all be found, and none be the verdict.
    #[test]
    fn of_any_causes_one_follows_from_no_other() {
        let mut left: Vec<Cause> = Cause::ALL.to_vec();
        while !left.is_empty() {
            let why = |cause: Cause, symptom: Cause| explains(cause, symptom) && !explains(symptom, cause);
            let follows = |symptom: &Cause| left.iter().any(|cause| why(*cause, *symptom));
            let rest: Vec<Cause> = left.iter().copied().filter(follows).collect();
            assert!(rest.len() < left.len(), "a circle: {left:?}");
            left = rest;
        }
    }
}
