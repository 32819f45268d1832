//! A child that writes into a variable, while its parent looks.

use crate::block::{Block, Measurable, Named};
use record::Unit;
use serde::{Deserialize, Serialize};
use std::io;
use sys::task::{Memory, write_in_child};

/// What the variable holds at first,
pub(crate) const BEFORE: u8 = 1;
/// and what the child writes there.
pub(crate) const WRITTEN: u8 = 42;

/// One child that writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Whether it shares its parent's memory.
    pub shared: bool,
}

impl Measurable for Cell {
    fn figures(&self) -> Vec<Named> {
        let row = if self.shared { "with CLONE_VM" } else { "without CLONE_VM" };
        let named =
            |column: &str| Named { row: row.to_owned(), column: column.to_owned(), unit: Unit::Count };
        ["found by the child", "seen by the parent"].map(named).to_vec()
    }

    fn block(&self, _: u64) -> io::Result<Block> {
        let memory = if self.shared { Memory::Shared } else { Memory::Copied };
        let (found, seen) = write_in_child(memory, BEFORE, WRITTEN)?;
        Ok(Block { values: vec![f64::from(found), f64::from(seen)], operations: 1, ..Block::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shared_memory_shows_what_the_child_wrote() {
        for (shared, values) in [(true, [42.0, 42.0]), (false, [42.0, 1.0])] {
            let cell = Cell { shared };
            assert_eq!(cell.block(1).expect("a child").values, values);
            assert_eq!(cell.figures().len(), 2);
        }
    }
}
