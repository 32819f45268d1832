use clap::Args;
use std::path::PathBuf;

/// Break services in known ways, and see whether what gave first is named
///
/// Each cell starts a service that is broken in one way (this program, and where they are installed
/// PostgreSQL and a Tomcat), loads it for some seconds, watches it, and holds the verdict to the truth. Some
/// need root, for limits; those that cannot be had are skipped and say why.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment selftest
  torment selftest lock pg-pool --repetitions 5
  torment selftest --list

Exit code 0 if the first cause named is right in 9 of 10 cells, one of the first two in 97 of 100,
and nothing wrong is said with high confidence; else 99.")]
pub struct SelftestArgs {
    /// Which cells, by name or the beginning of it [default: all]
    #[arg(value_name = "CELL")]
    pub cells: Vec<String>,
    /// How often each
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repetitions: u32,
    /// Only print what there is
    #[arg(long)]
    pub list: bool,
    /// Keep what was seen of each cell in this folder, a JSON object on each line
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
}
