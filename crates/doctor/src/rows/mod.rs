//! What each fact means for torment. Pure.

mod limits;
mod rights;
mod timing;
mod visibility;

use crate::facts::MachineFacts;
use crate::files::{FileRead, ReadError};
use record::{Area, Prerequisite, Remedy, Severity};
use std::collections::BTreeMap;

/// Where kernel settings are kept permanently.
const SYSCTLS: &str = "/etc/sysctl.d/90-torment.conf";
/// Where user limits are kept.
const LIMITS: &str = "/etc/security/limits.d/90-torment.conf";

/// All rows, by area.
pub(crate) fn judge(facts: &MachineFacts) -> Vec<Prerequisite> {
    let areas = [
        (Area::Sight, visibility::rows(facts)),
        (Area::Rights, rights::rows(facts)),
        (Area::Room, limits::rows(facts)),
        (Area::Time, timing::rows(facts)),
    ];
    let judged = |(area, rows): (Area, Rows<'_>)| -> Vec<Prerequisite> {
        rows.into_iter().map(|(name, found)| allowance(area.clone(), name, found)).collect()
    };
    areas.into_iter().flat_map(judged).collect()
}

fn allowance(area: Area, name: &str, found: FileRead<Assessment>) -> Prerequisite {
    let unread = |file: ReadError| Assessment { severity: Severity::Unknown, ..Assessment::of(file.why) };
    let Assessment { severity: bearing, found, figures, advice } = found.unwrap_or_else(unread);
    let (means, remedy) = advice.unzip();
    Prerequisite { name: name.to_owned(), area, bearing, found, figures, means, remedy }
}

/// The rows of an area: the name of each, and its assessment unless a file could not be read.
type Rows<'a> = Vec<(&'a str, FileRead<Assessment>)>;

struct Assessment {
    found: String,
    figures: BTreeMap<String, u64>,
    severity: Severity,
    /// What it means, and the remedy.
    advice: Option<(String, Remedy)>,
}

impl Assessment {
    fn of(found: impl Into<String>) -> Self {
        Self { found: found.into(), figures: BTreeMap::new(), severity: Severity::Fine, advice: None }
    }

    fn figure(mut self, name: &str, value: u64) -> Self {
        self.figures.insert(name.to_owned(), value);
        self
    }

    fn fine(self) -> FileRead<Self> {
        Ok(self)
    }

    /// Something is invisible or unavailable.
    fn less(self, means: impl Into<String>, remedy: Remedy) -> FileRead<Self> {
        Ok(Self { severity: Severity::Less, advice: Some((means.into(), remedy)), ..self })
    }

    /// The same if it applies; otherwise it is fine.
    fn less_if(self, applies: bool, means: impl Into<String>, remedy: Remedy) -> FileRead<Self> {
        if applies { self.less(means, remedy) } else { self.fine() }
    }

    /// Loads or figures suffer.
    fn hinders(self, means: impl Into<String>, remedy: Remedy) -> FileRead<Self> {
        Ok(Self { severity: Severity::Hinders, advice: Some((means.into(), remedy)), ..self })
    }

    /// The same if it applies; otherwise it is fine.
    fn hinders_if(self, applies: bool, means: impl Into<String>, remedy: Remedy) -> FileRead<Self> {
        if applies { self.hinders(means, remedy) } else { self.fine() }
    }
}

fn remedy(now: impl Into<String>, for_good: impl Into<String>) -> Remedy {
    Remedy { now: Some(now.into()), for_good: Some(for_good.into()) }
}

/// A command that is permanent anyway, or must be repeated each time.
fn only_now(now: impl Into<String>) -> Remedy {
    Remedy { now: Some(now.into()), for_good: None }
}

/// Takes a reboot, or somebody else.
fn only_for_good(for_good: impl Into<String>) -> Remedy {
    Remedy { now: None, for_good: Some(for_good.into()) }
}

fn sysctl(name: &str, value: &str) -> Remedy {
    let typed = if value.contains(' ') { format!("\"{name}={value}\"") } else { format!("{name}={value}") };
    remedy(format!("sysctl -w {typed}"), format!("{SYSCTLS}: {name} = {value}"))
}

/// Grants the program what its user lacks. One command sets all capabilities, since each call replaces them.
fn capabilities() -> Remedy {
    const ALL: &str = "cap_sys_ptrace,cap_dac_read_search,cap_sys_nice";
    remedy("run torment as root", format!("setcap {ALL}+ep \"$(command -v torment)\""))
}
