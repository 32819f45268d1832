//! What a machine allows torment, one thing at a time: what `torment doctor` says.

use crate::named::named;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

named! {
    /// What something of a machine is needed for.
    Area {
        /// To see what the target does.
        Sight = "sight",
        /// To do what needs a permission.
        Rights = "rights",
        /// To make as much as is asked for.
        Room = "room",
        /// To do it when it is due.
        Time = "time",
    }
}

named! {
    /// What something of a machine means for what is measured on it.
    Severity {
        /// Nothing is lost.
        Fine = "ok",
        /// Something is not seen or not to be had; what is measured stands.
        Less = "less",
        /// A load is not made as asked for, or its figures are wrong.
        Hinders = "hinders",
        /// It could not be read.
        Unknown = "unknown",
    }
}

/// One thing of a machine that torment depends on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prerequisite {
    /// Its name, the kernel's where it has one: `descriptors`, `kernel.pid_max`.
    pub name: String,
    /// What it is needed for.
    pub area: Area,
    /// What it means.
    pub bearing: Severity,
    /// What was found, in words; of what could not be read, why.
    pub found: String,
    /// The numbers of it, by name; their units are in the names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, u64>,
    /// What torment loses or misreads; none if nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub means: Option<String>,
    /// What changes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Remedy>,
}

/// What changes a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remedy {
    /// Until the next start: a command; none if a start is what it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
    /// For good: a file and its line, or a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_good: Option<String>,
}
