//! The guard with real processes. This program is its own guard, and also the torment that is killed: its first word
//! says which.

// The name by which all others call it.
extern crate torment_service as service;

mod ends;
mod killed;
mod limits;
mod postgres;
mod scene;
mod starts;

use std::process::ExitCode;

/// A check and its name.
type Check = (&'static str, fn());

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
    let checks: Vec<Check> =
        [starts::CHECKS, ends::CHECKS, limits::CHECKS, postgres::CHECKS, killed::CHECKS].concat();
    // As the usual harness: a word that is no option chooses.
    let chosen = std::env::args().skip(1).find(|word| !word.starts_with('-')).unwrap_or_default();
    let mut failed = 0;
    for (name, check) in checks.iter().filter(|(name, _)| name.contains(&chosen)) {
        let ok = std::panic::catch_unwind(check).is_ok();
        println!("test {name} ... {}", if ok { "ok" } else { "FAILED" });
        failed += u32::from(!ok);
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
