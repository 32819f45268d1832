//! `torment find threads`: how many the machine allows, and which limit gives first.

use crate::{Error, RunExit, RunHeader, Sink, StopFlag, exit, record_run};
use record::{RampEnd, RunKind, Verdict};
use std::path::PathBuf;
use tasks::ThreadsWanted;

/// Which threads to create.
pub struct ThreadsRequest {
    /// What they are like, and how many at most.
    pub wanted: ThreadsWanted,
    /// torment's own program, as which the process that holds them is started.
    pub program: PathBuf,
    /// What was typed after the command.
    pub words: String,
}

/// Creates threads until a limit gives, and names it.
pub fn threads(crowding: &ThreadsRequest, sink: &mut dyn Sink, stop: &StopFlag) -> RunExit {
    let ThreadsRequest { wanted, program, words } = crowding;
    record_run(RunHeader::for_machine(RunKind::FindThreads, words), sink, |sink| {
        let verdict = tasks::ramp(wanted, program, &mut |event| sink.event(&event), &|| stop.is_requested())
            .map_err(|why| Error::Machine(why.to_string()))?;
        let code = match &verdict {
            Verdict::Tasks { gave: RampEnd::Unknown { .. }, .. } => exit::UNDECIDED,
            Verdict::Tasks { gave: RampEnd::Interrupted, .. } => exit::INTERRUPTED,
            _ => exit::MET,
        };
        Ok((verdict, code))
    })
}
