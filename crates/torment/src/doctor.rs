//! `doctor`: what this machine allows.

use crate::args::Common;
use crate::{Failure, result};
use record::Bearing;
use runner::exit;
use std::path::Path;
use std::time::Duration;

/// Long enough that the work of others and stolen time are seen, short enough to wait for.
const WATCH: Duration = Duration::from_millis(500);

/// Looks, judges and says; nothing is changed.
pub fn doctor(common: &Common) -> Result<u8, Failure> {
    let rows = ::doctor::examine(Path::new("/"), std::process::id(), WATCH);
    let machine = runner::machine();
    result(|| view::doctor_lines(&machine, &rows), || view::doctor_json(&machine, &rows), common)?;
    let hinders = rows.iter().any(|row| row.bearing == Bearing::Hinders);
    Ok(if hinders { exit::NOT_TRUSTWORTHY } else { exit::MET })
}
