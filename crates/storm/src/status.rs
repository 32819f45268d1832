//! What an exit status says.

use crate::ExpectedStatuses;
use record::Failure;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Whether it ended as expected.
pub(crate) fn check_status(status: ExitStatus, expected: &ExpectedStatuses) -> Result<(), Failure> {
    match (status.code(), status.signal()) {
        (Some(code), _) if expected.contains(code) => Ok(()),
        (Some(code), _) => Err(Failure::Check(format!("exit status {code}"))),
        (None, signal) => {
            // Whether that left a core behind is the machine's own affair.
            let ended = ExitStatus::from_raw(signal.unwrap_or_default()).to_string();
            Err(Failure::Check(format!("ended by {}", ended.replacen("signal:", "signal", 1))))
        }
    }
}
