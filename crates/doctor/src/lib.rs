//! What a machine permits torment, and what torment otherwise loses or misreads: each finding with the setting that
//! changes it.
//!
//! [`examine`] reads the facts ([`facts`]) below a root, and judges them ([`rows`], pure). What another crate reads
//! already is read by that crate. Nothing is changed, tried or loaded here; `torment probe` measures, `torment
//! selftest` tries.

mod facts;
mod files;
mod rows;
#[cfg(test)]
mod tests;

use facts::MachineFacts;
use record::Prerequisite;
use std::path::Path;
use std::time::Duration;

/// Examines what this machine permits the process, area by area. Its processors are watched for this long. All paths
/// are below `root`, which is `/` except in tests.
pub fn examine(root: &Path, pid: u32, watch: Duration) -> Vec<Prerequisite> {
    rows::judge(&MachineFacts::read(root, pid, watch))
}
