//! Demonstrates CLONE_VM: a child writes to a variable, and its parent reads it.

use crate::Error;
use crate::any_probe::AnyProbe;
use crate::block::ProberKind;
use crate::clone::{BEFORE, CloneProbe, WRITTEN};
use crate::prober::Prober;
use std::path::Path;

/// One call and its effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloneVmDemo {
    /// The call.
    pub call: &'static str,
    /// Its flags; the child's end is signalled by SIGCHLD in any case.
    pub flags: &'static [&'static str],
    /// The variable before.
    pub before: u8,
    /// What the child wrote.
    pub written: u8,
    /// What the child then read: its exit status.
    pub child_value: u8,
    /// What the parent read after the child had ended.
    pub parent_value: u8,
}

impl CloneVmDemo {
    /// Whether both saw the same memory.
    pub fn is_shared(&self) -> bool {
        self.parent_value == self.written
    }
}

/// Makes one child without CLONE_VM and one with it, in a separate process of `program`.
///
/// # Errors
/// If that process does not start, or clone3(2) is unavailable.
pub fn demonstrate_clone_vm(program: &Path) -> Result<Vec<CloneVmDemo>, Error> {
    let mut worker = Prober::start(program, ProberKind::default())?;
    let mut show = |shared: bool, flags: &'static [&'static str]| {
        let what = AnyProbe::Clone(CloneProbe { shared });
        let block = worker
            .measure_block(&what, 1)?
            .map_err(|why| Error::Probe("a child that writes".to_owned(), why))?;
        let &[found, seen] = block.values.as_slice() else {
            return Err(Error::Prober(format!("it says {:?}, expected two numbers", block.values)));
        };
        let (found, seen) = (found as u8, seen as u8);
        Ok(CloneVmDemo {
            call: "clone3",
            flags,
            before: BEFORE,
            written: WRITTEN,
            child_value: found,
            parent_value: seen,
        })
    };
    Ok(vec![show(false, &["CLONE_VFORK"])?, show(true, &["CLONE_VM", "CLONE_VFORK"])?])
}
