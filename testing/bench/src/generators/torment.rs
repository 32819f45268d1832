//! torment itself.

use super::{GeneratorLoad, GeneratorProgram, GeneratorReport, InstalledGenerator, LoadShape, split};
use crate::child::ProcessResult;
use serde_json::Value;

/// The built binary; nothing of a run is kept.
pub const TORMENT: GeneratorProgram = GeneratorProgram {
    name: "torment",
    program: "torment",
    install: "make build",
    version: "--version",
    arguments: |load| {
        let shape = match load.shape {
            LoadShape::Closed { connections } => format!("-c {connections}"),
            LoadShape::Constant { rate, connections, .. } => {
                format!("-r {rate} --max-connections {connections}")
            }
            LoadShape::Streams { connections, streams } => {
                format!("--http2 -c {connections} --streams {streams}")
            }
            LoadShape::Select { connections } => format!("-c {connections} --pool {connections}"),
        };
        let words = format!("run {} {shape} -d {}s --no-store --quiet --format json", load.url, load.seconds);
        let mut words = split(&words);
        words.extend(load.extra.iter().map(|&word| word.to_owned()));
        if let LoadShape::Select { .. } = load.shape {
            words.extend(["--sql".to_owned(), SELECT.to_owned()]);
        }
        Some(words)
    },
    parse: parse_report,
};

/// An earlier build, to detect regressions.
pub const BEFORE: GeneratorProgram = GeneratorProgram { name: "torment before", ..TORMENT };

/// The query of pgbench's select-only script, at the scale used to initialise it.
const SELECT: &str = "select abalance from pgbench_accounts where aid = {random:1..1000000}";

/// The options of `torment run` that a load needs.
pub fn required_options(shape: LoadShape, extra: &[&'static str]) -> Vec<&'static str> {
    let of_shape: &[&str] = match shape {
        LoadShape::Closed { .. } | LoadShape::Constant { .. } => &[],
        LoadShape::Streams { .. } => &["--http2", "--streams"],
        LoadShape::Select { .. } => &["--sql", "--pool"],
    };
    of_shape.iter().chain(extra).copied().filter(|word| word.starts_with("--")).collect()
}

fn parse_report(_: &GeneratorLoad, _: &InstalledGenerator, ended: &ProcessResult) -> Option<GeneratorReport> {
    let run: Value = serde_json::from_str(&ended.stdout).ok()?;
    let trial = &run["trial"];
    let outcomes = trial["outcomes"].as_object()?;
    let answered = outcomes.get("ok")?.as_u64()?;
    let all: u64 = outcomes.values().filter_map(Value::as_u64).sum();
    Some(GeneratorReport {
        answered,
        failed: all - answered,
        seconds: trial["loaded_seconds"].as_f64(),
        p50_us: trial["response"]["p50_us"].as_f64(),
        p99_us: trial["response"]["p99_us"].as_f64(),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A load of that shape, for tests of report parsing.
    pub fn load(shape: LoadShape) -> GeneratorLoad {
        GeneratorLoad {
            url: "http://127.0.0.1:1/".to_owned(),
            seconds: 2,
            shape,
            extra: &[],
            scratch: ".".into(),
        }
    }

    #[test]
    fn its_json_is_read() {
        let json = r#"{"exit_code": 0, "trial": {"valid": true, "loaded_seconds": 2, "outcomes":
            {"ok": 1990, "late": 0, "failed": 3, "unsent": 7},
            "response": {"p50_us": 79, "p99_us": 3369}, "service": {"p50_us": 78}}}"#;
        let tool = InstalledGenerator { program: &TORMENT, path: "torment".into(), version: String::new() };
        let ended = ProcessResult { stdout: json.to_owned(), ..ProcessResult::default() };
        let expected = GeneratorReport {
            answered: 1990,
            failed: 10,
            seconds: Some(2.0),
            p50_us: Some(79.0),
            p99_us: Some(3369.0),
        };
        let load = load(LoadShape::Closed { connections: 64 });
        assert_eq!(parse_report(&load, &tool, &ended), Some(expected));
        assert_eq!(parse_report(&load, &tool, &ProcessResult::default()), None);
    }

    #[test]
    fn what_it_cannot_do_is_known_by_its_options() {
        assert!(required_options(LoadShape::Closed { connections: 64 }, &[]).is_empty());
        assert_eq!(
            required_options(LoadShape::Closed { connections: 64 }, &["--lateness", "300us"]),
            ["--lateness"]
        );
        assert_eq!(required_options(LoadShape::Select { connections: 16 }, &[]), ["--sql", "--pool"]);
    }
}
