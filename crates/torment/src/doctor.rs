//! `doctor`: what this machine, or a cluster, allows.

mod try_workers;

use crate::args::{CommonArgs, DoctorArgs, PodArgs};
use crate::{CommandError, print_result};
use record::{Prerequisite, Severity};
use runner::exit;
use std::path::Path;
use std::time::Duration;

/// Long enough to see other work and stolen time, short enough to wait for.
const OBSERVATION_TIME: Duration = Duration::from_millis(500);

/// Examines, judges and reports; changes nothing.
pub fn doctor(args: DoctorArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    if let Some((place, pods, tries)) = args.cluster() {
        return cluster(place.as_deref(), &pods, tries, common);
    }
    let rows = ::doctor::examine(Path::new("/"), std::process::id(), OBSERVATION_TIME);
    let machine = runner::machine();
    print_result(|| view::doctor_lines(&machine, &rows), || view::doctor_json(&machine, &rows), common)?;
    Ok(code(&rows))
}

fn code(rows: &[Prerequisite]) -> u8 {
    let hinders = rows.iter().any(|row| row.bearing == Severity::Hinders);
    if hinders { exit::NOT_TRUSTWORTHY } else { exit::MET }
}

/// The same for a cluster.
fn cluster(
    place: Option<&str>,
    pods: &PodArgs,
    tries: bool,
    common: &CommonArgs,
) -> Result<u8, CommandError> {
    let site = pods.site(place, None)?;
    let (described, mut rows) = (site.describe(), site.examine()?);
    if tries && code(&rows) == exit::MET {
        rows.extend(try_workers::try_workers(place, pods)?);
    }
    let is_tried = tries && rows.iter().any(|row| row.name == try_workers::WORKERS);
    print_result(
        || view::cluster_lines(&described, &rows, is_tried),
        || view::cluster_json(&described, &rows),
        common,
    )?;
    Ok(code(&rows))
}
