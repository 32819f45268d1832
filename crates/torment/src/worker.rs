//! `worker`: makes a part of the load of a run elsewhere.

use crate::args::{CommonArgs, WorkerArgs};
use crate::{CommandError, interrupt, read_plan_file};
use anyhow::{Context, anyhow};
use runner::exit;
use std::io::Read;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// Interval between attempts to reach a run.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Works until the run is over, or is interrupted.
pub fn worker(args: &WorkerArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    let text = join_file(&args.join)?;
    let stop = interrupt::stop_flag()?;
    let until = args.wait.map(|wait| Instant::now() + wait.to_duration());
    let mut has_joined = false;
    let last = loop {
        let last = runner::work_joined(&text, &stop, &mut |at| {
            has_joined = true;
            if !common.quiet {
                eprintln!("joined the run at {at}; Ctrl-C leaves it");
            }
        });
        let is_time = until.is_some_and(|until| Instant::now() < until);
        if last.is_ok() || has_joined || !is_time || stop.load(Ordering::Relaxed) {
            break last;
        }
        thread::sleep(RETRY_INTERVAL);
    };
    last.map_err(|why| anyhow!(why))?;
    Ok(exit::MET)
}

/// Content of a join file; `-` is standard input, `env:NAME` an environment variable.
pub fn join_file(name: &str) -> Result<String, CommandError> {
    if let Some(variable) = name.strip_prefix("env:") {
        return Ok(std::env::var(variable).with_context(|| format!("{variable} holds no join file"))?);
    }
    let text = if name == "-" {
        let mut text = Vec::new();
        std::io::stdin().read_to_end(&mut text).context("standard input cannot be read")?;
        text
    } else {
        read_plan_file(name).map_err(|why| anyhow!(why))?
    };
    Ok(String::from_utf8(text).map_err(|_| anyhow!("'{name}' is no join file: it is not UTF-8"))?)
}
