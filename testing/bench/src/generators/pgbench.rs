//! pgbench, of PostgreSQL.

use super::{
    GeneratorLoad, GeneratorProgram, GeneratorReport, InstalledGenerator, LoadShape, count_after,
    number_after, split,
};
use crate::child::ProcessResult;

/// Its own select-only script, prepared, one thread.
pub const PGBENCH: GeneratorProgram = GeneratorProgram {
    name: "pgbench",
    program: "pgbench",
    install: "apt-get install postgresql",
    version: "--version",
    arguments: |load| {
        let LoadShape::Select { connections } = load.shape else { return None };
        let words = format!("-n -M prepared -S -j 1 -c {connections} -T {} {}", load.seconds, load.url);
        Some(split(&words))
    },
    parse: parse_report,
};

fn parse_report(_: &GeneratorLoad, _: &InstalledGenerator, ended: &ProcessResult) -> Option<GeneratorReport> {
    let answered = count_after(&ended.stdout, "number of transactions actually processed:")?;
    let rate = number_after(&ended.stdout, "tps =").filter(|rate| *rate > 0.0);
    Some(GeneratorReport {
        answered,
        failed: count_after(&ended.stdout, "number of failed transactions:").unwrap_or(0),
        // Its rate excludes the time for connecting.
        seconds: rate.map(|rate| answered as f64 / rate),
        p50_us: None,
        p99_us: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generators::torment::tests::load;

    const SELECT: &str = "\
pgbench (15.18 (Debian 15.18-0+deb12u1))
transaction type: <builtin: select only>
scaling factor: 10
query mode: prepared
number of clients: 16
number of threads: 1
maximum number of tries: 1
duration: 2 s
number of transactions actually processed: 60000
number of failed transactions: 0 (0.000%)
latency average = 0.528 ms
initial connection time = 23.914 ms
tps = 30000.000000 (without initial connection time)
";

    #[test]
    fn its_report_is_read() {
        let load = load(LoadShape::Select { connections: 16 });
        let tool = InstalledGenerator { program: &PGBENCH, path: "pgbench".into(), version: String::new() };
        let ended = ProcessResult { stdout: SELECT.to_owned(), ..ProcessResult::default() };
        let expected = GeneratorReport { answered: 60_000, seconds: Some(2.0), ..GeneratorReport::default() };
        assert_eq!(parse_report(&load, &tool, &ended), Some(expected));
        assert_eq!(parse_report(&load, &tool, &ProcessResult::default()), None);
    }
}
