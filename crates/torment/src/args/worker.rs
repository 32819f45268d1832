use clap::Args;

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
    /// The file that the run has written; - reads it from standard input
    #[arg(long, value_name = "FILE")]
    pub join: String,
}
