//! h2load of nghttp2.

use super::{GeneratorLoad, GeneratorProgram, GeneratorReport, InstalledGenerator, LoadShape, split};
use crate::child::{ProcessResult, read_output};
use std::path::PathBuf;

/// HTTP/1.1 and HTTP/2; older versions give quantiles only through a file of every answer.
pub const H2LOAD: GeneratorProgram = GeneratorProgram {
    name: "h2load",
    program: "h2load",
    install: "apt-get install nghttp2-client",
    version: "--version",
    arguments: |load| {
        let shape = match load.shape {
            LoadShape::Closed { connections } => format!("--h1 -c{connections}"),
            LoadShape::Constant { rate, connections, every_answer } => {
                let each = rate / connections;
                let log = if every_answer {
                    format!("--log-file={}", log_file(load).display())
                } else {
                    String::new()
                };
                format!("--h1 -c{connections} --rps={each} {log}")
            }
            LoadShape::Streams { connections, streams } => format!("-c{connections} -m{streams}"),
            LoadShape::Select { .. } => return None,
        };
        Some(split(&format!("-t1 {shape} -D{} {}", load.seconds, load.url)))
    },
    parse: |load, _: &InstalledGenerator, ended| {
        let times = match load.shape {
            LoadShape::Constant { every_answer: true, .. } => times(&read_output(&log_file(load)).ok()?),
            _ => Vec::new(),
        };
        parse_report(ended, &times)
    },
};

fn log_file(load: &GeneratorLoad) -> PathBuf {
    load.scratch.join("h2load.log")
}

/// Parses lines of start, status, and time taken in microseconds. Sorted.
fn times(log: &str) -> Vec<f64> {
    let mut times: Vec<f64> =
        log.lines().filter_map(|line| line.split('\t').nth(2)?.trim().parse().ok()).collect();
    times.sort_by(f64::total_cmp);
    times
}

fn parse_report(ended: &ProcessResult, times: &[f64]) -> Option<GeneratorReport> {
    let line = ended.stdout.lines().find(|line| line.starts_with("requests:"))?;
    let before = |word: &str| line.split_once(word)?.0.trim_end().rsplit(' ').next()?.parse::<u64>().ok();
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied();
    // A status of 400 or more counts as failed; with -D it measures exactly as long as requested.
    Some(GeneratorReport {
        answered: before(" succeeded,")?,
        failed: before(" failed,")?,
        seconds: None,
        p50_us: at(0.5),
        p99_us: at(0.99),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOSED: &str = "\
Main benchmark duration is over for thread #0. Stopping all clients.
Stopped all clients for thread #0

finished in 2.00s, 53277.00 req/s, 43.34MB/s
requests: 106554 total, 106618 started, 106554 done, 106550 succeeded, 4 failed, 0 errored, 0 timeout
status codes: 106550 2xx, 0 3xx, 4 4xx, 0 5xx
traffic: 86.68MB (90890562) total, 19.00MB (19926720) headers (space savings 0.00%), 62.50MB (65534400) data
                     min         max         mean         sd        +/- sd
time for request:      606us      6.08ms      1.20ms       260us    97.01%
";

    #[test]
    fn counts_are_its_own_and_quantiles_those_of_its_log() {
        let ended = ProcessResult { stdout: CLOSED.to_owned(), ..ProcessResult::default() };
        let plain = parse_report(&ended, &[]).expect("a result");
        assert_eq!((plain.answered, plain.failed, plain.p50_us), (106_550, 4, None));
        let times = times("1795254429600000\t200\t300\n1795254429600010\t200\t100\nhalf a li");
        assert_eq!(times, [100.0, 300.0]);
        let logged = parse_report(&ended, &times).expect("a result");
        assert_eq!((logged.p50_us, logged.p99_us), (Some(300.0), Some(300.0)));
        assert_eq!(parse_report(&ProcessResult::default(), &[]), None);
    }
}
