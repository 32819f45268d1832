//! `profile`: whom, how long, how often.

use super::label::KeepArgs;
use super::watch::{WatchTarget, parse_time, parse_watch_target};
use clap::Args;
use plan::Error;
use units::Nanos;

/// See which code runs: samples a process's stacks from outside, with the names of its functions
///
/// Looks 99 times a second at every processor: whenever one of the process's threads is on it, its stack is kept, within the
/// kernel and outside of it. Nothing is attached to the process or changed in it. Names come from the programs and libraries
/// themselves, from debug files by their build ids, and from perf maps (/tmp/perf-PID.map) for code made while the program runs.
/// At the end it looks once in which functions the other threads wait.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment profile 4711
  torment profile :8080 -d 30s
  torment profile :8080 --format json > profile.json
  torment export last --profile folded -o - | flamegraph.pl > flame.svg

It needs root, CAP_PERFMON, or kernel.perf_event_paranoid of 2 or less and a process of your own.

Exit code 0 if anything ran; 91 if nothing did.")]
pub struct ProfileArgs {
    /// A process by its id, or whichever one listens at a port; whatever it starts is sampled too
    #[arg(value_name = "PID|:PORT|ADDRESS:PORT")]
    whom: String,
    /// How long
    #[arg(short, long, value_name = "TIME", default_value = "10s")]
    duration: String,
    /// Samples a second on each processor; more of them make shares more certain, and cost more
    #[arg(long, value_name = "COUNT", default_value_t = 99, value_parser = clap::value_parser!(u32).range(1..=9999))]
    pub hz: u32,
    /// What becomes of the run.
    #[command(flatten)]
    pub keep: KeepArgs,
}

impl ProfileArgs {
    /// Who, and how long.
    ///
    /// # Errors
    /// With one message about the first thing that is wrong.
    pub fn target_and_duration(&self) -> Result<(WatchTarget, Nanos), Error> {
        Ok((
            parse_watch_target(&self.whom, |_| "the program must be running".to_owned())?,
            parse_time("--duration", &self.duration)?,
        ))
    }

    /// As it was typed.
    pub fn words(&self) -> String {
        format!("{} -d {} --hz {}", self.whom, self.duration, self.hz)
    }
}
