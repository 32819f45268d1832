//! `target`: the built-in service.

use crate::args::TargetArgs;
use crate::interrupt::InterruptSignals;
use crate::{CommandError, usage_error};
use anyhow::anyhow;
use reference::BuiltinService;
use runner::exit;
use std::io::{self, Read, Write};

pub fn serve(args: &TargetArgs) -> Result<u8, CommandError> {
    let config = args.config().map_err(|why| usage_error(anyhow!(why)))?;
    let mut signals = InterruptSignals::listen()?;
    if !args.cores().is_empty() {
        // Before any thread is started: they all inherit it.
        sys::bind_to(args.cores())?;
    }
    let service = BuiltinService::start(config)?;
    let mut out = io::stdout().lock();
    writeln!(out, "listening on {}", service.address().base_url())?;
    out.flush()?;
    drop(out);
    if args.while_stdin {
        // A demo belongs to the run that started it: when that ends, in whatever way, so does this. Ctrl-C goes to
        // both; the run decides when the service is no longer needed.
        let mut rest = Vec::new();
        let _ = io::stdin().read_to_end(&mut rest);
    } else {
        signals.wait();
    }
    service.stop();
    Ok(exit::MET)
}
