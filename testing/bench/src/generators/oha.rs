//! oha.

use super::{GeneratorLoad, GeneratorProgram, GeneratorReport, InstalledGenerator, LoadShape, split};
use crate::child::ProcessResult;
use serde_json::Value;

/// Its times count from sending; what is in flight at the end is aborted.
pub const OHA: GeneratorProgram = GeneratorProgram {
    name: "oha",
    program: "oha",
    install: "cargo install --locked oha",
    version: "--version",
    arguments: |load| {
        let shape = match load.shape {
            LoadShape::Closed { connections } => format!("-c {connections}"),
            LoadShape::Constant { rate, connections, .. } => format!("-c {connections} -q {rate}"),
            LoadShape::Streams { connections, streams } => format!("--http2 -c {connections} -p {streams}"),
            LoadShape::Select { .. } => return None,
        };
        let fixed = "--no-tui --output-format json";
        Some(split(&format!("{fixed} {shape} -z {}s {}", load.seconds, load.url)))
    },
    parse: parse_report,
};

/// Its name for the requests that it aborted itself.
const CUT_OFF: &str = "aborted due to deadline";

fn parse_report(_: &GeneratorLoad, _: &InstalledGenerator, ended: &ProcessResult) -> Option<GeneratorReport> {
    let report: Value = serde_json::from_str(&ended.stdout).ok()?;
    let counts = |name: &str, counted: fn(&str) -> bool| {
        let entries = report[name].as_object().into_iter().flatten();
        entries.filter(|(key, _)| counted(key)).filter_map(|(_, n)| n.as_u64()).sum::<u64>()
    };
    let at = |share: &str| report["latencyPercentiles"][share].as_f64().map(|s| s * 1e6);
    Some(GeneratorReport {
        answered: counts("statusCodeDistribution", |status| status.starts_with('2')),
        failed: counts("statusCodeDistribution", |status| !status.starts_with('2'))
            + counts("errorDistribution", |error| error != CUT_OFF),
        seconds: Some(report["summary"]["total"].as_f64()?),
        p50_us: at("p50"),
        p99_us: at("p99"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generators::torment::tests::load;

    const CLOSED: &str = r#"{"summary": {"successRate": 1.0, "total": 2.0, "requestsPerSec": 63984.67},
        "latencyPercentiles": {"p10": 0.000865685, "p50": 0.0009765625, "p99": 0.001953125},
        "statusCodeDistribution": {"200": 128000, "404": 2},
        "errorDistribution": {"aborted due to deadline": 64, "connection error": 3}}"#;

    #[test]
    fn its_report_is_read() {
        let load = load(LoadShape::Closed { connections: 64 });
        let tool = InstalledGenerator { program: &OHA, path: "oha".into(), version: String::new() };
        let expected = GeneratorReport {
            answered: 128_000,
            failed: 5,
            seconds: Some(2.0),
            p50_us: Some(976.5625),
            p99_us: Some(1953.125),
        };
        let ended = ProcessResult { stdout: CLOSED.to_owned(), ..ProcessResult::default() };
        assert_eq!(parse_report(&load, &tool, &ended), Some(expected));
        assert_eq!(parse_report(&load, &tool, &ProcessResult::default()), None);
    }
}
