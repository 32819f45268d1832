//! What it costs to let another thread or process go on: a token handed back and forth.

mod explain;
mod medium;
mod rounds;
mod tasks;

use crate::block::{Block, Measurable, Named};
use crate::figure::median;
use crate::sides::{Kind, Placement};
use record::{Figure, Unit};
use serde::{Deserialize, Serialize};
use std::io;

units::named! {
    /// Through what one side lets the other go on.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Medium {
        Pipe = "pipe",
        Eventfd = "eventfd",
        Futex = "futex",
        Condition = "condition variable",
        Socketpair = "socketpair",
        Yield = "yield",
    }
}

impl Medium {
    /// Those whose system calls can be made with nobody on the other side.
    const ALONE: [Self; 5] = [Self::Pipe, Self::Eventfd, Self::Futex, Self::Socketpair, Self::Yield];

    /// The row of its system calls alone.
    fn alone(self) -> &'static str {
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

/// A wake-up and a switch to another thread on the same processor, without the system calls that ask for them.
pub(crate) fn switch_alone(figures: &[Figure]) -> Option<f64> {
    let of = |cell: Cell| {
        let named = cell.figures().pop()?;
        median(figures, &named.row, &named.column)
    };
    let handover = of(Cell::Handover(Medium::Futex, Kind::Threads, Placement::One))?;
    Some(handover - of(Cell::Alone(Medium::Futex))?).filter(|ns| *ns > 0.0)
}

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cell {
    /// A token that goes back and forth.
    Handover(Medium, Kind, Placement),
    /// The system calls of a handover, with nobody to hand over to.
    Alone(Medium),
    /// Four bytes to another thread and back.
    Echo(Placement),
    /// Two tasks of one thread, and the least that can run them.
    ByHand,
    /// Two tasks on tokio's runtime of one thread.
    Tokio,
}

impl Measurable for Cell {
    fn figures(&self) -> Vec<Named> {
        let (row, place, unit) = match *self {
            Self::Handover(medium, kind, place) => {
                (format!("{}, {}", medium.name(), kind.name()), place, Unit::Nanos)
            }
            Self::Alone(medium) => (medium.alone().to_owned(), Placement::One, Unit::Nanos),
            Self::Echo(place) => (ECHO.to_owned(), place, Unit::PerSecond),
            Self::ByHand => (BY_HAND.to_owned(), Placement::One, Unit::Nanos),
            Self::Tokio => (TOKIO.to_owned(), Placement::One, Unit::Nanos),
        };
        vec![Named { row, column: place.name().to_owned(), unit }]
    }

    fn block(&self, operations: u64) -> io::Result<Block> {
        match *self {
            Self::Handover(medium, kind, place) => rounds::handover(medium, kind, place, operations),
            Self::Alone(medium) => rounds::alone(medium, operations),
            Self::Echo(place) => rounds::echo(place, operations),
            Self::ByHand => tasks::by_hand(operations),
            Self::Tokio => tasks::tokio(operations),
        }
    }

    /// So many that both sides have looked where the other runs, and the first round does not matter.
    fn least(&self) -> u64 {
        500
    }
}

/// The table.
pub struct Switch {
    /// Whether Go, Java and Node are asked too.
    pub runtimes: bool,
}

impl Switch {
    pub(crate) fn cells(&self) -> Vec<Cell> {
        let places = Placement::possible();
        let mut all = Vec::new();
        for kind in [Kind::Threads, Kind::Processes] {
            for medium in Medium::ALL {
                all.extend(places.iter().map(|place| Cell::Handover(medium, kind, *place)));
            }
        }
        all.extend(places.iter().map(|place| Cell::Echo(*place)));
        all.extend(Medium::ALONE.map(Cell::Alone));
        all.extend([Cell::Tokio, Cell::ByHand]);
        all
    }

    pub(crate) fn explain(&self, figures: &mut [Figure]) -> Vec<String> {
        explain::explain(figures)
    }
}
