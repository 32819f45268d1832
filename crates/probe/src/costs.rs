//! The few figures that explain a service's limits.

use crate::memory::thread_sum;
use crate::switch::switch_alone;
use record::{Figure, MachineCosts, RunId};
use units::{Bytes, Nanos};

/// A run's figures for a switch and a thread; none if it has neither.
pub fn costs(run: &RunId, figures: &[Figure]) -> Option<MachineCosts> {
    let switch = switch_alone(figures).map(|ns| Nanos(ns.round() as u64));
    let thread = thread_sum(figures).map(|bytes| Bytes(bytes.round() as u64));
    (switch.is_some() || thread.is_some()).then(|| MachineCosts { run: run.clone(), switch, thread })
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::FigureUnit;

    fn figure(table: &str, row: &str, column: &str, unit: FigureUnit, median: f64) -> Figure {
        Figure::from_blocks((table, row, column), unit, vec![median], 1).expect("it is a number")
    }

    #[test]
    fn a_switch_is_a_handover_without_its_calls() {
        let run = RunId("r".to_owned());
        let figures = [
            figure("switch", "futex, threads", "one processor", FigureUnit::Nanos, 2400.0),
            figure(
                "switch",
                "wake and stale wait of one futex, nobody else",
                "one processor",
                FigureUnit::Nanos,
                500.0,
            ),
            figure("memory", "thread, 8 MiB stack", "sum", FigureUnit::Bytes, 36_300.0),
        ];
        let costs = costs(&run, &figures).expect("there are figures");
        assert_eq!((costs.switch, costs.thread), (Some(Nanos(1900)), Some(Bytes(36_300))));
        assert_eq!(super::costs(&run, &figures[..1]), None);
    }
}
