//! Data sets: values from files, one row per arrival.

use crate::error::{Error, SourceLocation};
use crate::{csv, ndjson};
use serde::{Deserialize, Serialize};
use std::path::Path;
use units::random::{mix, one_of};

/// A named file of rows: `[data.users]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSet {
    /// Placeholders refer to it as `{name.column}`.
    pub name: String,
    /// CSV or, by its extension (`.ndjson`, `.jsonl`), NDJSON: a JSON object per line.
    pub file: String,
    /// Which row an arrival uses.
    pub order: RowOrder,
}

units::named! {
    /// Which row an arrival uses; all columns of one data set come from the same row.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub enum RowOrder {
        /// In order, then from the start again.
        #[default]
        Cycle = "cycle",
        /// Each equally likely.
        Random = "random",
        /// In order; after the last there is nothing left to send.
        Once = "once",
    }
}

/// Where rows come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowSource {
    /// `{file:names.csv:column}`: the file itself, in order.
    File(String),
    /// `{users.column}`: a data set declared in the plan, by its name.
    Data(String),
}

impl RowOrder {
    /// The row out of `count` that arrival number `k` uses, if one is left.
    pub(crate) fn row(self, k: u64, seed: u64, rows: &RowSource, count: usize) -> Option<usize> {
        let count = count as u64;
        let row = match self {
            Self::Cycle => k.checked_rem(count)?,
            Self::Once => k,
            // By the name alone: other columns of the same set draw the same row.
            Self::Random => {
                let name = rows.name().bytes().fold(seed, |hash, b| mix(hash, b.into()));
                one_of(mix(name, k), count.into()) as u64
            }
        };
        (row < count).then_some(row as usize)
    }
}

impl RowSource {
    fn name(&self) -> &str {
        match self {
            Self::File(name) | Self::Data(name) => name,
        }
    }
}

/// The values of one column of a file, in the format given by its extension.
pub(crate) fn read_column(file: &str, text: &str, column: &str) -> Result<Vec<String>, Error> {
    let ending = Path::new(file).extension().and_then(|e| e.to_str()).unwrap_or("");
    match ending.to_ascii_lowercase().as_str() {
        "ndjson" | "jsonl" => ndjson::read_column(file, text, column),
        _ => csv::read_column(file, text, column),
    }
}

/// A file named in a plan file is looked up next to it.
pub(crate) fn resolve_path(path: &str, location: &SourceLocation) -> String {
    match location {
        SourceLocation::File { name, .. } => {
            let folder = Path::new(&**name).parent().unwrap_or(Path::new(""));
            folder.join(path).to_string_lossy().into_owned()
        }
        SourceLocation::Option(_) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn rows_follow_their_order() {
        let users = RowSource::Data("users".to_owned());
        let rows = |order: RowOrder, seed| (0..7).map(|k| order.row(k, seed, &users, 3)).collect::<Vec<_>>();
        assert_eq!(rows(RowOrder::Cycle, 1), [0, 1, 2, 0, 1, 2, 0].map(Some));
        assert_eq!(rows(RowOrder::Once, 1), [Some(0), Some(1), Some(2), None, None, None, None]);
        assert_ne!(rows(RowOrder::Random, 1), rows(RowOrder::Random, 2));
        for order in RowOrder::ALL {
            assert_eq!(order.row(0, 1, &users, 0), None, "{order:?}");
        }
        let random = |name: &str| {
            let set = RowSource::Data(name.to_owned());
            (0..1000).filter_map(|k| RowOrder::Random.row(k, 1, &set, 100)).collect::<Vec<_>>()
        };
        assert_eq!(random("users").iter().collect::<BTreeSet<_>>().len(), 100);
        let equal = random("users").iter().zip(random("pets")).filter(|(a, b)| **a == *b).count();
        assert!(equal < 40, "two sets draw {equal} of 1000 rows alike");
    }
}
