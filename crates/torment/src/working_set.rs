//! `find working-set`: when the data outgrow the cache.

use crate::args::{Common, WorkingSetArgs};
use crate::label::labelled;
use crate::measure::{carry_out, opened};
use crate::{Failure, page, wrong};
use anyhow::anyhow;
use tui::Live;

/// Measures, explains, and shows it.
pub fn find(args: &WorkingSetArgs, common: &Common) -> Result<u8, Failure> {
    let asked = args.asked(std::env::current_exe()?).map_err(|why| wrong(anyhow!(why)))?;
    let live = !common.quiet && Live::is_possible();
    let store = if args.no_store { None } else { Some(opened(common)?) };
    let beside = page::beside(&args.page, store.as_ref(), &[], common)?;
    carry_out(store, beside, live, common, |faces, stop| {
        runner::working_set(&asked, env!("CARGO_PKG_VERSION"), &mut labelled(&args.label, faces), stop)
    })
}
