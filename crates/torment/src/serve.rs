//! `target`: the built-in service.

use crate::args::TargetArgs;
use crate::interrupt::Served;
use crate::{Failure, wrong};
use anyhow::anyhow;
use reference::Service;
use runner::exit;
use std::io::{self, Read, Write};

pub fn serve(args: &TargetArgs) -> Result<u8, Failure> {
    let config = args.config().map_err(|why| wrong(anyhow!(why)))?;
    let mut served = Served::listen()?;
    if !args.cores().is_empty() {
        // Before any thread is started: they all inherit it.
        sys::run_on(args.cores())?;
    }
    let service = Service::start(config)?;
    let mut out = io::stdout().lock();
    writeln!(out, "listening on {}", service.address().base_url())?;
    out.flush()?;
    drop(out);
    if args.while_stdin {
        // A demo belongs to the run that started it: when that ends, however it ends, so does this.
        // Ctrl-C goes to both; the run decides when the service is no longer needed.
        let mut rest = Vec::new();
        let _ = io::stdin().read_to_end(&mut rest);
    } else {
        served.wait();
    }
    service.stop();
    Ok(exit::MET)
}
