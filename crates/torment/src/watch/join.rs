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
    let JoinWatchRequest { file, whom, time, asked } =
        watching(&mut crate::read_plan_file).map_err(usage_error)?;
    let text = join_file(&file)?;
    let own = match whom {
        None if asked.has_database_or_metrics() => Some(WatchOverride { asked, place: None }),
        None => None,
        Some(whom) => Some(own(&whom, asked)?),
    };
    let stop = interrupt::stop_flag()?;
    runner::watch_joined(&text, own, time, &stop, &mut |at| {
        if !common.quiet {
            eprintln!("watches for the run at {at}; Ctrl-C leaves it");
        }
    })
    .map_err(|why| anyhow!(why))?;
    Ok(exit::MET)
}

/// What the user named here, overriding the run.
fn own(whom: &WatchTarget, asked: plan::WatchPlan) -> Result<WatchOverride, CommandError> {
    Ok(match whom {
        WatchTarget::Process(pid) => {
            super::check_running(*pid)?;
            let asked = plan::WatchPlan { pids: vec![*pid], ..asked };
            WatchOverride { asked, place: Some(TargetLocation::Nowhere) }
        }
        WatchTarget::Port(port) => {
            WatchOverride { asked, place: Some(TargetLocation::Tcp(super::port::listening(*port)?)) }
        }
        WatchTarget::At(addresses) => {
            WatchOverride { asked, place: Some(TargetLocation::Tcp(addresses.clone())) }
        }
        WatchTarget::Program(_) => {
            return Err(usage_error(anyhow!("--join watches what runs already: name it, or its port")));
        }
    })
}
