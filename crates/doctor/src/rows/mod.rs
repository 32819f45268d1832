//! What each fact means for torment. Pure.

mod rights;
mod room;
mod sight;
mod time;

use crate::facts::Facts;
use crate::seen::Unread;
use record::{Allowance, Area, Bearing, Remedy};

/// Where a setting of the kernel is kept for good.
const SYSCTLS: &str = "/etc/sysctl.d/90-torment.conf";
/// Where the limits of users are.
const LIMITS: &str = "/etc/security/limits.d/90-torment.conf";

/// All of them, area by area.
pub(crate) fn judge(facts: &Facts) -> Vec<Allowance> {
    [sight::rows(facts), rights::rows(facts), room::rows(facts), time::rows(facts)].concat()
}

/// A row of which it is not yet said what it means.
struct Row(Allowance);

impl Row {
    fn of(area: Area, name: &str, found: impl Into<String>) -> Self {
        Self(Allowance {
            name: name.to_owned(),
            area,
            bearing: Bearing::Fine,
            found: found.into(),
            figures: std::collections::BTreeMap::new(),
            means: None,
            remedy: None,
        })
    }

    fn figure(mut self, name: &str, value: u64) -> Self {
        self.0.figures.insert(name.to_owned(), value);
        self
    }

    fn fine(self) -> Allowance {
        self.0
    }

    /// Something is not seen, or not to be had.
    fn less(self, means: impl Into<String>, remedy: Remedy) -> Allowance {
        self.bad(Bearing::Less, means, remedy)
    }

    /// Loads or figures suffer.
    fn hinders(self, means: impl Into<String>, remedy: Remedy) -> Allowance {
        self.bad(Bearing::Hinders, means, remedy)
    }

    fn bad(self, bearing: Bearing, means: impl Into<String>, remedy: Remedy) -> Allowance {
        Allowance { bearing, means: Some(means.into()), remedy: Some(remedy), ..self.0 }
    }
}

/// What could not be read.
fn unknown(area: Area, name: &str, unread: &Unread) -> Allowance {
    Allowance { bearing: Bearing::Unknown, ..Row::of(area, name, unread.why.as_str()).fine() }
}

fn remedy(now: impl Into<String>, for_good: impl Into<String>) -> Remedy {
    Remedy { now: Some(now.into()), for_good: Some(for_good.into()) }
}

/// A command that lasts, or has to be given each time.
fn only_now(now: impl Into<String>) -> Remedy {
    Remedy { now: Some(now.into()), for_good: None }
}

/// What takes a start of the machine, or somebody else.
fn only_for_good(for_good: impl Into<String>) -> Remedy {
    Remedy { now: None, for_good: Some(for_good.into()) }
}

fn sysctl(name: &str, value: &str) -> Remedy {
    let typed = if value.contains(' ') { format!("\"{name}={value}\"") } else { format!("{name}={value}") };
    remedy(format!("sysctl -w {typed}"), format!("{SYSCTLS}: {name} = {value}"))
}

/// The program gets what its user has not. One command sets all of them, for each sets them anew.
fn capabilities() -> Remedy {
    const ALL: &str = "cap_sys_ptrace,cap_dac_read_search,cap_sys_nice";
    remedy("run torment as root", format!("setcap {ALL}+ep \"$(command -v torment)\""))
}
