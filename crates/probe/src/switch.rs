//! What it costs to wake another thread or process: a token handed back and forth.

mod explain;
mod handovers;
mod tasks;
mod turn_takers;

use crate::block::{BlockResult, FigureName, Measurable};
use crate::figure::median;
use crate::sides::{Placement, TaskKind};
use record::{Figure, FigureUnit};
use serde::{Deserialize, Serialize};
use std::io;

units::named! {
    /// How one side wakes the other.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum WakeMechanism {
        Pipe = "pipe",
        Eventfd = "eventfd",
        Futex = "futex",
        Condition = "condition variable",
        Socketpair = "socketpair",
        Yield = "yield",
    }
}

impl WakeMechanism {
    /// Those whose system calls can be made without another side.
    const ALONE: [Self; 5] = [Self::Pipe, Self::Eventfd, Self::Futex, Self::Socketpair, Self::Yield];

    /// The row of its system calls alone.
    fn calls_alone_row(self) -> &'static str {
        match self {
            Self::Pipe => "write and read of one pipe, nobody else",
            Self::Eventfd => "write and read of one eventfd, nobody else",
            Self::Futex => "wake and stale wait of one futex, nobody else",
            Self::Condition => "",
            Self::Socketpair => "write and read of one socketpair, nobody else",
            Self::Yield => "yield, nobody else",
        }
    }
}

const ECHO: &str = "echo over two pipes";
const BY_HAND: &str = "two futures, polled by hand";
const TOKIO: &str = "async channel (tokio)";

/// A wake-up and a switch to another thread on the same processor, without the system calls that request them.
pub(crate) fn switch_alone(figures: &[Figure]) -> Option<f64> {
    let of = |cell: SwitchProbe| {
        let named = cell.figures().pop()?;
        median(figures, &named.row, &named.column)
    };
    let handover = of(SwitchProbe::Handover(WakeMechanism::Futex, TaskKind::Threads, Placement::One))?;
    Some(handover - of(SwitchProbe::Alone(WakeMechanism::Futex))?).filter(|ns| *ns > 0.0)
}

/// One switch measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SwitchProbe {
    /// A token that goes back and forth.
    Handover(WakeMechanism, TaskKind, Placement),
    /// The system calls of a handover, without another side.
    Alone(WakeMechanism),
    /// Four bytes to another thread and back.
    Echo(Placement),
    /// Two tasks of one thread, on a minimal executor.
    ByHand,
    /// Two tasks on tokio's single-threaded runtime.
    Tokio,
}

impl Measurable for SwitchProbe {
    fn figures(&self) -> Vec<FigureName> {
        let (row, place, unit) = match *self {
            Self::Handover(medium, kind, place) => {
                (format!("{}, {}", medium.name(), kind.name()), place, FigureUnit::Nanos)
            }
            Self::Alone(medium) => (medium.calls_alone_row().to_owned(), Placement::One, FigureUnit::Nanos),
            Self::Echo(place) => (ECHO.to_owned(), place, FigureUnit::PerSecond),
            Self::ByHand => (BY_HAND.to_owned(), Placement::One, FigureUnit::Nanos),
            Self::Tokio => (TOKIO.to_owned(), Placement::One, FigureUnit::Nanos),
        };
        vec![FigureName { row, column: place.name().to_owned(), unit }]
    }

    fn measure_block(&self, operations: u64) -> io::Result<BlockResult> {
        match *self {
            Self::Handover(medium, kind, place) => handovers::handover(medium, kind, place, operations),
            Self::Alone(medium) => handovers::alone(medium, operations),
            Self::Echo(place) => handovers::echo(place, operations),
            Self::ByHand => tasks::by_hand(operations),
            Self::Tokio => tasks::tokio(operations),
        }
    }

    /// Enough for both sides to have sampled where the other runs, and for the first round not to matter.
    fn min_operations(&self) -> u64 {
        500
    }
}

/// The table `switch`.
pub struct SwitchTable {
    /// Whether to measure Go, Java and Node too.
    pub runtimes: bool,
}

impl SwitchTable {
    /// Its probes, in display order.
    pub(crate) fn probes(&self) -> Vec<SwitchProbe> {
        let places = Placement::possible();
        let mut all = Vec::new();
        for kind in [TaskKind::Threads, TaskKind::Processes] {
            for medium in WakeMechanism::ALL {
                all.extend(places.iter().map(|place| SwitchProbe::Handover(medium, kind, *place)));
            }
        }
        all.extend(places.iter().map(|place| SwitchProbe::Echo(*place)));
        all.extend(WakeMechanism::ALONE.map(SwitchProbe::Alone));
        all.extend([SwitchProbe::Tokio, SwitchProbe::ByHand]);
        all
    }

    pub(crate) fn explain(&self, figures: &mut [Figure]) -> Vec<String> {
        explain::explain(figures)
    }
}
