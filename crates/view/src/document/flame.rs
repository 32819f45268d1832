//! A flame graph: who called whom, and how much of the processor time that has.

use serde::Serialize;
use stacks::{FlameCall, FlameGraph};

/// Letters of a name at most.
const LETTERS: usize = 90;

/// A flame graph of one load, or of two.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlameChart {
    /// Unique on the page.
    pub id: String,
    /// What it shows, as a heading.
    pub title: String,
    /// How to read it, and what is left out.
    pub note: String,
    /// What the samples are of: one load, or the first of two.
    pub name: String,
    /// The other load; none if there is none.
    pub beside_name: Option<String>,
    /// All samples of the first.
    pub samples: u64,
    /// All samples of the other.
    pub beside: u64,
    /// Names of modules, with which colours go.
    pub modules: Vec<String>,
    /// Name and module of each function; a thread has no module, and is -1.
    pub names: Vec<(String, i64)>,
    /// Each call with how many callers it has, its name's place, and samples of both; callers before whom they call, each with all that it calls
    /// before the next.
    pub calls: Vec<(u32, u32, u64, u64)>,
}

impl FlameChart {
    pub(crate) fn of(title: &str, name: &str, beside_name: Option<&str>, flames: &FlameGraph) -> Self {
        let mut modules: Vec<String> = Vec::new();
        let names = flames.names.iter().map(|(name, module)| {
            let at = modules.iter().position(|known| known == module);
            let at = at.or_else(|| {
                modules.push(module.clone());
                Some(modules.len() - 1)
            });
            let at = at.filter(|_| !module.is_empty()).map_or(-1, |at| at as i64);
            (crate::symbol::cut(name, LETTERS), at)
        });
        let names = names.collect();
        let call =
            |FlameCall { depth, name, samples, beside }: &FlameCall| (*depth, *name, *samples, *beside);
        let note = format!(
            "wider: more processor time, including what it calls below it; anything with less than {} % is left out",
            flames.least * 100.0
        );
        Self {
            id: "flame".to_owned(),
            title: title.to_owned(),
            note,
            name: name.to_owned(),
            beside_name: beside_name.map(str::to_owned),
            samples: flames.samples,
            beside: flames.beside.unwrap_or(0),
            modules,
            names,
            calls: flames.calls.iter().map(call).collect(),
        }
    }
}
