//! torment itself.

use super::{Load, Peer, Said, Shape, Tool, split};
use crate::child::Ended;
use serde_json::Value;

/// The built binary; nothing of a run is kept.
pub const TORMENT: Peer = Peer {
    name: "torment",
    program: "torment",
    get: "make build",
    version: "--version",
    arguments: |load| {
        let shape = match load.shape {
            Shape::Closed { connections } => format!("-c {connections}"),
            Shape::Constant { rate, connections, .. } => format!("-r {rate} --max-connections {connections}"),
            Shape::Streams { connections, streams } => {
                format!("--http2 -c {connections} --streams {streams}")
            }
            Shape::Select { connections } => format!("-c {connections} --pool {connections}"),
        };
        let words = format!("run {} {shape} -d {}s --no-store --quiet --format json", load.url, load.seconds);
        let mut words = split(&words);
        words.extend(load.extra.iter().map(|&word| word.to_owned()));
        if let Shape::Select { .. } = load.shape {
            words.extend(["--sql".to_owned(), SELECT.to_owned()]);
        }
        Some(words)
    },
    said,
};

/// An earlier build of it, to see whether anything got worse.
pub const BEFORE: Peer = Peer { name: "torment before", ..TORMENT };

/// What pgbench's select-only script asks, at the scale that it was initialised with.
const SELECT: &str = "select abalance from pgbench_accounts where aid = {random:1..1000000}";

/// The options of `torment run` without which it cannot make a load.
pub fn needs(shape: Shape, extra: &[&'static str]) -> Vec<&'static str> {
    let of_shape: &[&str] = match shape {
        Shape::Closed { .. } | Shape::Constant { .. } => &[],
        Shape::Streams { .. } => &["--http2", "--streams"],
        Shape::Select { .. } => &["--sql", "--pool"],
    };
    of_shape.iter().chain(extra).copied().filter(|word| word.starts_with("--")).collect()
}

fn said(_: &Load, _: &Tool, ended: &Ended) -> Option<Said> {
    let run: Value = serde_json::from_str(&ended.stdout).ok()?;
    let trial = &run["trial"];
    let outcomes = trial["outcomes"].as_object()?;
    let answered = outcomes.get("ok")?.as_u64()?;
    let all: u64 = outcomes.values().filter_map(Value::as_u64).sum();
    Some(Said {
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

    /// A load of that shape, for tests of what programs say.
    pub fn load(shape: Shape) -> Load {
        Load { url: "http://127.0.0.1:1/".to_owned(), seconds: 2, shape, extra: &[], scratch: ".".into() }
    }

    #[test]
    fn its_json_is_read() {
        let json = r#"{"exit_code": 0, "trial": {"valid": true, "loaded_seconds": 2, "outcomes":
            {"ok": 1990, "late": 0, "failed": 3, "unsent": 7},
            "response": {"p50_us": 79, "p99_us": 3369}, "service": {"p50_us": 78}}}"#;
        let tool = Tool { peer: &TORMENT, path: "torment".into(), version: String::new() };
        let ended = Ended { stdout: json.to_owned(), ..Ended::default() };
        let expected =
            Said { answered: 1990, failed: 10, seconds: Some(2.0), p50_us: Some(79.0), p99_us: Some(3369.0) };
        let load = load(Shape::Closed { connections: 64 });
        assert_eq!(said(&load, &tool, &ended), Some(expected));
        assert_eq!(said(&load, &tool, &Ended::default()), None);
    }

    #[test]
    fn what_it_cannot_do_is_known_by_its_options() {
        assert!(needs(Shape::Closed { connections: 64 }, &[]).is_empty());
        assert_eq!(needs(Shape::Closed { connections: 64 }, &["--lateness", "300us"]), ["--lateness"]);
        assert_eq!(needs(Shape::Select { connections: 16 }, &[]), ["--sql", "--pool"]);
    }
}
