//! The guard with real processes. This program is also its own guard, and the torment that is killed: its first
//! argument selects which.

// Under the name that all other crates use.
extern crate torment_service as service;

mod ends;
mod killed;
mod limits;
mod postgres;
mod scene;
mod starts;

use std::process::ExitCode;
use std::sync::LazyLock;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let first = words.next().unwrap_or_default();
    match first.as_str() {
        "guard" => {
            return match service::guard() {
                Ok(()) => ExitCode::SUCCESS,
                Err(_) => ExitCode::FAILURE,
            };
        }
        "victim" => return killed::victim(&words.collect::<Vec<_>>()),
        _ => {}
    }
    LazyLock::force(&scene::BEFORE);
    testbed::run_tests(
        &[starts::CHECKS, ends::CHECKS, limits::CHECKS, postgres::CHECKS, killed::CHECKS].concat(),
    )
}
