//! What an exit status says.

use crate::Expected;
use record::Failure;
use rustix::process::Signal;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Whether it ended as expected.
pub(crate) fn judged(status: ExitStatus, expected: &Expected) -> Result<(), Failure> {
    match (status.code(), status.signal()) {
        (Some(code), _) if expected.holds(code) => Ok(()),
        (Some(code), _) => Err(Failure::Check(format!("exit status {code}"))),
        (None, signal) => {
            let signal = signal.unwrap_or_default();
            Err(Failure::Check(format!("ended by signal {signal}{}", name(signal))))
        }
    }
}

/// The name of a signal that ends programs, in brackets.
fn name(signal: i32) -> &'static str {
    let named = [
        (Signal::HUP, " (SIGHUP)"),
        (Signal::INT, " (SIGINT)"),
        (Signal::QUIT, " (SIGQUIT)"),
        (Signal::ILL, " (SIGILL)"),
        (Signal::TRAP, " (SIGTRAP)"),
        (Signal::ABORT, " (SIGABRT)"),
        (Signal::BUS, " (SIGBUS)"),
        (Signal::FPE, " (SIGFPE)"),
        (Signal::KILL, " (SIGKILL)"),
        (Signal::SEGV, " (SIGSEGV)"),
        (Signal::PIPE, " (SIGPIPE)"),
        (Signal::ALARM, " (SIGALRM)"),
        (Signal::TERM, " (SIGTERM)"),
        (Signal::SYS, " (SIGSYS)"),
        (Signal::XCPU, " (SIGXCPU)"),
        (Signal::XFSZ, " (SIGXFSZ)"),
    ];
    named.iter().find(|(one, _)| one.as_raw() == signal).map_or("", |(_, name)| name)
}
