//! All tables.

use crate::copy::CopyTable;
use crate::ipc::IpcTable;
use crate::launch::LaunchTable;
use crate::memory::MemoryTable;
use crate::rounds::ProbeTable;
use crate::switch::SwitchTable;

/// Options of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProbeOptions {
    /// Measure launches as the program behind a well-known article did.
    pub like_eliben: bool,
    /// Measure switches in the runtimes of Go, Java and Node too, if installed.
    pub runtimes: bool,
}

/// All tables, in display order.
pub fn tables(options: ProbeOptions) -> Vec<Box<dyn ProbeTable>> {
    let ProbeOptions { like_eliben, runtimes } = options;
    vec![
        Box::new(LaunchTable { like_eliben }),
        Box::new(SwitchTable { runtimes }),
        Box::new(MemoryTable),
        Box::new(IpcTable),
        Box::new(CopyTable),
    ]
}
