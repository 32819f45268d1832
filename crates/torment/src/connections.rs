//! `find connections`: how many a service holds.

use crate::args::{Common, ConnectionsArgs};
use crate::label::labelled;
use crate::measure::{announced, carry_out, opened};
use crate::{Failure, bytes, page, wrong};
use runner::exit;
use tui::Live;

/// Searches it and shows what it came to.
pub fn find(args: &ConnectionsArgs, common: &Common) -> Result<u8, Failure> {
    let asked = args.asked(&mut bytes).map_err(wrong)?;
    // The plan in words is that of a rate: only who asks for it sees it.
    if args.how.dry_run && announced(&asked.plan, true, common)? {
        return Ok(exit::MET);
    }
    let live = !common.quiet && Live::is_possible();
    let store = if args.how.no_store { None } else { Some(opened(common)?) };
    let beside = page::beside(&args.how.page, store.as_ref(), &asked.plan.generator.cores, common)?;
    carry_out(store, beside, live, common, |faces, stop| {
        runner::connections(&asked, env!("CARGO_PKG_VERSION"), &mut labelled(&args.how.label, faces), stop)
    })
}
