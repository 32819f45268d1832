//! The process that measures, seen from both sides.

use crate::Error;
use crate::block::{Block, Home};
use crate::calm::used;
use crate::cell::CellKind;
use serde::{Deserialize, Serialize};
use service::{Anew, Talk};
use std::io;
use std::path::Path;
use std::time::Instant;
use sys::{Allowed, Mapping};
use units::Nanos;

/// What a worker is asked, a line of JSON each; it answers with a [`Block`], or why there is none.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    what: CellKind,
    operations: u64,
}

/// torment's end of it. The process ends when this is dropped, and with torment.
#[derive(Debug)]
pub struct Worker(Anew);

impl Worker {
    /// Starts `program worker`, which is [`work`].
    ///
    /// # Errors
    /// When it does not start, or cannot be made as asked.
    pub fn start(program: &Path, home: Home) -> Result<Self, Error> {
        let mut anew = Anew::start(program, "prober", Vec::new()).map_err(Error::Worker)?;
        let made: Result<(), String> = anew.ask(&home).map_err(Error::Worker)?;
        made.map_err(Error::Worker)?;
        Ok(Self(anew))
    }

    /// Has it measure a block. The inner error is the cell's: the worker itself is well.
    ///
    /// # Errors
    /// When the worker has ended.
    pub fn block(&mut self, what: &CellKind, operations: u64) -> Result<Result<Block, String>, Error> {
        self.0.ask(&Request { what: what.clone(), operations }).map_err(Error::Worker)
    }
}

/// The hidden command `prober`: measures what it is asked on its standard input until that ends.
///
/// # Errors
/// If it was started by hand, or nobody hears it.
pub fn work() -> io::Result<()> {
    let mut asked = Talk::here()?;
    let Some(home) = asked.hear_next()? else { return Ok(()) };
    let heap = touched(home);
    asked.answer(&heap.as_ref().map(|_| ()).map_err(|why| io::Error::other(why.to_string())))?;
    let allowed = Allowed::now()?;
    while let Some(Request { what, operations }) = asked.hear_next()? {
        let (before, began) = (used(), Instant::now());
        let block = what.block(operations);
        let wall = Nanos::from(began.elapsed());
        // Where it ran is its own affair; the next one starts from anywhere.
        allowed.restore()?;
        let used = Nanos::from(used().saturating_sub(before));
        asked.answer(&block.map(|block| Block { wall, used, ..block }))?;
    }
    drop(heap);
    Ok(())
}

/// Memory that is there, each page of it.
fn touched(home: Home) -> io::Result<Option<Mapping>> {
    if home.heap.0 == 0 {
        return Ok(None);
    }
    let mut heap = Mapping::private(home.heap)?;
    if home.huge {
        heap.huge_pages()?
    } else {
        heap.small_pages()?
    }
    heap.fill(1);
    Ok(Some(heap))
}
