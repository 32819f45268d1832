use clap::Args;
use std::path::PathBuf;

/// Break services in known ways, and check that the right cause is named
///
/// Each case starts a service that is broken in one way (this program, and where installed PostgreSQL and a Tomcat),
/// loads it for some seconds, watches it, and checks the verdict against the truth. Some cases need root, to set
/// limits; cases that cannot run here are skipped, with the reason.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment selftest
  torment selftest lock pg-pool --repetitions 5
  torment selftest --list

Exit code 0 if the first cause named is right in 9 of 10 cases, one of the first two in 97 of 100,
and no wrong cause is named with high confidence; else 99.")]
pub struct SelftestArgs {
    /// The cases to run, by name or the start of a name [default: all]
    #[arg(value_name = "CASE")]
    pub cases: Vec<String>,
    /// How often to run each case
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repetitions: u32,
    /// List the cases, and stop
    #[arg(long)]
    pub list: bool,
    /// Keep the recording of each case in this folder, one JSON object per line
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
}
