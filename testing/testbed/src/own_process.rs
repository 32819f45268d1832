//! A test whose subject is the whole process (its limits, its threads, its memory) has a process of its own.

use std::process::Command;

/// What a process of its own finds in its environment: the test that it is for.
const KEY: &str = "TORMENT_TEST_ALONE";

/// Whether this process is the named test's own, and the test is to go on. In any other the test is run in one that executes this program
/// anew, and is over when that has passed: `name` is the test's, as the harness lists it.
///
/// Panics with what the test has said if it fails there, or if there is no test of that name.
pub fn is_own_process(name: &str) -> bool {
    if std::env::var(KEY).is_ok_and(|own| own == name) {
        return true;
    }
    let program = std::env::current_exe().expect("every Linux tells");
    let arguments = [name, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"];
    let output =
        Command::new(program).args(arguments).env(KEY, name).output().expect("there is room for a process");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{name}, in a process of its own: {}\n{said}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    false
}
