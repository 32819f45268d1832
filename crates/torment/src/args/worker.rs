use clap::Args;
use units::{Nanos, ParseError};

/// Make a part of the load of a run on another machine
///
/// It is told everything by the run that it joins: what to send, when, and when to go. It sends nothing by itself, and ends
/// with that run.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment worker --join run.join
  srun -n 8 torment worker --join run.join     on a cluster of Slurm")]
pub struct WorkerArgs {
    /// The file that the run has written; - reads it from standard input, env:NAME from that variable
    #[arg(long, value_name = "FILE")]
    pub join: String,
    /// Try for so long to reach the run, if it is not there yet [default: once]
    #[arg(long, value_name = "TIME", value_parser = wait)]
    pub wait: Option<Nanos>,
}

fn wait(text: &str) -> Result<Nanos, String> {
    text.parse().map_err(|why: ParseError| why.to_string())
}
