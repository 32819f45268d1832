//! What CLONE_VM means, shown: a child writes into a variable, and its parent looks.

use crate::Error;
use crate::any_probe::AnyProbe;
use crate::block::ProberKind;
use crate::clone::{BEFORE, CloneProbe, WRITTEN};
use crate::prober::Prober;
use std::path::Path;

/// What was done, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloneVmDemo {
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

impl CloneVmDemo {
    /// Whether both looked at the same memory.
    pub fn is_shared(&self) -> bool {
        self.seen == self.written
    }
}

/// Makes a child without CLONE_VM, and one with it, in a process of `program` of its own.
///
/// # Errors
/// When there is no such process, or clone3(2) is not to be had.
pub fn demonstrate_clone_vm(program: &Path) -> Result<Vec<CloneVmDemo>, Error> {
    let mut worker = Prober::start(program, ProberKind::default())?;
    let mut show = |shared: bool, flags: &'static [&'static str]| {
        let what = AnyProbe::Clone(CloneProbe { shared });
        let block = worker
            .measure_block(&what, 1)?
            .map_err(|why| Error::Cell("a child that writes".to_owned(), why))?;
        let &[found, seen] = block.values.as_slice() else {
            return Err(Error::Worker(format!("it says {:?}, expected two numbers", block.values)));
        };
        let (found, seen) = (found as u8, seen as u8);
        Ok(CloneVmDemo { call: "clone3", flags, before: BEFORE, written: WRITTEN, found, seen })
    };
    Ok(vec![show(false, &["CLONE_VFORK"])?, show(true, &["CLONE_VM", "CLONE_VFORK"])?])
}
