//! `find processes`, and `run` with a command: starts programs instead of sending requests.

use crate::args::{CommonArgs, KeepArgs, ModeArgs, ProcessesArgs, StormArgs, StormPlan};
use crate::measure::{carry_out_as, open_run_store, print_description};
use crate::{CommandError, usage_error};
use plan::Draft;
use runner::{StormRequest, exit};

/// Searches for the rate of processes that holds.
pub fn find(args: &ProcessesArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    measure(args.storm_plan().map_err(usage_error)?, args.dry_run, &args.keep, common)
}

/// One storm; `load` has the other options.
pub fn run(args: &StormArgs, load: Draft, how: &ModeArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    measure(args.storm_plan(load).map_err(usage_error)?, how.dry_run, &how.keep, common)
}

fn measure(
    storm_plan: StormPlan,
    dry_run: bool,
    keep: &KeepArgs,
    common: &CommonArgs,
) -> Result<u8, CommandError> {
    let words = storm_plan.describe();
    print_description(words.clone(), dry_run, common)?;
    if dry_run {
        return Ok(exit::MET);
    }
    let StormPlan { plan, command, options, split } = storm_plan;
    let program = std::env::current_exe()?;
    let storming = StormRequest { command, options, plan, split, program, words: words.join("\n") };
    carry_out_as(keep, open_run_store(keep.no_store, common)?, &[], common, |reporter, stop| {
        runner::storm(&storming, reporter, stop)
    })
}
