//! `watch --join`: watches for a run elsewhere.

use crate::args::{Common, WatchingFor, Whom};
use crate::worker::join_file;
use crate::{Failure, interrupt, wrong};
use anyhow::anyhow;
use observe::Where;
use plan::{Error, ReadFile};
use runner::{OwnWatch, exit};

/// Watches until the run is over, or somebody asks for the end.
pub fn join(
    watching: impl FnOnce(ReadFile<'_>) -> Result<WatchingFor, Error>,
    common: &Common,
) -> Result<u8, Failure> {
    let WatchingFor { file, whom, time, asked } = watching(&mut crate::bytes).map_err(wrong)?;
    let text = join_file(&file)?;
    let own = match whom {
        None if asked.asks_others() => Some(OwnWatch { asked, place: None }),
        None => None,
        Some(whom) => Some(own(&whom, asked)?),
    };
    let stop = interrupt::asked()?;
    runner::watch_by(&text, own, time, &stop, &mut |at| {
        if !common.quiet {
            eprintln!("watches for the run at {at}; Ctrl-C leaves it");
        }
    })
    .map_err(|why| anyhow!(why))?;
    Ok(exit::MET)
}

/// Whom somebody named here, whatever the run says.
fn own(whom: &Whom, asked: plan::Watch) -> Result<OwnWatch, Failure> {
    Ok(match whom {
        Whom::Process(pid) => {
            super::is_running(*pid)?;
            let asked = plan::Watch { pids: vec![*pid], ..asked };
            OwnWatch { asked, place: Some(Where::Nowhere) }
        }
        Whom::Port(port) => OwnWatch { asked, place: Some(Where::Tcp(super::port::listening(*port)?)) },
        Whom::At(addresses) => OwnWatch { asked, place: Some(Where::Tcp(addresses.clone())) },
        Whom::Program(_) => {
            return Err(wrong(anyhow!("--join watches what runs already: name it, or its port")));
        }
    })
}
