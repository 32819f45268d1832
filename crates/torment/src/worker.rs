//! `worker`: makes a part of the load of a run elsewhere.

use crate::args::{Common, WorkerArgs};
use crate::{Failure, bytes, interrupt};
use anyhow::{Context, anyhow};
use runner::exit;
use std::io::Read;

/// Works until the run is over, or somebody asks for the end.
pub fn worker(args: &WorkerArgs, common: &Common) -> Result<u8, Failure> {
    let text = join_file(&args.join)?;
    let asked = interrupt::asked()?;
    runner::join(&text, &asked, &mut |at| {
        if !common.quiet {
            eprintln!("joined the run at {at}; Ctrl-C leaves it");
        }
    })
    .map_err(|why| anyhow!(why))?;
    Ok(exit::MET)
}

/// What a join file says; `-` is standard input.
pub fn join_file(name: &str) -> Result<String, Failure> {
    let text = if name == "-" {
        let mut text = Vec::new();
        std::io::stdin().read_to_end(&mut text).context("standard input cannot be read")?;
        text
    } else {
        bytes(name).map_err(|why| anyhow!(why))?
    };
    Ok(String::from_utf8(text).map_err(|_| anyhow!("'{name}' is no join file: it is not UTF-8"))?)
}
