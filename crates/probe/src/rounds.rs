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
const TELLING: Duration = Duration::from_millis(300);
/// One in this many rounds may be repeated when disturbed; further ones count, with a caveat.
const ANEW: u32 = 2;

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
    fn extra(&self, _effort: &ProbeSettings, _stop: &dyn Fn() -> bool) -> (Vec<Figure>, Vec<String>) {
        (Vec::new(), Vec::new())
    }
}

/// A probe with its blocks so far.
struct ProbeProgress {
    what: AnyProbe,
    operations: u64,
    wanted: u32,
    blocks: Vec<BlockResult>,
}

/// Measures a table and reports its figures and sentences. True if it was measured to the end.
///
/// # Errors
/// If no prober starts. A probe that cannot be measured is reported and left out.
pub fn measure(
    table: &dyn ProbeTable,
    effort: &ProbeSettings,
    tell: &mut dyn FnMut(Event),
    stop: &dyn Fn() -> bool,
) -> Result<bool, Error> {
    let cells = table.cells();
    let expected = Nanos(effort.block.0 * cells.len() as u64 * u64::from(effort.blocks + WARM_MOST / 2));
    let name = table.name();
    let count = cells.iter().map(|what| what.figures().len() as u32).sum();
    tell(Event::Probing(record::TableStart { table: name.to_owned(), figures: count, expected }));
    let mut workers = Probers { effort, all: HashMap::new() };
    let mut courses = Vec::new();
    for what in cells {
        if stop() {
            break;
        }
        match warm(&what, &mut workers, effort)? {
            Ok(operations) => {
                let wanted = what.max_blocks().map_or(effort.blocks, |most| most.min(effort.blocks));
                courses.push(ProbeProgress { what, operations, wanted, blocks: Vec::new() });
            }
            Err(why) => {
                let rows: Vec<String> = what.figures().into_iter().map(|named| named.row).take(1).collect();
                let text = format!("{} is not measured: {why}", rows.concat());
                tell(Event::Noted { table: name.to_owned(), text });
            }
        }
    }
    let disturbed = measure_rounds(&mut courses, &mut workers, effort, stop)?;
    drop(workers);
    let mut measured: Vec<Figure> =
        courses.iter().flat_map(|course| figures(name, course.what.figures(), &course.blocks)).collect();
    measured.iter_mut().for_each(|figure| figure.caveats.extend(disturbed.clone()));
    let (others, missing) = if stop() { Default::default() } else { table.extra(effort, stop) };
    measured.extend(others);
    let notes = table.explain(&mut measured).into_iter().chain(missing);
    for figure in measured {
        tell(Event::Measured { figure: Box::new(figure) });
    }
    for text in notes {
        tell(Event::Noted { table: name.to_owned(), text });
    }
    Ok(courses.iter().all(|course| course.blocks.len() >= course.wanted as usize) && !stop())
}

/// The prober processes, one of each kind.
struct Probers<'a> {
    effort: &'a ProbeSettings,
    all: HashMap<ProberKind, Prober>,
}

impl Probers<'_> {
    fn measure_block(
        &mut self,
        what: &AnyProbe,
        operations: u64,
    ) -> Result<Result<BlockResult, String>, Error> {
        let home = what.prober_kind();
        if !self.all.contains_key(&home) {
            self.all.insert(home, Prober::start(&self.effort.program, home)?);
        }
        let worker = self.all.get_mut(&home).expect("it was put there");
        worker.measure_block(what, operations)
    }
}

/// Finds how many operations make a block, and goes on until the probe is warm.
fn warm(
    what: &AnyProbe,
    workers: &mut Probers<'_>,
    effort: &ProbeSettings,
) -> Result<Result<u64, String>, Error> {
    let target = effort.block.as_secs_f64();
    let mut operations = what.min_operations();
    let mut last: Option<f64> = None;
    for _ in 0..WARM_MOST {
        let block = match workers.measure_block(what, operations)? {
            Ok(block) => block,
            Err(why) => return Ok(Err(why)),
        };
        let factor = target / block.wall.as_secs_f64().max(1e-9);
        if factor > 1.5 {
            operations = (operations as f64 * factor.min(GROWTH)).ceil() as u64;
            continue;
        }
        if factor < 0.7 {
            operations = ((operations as f64 * factor) as u64).max(what.min_operations());
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
    courses: &mut [ProbeProgress],
    workers: &mut Probers<'_>,
    effort: &ProbeSettings,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Caveat>, Error> {
    let (mut anew, mut kept, mut round) = (effort.blocks / ANEW, 0, 0);
    let mut turns = DisturbanceCheck::new();
    while courses.iter().any(|course| course.blocks.len() < course.wanted as usize) {
        let mut made = Vec::new();
        for at in shuffled(courses.len(), effort.seed, round) {
            let course = &courses[at];
            if stop() {
                return Ok(None);
            }
            if course.blocks.len() >= course.wanted as usize {
                continue;
            }
            match workers.measure_block(&course.what, course.operations)? {
                Ok(block) => {
                    turns.used += block.used.to_duration();
                    made.push((at, block));
                }
                Err(why) => {
                    let row =
                        course.what.figures().first().map_or_else(String::new, |named| named.row.clone());
                    return Err(Error::Cell(row, why));
                }
            }
        }
        round += 1;
        if turns.is_disturbed() {
            if anew > 0 {
                anew -= 1;
                continue;
            }
            kept += 1;
        }
        for (at, block) in made {
            courses[at].blocks.push(block);
        }
    }
    Ok((kept > 0).then(|| {
        let text = format!(
            "{kept} of {} rounds were disturbed: others used more than {:.0} % of a processor, or the hypervisor \
             took more than {:.0} % of the time; measure again on a quiet machine",
            effort.blocks,
            FOREIGN * 100.0,
            STOLEN * 100.0
        );
        Caveat::new(CaveatKind::Disturbed, text)
    }))
}

/// Time of a round, and processor time of its probers.
struct DisturbanceCheck {
    calm: InterferenceMeter,
    used: Duration,
}

impl DisturbanceCheck {
    fn new() -> Self {
        Self { calm: InterferenceMeter::new(), used: Duration::ZERO }
    }

    /// Whether others ran since the last check that spanned enough time to tell.
    fn is_disturbed(&mut self) -> bool {
        if self.calm.elapsed() < TELLING {
            return false;
        }
        // The kernel charges a tick to whoever it meets: two of them may be nobody's fault.
        let slack = Duration::from_secs_f64(2.0 / rustix::param::clock_ticks_per_second() as f64);
        let seen = self.calm.foreign_and_stolen(self.used + slack);
        *self = Self::new();
        seen.is_some_and(|(others, stolen)| others > FOREIGN || stolen > STOLEN)
    }
}
