//! Every limit on threads, made to bind on purpose: it must be reached and named. This program is also the torment that
//! makes the ramp, the process that holds the threads, and the guard, as its first argument says. What is not permitted here
//! is skipped, with a message.

// The name by which all others call it.
extern crate torment_tasks as tasks;

mod harness;
mod killed;
mod limited;

use harness::{LimitSetting, RampArgs};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let first = words.next().unwrap_or_default();
    let code = |done: std::io::Result<()>| if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    match first.as_str() {
        "crowd" => return code(tasks::run_crowd()),
        "guard" => return code(service::guard()),
        "ramp" => return ramp(&words.next().expect("what is wanted")),
        _ => {}
    }
    testbed::run_tests(&[limited::CHECKS, killed::CHECKS].concat())
}

/// A torment with the given limits: prints its events and its verdict, one JSON line each.
fn ramp(wanted: &str) -> ExitCode {
    let wanted: RampArgs = serde_json::from_str(wanted).expect("written by a check");
    for limited in &wanted.limits {
        let (resource, to) = match *limited {
            LimitSetting::Tasks(to) => (Resource::Nproc, to),
            LimitSetting::AddressSpace(to) => (Resource::As, to),
            LimitSetting::Data(to) => (Resource::Data, to),
        };
        setrlimit(resource, Rlimit { current: Some(to), maximum: Some(to) }).expect("it is lowered");
    }
    let program = std::env::current_exe().expect("this is a program");
    let mut emit = |event| println!("{}", serde_json::to_string(&event).expect("it can be written"));
    match tasks::ramp(&wanted.threads_wanted(), &program, &mut emit, &|| false) {
        Ok(verdict) => {
            println!("{}", serde_json::to_string(&verdict).expect("it can be written"));
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
