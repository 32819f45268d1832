//! Blocks of all probes of a table, taking turns until each has enough.

use crate::Error;
use crate::any_probe::AnyProbe;
use crate::block::{BlockResult, ProbeSettings, ProberKind};
use crate::figure::figures;
use crate::interference::{FOREIGN, InterferenceMeter};
use crate::prober::Prober;
use record::{Caveat, CaveatKind, Event, Figure};
use stats::shuffled;
use std::collections::HashMap;
use std::time::Duration;
use units::Nanos;

/// A probe is warm when two blocks in a row differ by less,
const WARM: f64 = 0.02;
/// or after this many blocks.
const WARM_MOST: u32 = 10;
/// Maximum growth of the operations from one block to the next during calibration.
const GROWTH: f64 = 10.0;
/// A round in which the hypervisor stole more than this share of the time is disturbed, as is one in which others used too much.
const STOLEN: f64 = 0.01;
/// Less time says nothing about either: the kernel counts in ticks.
const MIN_ROUND_TIME: Duration = Duration::from_millis(300);
/// One in this many rounds may be repeated when disturbed; further ones count, with a caveat.
const RETRY_DIVISOR: u32 = 2;

/// A table of figures: its probes, and the conclusions drawn from them.
pub trait ProbeTable {
    /// The word that the user types, and that marks the table's figures.
    fn name(&self) -> &'static str;
    /// Its probes, in display order.
    fn cells(&self) -> Vec<AnyProbe>;
    /// After measuring: adds explanations and caveats to figures, and returns conclusions as sentences.
    /// Figures are in the order of [`ProbeTable::cells`], without those that could not be measured.
    fn explain(&self, figures: &mut [Figure]) -> Vec<String>;
    /// Figures of programs that are no probers, measured last, and sentences on those that are unavailable.
    fn extra(&self, _settings: &ProbeSettings, _stop: &dyn Fn() -> bool) -> (Vec<Figure>, Vec<String>) {
        (Vec::new(), Vec::new())
    }
}

/// A probe with its blocks so far.
struct ProbeProgress {
    probe: AnyProbe,
    operations: u64,
    wanted_blocks: u32,
    blocks: Vec<BlockResult>,
}

/// Measures a table and reports its figures and sentences. True if it was measured to the end.
///
/// # Errors
/// If no prober starts. A probe that cannot be measured is reported and left out.
pub fn measure(
    table: &dyn ProbeTable,
    settings: &ProbeSettings,
    emit: &mut dyn FnMut(Event),
    stop: &dyn Fn() -> bool,
) -> Result<bool, Error> {
    let cells = table.cells();
    let expected =
        Nanos(settings.block_time.0 * cells.len() as u64 * u64::from(settings.blocks + WARM_MOST / 2));
    let name = table.name();
    let count = cells.iter().map(|what| what.figures().len() as u32).sum();
    emit(Event::Probing(record::TableStart { table: name.to_owned(), figures: count, expected }));
    let mut probers = Probers { settings, all: HashMap::new() };
    let mut progress = Vec::new();
    for probe in cells {
        if stop() {
            break;
        }
        match warm(&probe, &mut probers)? {
            Ok(operations) => {
                let wanted = probe.max_blocks().map_or(settings.blocks, |most| most.min(settings.blocks));
                progress.push(ProbeProgress { probe, operations, wanted_blocks: wanted, blocks: Vec::new() });
            }
            Err(why) => {
                let text = format!("{} is not measured: {why}", row(&probe));
                emit(Event::Noted { table: name.to_owned(), text });
            }
        }
    }
    let disturbed = measure_rounds(&mut progress, &mut probers, stop)?;
    drop(probers);
    let mut measured: Vec<Figure> =
        progress.iter().flat_map(|course| figures(name, course.probe.figures(), &course.blocks)).collect();
    measured.iter_mut().for_each(|figure| figure.caveats.extend(disturbed.clone()));
    let (others, missing) = if stop() { Default::default() } else { table.extra(settings, stop) };
    measured.extend(others);
    let notes = table.explain(&mut measured).into_iter().chain(missing);
    for figure in measured {
        emit(Event::Measured { figure: Box::new(figure) });
    }
    for text in notes {
        emit(Event::Noted { table: name.to_owned(), text });
    }
    Ok(progress.iter().all(|course| course.blocks.len() >= course.wanted_blocks as usize) && !stop())
}

fn row(probe: &AnyProbe) -> String {
    probe.figures().into_iter().next().map_or_else(String::new, |named| named.row)
}

/// The prober processes, one of each kind.
struct Probers<'a> {
    settings: &'a ProbeSettings,
    all: HashMap<ProberKind, Prober>,
}

impl Probers<'_> {
    fn measure_block(
        &mut self,
        probe: &AnyProbe,
        operations: u64,
    ) -> Result<Result<BlockResult, String>, Error> {
        let home = probe.prober_kind();
        if !self.all.contains_key(&home) {
            self.all.insert(home, Prober::start(&self.settings.program, home)?);
        }
        let worker = self.all.get_mut(&home).expect("it was put there");
        worker.measure_block(probe, operations)
    }
}

/// Finds how many operations make a block, and goes on until the probe is warm.
fn warm(probe: &AnyProbe, probers: &mut Probers<'_>) -> Result<Result<u64, String>, Error> {
    let target = probers.settings.block_time.as_secs_f64();
    let mut operations = probe.min_operations();
    let mut last: Option<f64> = None;
    for _ in 0..WARM_MOST {
        let block = match probers.measure_block(probe, operations)? {
            Ok(block) => block,
            Err(why) => return Ok(Err(why)),
        };
        let factor = target / block.wall.as_secs_f64().max(1e-9);
        if factor > 1.5 {
            operations = (operations as f64 * factor.min(GROWTH)).ceil() as u64;
            continue;
        }
        if factor < 0.7 {
            operations = ((operations as f64 * factor) as u64).max(probe.min_operations());
        }
        let value = block.values.first().copied().unwrap_or_default();
        if last.is_some_and(|last| (value - last).abs() <= WARM * last.abs()) {
            break;
        }
        last = Some(value);
    }
    Ok(Ok(operations))
}

/// Makes rounds until every probe has its blocks. Returns a caveat if some were disturbed.
fn measure_rounds(
    progress: &mut [ProbeProgress],
    probers: &mut Probers<'_>,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Caveat>, Error> {
    let settings = probers.settings;
    let (mut retries, mut disturbed_rounds, mut round) = (settings.blocks / RETRY_DIVISOR, 0, 0);
    let mut check = DisturbanceCheck::new();
    while progress.iter().any(|course| course.blocks.len() < course.wanted_blocks as usize) {
        let mut measured = Vec::new();
        for at in shuffled(progress.len(), settings.seed, round) {
            let entry = &progress[at];
            if stop() {
                return Ok(None);
            }
            if entry.blocks.len() >= entry.wanted_blocks as usize {
                continue;
            }
            match probers.measure_block(&entry.probe, entry.operations)? {
                Ok(block) => {
                    check.used += block.used.to_duration();
                    measured.push((at, block));
                }
                Err(why) => return Err(Error::Probe(row(&entry.probe), why)),
            }
        }
        round += 1;
        if check.is_disturbed() {
            if retries > 0 {
                retries -= 1;
                continue;
            }
            disturbed_rounds += 1;
        }
        for (at, block) in measured {
            progress[at].blocks.push(block);
        }
    }
    Ok((disturbed_rounds > 0).then(|| {
        let text = format!(
            "{disturbed_rounds} of {} rounds were disturbed: others used more than {:.0} % of a processor, or the hypervisor \
             took more than {:.0} % of the time; measure again on a quiet machine",
            settings.blocks,
            FOREIGN * 100.0,
            STOLEN * 100.0
        );
        Caveat::new(CaveatKind::Disturbed, text)
    }))
}

/// Time of a round, and processor time of its probers.
struct DisturbanceCheck {
    meter: InterferenceMeter,
    used: Duration,
}

impl DisturbanceCheck {
    fn new() -> Self {
        Self { meter: InterferenceMeter::new(), used: Duration::ZERO }
    }

    /// Whether others ran since the last check that spanned enough time to tell.
    fn is_disturbed(&mut self) -> bool {
        if self.meter.elapsed() < MIN_ROUND_TIME {
            return false;
        }
        // The kernel charges a tick to whoever it meets: two of them may be nobody's fault.
        let slack = Duration::from_secs_f64(2.0 / rustix::param::clock_ticks_per_second() as f64);
        let interference = self.meter.foreign_and_stolen(self.used + slack);
        *self = Self::new();
        interference.is_some_and(|(others, stolen)| others > FOREIGN || stolen > STOLEN)
    }
}
