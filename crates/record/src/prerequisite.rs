//! What a machine allows torment, one item at a time: the output of `torment doctor`.

use crate::named::named;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

named! {
    /// What a prerequisite is needed for.
    Area {
        /// Observing the target.
        Sight = "sight",
        /// Operations that need a permission.
        Rights = "rights",
        /// Generating as much load as asked for.
        Room = "room",
        /// Keeping due times.
        Time = "time",
    }
}

named! {
    /// How a prerequisite affects measurements.
    Severity {
        /// Not at all.
        Fine = "ok",
        /// Something is not observable or unavailable; the measurements are valid.
        Less = "less",
        /// A load is not generated as asked for, or its figures are wrong.
        Hinders = "hinders",
        /// It could not be read.
        Unknown = "unknown",
    }
}

/// Something that torment depends on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prerequisite {
    /// Its name, the kernel's if it has one: `descriptors`, `kernel.pid_max`.
    pub name: String,
    /// What it is needed for.
    pub area: Area,
    /// Its effect.
    pub bearing: Severity,
    /// What was found, in words; if unreadable, why.
    pub found: String,
    /// Its numbers, by name; units are in the names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, u64>,
    /// What torment loses or misreads; none if nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub means: Option<String>,
    /// How to change it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Remedy>,
}

/// How to change a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remedy {
    /// Until reboot: a command; none if a reboot is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
    /// Permanently: a file and its line, or a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_good: Option<String>,
}
