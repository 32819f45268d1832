use crate::RunView;
use crate::values::{caveat, count, micros, rate_value, seconds};
use plan::{ArmMeasure, LoadLevel};
use record::{
    ArmStart, Design, ExperimentState, HypothesisResult, Interval, MeasurementResult, Noise, StartTimes,
};
use serde_json::{Map, Value, json};
use units::Nanos;

/// Design, answers and all starts; null before the design is known.
pub(super) fn experiment(view: &RunView) -> Value {
    let Some(design) = &view.design else { return Value::Null };
    let nothing = ExperimentState::default();
    let standing = view.standing.as_ref().unwrap_or(&nothing);
    let arm = |place: usize| design.arms.get(place).map(|arm| arm.name.as_str());
    let hypotheses: Vec<Value> =
        (0..design.hypotheses.len()).map(|place| hypothesis(design, standing, place)).collect();
    let placebo = standing.judged.iter().filter(|judged| judged.hypothesis.is_none());
    json!({
        "design": {
            "pilot": design.pilot,
            "least_blocks": design.least,
            "most_blocks": design.most,
            "budget_seconds": design.budget.map(seconds),
            "confidence": count(design.confidence.0),
            "seed": design.seed,
            "probes": design.probes.iter().map(|probe| json!({
                "workload": probe.workload,
                "at": load(probe.at),
                "arms": probe.arms.iter().map(|place| arm(*place)).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
        },
        "arms": design.arms.iter().enumerate().map(|(place, arm)| {
            let visits = || view.visits.iter().filter(|visit| visit.arm == place);
            json!({
                "name": arm.name,
                "changes": arm.changes,
                "starts": visits().count(),
                "void_starts": visits().filter(|visit| visit.void.is_some()).count(),
            })
        }).collect::<Vec<_>>(),
        "blocks": standing.blocks,
        "over": standing.over,
        "hypotheses": hypotheses,
        "placebo": placebo.map(judged).collect::<Vec<_>>(),
        "noise": standing.noise.iter().map(noise).collect::<Vec<_>>(),
        "caveats": standing.caveats.iter().map(caveat).collect::<Vec<_>>(),
        "visits": view.visits.iter().map(|made| visit(made, arm(made.arm))).collect::<Vec<_>>(),
    })
}

fn load(at: LoadLevel) -> Value {
    match at {
        LoadLevel::Limit => json!({ "kind": "limit" }),
        LoadLevel::Rate(rate) => json!({ "kind": "rate", "per_second": rate_value(rate.0) }),
        LoadLevel::Share(share) => json!({ "kind": "share", "of_capacity": count(share.0) }),
        LoadLevel::Connections(connections) => json!({ "kind": "connections", "connections": connections }),
    }
}

/// A hypothesis with its answer; null while there is none.
fn hypothesis(design: &Design, standing: &ExperimentState, place: usize) -> Value {
    let asked = &design.hypotheses[place];
    let arm = |arm: usize| design.arms.get(arm).map(|arm| arm.name.as_str());
    let found = standing.judged.iter().find(|judged| judged.hypothesis == Some(place));
    json!({
        "name": asked.name,
        "contrast": asked.contrast.iter().map(|(place, weight)| json!({
            "arm": arm(*place),
            "weight": count(*weight),
        })).collect::<Vec<_>>(),
        "probe": asked.probe,
        "measure": asked.measure,
        "smallest_effect": count(asked.effect.0),
        "relieves": asked.relieves,
        "judged": found.map(judged),
    })
}

fn judged(judged: &HypothesisResult) -> Value {
    json!({
        "name": judged.name,
        "answer": judged.answer,
        "ratio": judged.ratio.map(interval),
        "some_effect": judged.some_effect,
        "blocks": judged.blocks,
        "expected": judged.expected,
        "held": judged.held,
        "says": judged.says,
        "caveats": judged.caveats.iter().map(caveat).collect::<Vec<_>>(),
    })
}

/// To five decimals: a ratio known to a percent has no more.
fn interval(interval: Interval) -> Value {
    let digits = |ratio: f64| count((ratio * 1e5).round() / 1e5);
    json!({ "value": digits(interval.value), "low": digits(interval.low), "high": digits(interval.high) })
}

fn noise(noise: &Noise) -> Value {
    json!({
        "probe": noise.probe,
        "measure": noise.measure,
        "log_standard_deviation": count(noise.deviation),
        "degrees_of_freedom": noise.freedom,
        "visible_ratio": count(noise.visible),
    })
}

fn visit(visit: &ArmStart, arm: Option<&str>) -> Value {
    json!({
        "number": visit.number,
        "arm": arm,
        "block": visit.block,
        "placebo": visit.placebo,
        "started_unix_ms": visit.at_unix_ms,
        "took_seconds": seconds(visit.took),
        "ready_in_seconds": seconds(visit.started_in),
        "spent": spent(&visit.spent),
        "void": visit.void,
        "taken": visit.taken.iter().map(taken).collect::<Vec<_>>(),
    })
}

/// Where the rest of its time went.
fn spent(spent: &StartTimes) -> Value {
    let StartTimes { needs, reset, warm, load, again, drain, rest, stop } = *spent;
    json!({
        "needs_seconds": seconds(needs),
        "reset_seconds": seconds(reset),
        "warm_up_seconds": seconds(warm),
        "load_seconds": seconds(load),
        "again_seconds": seconds(again),
        "drain_seconds": seconds(drain),
        "rest_seconds": seconds(rest),
        "stop_seconds": seconds(stop),
    })
}

fn taken(taken: &MeasurementResult) -> Value {
    let figures: Map<String, Value> = taken.figures.iter().map(|(measure, f)| figure(*measure, *f)).collect();
    json!({
        "probe": taken.probe,
        "run": taken.run,
        "rate_per_second": taken.rate.map(|rate| rate_value(rate.0)),
        "figures": figures,
        "at_least": taken.at_least,
        "cause": taken.cause,
        "says": taken.says,
        "caveats": taken.caveats.iter().map(caveat).collect::<Vec<_>>(),
    })
}

/// Its key with the unit, and its value.
fn figure(measure: ArmMeasure, figure: f64) -> (String, Value) {
    let time = || micros(Nanos::from_secs_f64(figure.max(0.0)));
    let (unit, value) = match measure {
        ArmMeasure::Capacity | ArmMeasure::Throughput => ("_per_second", rate_value(figure)),
        ArmMeasure::P50 | ArmMeasure::P99 | ArmMeasure::Max | ArmMeasure::Cpu => ("_us", time()),
        ArmMeasure::Memory => ("_bytes", count(figure.round())),
        ArmMeasure::Threads => ("", count(figure)),
    };
    (format!("{}{unit}", measure.name()), value)
}
