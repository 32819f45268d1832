use super::{BinaryArgs, CallArgs};
use clap::{Args, Command, Subcommand};

/// Explain a run's limit, or how programs start on this machine
///
/// For a run: every finding and its evidence, the figures of each step, what was watched, what could not be seen, and
/// what would change the verdict.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  torment explain              the last run
  torment explain 3f2a         one of `torment list`
  torment explain 3f2a --again judged by the rules of this version
  torment explain fork         the way from fork() to the kernel, on this machine
  torment explain limits       every limit on the number of threads")]
pub struct ExplainArgs {
    /// Something of the machine instead of a run.
    #[command(subcommand)]
    pub what: Option<ExplainTopic>,
    /// A run, by name, id or the start of its id, last, last~N [default: last]
    pub run: Option<String>,
    /// Judge the recording again, by the rules of this version; nothing is stored
    #[arg(long)]
    pub again: bool,
}

/// What can be explained beside a run.
#[derive(Debug, Subcommand)]
pub enum ExplainTopic {
    /// The path from fork() to the kernel
    Fork(CallArgs),
    /// The path from vfork() to the kernel
    Vfork(CallArgs),
    /// The path from posix_spawn() to the kernel
    Spawn(CallArgs),
    /// The path from pthread_create() to the kernel
    Thread(CallArgs),
    /// What CLONE_VM does: a child writes, and its parent reads
    Clone,
    #[allow(missing_docs, reason = "a comment here would take the place of the help text of its arguments")]
    Binary(BinaryArgs),
    /// Every limit on the number of threads: where it is set, how much is used, how to raise it
    Limits,
}

/// What can be explained beside a run, as it is typed.
pub fn explained() -> Vec<String> {
    let all = ExplainTopic::augment_subcommands(Command::new("explain"));
    all.get_subcommands().map(|each| each.get_name().to_owned()).collect()
}
