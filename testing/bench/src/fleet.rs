//! Searches by fleets on this machine for a known limit: the built-in demo's, 2,000/s. And the same by a single process.

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{read, read_dir, read_to_string};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The demo's capacity, requests per second.
const TRUE_CAPACITY: f64 = 2_000.0;
/// Tolerance.
const TOLERANCE: f64 = 0.02;
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// For a search to write the join file.
const JOIN_FILE_TIMEOUT: Duration = Duration::from_secs(20);

/// What to run.
#[derive(Debug)]
pub struct FleetCase {
    /// torment's executable.
    pub torment: PathBuf,
    /// Searches each, from seed 0 on.
    pub seeds: u64,
    /// Fleet sizes; 0 is one process without a fleet.
    pub workers: Vec<u32>,
    /// Kills one worker in each search, each time at another moment.
    pub kills: bool,
    /// Workers are not the search's children: they join by a file, with clocks a day ahead.
    pub detached: bool,
}

/// Result of one search.
#[derive(Debug)]
struct FleetSearch {
    lower: Option<f64>,
    upper: Option<f64>,
    took: Duration,
    /// Trials that lost a worker.
    spoiled_trials: usize,
}

impl FleetSearch {
    /// Whether its bounds hold the truth, within tolerance.
    fn is_right(&self) -> bool {
        let (Some(lower), Some(upper)) = (self.lower, self.upper) else { return false };
        lower <= TRUE_CAPACITY * (1.0 + TOLERANCE)
            && upper >= TRUE_CAPACITY * (1.0 - TOLERANCE)
            && lower >= TRUE_CAPACITY * (1.0 - 2.0 * TOLERANCE)
    }
}

/// Prints one line for each number of workers.
///
/// # Errors
/// If torment cannot be started, or does not account for what it offered.
pub fn measure(case: &FleetCase) -> anyhow::Result<()> {
    println!(
        "| workers | right | held, median | least, largest | trials spoiled | took, median |\n|---|---|---|---|---|---|"
    );
    for &workers in &case.workers {
        let searches: Vec<FleetSearch> =
            (0..case.seeds).map(|seed| run_search(case, workers, seed)).collect::<Result<_, _>>()?;
        println!("{}", table_row(workers, &searches));
    }
    Ok(())
}

fn table_row(workers: u32, searches: &[FleetSearch]) -> String {
    let right = searches.iter().filter(|search| search.is_right()).count();
    let mut held: Vec<f64> = searches.iter().filter_map(|search| search.lower).collect();
    held.sort_by(f64::total_cmp);
    let mut took: Vec<Duration> = searches.iter().map(|search| search.took).collect();
    took.sort_unstable();
    let mut spoiled = BTreeMap::<usize, usize>::new();
    searches.iter().for_each(|search| *spoiled.entry(search.spoiled_trials).or_default() += 1);
    let spoiled: Vec<String> =
        spoiled.iter().map(|(trials, searches)| format!("{trials} in {searches}")).collect();
    let at = |values: &[f64], index: usize| {
        values.get(index).map_or("–".to_owned(), |held| format!("{held:.0}/s"))
    };
    format!(
        "| {} | {right} of {} | {} | {}, {} | {} | {:.0} s |",
        if workers == 0 { "no fleet".to_owned() } else { workers.to_string() },
        searches.len(),
        at(&held, held.len() / 2),
        at(&held, 0),
        at(&held, held.len().saturating_sub(1)),
        spoiled.join(", "),
        took.get(took.len() / 2).map_or(0.0, Duration::as_secs_f64),
    )
}

/// Processes that end when this is dropped.
struct DetachedWorkers(Vec<Child>);

impl Drop for DetachedWorkers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // They end with the run; one that does not is killed here.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Workers that join by the file that a search writes into this folder, each with its own clock.
fn start_detached_workers(torment: &Path, folder: &Path, workers: u32) -> anyhow::Result<DetachedWorkers> {
    let file = folder.join("run.join");
    let began = Instant::now();
    while !read_to_string(&file).is_ok_and(|text| text.ends_with("KEY-----\n")) {
        if began.elapsed() > JOIN_FILE_TIMEOUT {
            bail!("the search writes no join file");
        }
        sleep(POLL_INTERVAL);
    }
    let mut all = DetachedWorkers(Vec::new());
    for _ in 0..workers {
        let mut command = Command::new("unshare");
        command.args(["-T", "--monotonic", "86400", "--fork", "--kill-child"]).arg(torment);
        command.args(["worker", "--quiet", "--join"]).arg(&file);
        all.0.push(command.spawn().context("unshare, of util-linux")?);
    }
    Ok(all)
}

fn run_search(case: &FleetCase, workers: u32, seed: u64) -> anyhow::Result<FleetSearch> {
    let (detached, kills) = (case.detached && workers > 0, case.kills && workers > 0);
    let folder = tempfile::tempdir().context("no temporary folder")?;
    let mut command = Command::new(&case.torment);
    command.args(["find", "demo", "--no-store", "--quiet", "--format", "json", "--seed", &seed.to_string()]);
    if workers > 0 {
        let on = if detached { "join" } else { "here" };
        command.args(["--on", on, "--workers", &workers.to_string()]);
    }
    let began = Instant::now();
    command.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().context("torment")?;
    let _apart =
        detached.then(|| start_detached_workers(&case.torment, folder.path(), workers)).transpose()?;
    let mut out = child.stdout.take().context("it was asked to be piped")?;
    let text = std::thread::spawn(move || {
        let mut text = String::new();
        out.read_to_string(&mut text).map(|_| text)
    });
    // Two seconds after its start and later: while it warms up, climbs, narrows.
    let kill_at = Duration::from_millis(2_000 + seed.wrapping_mul(7_919) % 25_000);
    let mut is_killed = !kills;
    while child.try_wait()?.is_none() {
        if !is_killed && began.elapsed() >= kill_at {
            let all = workers_of(child.id());
            let chosen = all.get(seed as usize % all.len().max(1)).copied();
            is_killed =
                chosen.and_then(Pid::from_raw).is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok());
        }
        sleep(POLL_INTERVAL);
    }
    let took = began.elapsed();
    let text = text.join().map_err(|_| anyhow::anyhow!("reading panicked"))??;
    let found: Value = serde_json::from_str(&text).with_context(|| format!("it printed {text:?}"))?;
    let trials = found["trials"].as_array().context("a search has trials")?;
    let mut spoiled_trials = 0;
    for trial in trials {
        let outcomes = trial["outcomes"].as_object().context("a trial has outcomes")?;
        let sum: u64 = outcomes.values().filter_map(Value::as_u64).sum();
        if Some(sum) != trial["due"].as_u64() {
            bail!("workers {workers}, seed {seed}: {sum} outcomes of {} arrivals", trial["due"]);
        }
        let lost = |caveat: &Value| caveat["code"] == "worker-lost";
        spoiled_trials +=
            usize::from(trial["caveats"].as_array().is_some_and(|caveats| caveats.iter().any(lost)));
    }
    let bound = |which: &str| found["limits"][0][which].as_f64();
    Ok(FleetSearch { lower: bound("lower"), upper: bound("upper"), took, spoiled_trials })
}

/// The processes that generate its load.
fn workers_of(torment: u32) -> Vec<i32> {
    let is_worker =
        |pid: &i32| read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with(b"\0worker\0"));
    let tasks = read_dir(format!("/proc/{torment}/task")).into_iter().flatten().flatten();
    let children: Vec<String> =
        tasks.filter_map(|task| read_to_string(task.path().join("children")).ok()).collect();
    let pids = children.iter().flat_map(|line| line.split_whitespace()).filter_map(|pid| pid.parse().ok());
    pids.filter(is_worker).collect()
}
