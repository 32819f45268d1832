//! A program that is profiled, and what of its profile is asked for.

use record::{Profile, StackCount};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use torment_profile::{Error, start};

/// A program that ends with the test.
pub struct Program(pub Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Program {
    /// It once it says that it is ready; none if it ends before.
    pub fn ready(mut command: Command) -> Option<Self> {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).stdin(Stdio::null()).spawn();
        let mut program = Self(child.expect("it can be run"));
        let mut line = String::new();
        let out = program.0.stdout.as_mut().expect("it is a pipe");
        BufReader::new(out).read_line(&mut line).expect("it prints text");
        (line == "ready\n").then_some(program)
    }
}

/// None where the kernel allows no profile.
pub fn profiled(program: &Program, lasting: Duration) -> Option<Profile> {
    match start(&[program.0.id()], 199) {
        Ok(sampling) => {
            sleep(lasting);
            Some(sampling.end().expect("it samples").named())
        }
        Err(why @ (Error::Refused { .. } | Error::Lacking { .. })) => {
            eprintln!("SKIPPED: {why}");
            None
        }
        Err(why) => panic!("{why}"),
    }
}

/// Names of a stack, the innermost first.
fn names(profile: &Profile, stack: StackCount) -> Vec<&str> {
    profile.frames(stack).map(|of| profile.functions[of as usize].name.as_str()).collect()
}

/// Samples of threads of this name whose stack is so.
pub fn samples(profile: &Profile, threads: &str, is: impl Fn(&[&str]) -> bool) -> f64 {
    let its = profile.stacks.iter().filter(|stack| profile.threads[stack.0 as usize].starts_with(threads));
    its.filter(|stack| is(&names(profile, **stack))).map(|stack| stack.2 as f64).sum()
}

/// Three points at a thousand samples; of fewer than that four standard errors.
pub fn assert_share(what: &str, share: f64, expected: f64, profile: &Profile, all: f64) {
    let doubt = (4.0 * (expected * (1.0 - expected) / all).sqrt()).max(0.03);
    eprintln!("{what}: {share:.3} of {all}, expected {expected}");
    assert!((share - expected).abs() <= doubt, "{what}\n{}", stacks::folded(profile));
}
