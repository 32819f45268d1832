//! `find connections`: how many a service holds.

use crate::args::{Common, ConnectionsArgs, fleet_of, manifests_of, watchers_of};
use crate::measure::{announced, carry_out_as, invited, store};
use crate::{Failure, bytes, wrong};
use runner::{Around, exit};

/// Searches it and shows what it came to.
pub fn find(args: &ConnectionsArgs, common: &Common) -> Result<u8, Failure> {
    let asked = args.asked(&mut bytes).map_err(wrong)?;
    // The plan in words is that of a rate: only who asks for it sees it.
    if args.how.dry_run && announced(&asked.plan, true, common)? {
        return Ok(exit::MET);
    }
    let pods = &args.fleet.pods;
    if let Some(manifests) = manifests_of(&asked.plan, pods).map_err(wrong)? {
        print!("{manifests}");
        return Ok(exit::MET);
    }
    let fleet = fleet_of(&asked.plan, pods).map_err(wrong)?;
    let watchers = watchers_of(&asked.plan, pods).map_err(wrong)?;
    let keep = &args.how.keep;
    let store = store(keep.no_store, common)?;
    let _invitations = invited(fleet.as_ref(), watchers.as_ref(), common)?;
    carry_out_as(keep, store, &asked.plan.generator.cores, common, |faces, stop| {
        let around = Around { fleet: fleet.as_ref(), watchers: watchers.as_ref(), ..Around::default() };
        runner::connections(&asked, around, env!("CARGO_PKG_VERSION"), faces, stop)
    })
}
