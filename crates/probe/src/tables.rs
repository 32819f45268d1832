//! The tables: their probes, and their conclusions.

use crate::any_probe::AnyProbe;
use crate::block::ProbeSettings;
use crate::copy::CopyTable;
use crate::ipc::IpcTable;
use crate::launch::LaunchTable;
use crate::memory::MemoryTable;
use crate::rounds::ProbeTable;
use crate::runtimes;
use crate::switch::SwitchTable;
use record::Figure;

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

/// A table by its name, and the kind of its probes.
macro_rules! table {
    ($table:ty, $name:literal, $kind:ident $(, $($more:tt)+)?) => {
        impl ProbeTable for $table {
            fn name(&self) -> &'static str {
                $name
            }

            fn cells(&self) -> Vec<AnyProbe> {
                self.probes().into_iter().map(AnyProbe::$kind).collect()
            }

            fn explain(&self, figures: &mut [Figure]) -> Vec<String> {
                self.explain(figures)
            }

            $($($more)+)?
        }
    };
}

table!(CopyTable, "memcpy", Copy);
table!(LaunchTable, "launch", Launch);
table!(MemoryTable, "memory", Memory);
table!(IpcTable, "ipc", Ipc);
table!(
    SwitchTable,
    "switch",
    Switch,
    fn extra(&self, effort: &ProbeSettings, stop: &dyn Fn() -> bool) -> (Vec<Figure>, Vec<String>) {
        if self.runtimes { runtimes::measure(self.name(), effort, stop) } else { Default::default() }
    }
);
