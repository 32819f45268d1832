//! Harness for tests of a program that re-executes itself as something else, or has to be alone: the usual harness has threads.

use std::process::ExitCode;

/// A test with its name.
pub type NamedTest = (&'static str, fn());

/// Runs the tests one after the other and prints each result, and the total, as the usual harness does. Arguments select tests
/// whose name contains one of them, or equals one of them with `--exact`. The exit code says whether all passed.
pub fn run_tests(all: &[NamedTest]) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let exact = arguments.iter().any(|word| word == "--exact");
    let words: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let is_meant = |name: &str| {
        words.is_empty() || words.iter().any(|word| if exact { name == *word } else { name.contains(*word) })
    };
    let chosen: Vec<&NamedTest> = all.iter().filter(|(name, _)| is_meant(name)).collect();
    let mut failed = 0;
    for (name, check) in &chosen {
        let passed = std::panic::catch_unwind(check).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        failed += usize::from(!passed);
    }
    let (passed, word) = (chosen.len() - failed, if failed == 0 { "ok" } else { "FAILED" });
    println!(
        "test result: {word}. {passed} passed; {failed} failed; {} filtered out",
        all.len() - chosen.len()
    );
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
