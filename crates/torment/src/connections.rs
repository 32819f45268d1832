//! `find connections`: how many a service holds.

use crate::args::{Common, ConnectionsArgs};
use crate::measure::{announced, carry_out_as, store};
use crate::{Failure, bytes, wrong};
use runner::exit;

/// Searches it and shows what it came to.
pub fn find(args: &ConnectionsArgs, common: &Common) -> Result<u8, Failure> {
    let asked = args.asked(&mut bytes).map_err(wrong)?;
    // The plan in words is that of a rate: only who asks for it sees it.
    if args.how.dry_run && announced(&asked.plan, true, common)? {
        return Ok(exit::MET);
    }
    let keep = &args.how.keep;
    carry_out_as(keep, store(keep.no_store, common)?, &asked.plan.generator.cores, common, |faces, stop| {
        runner::connections(&asked, env!("CARGO_PKG_VERSION"), faces, stop)
    })
}
