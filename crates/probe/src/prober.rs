//! The prober process, seen from both sides.

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

/// A request to the prober, one line of JSON; it answers with a [`BlockResult`], or the reason why there is none.
#[derive(Debug, Serialize, Deserialize)]
struct BlockRequest {
    what: AnyProbe,
    operations: u64,
}

/// torment's handle of the process, which ends when this is dropped, and with torment.
#[derive(Debug)]
pub struct Prober(Subprocess);

impl Prober {
    /// Starts `program prober`, which is [`run_prober`].
    ///
    /// # Errors
    /// If it does not start, or cannot be prepared as requested.
    pub fn start(program: &Path, home: ProberKind) -> Result<Self, Error> {
        let mut anew = Subprocess::start(program, "prober", Vec::new()).map_err(Error::Worker)?;
        let made: Result<(), String> = anew.ask(&home).map_err(Error::Worker)?;
        made.map_err(Error::Worker)?;
        Ok(Self(anew))
    }

    /// Measures a block there. The inner error is the probe's: the process itself is well.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn measure_block(
        &mut self,
        what: &AnyProbe,
        operations: u64,
    ) -> Result<Result<BlockResult, String>, Error> {
        self.0.ask(&BlockRequest { what: what.clone(), operations }).map_err(Error::Worker)
    }
}

/// The hidden command `prober`: serves requests on its standard input until that ends.
///
/// # Errors
/// If it was started by hand, or nobody reads its output.
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
        // The block may have changed the affinity; the next one starts unbound.
        allowed.restore()?;
        let used = Nanos::from(own_cpu_time().saturating_sub(before));
        asked.send_result(&block.map(|block| BlockResult { wall, used, ..block }))?;
    }
    drop(heap);
    Ok(())
}

/// Memory with every page touched.
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
