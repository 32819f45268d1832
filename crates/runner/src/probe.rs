//! `torment probe`: measures the requested tables, one after the other.

use crate::{Error, RunExit, RunHeader, Sink, StopFlag, exit, record_run};
use probe::{ProbeSettings, ProbeTable};
use record::{CaveatKind, Event, RunKind, Verdict};

/// Explains a figure rather than casting doubt on it.
const EXPLANATORY_CAVEAT: CaveatKind = CaveatKind::NotASwitch;

/// What to measure of the machine.
pub struct ProbeRequest {
    /// In this order.
    pub tables: Vec<Box<dyn ProbeTable>>,
    /// Blocks and time for each.
    pub settings: ProbeSettings,
    /// What was typed after the command.
    pub words: String,
}

/// Measures the tables; if one fails, that is reported and the others go on.
pub fn probe(request: &ProbeRequest, sink: &mut dyn Sink, stop: &StopFlag) -> RunExit {
    record_run(RunHeader::for_machine(RunKind::Probe, &request.words), sink, |sink| {
        sink.event(&Event::Surveyed { conditions: Box::new(probe::survey()) });
        let (mut figures, mut doubtful, mut whole) = (0, 0, true);
        for table in &request.tables {
            let mut on_event = |event: Event| {
                if let Event::Measured { figure } = &event {
                    figures += 1;
                    doubtful +=
                        u32::from(figure.caveats.iter().any(|caveat| caveat.doubt != EXPLANATORY_CAVEAT));
                }
                sink.event(&event);
            };
            whole &=
                probe::measure(table.as_ref(), &request.settings, &mut on_event, &|| stop.is_requested())
                    .map_err(|why| Error::Machine(why.to_string()))?;
            if stop.is_requested() {
                break;
            }
        }
        let cut_short = stop.is_requested() && !whole;
        let code = match (cut_short, doubtful) {
            (true, _) => exit::INTERRUPTED,
            (false, 0) => exit::MET,
            (false, _) => exit::NOT_TRUSTWORTHY,
        };
        Ok((Verdict::Sheet { figures, doubtful, cut_short }, code))
    })
}
