//! `watch --join`: watches for a run elsewhere.

use crate::args::{CommonArgs, WatchCommand, WatchTarget};
use crate::worker::join_file;
use crate::{CommandError, interrupt, read_plan_file, usage_error};
use anyhow::anyhow;
use observe::TargetLocation;
use runner::{WatchOverride, exit};

/// Watches until the run is over, or is interrupted.
pub fn join(args: &WatchCommand, file: &str, common: &CommonArgs) -> Result<u8, CommandError> {
    let (target, time, settings) = args.join_request(&mut read_plan_file).map_err(usage_error)?;
    let text = join_file(file)?;
    let watch_override = match target {
        None if settings.has_database_or_metrics() => Some(WatchOverride { settings, place: None }),
        None => None,
        Some(target) => Some(own(&target, settings)?),
    };
    let stop = interrupt::stop_flag()?;
    runner::watch_joined(&text, watch_override, time, &stop, &mut |at| {
        if !common.quiet {
            eprintln!("watches for the run at {at}; Ctrl-C leaves it");
        }
    })
    .map_err(|why| anyhow!(why))?;
    Ok(exit::MET)
}

/// What the user named here, overriding the run.
fn own(target: &WatchTarget, mut settings: plan::WatchPlan) -> Result<WatchOverride, CommandError> {
    let place = match target {
        WatchTarget::Process(pid) => {
            super::check_running(*pid)?;
            settings.pids = vec![*pid];
            TargetLocation::Unknown
        }
        WatchTarget::Port(port) => TargetLocation::Tcp(super::port::listening(*port)?),
        WatchTarget::At(addresses) => TargetLocation::Tcp(addresses.clone()),
        WatchTarget::Program(_) => {
            return Err(usage_error(anyhow!("--join watches what runs already: name it, or its port")));
        }
    };
    Ok(WatchOverride { settings, place: Some(place) })
}
