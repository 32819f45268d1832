//! `torment find working-set`: reads at random in a growing set, the curve that explains the rates, the size at which the
//! rate is half by that curve, and the same measured.

mod field;
mod told;

use crate::{Error, Outcome, Sink, Stop, Title, exit, id, recorded, setup};
use field::Field;
use record::{CacheModel, Event, LimitUnit, RunKind, Verdict};
use search::{Ahead, Range, Shown, Threshold};
use stats::{Cache, Histogram, Median, NoCache, Point};
use std::collections::BTreeMap;
use std::path::PathBuf;
use units::{Bytes, Nanos, Share};
use workingset::Reading;

/// By what the search for half the rate steps away from the prediction,
const STEP: f64 = 1.1;
/// and how well it is to be known.
const WIDTH: f64 = 0.05;
/// A prediction that is further off is no explanation.
const CLOSE: f64 = 0.1;
/// Sets of which fewer reads than this miss all fit, whatever their rates are.
const FITS: f64 = 0.01;

/// What stands between the reads and what is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cached {
    /// The processor's caches before memory.
    Memory,
    /// The kernel's before a file, in a control group with little memory.
    File {
        /// A file of the user's; none: one of our own.
        path: Option<PathBuf>,
        /// Reads under way at once.
        depth: u32,
    },
    /// One of our own before a file, past the kernel's.
    Direct {
        /// A file of the user's; none: one of our own.
        path: Option<PathBuf>,
    },
    /// A server's and the kernel's before a table.
    Postgres {
        /// A server of the user's; none: one of our own, in a control group with little memory.
        url: Option<String>,
    },
}

/// What is to be found out.
#[derive(Debug, Clone)]
pub struct WorkingSet {
    /// What is read through what.
    pub cached: Cached,
    /// The memory of the control group, or of our own cache.
    pub limit: Bytes,
    /// Sizes of the set; none: around the limit.
    pub sizes: Vec<Bytes>,
    /// How long each is read.
    pub time: Nanos,
    /// Fewer sizes.
    pub quick: bool,
    /// Of the draws.
    pub seed: u64,
    /// torment's own program, of which the reader is made.
    pub program: PathBuf,
    /// What was typed after the command.
    pub words: String,
}

/// Measures, explains, predicts, and measures whether it is so.
pub fn working_set(asked: &WorkingSet, version: &str, sink: &mut dyn Sink, stop: &Stop) -> Outcome {
    let title = Title::machine(RunKind::FindWorkingSet, &asked.words);
    recorded(id::new_id(), title, version, None, sink, |sink| {
        let mut conditions = probe::survey();
        if asked.cached == Cached::Memory {
            let caches = workingset::caches().into_iter();
            conditions
                .facts
                .extend(caches.map(|(level, size)| (format!("L{level} cache"), size.to_string())));
        }
        sink.event(&Event::Surveyed { conditions: Box::new(conditions) });
        let done = match field::server(asked)? {
            Some((server, url)) => setup::around(&server, sink, stop, |_, sink| {
                Course::new(asked, Field::table(asked, &url, true, stop), sink, stop)?.measure()
            }),
            None => {
                Course::new(asked, Field::of(asked, stop), sink, stop).and_then(|mut course| course.measure())
            }
        };
        match done {
            Err(_) if stop.asked() => Ok((nothing(), exit::INTERRUPTED)),
            done => done,
        }
    })
}

fn nothing() -> Verdict {
    Verdict::WorkingSet { model: None, half_predicted: None, half_measured: None }
}

impl From<workingset::Error> for Error {
    fn from(error: workingset::Error) -> Self {
        Self::Machine(error.to_string())
    }
}

/// What is measured, by whom, and who hears of it.
struct Course<'a> {
    asked: &'a WorkingSet,
    field: Field,
    sink: &'a mut dyn Sink,
    stop: &'a Stop,
}

impl<'a> Course<'a> {
    fn new(
        asked: &'a WorkingSet,
        field: Result<Field, Error>,
        sink: &'a mut dyn Sink,
        stop: &'a Stop,
    ) -> Result<Self, Error> {
        let mut course = Self { asked, field: field?, sink, stop };
        for note in std::mem::take(&mut course.field.notes) {
            course.note(note);
        }
        Ok(course)
    }

    fn note(&mut self, text: String) {
        self.sink.event(&Event::Noted { table: told::TABLE.to_owned(), text });
    }

    fn measure(&mut self) -> Result<(Verdict, u8), Error> {
        let (points, missed) = self.ladder()?;
        if self.stop.asked() {
            return Ok((nothing(), exit::INTERRUPTED));
        }
        if let Some(missed) = missed.filter(|missed| missed.0 < FITS) {
            self.note(told::all_fit(missed));
            return Ok((nothing(), exit::MET));
        }
        let fit = match self.fit(&points) {
            Ok(fit) => fit,
            Err(why) => {
                self.note(told::no_model(why, &points));
                let fits_all = why == NoCache::Flat;
                return Ok((nothing(), if fits_all { exit::MET } else { exit::UNDECIDED }));
            }
        };
        self.note(told::model(&fit));
        let model = Some(CacheModel {
            hit: Nanos::from_secs_f64(fit.hit),
            miss: Nanos::from_secs_f64(fit.miss),
            cache: Bytes(fit.size as u64),
        });
        let Some(predicted) = fit.half() else {
            self.note(told::never_half(&fit));
            return Ok((Verdict::WorkingSet { model, half_predicted: None, half_measured: None }, exit::MET));
        };
        self.note(told::prediction(&fit, predicted));
        let half_measured = self.half(&fit, predicted)?;
        let code = match half_measured {
            _ if self.stop.asked() => exit::INTERRUPTED,
            None => exit::UNDECIDED,
            Some((below, above)) => {
                let off = f64::midpoint(below.0 as f64, above.0 as f64) / predicted - 1.0;
                self.note(told::comparison(predicted, below, above, off));
                if off.abs() <= CLOSE { exit::MET } else { exit::NOT_TRUSTWORTHY }
            }
        };
        self.below();
        let half_predicted = Some(Bytes(predicted as u64));
        Ok((Verdict::WorkingSet { model, half_predicted, half_measured }, code))
    }

    /// Every size once: the points of the curve, and the largest share of reads that missed where all are counted.
    fn ladder(&mut self) -> Result<(Vec<Point>, Option<Share>), Error> {
        let sizes = self.field.sizes.clone();
        let (count, ways) = (sizes.len() as u32, self.field.ways.len() as u32);
        let columns = if self.field.is_memory { ways } else { told::COLUMNS };
        let expected = Nanos(self.asked.time.0 * 5 / 4 * u64::from(count * ways));
        let table = told::TABLE.to_owned();
        self.sink.event(&Event::Probing(record::Probing { table, figures: count * columns, expected }));
        let (mut points, mut all, mut readings) = (Vec::new(), Histogram::default(), Vec::new());
        for size in sizes {
            for way in 0..self.field.ways.len() {
                if self.stop.asked() {
                    return Ok((points, None));
                }
                let reading = self.field.read(way, size, self.asked.time)?;
                let name = &self.field.ways[way].0;
                for figure in told::figures(told::TABLE, size, name.as_deref(), &reading) {
                    self.sink.event(&Event::Measured { figure: Box::new(figure) });
                }
                if way + 1 == self.field.ways.len() {
                    points.extend(point(size, &reading));
                }
                all.merge(&reading.times);
                readings.push((size, reading));
            }
        }
        // Of all sizes together, for only then there are enough of both.
        if let Some(valley) = stats::valley(&all) {
            for (size, reading) in &readings {
                let figure = told::misses(*size, reading, valley);
                self.sink.event(&Event::Measured { figure: Box::new(figure) });
            }
            self.note(told::valley(valley));
        }
        if let Some(fits) = stats::fits(&points) {
            self.note(told::counted(fits));
        }
        let missed: Option<Vec<f64>> = readings.iter().map(|(_, reading)| reading.missed_share()).collect();
        Ok((points, missed.map(|shares| Share(shares.into_iter().fold(0.0, f64::max)))))
    }

    /// The best of the curves that may be; if none is one, why the longest is not.
    fn fit(&self, points: &[Point]) -> Result<Cache, NoCache> {
        let from = |least: &Bytes| {
            let curve: Vec<Point> =
                points.iter().copied().filter(|point| point.size >= least.0 as f64).collect();
            Cache::fit(&curve)
        };
        let best = self.field.curve_from.iter().filter_map(|least| from(least).ok());
        best.min_by(|a, b| a.error.total_cmp(&b.error)).map_or_else(|| Cache::fit(points), Ok)
    }

    /// Between which two sizes the rate falls below half; none if it does not within what can be measured.
    fn half(&mut self, fit: &Cache, predicted: f64) -> Result<Option<(Bytes, Bytes)>, Error> {
        let way = self.field.ways.len() - 1;
        let mut search = Threshold::new(Range {
            unit: LimitUnit::Bytes,
            from: predicted,
            factor: STEP,
            least: self.field.sizes[0].0 as f64,
            most: self.field.most.0 as f64,
            grain: self.field.grain.0 as f64,
            width: WIDTH,
        });
        let expected = Nanos(self.asked.time.0 * 8);
        self.sink.event(&Event::Probing(record::Probing {
            table: told::HALF.to_owned(),
            figures: 4,
            expected,
        }));
        let mut readings: BTreeMap<Bytes, Reading> = BTreeMap::new();
        while let Ahead::Try(size) = search.next() {
            if self.stop.asked() {
                search.interrupt(record::Ended::Interrupted);
                break;
            }
            let size = Bytes(size as u64);
            let reading = self.field.read(way, size, self.asked.time)?;
            let shown = match rate(&reading) {
                Some(rate) if rate > 0.5 / fit.hit => Shown::Good { due: reading.reads(), bad: 0 },
                Some(_) => Shown::Bad,
                None => Shown::Void,
            };
            let all = readings.entry(size).or_default();
            all.blocks.extend(&reading.blocks);
            all.times.merge(&reading.times);
            search.take(shown);
        }
        for (size, reading) in &readings {
            let figures = told::figures(told::HALF, *size, self.field.ways[way].0.as_deref(), reading);
            for figure in figures.into_iter().take(1) {
                self.sink.event(&Event::Measured { figure: Box::new(figure) });
            }
        }
        let limit = search.limit("half");
        let bounds =
            limit.lower.zip(limit.upper).map(|(below, above)| (Bytes(below as u64), Bytes(above as u64)));
        if bounds.is_none() && !self.stop.asked() {
            self.note(told::beyond(self.field.most));
        }
        Ok(bounds)
    }

    /// Whether something below the kernel keeps what was read: the host of this machine, or the disk.
    fn below(&mut self) {
        if self.stop.asked() {
            return;
        }
        match self.field.twice() {
            Some(Ok(twice)) => self.note(told::twice(twice)),
            Some(Err(why)) => self.note(format!("Whether the host keeps what was read is not known: {why}.")),
            None => {}
        }
    }
}

/// What a reading adds to the curve.
fn point(size: Bytes, reading: &Reading) -> Option<Point> {
    rate(reading).map(|rate| Point { size: size.0 as f64, rate, missed: reading.missed_share() })
}

/// Reads a second: the median of the parts of its time.
fn rate(reading: &Reading) -> Option<f64> {
    Median::of(&reading.rates()).map(|median| median.median).filter(|rate| *rate > 0.0)
}
