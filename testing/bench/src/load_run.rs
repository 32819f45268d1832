//! One turn of one program: a load, its result, and reasons to doubt it.

use crate::cases::Contestant;
use crate::child::{ProcessResult, ProcessRunner};
use crate::figures::{BenchRun, percent};
use crate::generators::{GeneratorLoad, GeneratorReport, InstalledGenerator, LoadShape, time_limit};
use crate::machine::CpuTicks;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Lets the server close what the last program left open.
const SETTLE_TIME: Duration = Duration::from_millis(100);
/// If the counts of server and program differ by more than this share, one of them is doubtful.
const AGREEMENT: f64 = 0.02;
/// Connections that even the slowest program makes per second during load: the time this
/// takes is added to the load's.
const CONNECTS_PER_SECOND: u32 = 10_000;

/// A loaded server, and its own record.
pub trait ServerUnderLoad {
    /// Its URL.
    fn url(&self) -> String;
    /// Restarts its record.
    fn reset_record(&self) {}
    /// Requests answered since [`Self::reset_record`], if it counts.
    fn answered(&self) -> Option<u64> {
        None
    }
    /// Connections accepted since then, if it counts.
    fn accepted(&self) -> Option<u64> {
        None
    }
    /// The median time in its record, if it keeps one.
    fn p50_us(&self) -> Option<f64> {
        None
    }
}

/// A contestant that is installed.
#[derive(Debug)]
pub struct InstalledContestant {
    /// Which.
    pub contestant: Contestant,
    /// Its program.
    pub tool: InstalledGenerator,
}

/// Runs one load. The error says why it gave no result.
pub fn run_load(
    entry: &InstalledContestant,
    shape: LoadShape,
    seconds: u32,
    server: &dyn ServerUnderLoad,
    runner: &ProcessRunner,
) -> Result<BenchRun, String> {
    let name = entry.contestant.name();
    let (open, asked_per_second) = match shape {
        LoadShape::Constant { rate, connections, .. } => (connections, Some(rate)),
        LoadShape::Closed { connections } | LoadShape::Select { connections } => (connections, None),
        LoadShape::Streams { connections, streams } => (connections * streams, None),
    };
    let seconds = seconds + open / CONNECTS_PER_SECOND;
    let scratch = runner.scratch.clone();
    let load = GeneratorLoad { url: server.url(), seconds, shape, extra: entry.contestant.extra, scratch };
    let program = entry.tool.program;
    let arguments = (program.arguments)(&load).ok_or_else(|| format!("{name} cannot make this load"))?;
    sleep(SETTLE_TIME);
    server.reset_record();
    let (began, ticks) = (Instant::now(), CpuTicks::of(runner.generator_cpu).zip(CpuTicks::of_all()));
    let ended = runner
        .run(&entry.tool.path, &arguments, time_limit(seconds))
        .map_err(|e| format!("{} cannot be run: {e}", entry.tool.path.display()))?;
    let (others, stolen) = foreign_shares(&ended, runner, began.elapsed(), ticks);
    let (served, accepted, served_p50_us) = (server.answered(), server.accepted(), server.p50_us());
    let last = || ended.stderr.lines().last().unwrap_or("it said nothing").trim().to_owned();
    if ended.timed_out {
        return Err(format!("{name} did not end by itself: {}", last()));
    }
    let report = (program.parse)(&load, &entry.tool, &ended)
        .ok_or_else(|| format!("{name} gave no result (exit code {:?}): {}", ended.code, last()))?;
    if let (LoadShape::Closed { connections }, Some(accepted)) = (shape, accepted)
        && accepted < u64::from(connections)
    {
        return Err(format!("{name} made {accepted} of {connections} connections in {seconds} s"));
    }
    let mut run = BenchRun {
        open,
        asked_per_second,
        planned_seconds: seconds,
        usage: ended.usage,
        said: report,
        code: ended.code,
        served,
        served_p50_us,
        others,
        stolen,
        doubts: doubts_of(&name, report, served, u64::from(open)),
    };
    if run.disturbed() {
        let (others, stolen) = (percent(others), percent(stolen));
        run.doubts
            .push(format!("beside {name} others took {others} of its processor, the hypervisor {stolen}"));
    }
    if ended.code != Some(0) {
        let code = ended.code.map_or("a signal".to_owned(), |code| format!("exit code {code}"));
        run.doubts.push(format!("{name} ended with {code}"));
    }
    Ok(run)
}

/// The share of the generator's processor that others used, and the share of the machine that was stolen.
fn foreign_shares(
    ended: &ProcessResult,
    runner: &ProcessRunner,
    took: Duration,
    before: Option<(CpuTicks, CpuTicks)>,
) -> (f64, f64) {
    let after = CpuTicks::of(runner.generator_cpu).zip(CpuTicks::of_all());
    let Some(((one, all), (one_now, all_now))) = before.zip(after) else { return (0.0, 0.0) };
    let own = (ended.usage.user_seconds + ended.usage.kernel_seconds) / took.as_secs_f64();
    ((one_now.since(&one).programs - own).max(0.0), all_now.since(&all).stolen)
}

/// Doubts raised by the program's own counts.
fn doubts_of(name: &str, report: GeneratorReport, served: Option<u64>, open: u64) -> Vec<String> {
    let GeneratorReport { answered, failed, .. } = report;
    let mut doubts = Vec::new();
    if failed > 0 {
        doubts.push(format!("{name} says that {failed} of {} failed", answered + failed));
    }
    if let Some(served) = served {
        // At the end the server may answer requests that the program no longer counts.
        let leave = (AGREEMENT * served as f64) as u64;
        if answered + leave + open < served || answered > served + leave {
            doubts.push(format!("{name} says {answered} answered, the server {served}"));
        }
    }
    doubts
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::generators::{InstalledGenerator, TORMENT};
    use std::cell::Cell;
    use std::path::Path;
    use std::process::Command;

    fn doubts(answered: u64, failed: u64, served: u64) -> usize {
        doubts_of("wrk", GeneratorReport { answered, failed, ..GeneratorReport::default() }, Some(served), 64)
            .len()
    }

    #[test]
    fn a_server_that_counts_otherwise_and_failures_are_noticed() {
        assert_eq!((doubts(100_000, 0, 100_064), doubts(100_000, 0, 99_990)), (0, 0));
        assert_eq!((doubts(90_000, 0, 100_000), doubts(100_000, 0, 90_000), doubts(1, 0, 0)), (1, 1, 1));
        assert_eq!((doubts(100_000, 1, 100_000), doubts(90_000, 1, 100_000)), (1, 2));
    }

    /// Reports a given number of accepted connections.
    pub struct FakeServer {
        accepted: u64,
        resets: Cell<u32>,
    }

    impl ServerUnderLoad for FakeServer {
        fn url(&self) -> String {
            "http://127.0.0.1:1/".to_owned()
        }
        fn reset_record(&self) {
            self.resets.set(self.resets.get() + 1);
        }
        fn accepted(&self) -> Option<u64> {
            Some(self.accepted)
        }
    }

    /// A program with that script, passed off as torment.
    pub fn entry(folder: &Path, name: &'static str, script: &str) -> InstalledContestant {
        let path = folder.join(name);
        // Written by a shell: if a test forked while we have the file open, it would be busy.
        let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\"";
        let written = Command::new("/bin/sh").arg("-c").arg(write).arg(&path).arg(script).status();
        assert!(written.expect("there is a shell").success(), "the folder is ours");
        let contestant = Contestant { program: &TORMENT, extra: &[] };
        InstalledContestant {
            contestant,
            tool: InstalledGenerator { program: &TORMENT, path, version: String::new() },
        }
    }

    /// A server that reports this many accepted connections.
    pub fn fake_server(accepted: u64) -> FakeServer {
        FakeServer { accepted, resets: Cell::default() }
    }

    fn run_once(script: &str, accepted: u64) -> Result<BenchRun, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let entry = entry(folder.path(), "program", script);
        let bench = ProcessRunner::new(crate::machine::processors()[0], folder.path());
        let server = fake_server(accepted);
        let run = run_load(&entry, LoadShape::Closed { connections: 64 }, 1, &server, &bench);
        assert_eq!(server.resets.get(), 1, "its record begins with the load");
        run
    }

    #[test]
    fn a_turn_that_came_to_nothing_says_why() {
        let result = r#"echo '{"trial": {"outcomes": {"ok": 7}, "loaded_seconds": 1}}'"#;
        assert_eq!(run_once(result, 64).expect("a result").said.answered, 7);
        let doubtful = run_once(&format!("{result}; exit 92"), 64).expect("a result");
        assert!(doubtful.doubts.contains(&"torment ended with exit code 92".to_owned()), "{doubtful:?}");
        let problem = run_once(result, 63).expect_err("not the load that was asked for");
        assert_eq!(problem, "torment made 63 of 64 connections in 1 s");
        let problem = run_once("echo 'no such host' >&2; exit 1", 64).expect_err("no result");
        assert_eq!(problem, "torment gave no result (exit code Some(1)): no such host");
    }
}
