//! Judges exit statuses.

use crate::ExpectedStatuses;
use record::Failure;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

pub(crate) fn check_status(status: ExitStatus, expected: &ExpectedStatuses) -> Result<(), Failure> {
    match (status.code(), status.signal()) {
        (Some(code), _) if expected.contains(code) => Ok(()),
        (Some(code), _) => Err(Failure::Check(format!("exit status {code}"))),
        (None, signal) => {
            // Whether it left a core behind depends on the machine.
            let ended = ExitStatus::from_raw(signal.unwrap_or_default()).to_string();
            Err(Failure::Check(format!("ended by {}", ended.replacen("signal:", "signal", 1))))
        }
    }
}
