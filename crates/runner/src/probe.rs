//! `torment probe`: the tables asked for, one after the other.

use crate::{Error, Outcome, Sink, Stop, Title, exit, id, recorded};
use probe::{Effort, Table};
use record::{Doubt, Event, RunKind, Verdict};

/// Says what a figure is, and is no doubt of it.
const EXPECTED: Doubt = Doubt::NotASwitch;

/// What is to be measured of the machine.
pub struct Probing {
    /// In this order.
    pub tables: Vec<Box<dyn Table>>,
    /// How much of each.
    pub effort: Effort,
    /// What was typed after the command.
    pub words: String,
}

/// Measures the tables; what one of them cannot is told, and the others go on.
pub fn probe(asked: &Probing, version: &str, sink: &mut dyn Sink, stop: &Stop) -> Outcome {
    recorded(id::new_id(), Title::machine(RunKind::Probe, &asked.words), version, None, sink, |sink| {
        sink.event(&Event::Surveyed { conditions: Box::new(probe::survey()) });
        let (mut figures, mut doubtful, mut whole) = (0, 0, true);
        for table in &asked.tables {
            let mut tell = |event: Event| {
                if let Event::Measured { figure } = &event {
                    figures += 1;
                    doubtful += u32::from(figure.caveats.iter().any(|caveat| caveat.doubt != EXPECTED));
                }
                sink.event(&event);
            };
            whole &= probe::measure(table.as_ref(), &asked.effort, &mut tell, &|| stop.asked())
                .map_err(|why| Error::Machine(why.to_string()))?;
            if stop.asked() {
                break;
            }
        }
        let cut_short = stop.asked() && !whole;
        let code = match (cut_short, doubtful) {
            (true, _) => exit::INTERRUPTED,
            (false, 0) => exit::MET,
            (false, _) => exit::NOT_TRUSTWORTHY,
        };
        Ok((Verdict::Sheet { figures, doubtful, cut_short }, code))
    })
}
