use super::label::KeepArgs;
use clap::Args;
use units::Bytes;

/// Find out how many threads this machine allows, and which limit gives
///
/// Prints every limit first, with what is used of it and how it is raised; then makes threads that only wait, in a process of
/// their own, until one of the limits gives; says which, for the error of the failed call does not; and lets all of them go.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment find threads                        until a limit gives, or others' reserve is reached
  torment find threads --most 40000           are 40,000 possible?
  torment find threads --touch 400KiB         and if each uses 400 KiB of its stack?
  torment explain limits                      the limits alone

What all users of the machine share is not used up: a tenth of it, and 1,000 numbers of processes, is left.

Exit code 0 if a limit is named, the reserve reached, or there are as many as were asked for; 91 if no limit
that can be read explains the failure.")]
pub struct ThreadsArgs {
    /// No more than so many
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub most: Option<u64>,
    /// How large their stacks are [default: ulimit -s, usually 8 MiB]
    #[arg(long, value_name = "SIZE", conflicts_with = "raw")]
    pub stack: Option<Bytes>,
    /// How much of its stack each of them touches
    #[arg(long, value_name = "SIZE", conflicts_with = "raw")]
    pub touch: Option<Bytes>,
    /// Threads without a stack: only what the kernel keeps for them
    #[arg(long)]
    pub raw: bool,
    /// As of a program that has so many mappings already
    #[arg(long, value_name = "COUNT", default_value_t = 0, hide_default_value = true)]
    pub maps: u64,
    /// Leave nothing to others; in a control group of its own, which has to be possible
    #[arg(long)]
    pub until_failure: bool,
    /// What becomes of the run.
    #[command(flatten)]
    pub keep: KeepArgs,
}
