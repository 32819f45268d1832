//! The tables: what is measured for each, and who says what it means.

use crate::block::Effort;
use crate::cell::CellKind;
use crate::copy::Copies;
use crate::ipc::Ipc;
use crate::launch::Launch;
use crate::memory::Memory;
use crate::rounds::Table;
use crate::runtimes;
use crate::switch::Switch;
use record::Figure;

/// What else may be asked of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Launching as the program behind a well-known article measured it.
    pub like_eliben: bool,
    /// Switching in the runtimes of Go, Java and Node too, as far as they are installed.
    pub runtimes: bool,
}

/// All tables, in the order of telling.
pub fn tables(options: Options) -> Vec<Box<dyn Table>> {
    let Options { like_eliben, runtimes } = options;
    vec![
        Box::new(Launch { like_eliben }),
        Box::new(Switch { runtimes }),
        Box::new(Memory),
        Box::new(Ipc),
        Box::new(Copies),
    ]
}

/// A table by its name, and the kind of its cells.
macro_rules! table {
    ($table:ty, $name:literal, $kind:ident $(, $($more:tt)+)?) => {
        impl Table for $table {
            fn name(&self) -> &'static str {
                $name
            }

            fn cells(&self) -> Vec<CellKind> {
                self.cells().into_iter().map(CellKind::$kind).collect()
            }

            fn explain(&self, figures: &mut [Figure]) -> Vec<String> {
                self.explain(figures)
            }

            $($($more)+)?
        }
    };
}

table!(Copies, "memcpy", Copy);
table!(Launch, "launch", Launch);
table!(Memory, "memory", Memory);
table!(Ipc, "ipc", Ipc);
table!(
    Switch,
    "switch",
    Switch,
    fn extra(&self, effort: &Effort, stop: &dyn Fn() -> bool) -> (Vec<Figure>, Vec<String>) {
        if self.runtimes { runtimes::measure(self.name(), effort, stop) } else { Default::default() }
    }
);
