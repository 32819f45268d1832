//! Caveats about a result, from observations of the target and its machine; the cause is another matter (`rules`).

mod continued_work;
mod neighbours;
mod uneven;

use crate::ObservedRun;
use record::{Cause, Caveat, Verdict};

/// All caveats about the verdict, the gravest first. A neighbour that is the `cause` of its limit is no caveat.
pub fn caveats(recording: &ObservedRun, verdict: &Verdict, cause: Option<Cause>) -> Vec<Caveat> {
    let neighbours = || neighbours::neighbours(recording).filter(|_| cause != Some(Cause::Neighbour));
    let found = [continued_work::continued_work(recording), neighbours(), uneven::uneven(recording, verdict)];
    found.into_iter().flatten().collect()
}
