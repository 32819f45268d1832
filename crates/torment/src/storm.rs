//! `find processes`, and `run` with a command: starts programs instead of sending requests.

use crate::args::{CommonArgs, KeepArgs, ModeArgs, ProcessesArgs, StormArgs, describe};
use crate::measure::{carry_out_as, open_run_store, print_description};
use crate::{CommandError, usage_error};
use plan::Draft;
use runner::{StormRequest, exit};

/// Searches for the rate of processes that holds.
pub fn find(args: &ProcessesArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    measure(args.request(std::env::current_exe()?).map_err(usage_error)?, args.dry_run, &args.keep, common)
}

/// One storm; `load` has the other options.
pub fn run(args: &StormArgs, load: Draft, how: &ModeArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    measure(
        args.request(load, std::env::current_exe()?).map_err(usage_error)?,
        how.dry_run,
        &how.keep,
        common,
    )
}

fn measure(
    request: StormRequest,
    dry_run: bool,
    keep: &KeepArgs,
    common: &CommonArgs,
) -> Result<u8, CommandError> {
    print_description(describe(&request.plan, &request.command, &request.options), dry_run, common)?;
    if dry_run {
        return Ok(exit::MET);
    }
    carry_out_as(keep, open_run_store(keep.no_store, common)?, &[], common, |reporter, stop| {
        runner::storm(&request, reporter, stop)
    })
}
