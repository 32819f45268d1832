//! What a machine allows torment, and what torment loses or misreads otherwise: each thing with the setting that changes it.
//!
//! [`examine`] reads the facts ([`facts`]) below a root, and judges them ([`rows`], pure). What another crate reads already, it is asked
//! for. Nothing is changed, tried or loaded here; `torment probe` measures, `torment selftest` tries.

mod facts;
mod files;
mod rows;
#[cfg(test)]
mod tests;

use facts::MachineFacts;
use record::Prerequisite;
use std::path::Path;
use std::time::Duration;

/// What this machine allows the process, each thing in its area. Its processors are watched for so long. `root` is what all paths are
/// below: `/`, but for tests.
pub fn examine(root: &Path, pid: u32, watch: Duration) -> Vec<Prerequisite> {
    rows::judge(&MachineFacts::read(root, pid, watch))
}
