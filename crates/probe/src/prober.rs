//! The process that measures, seen from both sides.

use crate::Error;
use crate::any_probe::AnyProbe;
use crate::block::{BlockResult, ProberKind};
use crate::interference::own_cpu_time;
use serde::{Deserialize, Serialize};
use service::{JsonSocket, Subprocess};
use std::io;
use std::path::Path;
use std::time::Instant;
use sys::{AnonymousMapping, CpuAffinity};
use units::Nanos;

/// What a worker is asked, a line of JSON each; it answers with a [`Block`], or why there is none.
#[derive(Debug, Serialize, Deserialize)]
struct BlockRequest {
    what: AnyProbe,
    operations: u64,
}

/// torment's end of it. The process ends when this is dropped, and with torment.
#[derive(Debug)]
pub struct Prober(Subprocess);

impl Prober {
    /// Starts `program worker`, which is [`work`].
    ///
    /// # Errors
    /// When it does not start, or cannot be made as asked.
    pub fn start(program: &Path, home: ProberKind) -> Result<Self, Error> {
        let mut anew = Subprocess::start(program, "prober", Vec::new()).map_err(Error::Worker)?;
        let made: Result<(), String> = anew.ask(&home).map_err(Error::Worker)?;
        made.map_err(Error::Worker)?;
        Ok(Self(anew))
    }

    /// Has it measure a block. The inner error is the cell's: the worker itself is well.
    ///
    /// # Errors
    /// When the worker has ended.
    pub fn measure_block(
        &mut self,
        what: &AnyProbe,
        operations: u64,
    ) -> Result<Result<BlockResult, String>, Error> {
        self.0.ask(&BlockRequest { what: what.clone(), operations }).map_err(Error::Worker)
    }
}

/// The hidden command `prober`: measures what it is asked on its standard input until that ends.
///
/// # Errors
/// If it was started by hand, or nobody hears it.
pub fn run_prober() -> io::Result<()> {
    let mut asked = JsonSocket::from_stdin()?;
    let Some(home) = asked.receive_next()? else { return Ok(()) };
    let heap = touched(home);
    asked.send_result(&heap.as_ref().map(|_| ()).map_err(|why| io::Error::other(why.to_string())))?;
    let allowed = CpuAffinity::current()?;
    while let Some(BlockRequest { what, operations }) = asked.receive_next()? {
        let (before, began) = (own_cpu_time(), Instant::now());
        let block = what.measure_block(operations);
        let wall = Nanos::from(began.elapsed());
        // Where it ran is its own affair; the next one starts from anywhere.
        allowed.restore()?;
        let used = Nanos::from(own_cpu_time().saturating_sub(before));
        asked.send_result(&block.map(|block| BlockResult { wall, used, ..block }))?;
    }
    drop(heap);
    Ok(())
}

/// Memory that is there, each page of it.
fn touched(home: ProberKind) -> io::Result<Option<AnonymousMapping>> {
    if home.heap.0 == 0 {
        return Ok(None);
    }
    let mut heap = AnonymousMapping::private(home.heap)?;
    if home.huge {
        heap.huge_pages()?
    } else {
        heap.small_pages()?
    }
    heap.fill(1);
    Ok(Some(heap))
}
