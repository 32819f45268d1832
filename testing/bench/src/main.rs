//! `torment-bench probes`: compares torment's probes with reference programs, in pairs. `torment-bench fleet`: searches
//! by fleets for a known limit.
//! `make bench` is another program.

use anyhow::{Context, bail};
use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::time::Duration;
use torment_bench::fleet::{FleetCase, measure as measure_fleets};
use torment_bench::machine;
use torment_bench::probes::{BuildContext, cases, measure, table_header, table_note, table_rows};

/// Holds torment against programs that do the same.
#[derive(Debug, Parser)]
#[command(max_term_width = 100)]
struct Args {
    #[command(subcommand)]
    what: BenchCommand,
}

#[derive(Debug, Subcommand)]
enum BenchCommand {
    /// The figures of `torment probe` and its like against small C programs and the usual tools
    Probes {
        /// Only these tables, such as launch,switch, or rows that begin so
        #[arg(long, value_delimiter = ',')]
        only: Vec<String>,
        /// Pairs of blocks for each row
        #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=1000))]
        pairs: u32,
        /// Milliseconds of a block
        #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=60_000))]
        block: u64,
        /// torment's program [default: the one built beside this]
        #[arg(long)]
        torment: Option<PathBuf>,
    },
    /// Searches by fleets on this machine, for the limit of the built-in demo
    Fleet {
        /// Searches by each fleet
        #[arg(long, default_value_t = 20)]
        seeds: u64,
        /// How many workers; 0 is one process alone
        #[arg(long, value_delimiter = ',', default_value = "0,1,2,4")]
        workers: Vec<u32>,
        /// Kill one worker in each search, each time at another moment
        #[arg(long)]
        kill: bool,
        /// Workers come by a file, over TLS, with clocks that are a day ahead; wants root
        #[arg(long, conflicts_with = "kill")]
        apart: bool,
        /// torment's program [default: the one built beside this]
        #[arg(long)]
        torment: Option<PathBuf>,
    },
}

/// torment's executable: the one given, or the one built beside this.
fn program(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let beside = || Some(std::env::current_exe().ok()?.parent()?.join("torment"));
    let torment =
        given.or_else(beside).context("cannot find out where this program lies; say --torment PATH")?;
    if !torment.is_file() {
        bail!("{}: expected torment's program; run `make build`, or say --torment PATH", torment.display());
    }
    Ok(torment)
}

fn main() -> anyhow::Result<()> {
    let (only, pairs, block, torment) = match Args::parse().what {
        BenchCommand::Probes { only, pairs, block, torment } => (only, pairs, block, program(torment)?),
        BenchCommand::Fleet { seeds, workers, kill, apart, torment } => {
            println!("{}, {}\n", machine::describe(), machine::date());
            // Searches have their own folders.
            let torment = program(torment)?.canonicalize()?;
            return measure_fleets(&FleetCase { torment, seeds, workers, kills: kill, detached: apart });
        }
    };
    let scratch = tempfile::tempdir().context("no temporary folder")?;
    let mut context = BuildContext::new(torment, scratch.path().to_owned());
    let wanted = |table: &str, name: &str| {
        only.is_empty() || only.iter().any(|word| word == table || name.starts_with(word.as_str()))
    };
    let cases: Vec<_> = cases().into_iter().filter(|case| wanted(case.table, &case.name)).collect();
    if cases.is_empty() {
        bail!("--only {}: there is no such table or row", only.join(","));
    }
    machine::wait_until_quiet(&mut |words| eprintln!("{words}"));
    println!("{}, {}\n\n{}", machine::describe(), machine::date(), table_header());
    for case in cases {
        match measure(&case, &mut context, pairs, Duration::from_millis(block)) {
            Ok(measured) => {
                println!("{}", table_rows(&case, &measured));
                if let Some(stolen) = measured.stolen {
                    eprintln!(
                        "{}: the hypervisor took {:.0} % of the machine meanwhile",
                        case.name,
                        stolen * 100.0
                    );
                }
            }
            Err(why) => eprintln!("{} is left out: {why}", case.name),
        }
    }
    println!("\n{}", table_note(pairs));
    Ok(())
}
