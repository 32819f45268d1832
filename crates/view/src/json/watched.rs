//! What was watched, and what gave first, as JSON.

use crate::values::{count, rate_value};
use crate::verdict::expected_capacity;
use crate::watched::window_figures;
use crate::{RunView, WatchedPlace};
use record::{Confidence, Evidence, Finding};
use serde_json::{Value, json};

/// Null if nothing was watched; of several places the first with somebody to watch.
pub(super) fn watched(view: &RunView) -> Value {
    view.main_place().map_or(Value::Null, of_place)
}

/// The other places.
pub(super) fn also_watched(view: &RunView) -> Value {
    let main = view.main_place().map(|main| &main.name);
    view.places.iter().filter(|place| Some(&place.name) != main).map(of_place).collect()
}

fn of_place(place: &WatchedPlace) -> Value {
    let watched = &place.coverage;
    json!({
        "place": place.name,
        "on": watched.on,
        "lost": watched.lost.as_ref().map(|lost| json!({
            "trial": lost.trial,
            "at_seconds": lost.at.map(|at| at.as_secs_f64()),
            "why": lost.why,
        })),
        "level": watched.level,
        "subjects": watched.subjects.iter().map(|subject| json!({
            "role": subject.role,
            "pid": subject.pid,
            "name": subject.name,
            "command": subject.command,
            "listens": subject.listens,
            "processors": rate_value(subject.cpus),
            "java": subject.java,
            "is_postgres": subject.is_postgres,
            "is_go": subject.is_go,
        })).collect::<Vec<_>>(),
        "postgres": watched.postgres.as_ref().map(|postgres| json!({
            "address": postgres.address,
            "version": postgres.version,
            "settings": postgres.settings.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
        })),
        "metrics": watched.metrics,
        "not_observable": watched.missing,
        "sweeps_per_second": rate_value(watched.sweeps_per_second),
        "trials": trials(place),
    })
}

fn trials(place: &WatchedPlace) -> Vec<Value> {
    let average = |(what, number): &(String, f64)| json!({ "what": what, "average": rate_value(*number) });
    let of = |(trial, window): (&u32, &record::watch::Window)| {
        let figure = window_figures(window, &place.coverage)?;
        Some(json!({
            "trial": trial,
            "seen_seconds": rate_value(window.length().as_secs_f64()),
            "processors_used": rate_value(figure.cpus),
            "ready_threads": figure.ready.map(rate_value),
            "waiting_threads": figure.waits.iter().map(average).collect::<Vec<_>>(),
            "postgres_sessions": figure.sessions.iter().map(average).collect::<Vec<_>>(),
        }))
    };
    place.trials.iter().filter_map(of).collect()
}

/// Null if there is none.
pub(super) fn diagnosis(view: &RunView) -> Value {
    let Some(diagnosis) = &view.diagnosis else { return Value::Null };
    json!({
        "sentences": diagnosis.sentences,
        "cause": diagnosis.cause(),
        "place": diagnosis.place(),
        "confidence": diagnosis.findings.first().map(|finding| finding.confidence.word()),
        "none": diagnosis.none,
        "tie": diagnosis.tie,
        "findings": diagnosis.findings.iter().map(finding).collect::<Vec<_>>(),
        "chain": diagnosis.chain,
        "degraded_at_per_second": diagnosis.degraded_at.map(|rate| rate_value(rate.0)),
        "well_at_per_second": diagnosis.well_at.map(|rate| rate_value(rate.0)),
        "arithmetic": diagnosis.arithmetic.as_ref().map(|arithmetic| json!({
            "formula": arithmetic.formula,
            "ceiling_per_second": rate_value(arithmetic.ceiling.0),
            "measured_per_second": rate_value(arithmetic.measured.0),
            "agrees": arithmetic.agrees(),
        })),
        "next": diagnosis.next,
        "prediction": diagnosis.prediction.as_ref().map(|prediction| json!({
            "change": prediction.change,
            "capacity_per_second": expected_capacity(view, prediction).map(|rate| rate_value(rate.0)),
            "then": prediction.then,
        })),
        "unless": diagnosis.unless,
        "unseen": diagnosis.unseen,
    })
}

fn finding(finding: &Finding) -> Value {
    let Confidence { margin, persistence, independence, coverage } = finding.confidence;
    json!({
        "cause": finding.cause,
        "place": finding.place,
        "also_at": finding.also_at,
        "sentence": finding.sentence,
        "confidence": finding.confidence.word(),
        "confidence_value": rate_value(finding.confidence.value()),
        "confidence_factors": {
            "margin": rate_value(margin),
            "persistence": rate_value(persistence),
            "independence": rate_value(independence),
            "coverage": rate_value(coverage),
        },
        "since_trial": finding.since_trial,
        "follows_from": finding.follows_from,
        "evidence": finding.evidence.iter().map(evidence).collect::<Vec<_>>(),
    })
}

fn evidence(evidence: &Evidence) -> Value {
    json!({
        "text": evidence.text,
        "value": count(evidence.value),
        "threshold": count(evidence.threshold),
        "well": evidence.well.map(count),
        "unit": evidence.unit,
        "source": evidence.source,
        "windows": evidence.windows,
    })
}
