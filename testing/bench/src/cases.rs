//! The cases: what is measured, of which programs, and what is shown.

use crate::figures::{
    FigureFn, bytes_per_connection, cpu_per_million, cpu_share, decimal, first_peak, kibibytes, mebibytes,
    p50, p50_above_served, p99, peak, per_second, percent, reached, served_p50, time, user_per_million,
    whole,
};
use crate::generators::{
    AB, GeneratorProgram, H2LOAD, K6, LoadShape, OHA, PGBENCH, TORMENT, VEGETA, WRK, WRK2,
};

/// What is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceUnderLoad {
    /// nginx, default page.
    Nginx,
    /// The same over HTTP/2 without TLS.
    NginxHttp2,
    /// torment's own service, which keeps a record.
    Target,
    /// PostgreSQL with a million accounts.
    Postgres,
}

/// A program, perhaps with further arguments.
#[derive(Debug, Clone, Copy)]
pub struct Contestant {
    /// The program.
    pub program: &'static GeneratorProgram,
    /// Further arguments.
    pub extra: &'static [&'static str],
}

impl Contestant {
    const fn plain(program: &'static GeneratorProgram) -> Self {
        Self { program, extra: &[] }
    }

    /// `torment --lateness 300us`
    pub fn name(&self) -> String {
        [&[self.program.name], self.extra].concat().join(" ")
    }

    /// Whether it is torment.
    pub fn is_ours(&self) -> bool {
        self.program.name == TORMENT.name
    }
}

/// A column of the table.
#[derive(Debug, Clone, Copy)]
pub enum CaseColumn {
    /// The median over the rounds.
    Median(&'static str, FigureFn, fn(f64) -> String),
    /// The median with its interval.
    MedianInterval(&'static str, FigureFn, fn(f64) -> String),
    /// Ours ÷ theirs in the same round, with the interval; one column per torment.
    Ratio(&'static str, FigureFn),
}

/// One comparison.
#[derive(Debug, Clone, Copy)]
pub struct BenchCase {
    /// Its letter for `--only`.
    pub id: char,
    /// Its heading.
    pub title: &'static str,
    /// What a reader of its table must know.
    pub description: &'static str,
    /// What is loaded.
    pub service: ServiceUnderLoad,
    /// The loads that each makes in a round, one after the other.
    pub shapes: &'static [LoadShape],
    /// Who takes part.
    pub contestants: &'static [Contestant],
    /// Rows are sorted by the first.
    pub columns: &'static [CaseColumn],
}

const OURS: Contestant = Contestant::plain(&TORMENT);
/// Only the load, like the others: torment observes the server meanwhile, unless told not to.
const OURS_ALONE: Contestant = Contestant { program: &TORMENT, extra: &["--no-watch"] };
/// As late as the timers of h2load and wrk2: fewer wake-ups, more requests in each.
const OURS_LATE: Contestant = Contestant { program: &TORMENT, extra: &["--lateness", "300us"] };
const CPU: CaseColumn = CaseColumn::Median("CPU s per million", cpu_per_million, decimal);
const USER: CaseColumn = CaseColumn::Median("of it user", user_per_million, decimal);
const RATE: CaseColumn = CaseColumn::Median("requests/s", per_second, whole);
const PEAK: CaseColumn = CaseColumn::Median("peak memory", peak, mebibytes);

/// All cases, in page order.
pub const CASES: [BenchCase; 6] = [
    BenchCase {
        id: 'a',
        title: "Closed loop, 64 connections",
        description: "As fast as the connections go, against nginx's default page. CPU is user and kernel time of the \
                whole process, its start and summary included, for a million requests answered. torment watches \
                the server meanwhile and says what gave first; with `--no-watch` it does what the others do. The \
                server is full in most rows, so requests/s are a figure of both.",
        service: ServiceUnderLoad::Nginx,
        shapes: &[LoadShape::Closed { connections: 64 }],
        contestants: &[
            OURS,
            OURS_ALONE,
            Contestant::plain(&WRK),
            Contestant::plain(&WRK2),
            Contestant::plain(&H2LOAD),
            Contestant::plain(&AB),
            Contestant::plain(&OHA),
            Contestant::plain(&VEGETA),
            Contestant::plain(&K6),
        ],
        columns: &[
            CPU,
            USER,
            RATE,
            PEAK,
            CaseColumn::Ratio("CPU, ours ÷ its", cpu_per_million),
            CaseColumn::Ratio("requests/s, ours ÷ its", per_second),
        ],
    },
    BenchCase {
        id: 'b',
        title: "Constant 30,000/s, at most 50 connections",
        description: "Ratios are of CPU for a request answered, so that who sends less gains nothing by it. \
                p50 and p99 are what each says: from the due time of torment and wrk2, from the sending of the \
                others. h2load says none without a file of every answer.",
        service: ServiceUnderLoad::Nginx,
        shapes: &[LoadShape::Constant { rate: 30_000, connections: 50, every_answer: false }],
        contestants: &[
            OURS,
            OURS_LATE,
            Contestant::plain(&WRK2),
            Contestant::plain(&H2LOAD),
            Contestant::plain(&OHA),
            Contestant::plain(&VEGETA),
            Contestant::plain(&K6),
        ],
        columns: &[
            CPU,
            CaseColumn::Median("of one processor", cpu_share, percent),
            CaseColumn::Median("reached", reached, percent),
            CaseColumn::Median("p50 said", p50, time),
            CaseColumn::Median("p99 said", p99, time),
            CaseColumn::Ratio("CPU, ours ÷ its", cpu_per_million),
        ],
    },
    BenchCase {
        id: 'c',
        title: "HTTP/2 by prior knowledge, 8 connections of 8 streams",
        description: "Closed loop, the same page from nginx's HTTP/2 listener without TLS.",
        service: ServiceUnderLoad::NginxHttp2,
        shapes: &[LoadShape::Streams { connections: 8, streams: 8 }],
        contestants: &[OURS, Contestant::plain(&H2LOAD), Contestant::plain(&OHA)],
        columns: &[
            CPU,
            USER,
            RATE,
            PEAK,
            CaseColumn::Ratio("CPU, ours ÷ its", cpu_per_million),
            CaseColumn::Ratio("requests/s, ours ÷ its", per_second),
        ],
    },
    BenchCase {
        id: 'd',
        title: "Memory for a connection",
        description: "Peak resident set with 1,000 and with 10,000 connections in a closed loop, and the difference ÷ 9,000.",
        service: ServiceUnderLoad::Nginx,
        shapes: &[LoadShape::Closed { connections: 1_000 }, LoadShape::Closed { connections: 10_000 }],
        contestants: &[OURS, Contestant::plain(&WRK), Contestant::plain(&H2LOAD)],
        columns: &[
            CaseColumn::Median("for a connection", bytes_per_connection, kibibytes),
            CaseColumn::Median("at 1,000", first_peak, mebibytes),
            CaseColumn::Median("at 10,000", peak, mebibytes),
            CaseColumn::Ratio("for a connection, ours ÷ its", bytes_per_connection),
        ],
    },
    BenchCase {
        id: 'e',
        title: "Truth at 1,000/s, at most 50 connections",
        description: "`torment target`, a page that is answered at once. Its own record runs from the moment a request \
                arrived at its socket to the moment the kernel has taken the answer, which may be a few µs after \
                the client has it. What a client says beyond that is the client's own.",
        service: ServiceUnderLoad::Target,
        shapes: &[LoadShape::Constant { rate: 1_000, connections: 50, every_answer: true }],
        contestants: &[
            OURS,
            Contestant::plain(&WRK2),
            Contestant::plain(&H2LOAD),
            Contestant::plain(&OHA),
            Contestant::plain(&VEGETA),
            Contestant::plain(&K6),
        ],
        columns: &[
            CaseColumn::MedianInterval("p50 said − the server's", p50_above_served, time),
            CaseColumn::Median("p50 said", p50, time),
            CaseColumn::Median("p50 of the server's record", served_p50, time),
            CaseColumn::Median("reached", reached, percent),
        ],
    },
    BenchCase {
        id: 'f',
        title: "PostgreSQL, select one of a million accounts, 16 connections",
        description: "pgbench's select-only script, prepared, at scale 10, and the same question asked by `--sql`.",
        service: ServiceUnderLoad::Postgres,
        shapes: &[LoadShape::Select { connections: 16 }],
        contestants: &[OURS, Contestant::plain(&PGBENCH)],
        columns: &[
            CPU,
            USER,
            CaseColumn::Median("queries/s", per_second, whole),
            PEAK,
            CaseColumn::Ratio("CPU, ours ÷ its", cpu_per_million),
            CaseColumn::Ratio("queries/s, ours ÷ its", per_second),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn every_contestant_can_make_every_load_of_its_case() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for case in CASES {
            assert!(case.contestants.iter().any(Contestant::is_ours), "{}", case.id);
            for contestant in case.contestants {
                for &shape in case.shapes {
                    let (url, scratch) = ("http://127.0.0.1:1/".to_owned(), PathBuf::from(folder.path()));
                    let load = crate::generators::GeneratorLoad {
                        url,
                        seconds: 1,
                        shape,
                        extra: contestant.extra,
                        scratch,
                    };
                    assert!(
                        (contestant.program.arguments)(&load).is_some(),
                        "{}: {}",
                        case.id,
                        contestant.name()
                    );
                }
            }
        }
    }

    #[test]
    fn cases_have_names_of_their_own() {
        let mut ids = CASES.map(|case| case.id).to_vec();
        ids.dedup();
        assert_eq!(ids.len(), CASES.len());
    }
}
