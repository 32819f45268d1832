//! vegeta: an attack records every answer, a report summarises the record.

use super::{GeneratorLoad, GeneratorProgram, GeneratorReport, LoadShape};
use crate::child::ProcessResult;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Only the attack counts as its cost, not the report.
pub const VEGETA: GeneratorProgram = GeneratorProgram {
    name: "vegeta",
    program: "vegeta",
    install: "go install github.com/tsenart/vegeta/v12@latest",
    version: "-version",
    arguments: |load| {
        let shape = match load.shape {
            // Rate 0 is as fast as its workers go.
            LoadShape::Closed { connections: n } => {
                format!("-rate=0 -workers={n} -max-workers={n} -connections={n}")
            }
            LoadShape::Constant { rate, connections: n, .. } => {
                format!("-rate={rate} -connections={n} -max-connections={n}")
            }
            LoadShape::Streams { .. } | LoadShape::Select { .. } => return None,
        };
        let targets = load.scratch.join("vegeta.targets");
        fs::write(&targets, format!("GET {}\n", load.url)).ok()?;
        let files =
            [format!("-targets={}", targets.display()), format!("-output={}", answers_file(load).display())];
        let words = format!("attack -duration={}s {shape}", load.seconds);
        Some(super::split(&words).into_iter().chain(files).collect())
    },
    parse: |load, tool, _: &ProcessResult| {
        let output =
            Command::new(&tool.path).args(["report", "-type=json"]).arg(answers_file(load)).output().ok()?;
        parse_report(&String::from_utf8_lossy(&output.stdout))
    },
};

fn answers_file(load: &GeneratorLoad) -> PathBuf {
    load.scratch.join("vegeta.bin")
}

fn parse_report(report: &str) -> Option<GeneratorReport> {
    let report: Value = serde_json::from_str(report).ok()?;
    let requests = report["requests"].as_u64()?;
    let answered = report["status_codes"]["200"].as_u64().unwrap_or(0);
    let ns = |value: &Value| value.as_f64().map(|ns| ns / 1e3);
    Some(GeneratorReport {
        answered,
        failed: requests - answered,
        seconds: report["duration"].as_f64().map(|ns| ns / 1e9),
        p50_us: ns(&report["latencies"]["50th"]),
        p99_us: ns(&report["latencies"]["99th"]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From its manual.
    const REPORT: &str = r#"{"latencies":{"total":237119463,"mean":2371194,"50th":2854306,"95th":3478629,
"99th":3530000,"max":3660505},"bytes_in":{"total":606700,"mean":6067},"bytes_out":{"total":0,"mean":0},
"earliest":"2015-09-19T14:45:50.645818631+02:00","latest":"2015-09-19T14:45:51.635818575+02:00",
"end":"2015-09-19T14:45:51.639325797+02:00","duration":989999944,"wait":3507222,"requests":100,
"rate":101.01010672380401,"success":0.99,"status_codes":{"0":1,"200":99},"errors":["refused"]}"#;

    #[test]
    fn its_report_is_read() {
        let report = parse_report(REPORT).expect("a result");
        assert_eq!((report.answered, report.failed), (99, 1));
        assert_eq!((report.p50_us, report.p99_us), (Some(2854.306), Some(3530.0)));
        assert_eq!(report.seconds, Some(0.989_999_944));
        assert_eq!(super::parse_report(""), None);
    }
}
