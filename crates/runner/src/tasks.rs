//! `torment find threads`: how many the machine allows, and which limit gives.

use crate::{Error, Outcome, Sink, Stop, Title, exit, id, recorded};
use record::{Gave, RunKind, Verdict};
use std::path::PathBuf;
use tasks::ThreadsWanted;

/// What threads are to be found.
pub struct Crowding {
    /// What they are like, and how many at most.
    pub asked: ThreadsWanted,
    /// torment's own program, of which the process that has them is made.
    pub program: PathBuf,
    /// What was typed after the command.
    pub words: String,
}

/// Makes threads until a limit gives, and names it.
pub fn threads(crowding: &Crowding, version: &str, sink: &mut dyn Sink, stop: &Stop) -> Outcome {
    let Crowding { asked, program, words } = crowding;
    recorded(id::new_id(), Title::machine(RunKind::FindThreads, words), version, None, sink, |sink| {
        let verdict = tasks::ramp(asked, program, &mut |event| sink.event(&event), &|| stop.asked())
            .map_err(|why| Error::Machine(why.to_string()))?;
        let code = match &verdict {
            Verdict::Tasks { gave: Gave::Unknown { .. }, .. } => exit::UNDECIDED,
            Verdict::Tasks { gave: Gave::Interrupted, .. } => exit::INTERRUPTED,
            _ => exit::MET,
        };
        Ok((verdict, code))
    })
}
