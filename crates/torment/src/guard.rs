//! `guard`: the process that starts and ends what a plan names, and outlives torment to clean up. torment starts it
//! itself; nobody types it.

use std::process::ExitCode;

/// Before anything else of torment is set up: it must have one thread only, and no other reader of its arguments.
pub fn guard() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let asked = arguments.next().is_some_and(|word| word == "guard") && arguments.next().is_none();
    asked.then(|| match service::guard() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("torment guard: {why}; it is started by torment itself, not by hand");
            ExitCode::FAILURE
        }
    })
}
