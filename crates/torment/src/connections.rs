//! `find connections`: how many a service holds.

use crate::args::{CommonArgs, ConnectionsArgs, fleet_config, render_manifests, watchers_config};
use crate::measure::{announce_plan, carry_out_as, open_run_store, write_join_files};
use crate::{CommandError, read_plan_file, usage_error};
use runner::{RunOptions, exit};

pub fn find(args: &ConnectionsArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    let request = args.request(&mut read_plan_file).map_err(usage_error)?;
    // The plan in words describes a rate: only shown on request.
    if args.how.dry_run && announce_plan(&request.plan, true, common)? {
        return Ok(exit::MET);
    }
    let pods = &args.traffic.fleet.pods;
    if let Some(manifests) = render_manifests(&request.plan, pods).map_err(usage_error)? {
        print!("{manifests}");
        return Ok(exit::MET);
    }
    let fleet = fleet_config(&request.plan, pods).map_err(usage_error)?;
    let watchers = watchers_config(&request.plan, pods).map_err(usage_error)?;
    let keep = &args.how.keep;
    let store = open_run_store(keep.no_store, common)?;
    let _invitations = write_join_files(fleet.as_ref(), watchers.as_ref(), common)?;
    carry_out_as(keep, store, &request.plan.generator.cores, common, |reporter, stop| {
        let around =
            RunOptions { fleet: fleet.as_ref(), watchers: watchers.as_ref(), ..RunOptions::default() };
        runner::connections(&request, around, reporter, stop)
    })
}
