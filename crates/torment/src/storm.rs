//! `find processes`, and `run` with a command: programs started instead of requests sent.

use crate::args::{Common, KeepArgs, ModeArgs, ProcessesArgs, StormArgs, StormRequest};
use crate::measure::{carry_out_as, described, store};
use crate::{Failure, wrong};
use plan::Draft;
use runner::{Storming, exit};

/// The rate of processes that holds.
pub fn find(args: &ProcessesArgs, common: &Common) -> Result<u8, Failure> {
    measure(args.asked().map_err(wrong)?, args.dry_run, &args.keep, common)
}

/// One storm; `load` has what else was said of it.
pub fn run(args: &StormArgs, load: Draft, how: &ModeArgs, common: &Common) -> Result<u8, Failure> {
    measure(args.asked(load).map_err(wrong)?, how.dry_run, &how.keep, common)
}

fn measure(asked: StormRequest, dry_run: bool, keep: &KeepArgs, common: &Common) -> Result<u8, Failure> {
    let words = asked.describe();
    described(words.clone(), dry_run, common)?;
    if dry_run {
        return Ok(exit::MET);
    }
    let StormRequest { plan, command, options, split } = asked;
    let program = std::env::current_exe()?;
    let storming = Storming { command, options, plan, split, program, words: words.join("\n") };
    carry_out_as(keep, store(keep.no_store, common)?, &[], common, |faces, stop| {
        runner::storm(&storming, env!("CARGO_PKG_VERSION"), faces, stop)
    })
}
