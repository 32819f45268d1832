//! Metrics for OpenTelemetry over HTTP: the JSON body of a push to `/v1/metrics`.

use super::{Buckets, FAMILIES, LABELS, MetricFamily, MetricType, Sample, SampleValue, Snapshot};
use serde_json::{Map, Value as Json, json};

/// Counters are cumulative since the run began, not since the last push, so a lost push loses nothing.
const CUMULATIVE: u8 = 2;

/// Current metrics of some runs. 64-bit integers are strings, as the protocol requires.
pub fn otlp(runs: &[Snapshot], now_unix_ms: u64) -> Json {
    json!({ "resourceMetrics": runs.iter().map(|run| resource(run, now_unix_ms)).collect::<Vec<_>>() })
}

fn resource(run: &Snapshot, now_unix_ms: u64) -> Json {
    let [id, ..] = &run.labels;
    let who = [
        ("service.name", "torment"),
        ("service.version", &run.version),
        ("service.instance.id", id),
        ("host.name", &run.host),
    ];
    json!({
        "resource": { "attributes": attributes(who.into_iter()) },
        "scopeMetrics": [{
            "scope": { "name": "torment", "version": run.version },
            "metrics": FAMILIES.iter().filter_map(|family| metric(run, family, now_unix_ms)).collect::<Vec<_>>(),
        }],
    })
}

/// A family's metric, if the run has samples of it.
fn metric(run: &Snapshot, family: &'static MetricFamily, now_unix_ms: u64) -> Option<Json> {
    let samples = run.samples.iter().filter(|sample| sample.family == family);
    let points: Vec<Json> = samples.map(|sample| point(run, sample, now_unix_ms)).collect();
    if points.is_empty() {
        return None;
    }
    // Converters to Prometheus append `_total`, and a unit that is missing.
    let name = if family.kind == MetricType::Counter { family.stem() } else { family.name };
    let (kind, data) = match family.kind {
        MetricType::Counter => (
            "sum",
            json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE, "isMonotonic": true }),
        ),
        MetricType::Gauge | MetricType::Info => ("gauge", json!({ "dataPoints": points })),
        MetricType::Histogram => {
            ("histogram", json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE }))
        }
    };
    Some(json!({ "name": name, "description": family.help, "unit": family.unit, kind: data }))
}

fn point(run: &Snapshot, sample: &Sample, now_unix_ms: u64) -> Json {
    let of_run = LABELS.iter().copied().zip(run.labels.iter().map(String::as_str));
    let own = sample.family.labels.iter().copied().zip(sample.labels.iter().map(String::as_str));
    let mut point = Map::new();
    let mut put = |name: &str, value: Json| drop(point.insert(name.to_owned(), value));
    put("attributes", attributes(of_run.chain(own)));
    put("startTimeUnixNano", nanos(run.started_unix_ms));
    put("timeUnixNano", nanos(now_unix_ms));
    match &sample.value {
        SampleValue::Count(count) => put("asInt", json!(count.to_string())),
        SampleValue::Number(number) => put("asDouble", json!(number)),
        SampleValue::Times(times) => {
            put("count", json!(times.count().to_string()));
            put("sum", json!(times.sum()));
            put("bucketCounts", times.counts().iter().map(|count| json!(count.to_string())).collect());
            put("explicitBounds", Buckets::bounds().map(Json::from).collect());
        }
    }
    Json::Object(point)
}

fn attributes<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Json {
    pairs.map(|(key, text)| json!({ "key": key, "value": { "stringValue": text } })).collect()
}

fn nanos(unix_ms: u64) -> Json {
    json!((u128::from(unix_ms) * 1_000_000).to_string())
}
