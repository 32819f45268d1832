//! k6, which runs a script.

use super::{GeneratorLoad, GeneratorProgram, GeneratorReport, InstalledGenerator, LoadShape};
use crate::child::ProcessResult;
use serde_json::{Value, json};
use std::fs;

/// A minimal script: one request, body discarded, no checks, no thresholds; summary as JSON.
const SCRIPT: &str = "import http from 'k6/http';
export const options = {
  discardResponseBodies: true,
  summaryTrendStats: ['med', 'p(99)'],
  scenarios: { load: JSON.parse(__ENV.SCENARIO) },
};
export default function () { http.get(__ENV.TARGET); }
export function handleSummary(data) { return { stdout: JSON.stringify(data.metrics) }; }
";

/// As many users as connections are allowed: a user has one.
pub const K6: GeneratorProgram = GeneratorProgram {
    name: "k6",
    program: "k6",
    install: "go install go.k6.io/k6@latest",
    version: "version",
    arguments: |load| {
        let duration = format!("{}s", load.seconds);
        let scenario = match load.shape {
            LoadShape::Closed { connections } => {
                json!({"executor": "constant-vus", "vus": connections, "duration": duration})
            }
            LoadShape::Constant { rate, connections, .. } => json!({
                "executor": "constant-arrival-rate", "rate": rate, "timeUnit": "1s", "duration": duration,
                "preAllocatedVUs": connections, "maxVUs": connections,
            }),
            LoadShape::Streams { .. } | LoadShape::Select { .. } => return None,
        };
        let script = load.scratch.join("k6.js");
        fs::write(&script, SCRIPT).ok()?;
        let words = ["run", "-q", "--no-usage-report", "--no-color"].map(str::to_owned);
        let (target, scenario) = (format!("TARGET={}", load.url), format!("SCENARIO={scenario}"));
        let words = words.into_iter().chain(["-e".to_owned(), target, "-e".to_owned(), scenario]);
        Some(words.chain([script.display().to_string()]).collect())
    },
    parse: parse_report,
};

fn parse_report(_: &GeneratorLoad, _: &InstalledGenerator, ended: &ProcessResult) -> Option<GeneratorReport> {
    let summary: Value = serde_json::from_str(ended.stdout.trim()).ok()?;
    let value = |metric: &str, name: &str| summary[metric]["values"][name].as_f64();
    let requests = value("http_reqs", "count")?;
    // For a metric called "failed" the passes are the failures.
    let failed = value("http_req_failed", "passes").unwrap_or(0.0);
    let rate = value("http_reqs", "rate").filter(|rate| *rate > 0.0);
    Some(GeneratorReport {
        answered: (requests - failed) as u64,
        failed: failed as u64,
        seconds: rate.map(|rate| requests / rate),
        p50_us: value("http_req_duration", "med").map(|ms| ms * 1e3),
        p99_us: value("http_req_duration", "p(99)").map(|ms| ms * 1e3),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generators::torment::tests::load;

    const CONSTANT: &str = r#"{"http_reqs":{"type":"counter","contains":"default","values":{"count":34616,
"rate":17308}},"http_req_failed":{"contains":"default","values":{"rate":0,"passes":16,"fails":34600},
"type":"rate"},"dropped_iterations":{"values":{"count":25385,"rate":12688.3}},"http_req_duration":
{"type":"trend","contains":"time","values":{"med":2.5,"p(99)":11.25}}}"#;

    #[test]
    fn its_summary_is_read() {
        let load = load(LoadShape::Constant { rate: 30_000, connections: 50, every_answer: false });
        let tool = InstalledGenerator { program: &K6, path: "k6".into(), version: String::new() };
        let expected = GeneratorReport {
            answered: 34_600,
            failed: 16,
            seconds: Some(2.0),
            p50_us: Some(2500.0),
            p99_us: Some(11_250.0),
        };
        let ended = ProcessResult { stdout: CONSTANT.to_owned(), ..ProcessResult::default() };
        assert_eq!(parse_report(&load, &tool, &ended), Some(expected));
        assert_eq!(parse_report(&load, &tool, &ProcessResult::default()), None);
    }
}
