//! What is compared with what. A new row is a new [`ReferenceComparison`] in [`cases`], and, if no existing program
//! measures the same, a small C
//! file in the folder `reference/`.
//!
//! Such a file reads a number of operations from each line of its standard input, performs them, and prints a line of values
//! in nanoseconds (or whatever both sides count in), one for each figure, in the order of the block's values. It ends when
//! its input ends.

use super::block_source::BlockSource;
use probe::AnyProbe;
use probe::launch::{LaunchMethod, LaunchProbe};

/// One comparison.
#[derive(Debug, Clone)]
pub struct ReferenceComparison {
    /// The table, as named by `--only`.
    pub table: &'static str,
    /// Its name in the table.
    pub name: String,
    /// Names of the values of both sides, in order.
    pub figures: &'static [&'static str],
    /// torment's side.
    pub ours: BlockSource,
    /// The reference.
    pub reference: BlockSource,
    /// Required ratio.
    pub goal: RatioGoal,
}

/// Requirement on the ratio torment ÷ reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RatioGoal {
    /// Within this distance of 1: both measure the same.
    Within(f64),
    /// At least this: for rates.
    AtLeast(f64),
    /// None: only shown.
    Shown,
}

impl RatioGoal {
    /// Whether this ratio meets it.
    pub fn reached(self, ratio: f64) -> bool {
        match self {
            Self::Within(share) => (ratio - 1.0).abs() <= share,
            Self::AtLeast(least) => ratio >= least,
            Self::Shown => true,
        }
    }
}

/// As close as two programs of the same protocol come.
const SAME: RatioGoal = RatioGoal::Within(0.05);

/// All comparisons, in display order.
pub fn cases() -> Vec<ReferenceComparison> {
    let mut all = Vec::new();
    for (method, name) in [
        (LaunchMethod::Fork, "fork"),
        (LaunchMethod::Clone, "clone3"),
        (LaunchMethod::Vfork, "clone3vm"),
        (LaunchMethod::Vfork, "vfork"),
        (LaunchMethod::Thread, "thread"),
    ] {
        all.extend([0, 2, 64].map(|mib| launch(method, name, mib)));
    }
    for kind in ["threads", "processes"] {
        all.extend(["pipe", "eventfd", "futex"].map(|medium| switch(medium, medium, kind, SAME)));
        // One that sleeps twice, one with a buffer for each byte, one without waiting: only shown.
        all.push(switch("condition variable", "condition", kind, RatioGoal::Shown));
        all.extend(["socketpair", "yield"].map(|medium| switch(medium, medium, kind, RatioGoal::Shown)));
        all.push(perf(kind));
    }
    for (medium, word) in [
        ("TCP", "tcp"),
        ("Unix socket", "unix"),
        ("socketpair", "socketpair"),
        ("pipe", "pipe"),
        ("shared memory, futex", "futex"),
    ] {
        all.push(ipc(medium, word));
    }
    all.extend(storms());
    all
}

/// A token that goes back and forth on the last processor.
fn switch(mechanism: &str, word: &str, kind: &str, goal: RatioGoal) -> ReferenceComparison {
    ReferenceComparison {
        table: "switch",
        name: format!("{mechanism}, {kind}"),
        figures: &["handover"],
        ours: BlockSource::Prober(find_probe("switch", &format!("{mechanism}, {kind}"), "one processor")),
        reference: BlockSource::Program {
            source: "switch.c",
            arguments: [word, kind, "{last}", "{last}"].map(str::to_owned).to_vec(),
        },
        goal,
    }
}

/// The well-known counterpart: a round of `perf bench sched pipe` is two handovers.
fn perf(kind: &'static str) -> ReferenceComparison {
    let words = ["-c", "{last}", "perf", "bench", "sched", "pipe", "-l", "20000"].into_iter();
    let arguments = words.chain((kind == "threads").then_some("-T")).map(str::to_owned).collect();
    ReferenceComparison {
        table: "switch",
        name: format!("pipe, {kind}, beside perf bench sched pipe"),
        reference: BlockSource::Command {
            program: "taskset",
            arguments,
            install: "apt install util-linux linux-perf",
            read: |output, _| {
                let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
                let line = stdout
                    .lines()
                    .find_map(|line| line.trim().strip_suffix("usecs/op").map(str::to_owned))?;
                Some(vec![line.trim().parse::<f64>().ok()? * 1000.0 / 2.0])
            },
        },
        // Another program, which calls the kernel through the C library's functions: only shown beside ours.
        ..switch("pipe", "pipe", kind, RatioGoal::Shown)
    }
}

/// A small message between two processes on the last processor.
fn ipc(mechanism: &str, word: &str) -> ReferenceComparison {
    ReferenceComparison {
        table: "ipc",
        name: format!("{mechanism}, 128 B"),
        figures: &["one way"],
        ours: BlockSource::Prober(find_probe(
            "ipc",
            &format!("{mechanism}, one way"),
            "128 B, one processor",
        )),
        reference: BlockSource::Program {
            source: "ipc.c",
            arguments: ["latency", word, "128", "{last}", "{last}"].map(str::to_owned).to_vec(),
        },
        goal: SAME,
    }
}

/// The probe of `torment probe` for this table, row and column.
fn find_probe(table: &str, row: &str, column: &str) -> AnyProbe {
    let table = probe::tables(probe::ProbeOptions::default())
        .into_iter()
        .find(|known| known.name() == table)
        .expect("it is a table");
    let mut probes = table.cells().into_iter();
    let named =
        |what: &AnyProbe| what.figures().iter().any(|named| named.row == row && named.column == column);
    probes.find(named).expect("the table has this row and column wherever there is a processor")
}

/// Short programs by the thousand, a hundred at once.
fn storms() -> [ReferenceComparison; 3] {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let storm = |name: &str, count: u64, reference: BlockSource, least: f64| ReferenceComparison {
        table: "storm",
        name: format!("{count} of true, beside {name}"),
        figures: &["processes a second"],
        ours: BlockSource::Command {
            program: "{torment}",
            arguments: [
                words(&[
                    "run",
                    "--processes",
                    &count.to_string(),
                    "--parallel",
                    "100",
                    "--job-log",
                    "/dev/null",
                ]),
                words(&["--no-store", "--quiet", "--format", "json", "--", "true"]),
            ]
            .concat(),
            install: "make",
            read: |output, _| {
                let run: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
                Some(vec![run.pointer("/trial/answered_per_second")?.as_f64()?])
            },
        },
        reference,
        goal: RatioGoal::AtLeast(least),
    };
    let script = |text: &str, get, read| BlockSource::Command {
        program: "sh",
        arguments: words(&["-c", text]),
        install: get,
        read,
    };
    let parallel = "command -v parallel >/dev/null || { echo 'GNU parallel is not installed' >&2; exit 1; }
                    seq 2000 | parallel -j100 --joblog /dev/null true";
    [
        storm(
            "a loop of posix_spawn",
            10_000,
            BlockSource::Program { source: "storm.c", arguments: words(&["10000", "100", "true"]) },
            1.0,
        ),
        storm(
            "xargs -P100",
            10_000,
            script("seq 10000 | xargs -P100 -n1 true", "apt install findutils", |output, took| {
                output.status.success().then(|| vec![10_000.0 / took.as_secs_f64()])
            }),
            1.5,
        ),
        storm(
            "GNU parallel -j100",
            2_000,
            script(parallel, "apt install parallel", |output, took| {
                output.status.success().then(|| vec![2_000.0 / took.as_secs_f64()])
            }),
            8.0,
        ),
    ]
}

fn launch(method: LaunchMethod, name: &str, mib: u64) -> ReferenceComparison {
    let probe = LaunchProbe::new(method, mib << 20);
    let arguments =
        [name, &mib.to_string(), "0", "{last}", "{pages}", "{mappings}"].map(str::to_owned).to_vec();
    ReferenceComparison {
        table: "launch",
        name: format!("{name}, {mib} MiB"),
        figures: &["launch", "launch and join"],
        ours: BlockSource::Prober(AnyProbe::Launch(probe)),
        reference: BlockSource::Program { source: "launch.c", arguments },
        goal: SAME,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_case_has_a_name_of_its_own_and_sources_that_are_there() {
        let mut names: Vec<String> =
            cases().into_iter().map(|case| format!("{} {}", case.table, case.name)).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
        for case in cases() {
            for side in [&case.ours, &case.reference] {
                if let BlockSource::Program { source, .. } = side {
                    let path = Path::new(super::super::block_source::SOURCES).join(source);
                    assert!(path.is_file(), "{}", path.display());
                }
            }
        }
    }

    #[test]
    fn goals_are_reached_or_not() {
        assert!(RatioGoal::Within(0.05).reached(0.96) && !RatioGoal::Within(0.05).reached(1.06));
        assert!(RatioGoal::AtLeast(1.5).reached(1.5) && !RatioGoal::AtLeast(1.5).reached(1.4));
        assert!(RatioGoal::Shown.reached(9.0));
    }
}
