//! From what the rules found to one verdict: what explains what, which came first, how sure.

use crate::case::Case;
use crate::found::Found;
use crate::rules;
use crate::way;
use crate::words::{list, number};
use record::watch::{Level, Wait};
use record::{Arithmetic, Cause, Diagnosis, Finding, NoFinding, Prediction};
use units::Rate;

/// Below this a finding is no verdict.
const BELIEVED: f64 = 0.3;
/// Two findings that explain each other in no way tie if their confidence is this near.
const TIE: f64 = 0.1;

/// Whether `cause`, where it holds, is the reason for `symptom`.
pub(crate) fn explains(cause: Cause, symptom: Cause) -> bool {
    use Cause::*;
    let waits = matches!(symptom, Lock | Pool | Workers | Downstream | Inside | AcceptQueue | Safepoint);
    let behind = matches!(symptom, PostgresIdleInTransaction | PacketDrops | Retransmissions);
    match cause {
        Generator | Ports | OwnDescriptors => !matches!(symptom, Generator | Ports | OwnDescriptors),
        // Whatever lacks a processor waits longer for everything else.
        Neighbour | CpuQuota => waits || behind || matches!(symptom, Cpu | PostgresCpu | ColdJit | Gc),
        // Who waits for a lock or a pool while processors are to be had does not wait for compilers.
        ColdJit => matches!(symptom, Cpu | Inside | AcceptQueue | Safepoint),
        Gc => waits && symptom != Downstream || matches!(symptom, ColdJit | Cpu | PostgresIdleInTransaction),
        Cpu => waits || behind,
        PostgresLock
        | PostgresWal
        | PostgresReads
        | PostgresCpu
        | PostgresConnections
        | PostgresIdleInTransaction => {
            matches!(symptom, Pool | Workers | Downstream | Inside | AcceptQueue | TaskLimit | Lock | Disk)
                || cause == PostgresLock && matches!(symptom, PostgresIdleInTransaction)
                || cause == PostgresWal && matches!(symptom, PostgresLock)
        }
        PostgresCheckpoints => {
            waits && symptom != Safepoint
                || matches!(symptom, PostgresWal | PostgresReads | PostgresLock | Disk)
        }
        Bandwidth => {
            matches!(symptom, PacketDrops | Retransmissions | Workers | Downstream | Inside | AcceptQueue)
        }
        Tracking => matches!(symptom, PacketDrops | Retransmissions | Downstream | Inside),
        PacketDrops => matches!(symptom, Retransmissions | Downstream | Inside),
        MemoryLimit => {
            matches!(symptom, Disk | PostgresReads | Gc | Inside | AcceptQueue | Workers | Lock | Pool | Cpu)
        }
        TaskLimit | Descriptors => matches!(symptom, AcceptQueue | Inside | Workers),
        Pool => matches!(symptom, Workers | Downstream | AcceptQueue | Inside | Descriptors),
        Disk => matches!(symptom, Workers | Lock | Pool | AcceptQueue | Inside),
        Lock => matches!(symptom, Workers | AcceptQueue | Inside),
        Workers => matches!(symptom, Downstream | AcceptQueue | Inside),
        Downstream | Retransmissions => matches!(symptom, Inside | AcceptQueue),
        AcceptQueue => symptom == Retransmissions,
        Safepoint | Inside => false,
    }
}

pub(crate) fn judge(case: &Case<'_>) -> Diagnosis {
    let mut found: Vec<Found> = rules::ALL.iter().filter_map(|rule| rule(case)).collect();
    found.retain(|found| found.confidence.value() >= BELIEVED || found.cause == Cause::Inside);
    // One cause may be seen from two sides.
    found.sort_by(|a, b| b.confidence.value().total_cmp(&a.confidence.value()));
    let mut named = Vec::new();
    found.retain(|found| !named.contains(&found.cause) && (named.push(found.cause), true).1);
    let causes: Vec<Cause> = found.iter().map(|found| found.cause).collect();
    let why = |symptom: Cause| {
        causes.iter().copied().find(|cause| explains(*cause, symptom) && !explains(symptom, *cause))
    };
    let rank = |found: &Found| {
        let first = found.first.unwrap_or(0) as f64;
        // Onset before size, but a second sooner or later is chance.
        found.confidence.value() - 0.02 * (first / 2.0).floor()
    };
    found.sort_by(|a, b| {
        let follows = |found: &Found| why(found.cause).is_some();
        follows(a).cmp(&follows(b)).then(rank(b).total_cmp(&rank(a)))
    });
    let Some(best) = found.first() else { return nothing(case) };
    let roots: Vec<&Found> = found.iter().filter(|found| why(found.cause).is_none()).collect();
    let tie = roots.len() > 1 && rank(roots[0]) - rank(roots[1]) < TIE;
    let mut sentences = vec![best.sentence.clone()];
    if let Some(arithmetic) = &best.arithmetic {
        sentences.push(reckoned(arithmetic));
    } else if tie {
        sentences.push(format!("As likely: {}", roots[1].sentence));
    }
    let mut diagnosis = frame(case);
    diagnosis.sentences = sentences;
    diagnosis.tie = tie;
    diagnosis.chain = best.chain.iter().map(|link| link.name.clone()).collect();
    diagnosis.stations = way::whole(case, best);
    diagnosis.arithmetic.clone_from(&best.arithmetic);
    diagnosis.next.clone_from(&best.next);
    let from = (case.bad.load.answered > 0.0).then_some(Rate(case.bad.load.answered));
    diagnosis.prediction = best.prediction.clone().map(|prediction| Prediction { from, ..prediction });
    diagnosis.unless.clone_from(&best.unless);
    if let Some(loser) = roots.get(1) {
        let lacks = format!("{} is the cause (confidence {})", loser.cause.words(), loser.confidence.word());
        diagnosis.unless.push(format!("{lacks}: {}", loser.sentence));
    }
    diagnosis.findings = found
        .into_iter()
        .map(|found| Finding {
            follows_from: why(found.cause),
            cause: found.cause,
            sentence: found.sentence,
            confidence: found.confidence,
            since_trial: case.since,
            evidence: found.evidence,
        })
        .collect();
    diagnosis
}

fn reckoned(arithmetic: &Arithmetic) -> String {
    let Arithmetic { formula, ceiling, measured } = arithmetic;
    let about = if arithmetic.is_near() { "" } else { "about " };
    format!("{formula} = {ceiling}: that is {about}the limit; {measured} were measured.")
}

/// What is the same in every diagnosis of this case.
pub(crate) fn frame(case: &Case<'_>) -> Diagnosis {
    let rate = |offered: f64| (offered > 0.0).then_some(Rate(offered));
    Diagnosis {
        degraded_at: rate(case.bad.load.offered),
        well_at: case.well.as_ref().and_then(|well| rate(well.load.offered)),
        unseen: case
            .watched
            .missing
            .iter()
            .map(|missing| format!("{}: {}", missing.what, missing.why))
            .collect(),
        ..Diagnosis::default()
    }
}

/// Degraded, and no rule holds.
fn nothing(case: &Case<'_>) -> Diagnosis {
    let seen = case.watched.level != Level::Outside && !case.bad.each.is_empty();
    let mut diagnosis = frame(case);
    if !seen && case.bad.all.postgres.is_none() {
        diagnosis.none = Some(NoFinding::NotObservable);
        diagnosis.sentences = vec!["What gave first is unknown: the target could not be watched.".to_owned()];
        diagnosis.next = vec![
            "run torment on the target's machine, or tell it what to watch: --pid, --postgres, --metrics"
                .to_owned(),
        ];
        return diagnosis;
    }
    diagnosis.none = Some(NoFinding::Unexplained);
    diagnosis.sentences = vec![format!("What gave first is unknown. {}", largest_state(case))];
    diagnosis.next = vec![
        "look at the threads while it is slow (torment watch), or at a profile".to_owned(),
        "name what the service talks to: --postgres URL, --metrics URL".to_owned(),
    ];
    diagnosis
}

/// What most threads did, for whoever has to look further.
fn largest_state(case: &Case<'_>) -> String {
    let groups = &case.bad.service().groups;
    let mut states: Vec<(f64, String)> = groups
        .iter()
        .flat_map(|group| group.states.iter().map(move |state| (group, state)))
        .filter(|(_, state)| !matches!(state.wait, Wait::Events | Wait::Accept | Wait::Client))
        .map(|(group, state)| {
            (state.threads, format!("{} of {} ({})", number(state.threads), group.name, state.wait))
        })
        .collect();
    states.sort_by(|a, b| b.0.total_cmp(&a.0));
    let most: Vec<String> = states.into_iter().take(2).map(|(_, text)| text).collect();
    if most.is_empty() { String::new() } else { format!("The largest states: {}.", list(&most)) }
}
