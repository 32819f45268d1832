//! `find working-set`: when the data outgrow the cache.

use crate::args::{CommonArgs, WorkingSetArgs};
use crate::measure::{carry_out_as, open_run_store};
use crate::{CommandError, usage_error};
use anyhow::anyhow;

pub fn find(args: &WorkingSetArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    let request = args.request(std::env::current_exe()?).map_err(|why| usage_error(anyhow!(why)))?;
    carry_out_as(&args.keep, open_run_store(args.keep.no_store, common)?, &[], common, |reporter, stop| {
        runner::working_set(&request, reporter, stop)
    })
}
