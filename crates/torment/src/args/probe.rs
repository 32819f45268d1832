use super::label::KeepArgs;
use clap::Args;
use std::path::PathBuf;

/// Measure what concurrency costs on this machine
///
/// Launching processes and threads, switching between them, the memory they take, moving bytes between them: each as
/// the median of many interleaved blocks, next to what explains it. The figures are kept like any run; `torment
/// compare` compares two machines.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment probe                          all tables, a few minutes
  torment probe launch switch            two of them
  torment probe launch --like-eliben     with the pauses of the program behind a well-known article
  torment probe all --save desktop.json  for `torment compare desktop.json laptop.json`

Exit codes: 0 measured, 92 measured, but the machine was busy, 130 interrupted.")]
pub struct ProbeArgs {
    /// The tables to measure [default: all]
    #[arg(value_name = "TABLE", value_parser = tables())]
    pub tables: Vec<String>,
    /// Blocks per figure; of 20 values the 6th and the 15th are the ends of a 95 % interval
    #[arg(long, default_value_t = 20, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(3..=1000))]
    pub blocks: u32,
    /// Seed for the order of the blocks
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Measure launching as the program behind a well-known article does: unpinned, with a pause of 500 µs before
    /// each join
    #[arg(long)]
    pub like_eliben: bool,
    /// Measure switching in Go, Java and Node too, where they are installed
    #[arg(long)]
    pub runtimes: bool,
    /// Also write the run to this file, to compare it elsewhere
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// What becomes of the run.
    #[command(flatten)]
    pub keep: KeepArgs,
}

/// The names that may be typed: they come from the tables themselves.
fn tables() -> clap::builder::PossibleValuesParser {
    let names = probe::tables(probe::ProbeOptions::default()).into_iter().map(|table| table.name());
    names.chain(["all"]).collect::<Vec<_>>().into()
}
