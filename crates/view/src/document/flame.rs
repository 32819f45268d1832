//! A flame graph: call stacks, and each call's share of the processor time.

use crate::wording::distinct;
use serde::Serialize;
use stacks::{FlameCall, FlameGraph};

/// Maximum length of a name.
const MAX_NAME_LEN: usize = 90;

/// A flame graph of one load, or comparing two.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlameChart {
    /// Unique on the page.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// How to read it, and what is omitted.
    pub note: String,
    /// Where the samples come from: the only load, or the first of two.
    pub name: String,
    /// The other load, if any.
    pub beside_name: Option<String>,
    /// Total samples of the first.
    pub samples: u64,
    /// Total samples of the other.
    pub beside: u64,
    /// Module names, which determine the colours.
    pub modules: Vec<String>,
    /// Each function's name and module index; a thread has no module: -1.
    pub names: Vec<(String, i64)>,
    /// Each call's depth, name index, and samples of both loads, in preorder.
    pub calls: Vec<(u32, u32, u64, u64)>,
}

impl FlameChart {
    pub(crate) fn of(title: &str, name: &str, beside_name: Option<&str>, flames: &FlameGraph) -> Self {
        let modules = distinct(flames.names.iter().map(|(_, module)| module.clone()));
        let names = flames.names.iter().map(|(name, module)| {
            let at = modules.iter().position(|known| known == module).filter(|_| !module.is_empty());
            (crate::symbol::cut(name, MAX_NAME_LEN), at.map_or(-1, |at| at as i64))
        });
        let names = names.collect();
        let call = |FlameCall { depth, name, samples, other_samples: beside }: &FlameCall| {
            (*depth, *name, *samples, *beside)
        };
        let note = format!(
            "wider: more processor time, including what it calls below it; anything with less than {} % is left out",
            flames.min_share * 100.0
        );
        Self {
            id: "flame".to_owned(),
            title: title.to_owned(),
            note,
            name: name.to_owned(),
            beside_name: beside_name.map(str::to_owned),
            samples: flames.samples,
            beside: flames.other_samples.unwrap_or(0),
            modules,
            names,
            calls: flames.calls.iter().map(call).collect(),
        }
    }
}
