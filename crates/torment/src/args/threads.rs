use super::label::KeepArgs;
use clap::Args;
use units::Bytes;

/// Find how many threads this machine allows, and which limit gives first
///
/// First prints every limit, how much of it is used and how to raise it. Then makes threads that only wait, in a
/// process of their own, until a limit gives; says which one, since the error of the failed call does not; and lets
/// them all go.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment find threads                        until a limit gives, or the reserve is reached
  torment find threads --most 40000           are 40,000 possible?
  torment find threads --touch 400KiB         and if each thread uses 400 KiB of its stack?
  torment explain limits                      the limits alone

What all users of the machine share is not used up: a tenth of it, and 1,000 process ids, stay free.

Exit code 0 if a limit is named, the reserve is reached, or all threads asked for exist; 91 if no
readable limit explains the failure.")]
pub struct ThreadsArgs {
    /// Make no more than this many
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub most: Option<u64>,
    /// Size of their stacks [default: ulimit -s, usually 8 MiB]
    #[arg(long, value_name = "SIZE", conflicts_with = "raw")]
    pub stack: Option<Bytes>,
    /// How much of its stack each thread touches
    #[arg(long, value_name = "SIZE", conflicts_with = "raw")]
    pub touch: Option<Bytes>,
    /// Make threads without a stack, to measure only what the kernel keeps for them
    #[arg(long)]
    pub raw: bool,
    /// Make this many memory mappings first, like a program that already has them
    #[arg(long, value_name = "COUNT", default_value_t = 0, hide_default_value = true)]
    pub maps: u64,
    /// Leave no reserve for others; runs in a control group of its own, and fails without one
    #[arg(long)]
    pub until_failure: bool,
    /// What becomes of the run.
    #[command(flatten)]
    pub keep: KeepArgs,
}
