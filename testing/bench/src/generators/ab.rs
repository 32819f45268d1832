//! ab, of Apache.

use super::{
    GeneratorLoad, GeneratorProgram, GeneratorReport, InstalledGenerator, LoadShape, count_after,
    number_after, split,
};
use crate::child::ProcessResult;

/// More than it makes; without -n a time ends at 50,000 requests, and much more takes much memory.
const MORE_PER_SECOND: u32 = 300_000;

/// Closed loop only; it keeps a list of all its results, sized by -n.
pub const AB: GeneratorProgram = GeneratorProgram {
    name: "ab",
    program: "ab",
    install: "apt-get install apache2-utils",
    version: "-V",
    arguments: |load| {
        let LoadShape::Closed { connections } = load.shape else { return None };
        let more = load.seconds * MORE_PER_SECOND;
        Some(split(&format!("-q -k -c{connections} -t{} -n{more} {}", load.seconds, load.url)))
    },
    parse: parse_report,
};

fn parse_report(_: &GeneratorLoad, _: &InstalledGenerator, ended: &ProcessResult) -> Option<GeneratorReport> {
    let text = &ended.stdout;
    let failed =
        count_after(text, "Failed requests:")? + count_after(text, "Non-2xx responses:").unwrap_or(0);
    let at = |share: &str| number_after(text, &format!("\n  {share}%")).map(|ms| ms * 1e3);
    Some(GeneratorReport {
        answered: count_after(text, "Complete requests:")?.saturating_sub(failed),
        failed,
        seconds: number_after(text, "Time taken for tests:"),
        p50_us: at("50"),
        p99_us: at("99"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generators::torment::tests::load;

    const CLOSED: &str = "\
Concurrency Level:      64
Time taken for tests:   2.000 seconds
Complete requests:      105235
Failed requests:        5
Keep-Alive requests:    105235
Total transferred:      89765455 bytes
Requests per second:    52616.79 [#/sec] (mean)

Percentage of the requests served within a certain time (ms)
  50%      1
  66%      1
  99%      2
 100%      6 (longest request)
";

    #[test]
    fn its_report_is_read() {
        let load = load(LoadShape::Closed { connections: 64 });
        let tool = InstalledGenerator { program: &AB, path: "ab".into(), version: String::new() };
        let expected = GeneratorReport {
            answered: 105_230,
            failed: 5,
            seconds: Some(2.0),
            p50_us: Some(1000.0),
            p99_us: Some(2000.0),
        };
        let ended = ProcessResult { stdout: CLOSED.to_owned(), ..ProcessResult::default() };
        assert_eq!(parse_report(&load, &tool, &ended), Some(expected));
        assert_eq!(parse_report(&load, &tool, &ProcessResult::default()), None);
    }
}
