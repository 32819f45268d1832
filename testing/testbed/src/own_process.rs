//! Tests whose subject is the whole process (its limits, threads, memory) get their own process.

use std::process::Command;

/// Environment variable that names the test a process was started for.
const KEY: &str = "TORMENT_TEST_ALONE";

/// Whether this is the named test's own process, and the test is to go on. Any other process runs the test by executing itself
/// again, and the test is over when that has passed: `name` is the test's, as the harness lists it.
///
/// Panics with the test's output if it fails there, or if there is no test of that name.
pub fn is_own_process(name: &str) -> bool {
    if std::env::var(KEY).is_ok_and(|own| own == name) {
        return true;
    }
    let program = std::env::current_exe().expect("every Linux tells");
    let arguments = [name, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"];
    let output =
        Command::new(program).args(arguments).env(KEY, name).output().expect("there is room for a process");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && stdout.contains("1 passed"),
        "{name}, in a process of its own: {}\n{stdout}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    false
}
