//! Tests of a program that is executed anew as something else, or has to be alone: the usual harness has threads.

use std::process::ExitCode;

/// A test and its name.
pub type Check = (&'static str, fn());

/// Makes the tests one after the other and prints what came of each; as with the usual harness, the first argument that is no option chooses
/// those whose name contains it. The code says whether all have passed.
pub fn checks(all: &[Check]) -> ExitCode {
    let chosen = std::env::args().skip(1).find(|word| !word.starts_with('-')).unwrap_or_default();
    let mut code = ExitCode::SUCCESS;
    for (name, check) in all.iter().filter(|(name, _)| name.contains(&chosen)) {
        let passed = std::panic::catch_unwind(check).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        if !passed {
            code = ExitCode::FAILURE;
        }
    }
    code
}
