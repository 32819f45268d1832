//! What CLONE_VM means, shown: a child writes into a variable, and its parent looks.

use crate::Error;
use crate::cell::{Block, CellKind, Home, Named};
use crate::worker::Worker;
use record::Unit;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use sys::task::{Memory, write_in_child};

/// What the variable holds at first,
const BEFORE: u8 = 1;
/// and what the child writes there.
const WRITTEN: u8 = 42;

/// One child that writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Whether it shares its parent's memory.
    pub shared: bool,
}

impl Cell {
    pub fn figures(self) -> Vec<Named> {
        let row = if self.shared { "with CLONE_VM" } else { "without CLONE_VM" };
        let named =
            |column: &str| Named { row: row.to_owned(), column: column.to_owned(), unit: Unit::Count };
        ["found by the child", "seen by the parent"].map(named).to_vec()
    }

    pub fn block(self) -> io::Result<Block> {
        let memory = if self.shared { Memory::Shared } else { Memory::Copied };
        let (found, seen) = write_in_child(memory, BEFORE, WRITTEN)?;
        Ok(Block { values: vec![f64::from(found), f64::from(seen)], operations: 1, ..Block::default() })
    }
}

/// What was done, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demonstration {
    /// The call.
    pub call: &'static str,
    /// Its flags; the child's end is told by SIGCHLD in any case.
    pub flags: &'static [&'static str],
    /// What the variable held before.
    pub before: u8,
    /// What the child wrote there.
    pub written: u8,
    /// What it then found there: it ended with that as its status.
    pub found: u8,
    /// What its parent found there once it had ended.
    pub seen: u8,
}

impl Demonstration {
    /// Whether both looked at the same memory.
    pub fn shared(&self) -> bool {
        self.seen == self.written
    }
}

/// Makes a child without CLONE_VM, and one with it, in a process of `program` of its own.
///
/// # Errors
/// When there is no such process, or clone3(2) is not to be had.
pub fn demonstrate(program: &Path) -> Result<Vec<Demonstration>, Error> {
    let mut worker = Worker::start(program, Home::default())?;
    let mut show = |shared: bool, flags: &'static [&'static str]| {
        let what = CellKind::Clone(Cell { shared });
        let block =
            worker.block(&what, 1)?.map_err(|why| Error::Cell("a child that writes".to_owned(), why))?;
        let &[found, seen] = block.values.as_slice() else {
            return Err(Error::Worker(format!("it says {:?}, expected two numbers", block.values)));
        };
        let (found, seen) = (found as u8, seen as u8);
        Ok(Demonstration { call: "clone3", flags, before: BEFORE, written: WRITTEN, found, seen })
    };
    Ok(vec![show(false, &["CLONE_VFORK"])?, show(true, &["CLONE_VM", "CLONE_VFORK"])?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shared_memory_shows_what_the_child_wrote() {
        for (shared, values) in [(true, [42.0, 42.0]), (false, [42.0, 1.0])] {
            let cell = Cell { shared };
            assert_eq!(cell.block().expect("a child").values, values);
            assert_eq!(cell.figures().len(), 2);
        }
    }
}
