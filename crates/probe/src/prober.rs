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
    pub fn start(program: &Path, kind: ProberKind) -> Result<Self, Error> {
        let mut anew = Subprocess::start(program, "prober", Vec::new()).map_err(Error::Prober)?;
        let made: Result<(), String> = anew.ask(&kind).map_err(Error::Prober)?;
        made.map_err(Error::Prober)?;
        Ok(Self(anew))
    }

    /// Measures a block there. The inner error is the probe's: the process itself is well.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn measure_block(
        &mut self,
        probe: &AnyProbe,
        operations: u64,
    ) -> Result<Result<BlockResult, String>, Error> {
        self.0.ask(&BlockRequest { what: probe.clone(), operations }).map_err(Error::Prober)
    }
}

/// The hidden command `prober`: serves requests on its standard input until that ends.
///
/// # Errors
/// If it was started by hand, or nobody reads its output.
pub fn run_prober() -> io::Result<()> {
    let mut socket = JsonSocket::from_stdin()?;
    let Some(home) = socket.receive_next()? else { return Ok(()) };
    let heap = touched_heap(home);
    socket.send_result(&heap.as_ref().map(|_| ()).map_err(|why| io::Error::other(why.to_string())))?;
    let allowed = CpuAffinity::current()?;
    while let Some(BlockRequest { what, operations }) = socket.receive_next()? {
        let (before, began) = (own_cpu_time(), Instant::now());
        let block = what.measure_block(operations);
        let wall = Nanos::from(began.elapsed());
        // The block may have changed the affinity; the next one starts unbound.
        allowed.restore()?;
        let used = Nanos::from(own_cpu_time().saturating_sub(before));
        socket.send_result(&block.map(|block| BlockResult { wall, used, ..block }))?;
    }
    drop(heap);
    Ok(())
}

/// Memory with every page touched.
fn touched_heap(kind: ProberKind) -> io::Result<Option<AnonymousMapping>> {
    if kind.heap.0 == 0 {
        return Ok(None);
    }
    let mut heap = AnonymousMapping::private(kind.heap)?;
    if kind.huge {
        heap.huge_pages()?
    } else {
        heap.small_pages()?
    }
    heap.fill(1);
    Ok(Some(heap))
}
