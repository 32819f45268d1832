use super::label::KeepArgs;
use clap::Args;
use std::path::PathBuf;

/// Measure what concurrency costs on this machine
///
/// Launching processes and threads, switching between them, the memory they take, bytes between them: each as the
/// median of many blocks that take turns, beside what explains it. The figures are kept like any run's;
/// `torment compare` holds two machines against each other.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment probe                          all tables, some minutes
  torment probe launch switch            two of them
  torment probe launch --like-eliben     with the pauses of the program behind a well-known article
  torment probe all --save desktop.json  for `torment compare desktop.json laptop.json`

Exit codes: 0 measured, 92 measured, but somebody else was at work, 130 interrupted.")]
pub struct ProbeArgs {
    /// Which tables; all if left out
    #[arg(value_name = "TABLE", value_parser = tables())]
    pub tables: Vec<String>,
    /// Blocks of each figure; of 20 values the 6th and the 15th are the ends of a 95 % interval
    #[arg(long, default_value_t = 20, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(3..=1000))]
    pub blocks: u32,
    /// Orders the blocks
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Launching as the program behind a well-known article measures it: unpinned, with a pause of 500 µs before each join
    #[arg(long)]
    pub like_eliben: bool,
    /// Switching in Go, Java and Node too, as far as they are installed
    #[arg(long)]
    pub runtimes: bool,
    /// Also write the run to this file, to be compared elsewhere
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// What becomes of the run.
    #[command(flatten)]
    pub keep: KeepArgs,
}

/// The names that may be typed: they come from the tables themselves.
fn tables() -> clap::builder::PossibleValuesParser {
    let names = probe::tables(probe::Options::default()).into_iter().map(|table| table.name());
    names.chain(["all"]).collect::<Vec<_>>().into()
}
