//! pgbench, of PostgreSQL.

use super::{Load, Peer, Said, Shape, Tool, count, number, split};
use crate::child::Ended;

/// Its own select-only script, prepared, one thread.
pub const PGBENCH: Peer = Peer {
    name: "pgbench",
    program: "pgbench",
    get: "apt-get install postgresql",
    version: "--version",
    arguments: |load| {
        let Shape::Select { connections } = load.shape else { return None };
        let words = format!("-n -M prepared -S -j 1 -c {connections} -T {} {}", load.seconds, load.url);
        Some(split(&words))
    },
    said,
};

fn said(_: &Load, _: &Tool, ended: &Ended) -> Option<Said> {
    let answered = count(&ended.stdout, "number of transactions actually processed:")?;
    let rate = number(&ended.stdout, "tps =").filter(|rate| *rate > 0.0);
    Some(Said {
        answered,
        failed: count(&ended.stdout, "number of failed transactions:").unwrap_or(0),
        // Its rate leaves out the time that it took to connect.
        seconds: rate.map(|rate| answered as f64 / rate),
        p50_us: None,
        p99_us: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::torment::tests::load;

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
        let load = load(Shape::Select { connections: 16 });
        let tool = Tool { peer: &PGBENCH, path: "pgbench".into(), version: String::new() };
        let ended = Ended { stdout: SELECT.to_owned(), ..Ended::default() };
        let expected = Said { answered: 60_000, seconds: Some(2.0), ..Said::default() };
        assert_eq!(said(&load, &tool, &ended), Some(expected));
        assert_eq!(said(&load, &tool, &Ended::default()), None);
    }
}
