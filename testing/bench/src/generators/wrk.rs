//! wrk, and wrk2, which is wrk with a rate.

use super::{
    GeneratorLoad, GeneratorProgram, GeneratorReport, InstalledGenerator, LoadShape, count_after,
    microseconds, number_after, split,
};
use crate::child::ProcessResult;

/// Closed loop.
pub const WRK: GeneratorProgram = GeneratorProgram {
    name: "wrk",
    program: "wrk",
    install: "apt-get install wrk",
    version: "-v",
    arguments: |load| {
        let LoadShape::Closed { connections } = load.shape else { return None };
        Some(split(&format!("-t1 -c{connections} -d{}s --latency {}", load.seconds, load.url)))
    },
    parse: parse_report,
};

/// More than any server here answers: it makes wrk2 as closed a loop as wrk.
const UNREACHED_RATE: u32 = 1_000_000;

/// At a rate. Its record counts from the due time; the first 10 s are its calibration.
pub const WRK2: GeneratorProgram = GeneratorProgram {
    name: "wrk2",
    program: "wrk2",
    install: "git clone https://github.com/giltene/wrk2, make, and install its wrk as wrk2",
    version: "-v",
    arguments: |load| {
        let (rate, connections) = match load.shape {
            LoadShape::Closed { connections } => (UNREACHED_RATE, connections),
            LoadShape::Constant { rate, connections, .. } => (rate, connections),
            LoadShape::Streams { .. } | LoadShape::Select { .. } => return None,
        };
        Some(split(&format!("-t1 -c{connections} -d{}s -R{rate} --latency {}", load.seconds, load.url)))
    },
    parse: parse_report,
};

fn parse_report(_: &GeneratorLoad, _: &InstalledGenerator, ended: &ProcessResult) -> Option<GeneratorReport> {
    let text = &ended.stdout;
    let line = text.lines().find(|line| line.contains(" requests in "))?;
    let answered: u64 = line.split_whitespace().next()?.parse().ok()?;
    let refused = count_after(text, "Non-2xx or 3xx responses:").unwrap_or(0);
    let errors = text.split_once("Socket errors:").map_or("", |(_, rest)| rest);
    let broken: u64 =
        ["connect", "read", "write", "timeout"].iter().filter_map(|kind| count_after(errors, kind)).sum();
    let at = |names: [&str; 2]| {
        text.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            names.contains(&words.next()?).then(|| words.next())?
        })
    };
    Some(GeneratorReport {
        answered: answered.saturating_sub(refused),
        failed: refused + broken,
        seconds: number_after(line, "requests in"),
        p50_us: at(["50%", "50.000%"]).and_then(microseconds),
        p99_us: at(["99%", "99.000%"]).and_then(microseconds),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generators::torment::tests::load;

    const CLOSED: &str = "\
Running 2s test @ http://127.0.0.1:18080/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.21ms  369.75us   7.10ms   96.60%
    Req/Sec    53.72k     4.42k   63.23k    75.00%
  Latency Distribution
     50%    1.18ms
     75%    1.28ms
     90%    1.33ms
     99%    2.96ms
  106780 requests in 2.00s, 86.86MB read
Requests/sec:  53291.54
Transfer/sec:     43.35MB
";

    const CONSTANT: &str = "\
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    1.39ms
 75.000%    1.96ms
 99.000%    5.11ms
 99.900%    7.87ms
100.000%    8.49ms

  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       0.073     0.000000            1         1.00
  56322 requests in 2.00s, 45.82MB read
  Socket errors: connect 1, read 2, write 0, timeout 3
  Non-2xx or 3xx responses: 22
Requests/sec:  28145.98
";

    fn parsed(stdout: &str) -> Option<GeneratorReport> {
        let load = load(LoadShape::Closed { connections: 64 });
        let tool = InstalledGenerator { program: &WRK, path: "wrk".into(), version: String::new() };
        parse_report(&load, &tool, &ProcessResult { stdout: stdout.to_owned(), ..ProcessResult::default() })
    }

    #[test]
    fn both_records_are_read() {
        let expected = GeneratorReport {
            answered: 106_780,
            failed: 0,
            seconds: Some(2.0),
            p50_us: Some(1180.0),
            p99_us: Some(2960.0),
        };
        assert_eq!(parsed(CLOSED), Some(expected));
        let expected = GeneratorReport {
            answered: 56_300,
            failed: 28,
            seconds: Some(2.0),
            p50_us: Some(1390.0),
            p99_us: Some(5110.0),
        };
        assert_eq!(parsed(CONSTANT), Some(expected));
        assert_eq!(parsed("unable to connect to 127.0.0.1:1 Connection refused\n"), None);
    }
}
