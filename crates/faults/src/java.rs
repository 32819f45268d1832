//! The Tomcat of `targets/tomcat-faults`, on a JDK of a given release.

use crate::CaseError;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The service, relative to the source root.
const JAR: &str = "targets/tomcat-faults/target/tomcat-faults.jar";
/// Environment variable that overrides it.
const JAR_VARIABLE: &str = "TORMENT_TOMCAT";

/// The command that starts it, without its environment.
pub(crate) fn command(release: u32, options: &[&str]) -> Result<Command, CaseError> {
    let jar = jar().ok_or_else(|| {
        CaseError::Skip(format!(
            "there is no {JAR} here; build it (mvn -q package in targets/tomcat-faults), or say where it \
             is in {JAR_VARIABLE}"
        ))
    })?;
    let java =
        java(release).ok_or_else(|| CaseError::Skip(format!("there is no JDK {release} in /usr/lib/jvm")))?;
    let mut command = Command::new(java);
    command.args(options).arg("-jar").arg(jar);
    Ok(command)
}

fn jar() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(JAR_VARIABLE) {
        return Some(path.into());
    }
    let here = std::env::current_dir().ok();
    let program = std::env::current_exe().ok();
    let folders = here.iter().chain(&program).flat_map(|path| path.ancestors());
    folders.map(|folder| folder.join(JAR)).find(|path| path.is_file())
}

/// Finds a JDK by its file `release`.
fn java(release: u32) -> Option<PathBuf> {
    let homes = fs::read_dir("/usr/lib/jvm").ok()?.flatten().map(|entry| entry.path());
    let mut programs: Vec<PathBuf> = homes
        .filter(|home| {
            let text = fs::read_to_string(home.join("release")).unwrap_or_default();
            let version = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="));
            let version = version.map(|quoted| quoted.trim_matches('"'));
            version.and_then(|v| v.split(['.', '-', '+']).next()?.parse().ok()) == Some(release)
        })
        .map(|home| home.join("bin/java"))
        .filter(|program| program.is_file())
        .collect();
    programs.sort();
    programs.into_iter().next()
}
