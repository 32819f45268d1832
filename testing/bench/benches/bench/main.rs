//! `make bench`: compares torment with other load generators, and updates the table of docs/method/engine.md.
//!
//! Says what is missing and how to get it, and measures the rest. With `--only` the page is not changed.

mod report;
mod servers;

use anyhow::{Context, bail};
use clap::Parser;
use report::{BenchReport, CaseSection};
use servers::CaseServer;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::fs;
use std::path::{Path, PathBuf};
use torment_bench::cases::{BenchCase, CASES, Contestant};
use torment_bench::child::ProcessRunner;
use torment_bench::generators::{BEFORE, GeneratorProgram, InstalledGenerator, TORMENT, torment};
use torment_bench::load_run::InstalledContestant;
use torment_bench::rounds::{RoundSettings, measure};
use torment_bench::{machine, page, table};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Measures torment beside the other load generators.
#[derive(Debug, Parser)]
#[command(name = "bench", max_term_width = 100)]
struct Args {
    /// Rounds; five give an interval of 93.75 %, six the first of at least 95 %
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Seconds of each load
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// Only these comparisons, such as a,b; the page is then left alone
    #[arg(long, value_delimiter = ',')]
    only: Vec<char>,
    /// What the orders of the rounds are drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The binary to measure [default: the one built beside this]
    #[arg(long)]
    torment: Option<PathBuf>,
    /// An earlier build, to be measured beside it; the page is then left alone
    #[arg(long)]
    before: Option<PathBuf>,
    /// The page with the marks to write between [default: docs/method/engine.md]
    #[arg(long)]
    page: Option<PathBuf>,
    /// `cargo bench` adds it
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if let Some(unknown) = args.only.iter().find(|id| !CASES.iter().any(|case| case.id == **id)) {
        let known: Vec<String> = CASES.iter().map(|case| format!("{} ({})", case.id, case.title)).collect();
        bail!("--only {unknown}: expected one of {}", known.join(", "));
    }
    let all = machine::processors();
    let &[for_server, for_generator, ..] = all.as_slice() else {
        bail!(
            "expected two processors, one for the server and one for the generator; there is {}",
            all.len()
        );
    };
    let root = fs::canonicalize(ROOT).context(ROOT)?;
    let page = args.page.unwrap_or_else(|| root.join("docs/method/engine.md"));
    let text = fs::read_to_string(&page).with_context(|| page.display().to_string())?;
    // Fails now, rather than after all measurements.
    page::with_section(&text, "").map_err(anyhow::Error::msg).with_context(|| page.display().to_string())?;
    let current = built_torment(args.torment)?;
    let before = args.before.map(|path| built_tool(&BEFORE, &path)).transpose()?;
    // 10,000 connections, and what a program opens besides; children inherit the limit.
    sys::raise_nofile();

    let scratch = tempfile::tempdir().context("no temporary folder")?;
    let runner = ProcessRunner::new(for_generator, scratch.path());
    for signal in [SIGINT, SIGTERM] {
        // Servers are stopped when dropped, which a signal alone would not do.
        signal_hook::flag::register(signal, runner.stop.clone()).context("cannot wait for signals")?;
    }
    let settings = RoundSettings { rounds: args.rounds, seconds: args.seconds, seed: args.seed };
    let mut report = BenchReport::begin(settings, &current);
    for case in CASES.iter().filter(|case| args.only.is_empty() || args.only.contains(&case.id)) {
        let entries = entries(case, &current, before.as_ref(), &mut report);
        if !entries.iter().any(|entry| entry.contestant.is_ours()) {
            continue;
        }
        let Some(servers) = CaseServer::start(case.service, for_server, &current.path)? else {
            report.add_missing(format!("“{}”: {}", case.title, servers::install_hint(case.service)));
            continue;
        };
        let runs = measure(case, &entries, &servers, &runner, settings, &mut print_progress);
        if runner.stopped() {
            bail!("interrupted while measuring “{}”; {} is left as it is", case.title, page.display());
        }
        let table = table::markdown(case, &runs);
        println!("\n{}. {}\n\n{table}\n", case.id, case.title);
        write(&root.join(format!("target/bench/{}.json", case.id)), &report.json(case, &runs)?)?;
        report.add_section(CaseSection {
            title: case.title,
            words: case.description,
            table,
            doubts: runs.doubts,
        });
    }
    let section = report.render();
    if !args.only.is_empty() || before.is_some() {
        print_progress(format!("measured in part: {} is left as it is", page.display()));
        return Ok(());
    }
    // Read again: minutes have passed.
    let text = fs::read_to_string(&page).with_context(|| page.display().to_string())?;
    match page::with_section(&text, &section) {
        Ok(text) => write(&page, &text),
        Err(problem) => bail!("{}: {problem}; not written was:\n\n{section}", page.display()),
    }
}

fn print_progress(words: String) {
    eprintln!("{words}");
}

fn write(path: &Path, content: &str) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    fs::write(path, content).with_context(|| path.display().to_string())?;
    print_progress(format!("written: {}", path.display()));
    Ok(())
}

/// Cargo puts this program into `deps`, next to the binary.
fn built_torment(given: Option<PathBuf>) -> anyhow::Result<InstalledGenerator> {
    let beside = || Some(std::env::current_exe().ok()?.parent()?.parent()?.join("torment"));
    let path =
        given.or_else(beside).context("cannot find out where this program lies; say --torment PATH")?;
    built_tool(&TORMENT, &path)
}

fn built_tool(program: &'static GeneratorProgram, path: &Path) -> anyhow::Result<InstalledGenerator> {
    if !path.is_file() {
        bail!("{}: expected a built torment; run `make build`, or name another file", path.display());
    }
    Ok(InstalledGenerator::at(program, fs::canonicalize(path).with_context(|| path.display().to_string())?))
}

/// The installed contestants that can make the loads of the case; prints which are missing.
fn entries(
    case: &BenchCase,
    current: &InstalledGenerator,
    before: Option<&InstalledGenerator>,
    report: &mut BenchReport,
) -> Vec<InstalledContestant> {
    let mut entries = Vec::new();
    let mut add_entry = |contestant: Contestant, tool: Result<InstalledGenerator, String>| match tool {
        Ok(tool) => {
            report.add_tool(&tool);
            entries.push(InstalledContestant { contestant, tool });
        }
        Err(why) => report.add_missing(why),
    };
    for &contestant in case.contestants {
        if !contestant.is_ours() {
            let program = contestant.program;
            let missing = || format!("{} is not installed (`{}`)", program.name, program.install);
            add_entry(contestant, InstalledGenerator::find(program).ok_or_else(missing));
            continue;
        }
        for tool in [Some(current), before].into_iter().flatten() {
            let contestant = Contestant { program: tool.program, ..contestant };
            add_entry(contestant, with_required_options(case, &contestant, tool));
        }
    }
    entries
}

/// A torment that can make the loads of the case.
fn with_required_options(
    case: &BenchCase,
    contestant: &Contestant,
    tool: &InstalledGenerator,
) -> Result<InstalledGenerator, String> {
    let mut needs = case.shapes.iter().flat_map(|shape| torment::required_options(*shape, contestant.extra));
    match needs.find(|option| !tool.has_option(option)) {
        None => Ok(tool.clone()),
        Some(option) => {
            Err(format!("`{}` in “{}”: that build has no {option}", contestant.name(), case.title))
        }
    }
}
