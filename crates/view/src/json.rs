//! A run as JSON: every key carries its unit, integers stay integers.

mod experiment;
mod profile;
mod watched;

use crate::values::{caveat, count, micros, rate_value, seconds};
use crate::{LoadValue, ReportKind, RunView, TimeSummary, Trial, caveats, fleet, freezes};
use record::catalogue::{LOAD, LoadRow, Quantity};
use record::{
    BackgroundLoss, CurvePoint, GeneratorCapacity, Limit, RampProgress, Recovery, Verdict, WarmUpResult,
};
use serde_json::{Map, Value, json};
use units::{Nanos, Rate};

/// A search has `limits`, `curve` and `trials`, a load `trial`, an experiment `experiment`.
pub fn run_json(view: &RunView) -> Value {
    let mut run = Map::new();
    let mut put = |key: &str, value: Value| run.insert(key.to_owned(), value);
    put("schema", json!(record::SCHEMA));
    if let Some(s) = &view.started {
        put("id", json!(s.id));
        put("command", json!(s.command));
        put("target", json!(s.target));
        put("goal", json!(s.goal));
        put("version", json!(s.version));
        put("method", json!(s.method));
        put("started_unix_ms", json!(s.at_unix_ms));
        put("plan", json!(s.plan));
        put("part_of", json!(s.part_of));
        put("machine", json!(s.machine));
        put("name", json!(s.label.name));
        put("tags", json!(s.label.tags));
        put("commit", json!(s.label.commit));
    }
    let end = view.end.as_ref();
    let state = match end {
        Some(_) => "ended",
        None if view.running => "running",
        None => "cut_short",
    };
    put("state", json!(state));
    put("ended_unix_ms", json!(end.map(|e| e.at_unix_ms)));
    put("exit_code", json!(end.map(|e| e.exit_code)));
    put("error", json!(end.and_then(|e| e.error.as_ref())));
    put("caveats", caveats::collect(view).into_iter().map(|(one, _)| caveat(one)).collect());
    if !view.fleet.is_empty() {
        put("fleet", fleet::json(view));
    }
    put("skipped_events", json!(view.skipped));
    put("diagnosis", watched::diagnosis(view));
    put("watched", watched::watched(view));
    put("also_watched", watched::also_watched(view));
    let verdict = view.verdict();
    if !view.figures.is_empty() || view.conditions.is_some() {
        put("conditions", json!(view.conditions));
        put("figures", json!(view.figures));
        put(
            "notes",
            view.notes.iter().map(|(table, text)| json!({ "table": table, "text": text })).collect(),
        );
    }
    if !view.profiles.is_empty() {
        put("profiles", view.profiles.iter().map(profile::profile).collect());
        put("waiting", profile::waiting(view));
    }
    if view.kind() == ReportKind::Experiment {
        put("experiment", experiment::experiment(view));
    } else if view.kind() == ReportKind::Tasks {
        put("limits", json!(view.system_limits));
        put("verdict", json!(verdict));
        put("ramp", view.ramp.iter().map(ramped).collect());
    } else if matches!(view.kind(), ReportKind::Probe | ReportKind::WorkingSet | ReportKind::Profile) {
        put("verdict", json!(verdict));
    } else if view.kind() == ReportKind::Search {
        put("freezes", freezes::json(view));
        put("limits", view.limits.iter().map(limit).collect());
        put("trials", view.trials.iter().map(|t| trial(view, t)).collect());
        for key in
            ["background", "warmed_up", "overloaded_per_second", "generator", "ended", "detection_limit"]
        {
            put(key, Value::Null);
        }
        if let Some(Verdict::Limits {
            ended,
            detection_limit,
            background,
            warmed_up,
            overloaded,
            generator,
            ..
        }) = verdict
        {
            put("background", json!(background.as_ref().map(background_loss)));
            put("warmed_up", json!(warmed_up.map(warm)));
            put("overloaded_per_second", json!(overloaded.map(rate_value)));
            put("generator", json!(generator.as_ref().map(generator_capacity)));
            put("ended", json!(ended));
            put("detection_limit", json!(detection_limit));
        }
        put("curve", view.curve().iter().map(curve_point).collect());
        put("loaded_seconds", seconds(view.time_under_load()));
    } else {
        put("goal_met", json!(view.goal_met()));
        put("freezes", freezes::json(view));
        put("trial", view.load().as_ref().map_or(Value::Null, |t| trial(view, t)));
    }
    Value::Object(run)
}

fn ramped(ramped: &RampProgress) -> Value {
    json!({ "tasks": ramped.tasks, "free_bytes": ramped.free, "after_seconds": seconds(ramped.after) })
}

fn warm(warm: WarmUpResult) -> Value {
    json!({
        "loaded_seconds": seconds(warm.loaded),
        "answered": warm.answered,
        "times_quicker": warm.times,
    })
}

fn background_loss(lost: &BackgroundLoss) -> Value {
    json!({
        "bad": lost.bad,
        "due": lost.due,
        "also_at_per_second": lost.seen.then(|| rate_value(lost.at)),
        "reason": lost.failure.as_ref().map(ToString::to_string),
    })
}

fn generator_capacity(capacity: &GeneratorCapacity) -> Value {
    json!({
        "makes_per_second": rate_value(capacity.most),
        "user_us_per_request": micros(capacity.user),
        "kernel_us_per_request": micros(capacity.kernel),
        "worked_share": count(capacity.worked),
        "waited_share": count(capacity.waited),
        "connects_per_request": count(capacity.connects),
    })
}

fn limit(limit: &Limit) -> Value {
    json!({
        "goal": limit.goal,
        "held": limit.held.map(rate_value),
        "lower": limit.lower.map(rate_value),
        "upper": limit.upper.map(rate_value),
        "unit": limit.unit,
        "regular": limit.regular,
        "good_trials": limit.good_trials,
        "bad_trials": limit.bad_trials,
        "lower_due": limit.lower_due,
        "lower_bad": limit.lower_bad,
        "throughput_per_second": limit.throughput.map(rate_value),
    })
}

fn curve_point(point: &CurvePoint) -> Value {
    json!({
        "share": count(point.share),
        "offered_per_second": rate_value(point.rate.0),
        "due": point.due,
        "response": {
            "p50_us": micros(point.response_p50),
            "p99_us": micros(point.response_p99),
            "max_us": micros(point.response_max),
            "mean_us": micros(point.response_mean),
        },
        "outstanding": rate_value(point.outstanding),
    })
}

fn trial(view: &RunView, trial: &Trial) -> Value {
    let f = &trial.figures;
    let judgement = trial.judgement.as_ref();
    let achieved = |n| rate_value(Rate::of(n, trial.loaded).0);
    let (recovered, waited) = match trial.recovery {
        Recovery::NotNeeded => (Value::Null, Value::Null),
        Recovery::After(time) => (json!(true), seconds(time)),
        Recovery::Not(limit) => (json!(false), seconds(limit)),
    };
    let mut object = json!({
        "trial": trial.number,
        "purpose": trial.purpose,
        "offered_per_second": trial.rate.map(|r| rate_value(r.0)),
        "achieved_per_second": achieved(f.sent),
        "answered_per_second": achieved(f.outcomes.answered()),
        "planned_seconds": trial.planned.map(seconds),
        "loaded_seconds": seconds(trial.loaded),
        "drain_seconds": seconds(trial.drain),
        "hopeless": trial.hopeless,
        "recovered": recovered,
        "recovery_seconds": waited,
        "parts": view.steps(trial).map(|(name, part)| json!({
            "name": name,
            "sent": part.sent,
            "ok": part.ok,
            "bad": part.bad,
            "response": times(part.response),
        })).collect::<Vec<_>>(),
        "growth_per_second": judgement.and_then(|j| j.growth_per_second).map(rate_value),
        "valid": judgement.map(|j| j.invalid.is_empty()),
        "good": judgement.filter(|j| j.invalid.is_empty()).map(|j| j.good),
        "loss": judgement.map(|j| count(j.loss)),
        "caveats": caveats::of_trial(trial).into_iter().map(caveat).collect::<Vec<_>>(),
    });
    for (row, value) in LOAD.iter().zip(&f.values).filter(|(row, _)| !row.of_a_second) {
        let told = load_value(row, value);
        match row.measure.field.split_once('.') {
            Some((of, part)) => object[of][part] = told,
            // The tables use another name.
            None if row.measure.field == "run_delay" => object["generator_run_delay_seconds"] = told,
            // Each part of a distribution has its own unit.
            None if matches!(value, LoadValue::Times(_)) => object[row.measure.field] = told,
            None => object[row.column()] = told,
        }
    }
    object
}

fn load_value(row: &LoadRow, value: &LoadValue) -> Value {
    match value {
        LoadValue::Nothing => Value::Null,
        LoadValue::Number(n) if row.measure.quantity == Quantity::Ns => seconds(Nanos(*n as u64)),
        LoadValue::Number(n) => count(*n),
        LoadValue::Times(of) => times(*of),
        LoadValue::Each(each) if row.measure.field == "failures" => {
            each.iter().map(|(reason, n)| json!({ "reason": reason, "count": n })).collect()
        }
        LoadValue::Each(each) => each.iter().map(|(name, n)| (name.clone(), json!(n))).collect(),
        LoadValue::Tenths(outstanding) => json!(outstanding.map(|o| json!({
            "mean": rate_value(o.mean),
            "max": rate_value(o.max),
            "first_fifth": rate_value(o.first),
            "last_fifth": rate_value(o.last),
        }))),
    }
}

fn times(times: Option<TimeSummary>) -> Value {
    times.map_or(Value::Null, |t| {
        let q = t.quantiles;
        json!({
            "count": t.count,
            "p50_us": micros(q.p50),
            "p90_us": micros(q.p90),
            "p95_us": micros(q.p95),
            "p99_us": micros(q.p99),
            "p99_9_us": micros(q.p99_9),
            "max_us": micros(q.max),
            "mean_us": micros(t.mean),
        })
    })
}
