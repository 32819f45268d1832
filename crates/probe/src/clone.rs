//! A child that writes to a variable while its parent watches.

use crate::block::{BlockResult, FigureName, Measurable};
use record::FigureUnit;
use serde::{Deserialize, Serialize};
use std::io;
use sys::task::{ChildMemory, write_in_child};

/// What the variable holds at first,
pub(crate) const BEFORE: u8 = 1;
/// and what the child writes.
pub(crate) const WRITTEN: u8 = 42;

/// A child that writes once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloneProbe {
    /// Whether it shares its parent's memory.
    pub shared: bool,
}

impl Measurable for CloneProbe {
    fn figures(&self) -> Vec<FigureName> {
        let row = if self.shared { "with CLONE_VM" } else { "without CLONE_VM" };
        let named = |column: &str| FigureName {
            row: row.to_owned(),
            column: column.to_owned(),
            unit: FigureUnit::Count,
        };
        ["found by the child", "seen by the parent"].map(named).to_vec()
    }

    fn measure_block(&self, _: u64) -> io::Result<BlockResult> {
        let memory = if self.shared { ChildMemory::Shared } else { ChildMemory::Copied };
        let (found, seen) = write_in_child(memory, BEFORE, WRITTEN)?;
        Ok(BlockResult {
            values: vec![f64::from(found), f64::from(seen)],
            operations: 1,
            ..BlockResult::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shared_memory_shows_what_the_child_wrote() {
        for (shared, values) in [(true, [42.0, 42.0]), (false, [42.0, 1.0])] {
            let cell = CloneProbe { shared };
            assert_eq!(cell.measure_block(1).expect("a child").values, values);
            assert_eq!(cell.figures().len(), 2);
        }
    }
}
