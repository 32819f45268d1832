//! `watch --join`: watches for a run elsewhere.

use crate::args::{CommonArgs, JoinWatchRequest, WatchTarget};
use crate::worker::join_file;
use crate::{CommandError, interrupt, usage_error};
use anyhow::anyhow;
use observe::TargetLocation;
use plan::{Error, ReadFile};
use runner::{WatchOverride, exit};

/// Watches until the run is over, or is interrupted.
pub fn join(
    watching: impl FnOnce(ReadFile<'_>) -> Result<JoinWatchRequest, Error>,
    common: &CommonArgs,
) -> Result<u8, CommandError> {
    let JoinWatchRequest { file, whom: target, time, asked: settings } =
        watching(&mut crate::read_plan_file).map_err(usage_error)?;
    let text = join_file(&file)?;
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
fn own(target: &WatchTarget, settings: plan::WatchPlan) -> Result<WatchOverride, CommandError> {
    Ok(match target {
        WatchTarget::Process(pid) => {
            super::check_running(*pid)?;
            let settings = plan::WatchPlan { pids: vec![*pid], ..settings };
            WatchOverride { settings, place: Some(TargetLocation::Unknown) }
        }
        WatchTarget::Port(port) => {
            WatchOverride { settings, place: Some(TargetLocation::Tcp(super::port::listening(*port)?)) }
        }
        WatchTarget::At(addresses) => {
            WatchOverride { settings, place: Some(TargetLocation::Tcp(addresses.clone())) }
        }
        WatchTarget::Program(_) => {
            return Err(usage_error(anyhow!("--join watches what runs already: name it, or its port")));
        }
    })
}
