//! `find working-set`: when the data outgrow the cache.

use crate::args::{Common, WorkingSetArgs};
use crate::measure::{carry_out_as, store};
use crate::{Failure, wrong};
use anyhow::anyhow;

/// Measures, explains, and shows it.
pub fn find(args: &WorkingSetArgs, common: &Common) -> Result<u8, Failure> {
    let asked = args.asked(std::env::current_exe()?).map_err(|why| wrong(anyhow!(why)))?;
    carry_out_as(&args.keep, store(args.keep.no_store, common)?, &[], common, |faces, stop| {
        runner::working_set(&asked, env!("CARGO_PKG_VERSION"), faces, stop)
    })
}
