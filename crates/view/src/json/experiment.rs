use crate::RunView;
use crate::experiment::DesignLookup;
use crate::values::{caveat, count, micros, rate_value, seconds};
use plan::{ArmMeasure, LoadLevel};
use record::{
    ArmStart, Design, ExperimentState, HypothesisResult, Interval, MeasurementResult, Noise, StartTimes,
};
use serde_json::{Map, Value, json};
use units::Nanos;

/// Design, answers and all starts; null before the design is known.
pub(super) fn experiment(view: &RunView) -> Value {
    let Some(lookup) = DesignLookup::of(view) else { return Value::Null };
    let DesignLookup { design, state, .. } = lookup;
    let arm = |place: usize| arm_name(design, place);
    let hypotheses: Vec<Value> =
        (0..design.hypotheses.len()).map(|place| hypothesis(design, state, place)).collect();
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
            let starts = || view.starts.iter().filter(|start| start.arm == place);
            json!({
                "name": arm.name,
                "changes": arm.changes,
                "starts": starts().count(),
                "void_starts": starts().filter(|start| start.void.is_some()).count(),
            })
        }).collect::<Vec<_>>(),
        "blocks": state.blocks,
        "over": state.over,
        "hypotheses": hypotheses,
        "placebo": lookup.placebos().map(hypothesis_result).collect::<Vec<_>>(),
        "noise": state.noise.iter().map(noise).collect::<Vec<_>>(),
        "caveats": state.caveats.iter().map(caveat).collect::<Vec<_>>(),
        "visits": view.starts.iter().map(|made| arm_start(made, arm(made.arm))).collect::<Vec<_>>(),
    })
}

/// Null if it is not in the design.
fn arm_name(design: &Design, arm: usize) -> Option<&str> {
    design.arms.get(arm).map(|arm| arm.name.as_str())
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
fn hypothesis(design: &Design, state: &ExperimentState, place: usize) -> Value {
    let asked = &design.hypotheses[place];
    let found = state.judged.iter().find(|result| result.hypothesis == Some(place));
    json!({
        "name": asked.name,
        "contrast": asked.contrast.iter().map(|(place, weight)| json!({
            "arm": arm_name(design, *place),
            "weight": count(*weight),
        })).collect::<Vec<_>>(),
        "probe": asked.probe,
        "measure": asked.measure,
        "smallest_effect": count(asked.effect.0),
        "relieves": asked.relieves,
        "judged": found.map(hypothesis_result),
    })
}

fn hypothesis_result(result: &HypothesisResult) -> Value {
    json!({
        "name": result.name,
        "answer": result.answer,
        "ratio": result.ratio.map(interval),
        "some_effect": result.some_effect,
        "blocks": result.blocks,
        "expected": result.expected,
        "held": result.held,
        "says": result.says,
        "caveats": result.caveats.iter().map(caveat).collect::<Vec<_>>(),
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

fn arm_start(start: &ArmStart, arm: Option<&str>) -> Value {
    json!({
        "number": start.number,
        "arm": arm,
        "block": start.block,
        "placebo": start.placebo,
        "started_unix_ms": start.at_unix_ms,
        "took_seconds": seconds(start.took),
        "ready_in_seconds": seconds(start.started_in),
        "spent": start_times(&start.spent),
        "void": start.void,
        "taken": start.taken.iter().map(measurement).collect::<Vec<_>>(),
    })
}

/// Where the rest of its time went.
fn start_times(spent: &StartTimes) -> Value {
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

fn measurement(measurement: &MeasurementResult) -> Value {
    let figures: Map<String, Value> =
        measurement.figures.iter().map(|(measure, f)| figure(*measure, *f)).collect();
    json!({
        "probe": measurement.probe,
        "run": measurement.run,
        "rate_per_second": measurement.rate.map(|rate| rate_value(rate.0)),
        "figures": figures,
        "at_least": measurement.at_least,
        "cause": measurement.cause,
        "says": measurement.says,
        "caveats": measurement.caveats.iter().map(caveat).collect::<Vec<_>>(),
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
