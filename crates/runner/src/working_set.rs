//! `torment find working-set`: random reads in a growing set, the curve that explains the rates, the size at which the
//! curve gives half the rate, and the same measured.

mod dataset;
mod report;

use crate::{Error, RunExit, RunHeader, Sink, StopFlag, emit_figures, exit, record_run, setup};
use dataset::Dataset;
use record::{CacheModel, Event, LimitUnit, RunKind, Verdict};
use search::{LevelResult, ThresholdRange, ThresholdSearch, ThresholdStep};
use stats::{CacheFit, CacheFitError, CachePoint, Histogram, Median};
use std::collections::BTreeMap;
use std::path::PathBuf;
use units::{Bytes, Nanos, Share};
use workingset::ReadMeasurement;

/// Step away from the prediction in the search for half the rate.
const STEP: f64 = 1.1;
/// Precision of that search.
const WIDTH: f64 = 0.05;
/// A prediction further off explains nothing.
const PREDICTION_TOLERANCE: f64 = 0.1;
/// Sets whose misses are rarer than this all fit, whatever their rates.
const MISSES_LEAST: f64 = 0.01;

/// The cache between reads and data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheKind {
    /// The processor's caches before memory.
    Memory,
    /// The kernel's page cache before a file, in a control group with little memory.
    File {
        /// A file of the user's; `None`: our own.
        path: Option<PathBuf>,
        /// Concurrent reads.
        depth: u32,
    },
    /// Our own cache before a file, bypassing the kernel's.
    Direct {
        /// A file of the user's; `None`: our own.
        path: Option<PathBuf>,
    },
    /// A database server's and the kernel's caches before a table.
    Postgres {
        /// The user's server; `None`: our own, in a control group with little memory.
        url: Option<String>,
    },
}

/// What to find out.
#[derive(Debug, Clone)]
pub struct WorkingSetRequest {
    /// What is read, through which cache.
    pub cache: CacheKind,
    /// Memory of the control group, or of our own cache.
    pub limit: Bytes,
    /// Sizes of the set; empty: around the limit.
    pub sizes: Vec<Bytes>,
    /// How long each is read.
    pub time: Nanos,
    /// Fewer sizes.
    pub quick: bool,
    /// Seed of the random reads.
    pub seed: u64,
    /// torment's own program, as which the reader is started.
    pub program: PathBuf,
    /// What was typed after the command.
    pub words: String,
}

/// Measures the curve, fits and predicts, and measures the prediction.
pub fn working_set(request: &WorkingSetRequest, sink: &mut dyn Sink, stop: &StopFlag) -> RunExit {
    let title = RunHeader::for_machine(RunKind::FindWorkingSet, &request.words);
    record_run(title, sink, |sink| {
        let mut conditions = probe::survey();
        if request.cache == CacheKind::Memory {
            let caches = workingset::processor_caches().into_iter();
            conditions
                .facts
                .extend(caches.map(|(level, size)| (format!("L{level} cache"), size.to_string())));
        }
        sink.event(&Event::Surveyed { conditions: Box::new(conditions) });
        let done = match dataset::server(request)? {
            Some((server, url)) => setup::with_setup(&server, sink, stop, |_, sink| {
                WorkingSetRun::new(request, Dataset::table(request, &url, true, stop), sink, stop)?.measure()
            }),
            None => WorkingSetRun::new(request, Dataset::of(request, stop), sink, stop)
                .and_then(|mut run| run.measure()),
        };
        match done {
            Err(_) if stop.is_requested() => Ok((no_verdict(), exit::INTERRUPTED)),
            done => done,
        }
    })
}

fn no_verdict() -> Verdict {
    Verdict::WorkingSet { model: None, half_predicted: None, half_measured: None }
}

impl From<workingset::Error> for Error {
    fn from(error: workingset::Error) -> Self {
        Self::Machine(error.to_string())
    }
}

struct WorkingSetRun<'a> {
    request: &'a WorkingSetRequest,
    dataset: Dataset,
    sink: &'a mut dyn Sink,
    stop: &'a StopFlag,
}

impl<'a> WorkingSetRun<'a> {
    fn new(
        request: &'a WorkingSetRequest,
        field: Result<Dataset, Error>,
        sink: &'a mut dyn Sink,
        stop: &'a StopFlag,
    ) -> Result<Self, Error> {
        let mut run = Self { request, dataset: field?, sink, stop };
        for note in std::mem::take(&mut run.dataset.notes) {
            run.note(note);
        }
        Ok(run)
    }

    fn note(&mut self, text: String) {
        self.sink.event(&Event::Noted { table: report::TABLE.to_owned(), text });
    }

    fn measure(&mut self) -> Result<(Verdict, u8), Error> {
        let (points, missed) = self.ladder()?;
        if self.stop.is_requested() {
            return Ok((no_verdict(), exit::INTERRUPTED));
        }
        if let Some(missed) = missed.filter(|missed| missed.0 < MISSES_LEAST) {
            self.note(report::all_fit(missed));
            return Ok((no_verdict(), exit::MET));
        }
        let fit = match self.fit(&points) {
            Ok(fit) => fit,
            Err(why) => {
                self.note(report::no_model(why, &points));
                let fits_all = why == CacheFitError::Flat;
                return Ok((no_verdict(), if fits_all { exit::MET } else { exit::UNDECIDED }));
            }
        };
        self.note(report::model(&fit));
        let model = Some(CacheModel {
            hit: Nanos::from_secs_f64(fit.hit),
            miss: Nanos::from_secs_f64(fit.miss),
            cache: Bytes(fit.size as u64),
        });
        let Some(predicted) = fit.half_rate_size() else {
            self.note(report::never_half(&fit));
            return Ok((Verdict::WorkingSet { model, half_predicted: None, half_measured: None }, exit::MET));
        };
        self.note(report::prediction(&fit, predicted));
        let half_measured = self.half(&fit, predicted)?;
        let code = match half_measured {
            _ if self.stop.is_requested() => exit::INTERRUPTED,
            None => exit::UNDECIDED,
            Some((below, above)) => {
                let off = f64::midpoint(below.0 as f64, above.0 as f64) / predicted - 1.0;
                self.note(report::comparison(predicted, below, above, off));
                if off.abs() <= PREDICTION_TOLERANCE { exit::MET } else { exit::NOT_TRUSTWORTHY }
            }
        };
        self.check_lower_cache();
        let half_predicted = Some(Bytes(predicted as u64));
        Ok((Verdict::WorkingSet { model, half_predicted, half_measured }, code))
    }

    /// Measures every size once: the points of the curve, and the largest miss ratio where all reads are counted.
    fn ladder(&mut self) -> Result<(Vec<CachePoint>, Option<Share>), Error> {
        let sizes = self.dataset.sizes.clone();
        let (count, ways) = (sizes.len() as u32, self.dataset.readers.len() as u32);
        let columns = if self.dataset.is_memory { ways } else { report::COLUMNS };
        let expected = Nanos(self.request.time.0 * 5 / 4 * u64::from(count * ways));
        let table = report::TABLE.to_owned();
        self.sink.event(&Event::Probing(record::TableStart { table, figures: count * columns, expected }));
        let (mut points, mut all, mut readings) = (Vec::new(), Histogram::default(), Vec::new());
        for size in sizes {
            for reader in 0..self.dataset.readers.len() {
                if self.stop.is_requested() {
                    return Ok((points, None));
                }
                let reading = self.dataset.read(reader, size, self.request.time)?;
                let name = &self.dataset.readers[reader].0;
                emit_figures(report::figures(report::TABLE, size, name.as_deref(), &reading), self.sink);
                if reader + 1 == self.dataset.readers.len() {
                    points.extend(point(size, &reading));
                }
                all.merge(&reading.times);
                readings.push((size, reading));
            }
        }
        // Over all sizes together, since only then are there enough hits and misses.
        if let Some(valley) = stats::hit_miss_threshold(&all) {
            for (size, reading) in &readings {
                emit_figures([report::misses(*size, reading, valley)], self.sink);
            }
            self.note(report::valley(valley));
        }
        if let Some(fits) = stats::size_from_misses(&points) {
            self.note(report::size_by_misses(fits));
        }
        let missed: Option<Vec<f64>> = readings.iter().map(|(_, reading)| reading.missed_share()).collect();
        Ok((points, missed.map(|shares| Share(shares.into_iter().fold(0.0, f64::max)))))
    }

    /// The best fit of the candidate curves; if there is none, why the longest has none.
    fn fit(&self, points: &[CachePoint]) -> Result<CacheFit, CacheFitError> {
        let from = |least: &Bytes| {
            let curve: Vec<CachePoint> =
                points.iter().copied().filter(|point| point.size >= least.0 as f64).collect();
            CacheFit::fit(&curve)
        };
        let best = self.dataset.curve_from.iter().filter_map(|least| from(least).ok());
        best.min_by(|a, b| a.error.total_cmp(&b.error)).map_or_else(|| CacheFit::fit(points), Ok)
    }

    /// The sizes between which the rate falls below half; `None` if it does not within what can be measured.
    fn half(&mut self, fit: &CacheFit, predicted: f64) -> Result<Option<(Bytes, Bytes)>, Error> {
        let reader = self.dataset.readers.len() - 1;
        let mut search = ThresholdSearch::new(ThresholdRange {
            unit: LimitUnit::Bytes,
            from: predicted,
            factor: STEP,
            least: self.dataset.sizes[0].0 as f64,
            most: self.dataset.most.0 as f64,
            grain: self.dataset.grain.0 as f64,
            width: WIDTH,
        });
        let expected = Nanos(self.request.time.0 * 8);
        self.sink.event(&Event::Probing(record::TableStart {
            table: report::HALF.to_owned(),
            figures: 4,
            expected,
        }));
        let mut readings: BTreeMap<Bytes, ReadMeasurement> = BTreeMap::new();
        while let ThresholdStep::Try(size) = search.next() {
            if self.stop.is_requested() {
                search.interrupt(record::SearchEnd::Interrupted);
                break;
            }
            let size = Bytes(size as u64);
            let reading = self.dataset.read(reader, size, self.request.time)?;
            let response = match rate(&reading) {
                Some(rate) if rate > 0.5 / fit.hit => LevelResult::Good { due: reading.reads(), bad: 0 },
                Some(_) => LevelResult::Bad,
                None => LevelResult::Void,
            };
            let all = readings.entry(size).or_default();
            all.blocks.extend(&reading.blocks);
            all.times.merge(&reading.times);
            search.add_result(response);
        }
        for (size, reading) in &readings {
            let figures =
                report::figures(report::HALF, *size, self.dataset.readers[reader].0.as_deref(), reading);
            emit_figures(figures.into_iter().take(1), self.sink);
        }
        let limit = search.limit("half");
        let bounds =
            limit.lower.zip(limit.upper).map(|(below, above)| (Bytes(below as u64), Bytes(above as u64)));
        if bounds.is_none() && !self.stop.is_requested() {
            self.note(report::half_not_found(self.dataset.most));
        }
        Ok(bounds)
    }

    /// Whether something below the kernel caches the data: this machine's host, or the disk.
    fn check_lower_cache(&mut self) {
        if self.stop.is_requested() {
            return;
        }
        match self.dataset.measure_reread() {
            Some(Ok(twice)) => self.note(report::reread(twice)),
            Some(Err(why)) => self.note(format!("Whether the host keeps what was read is not known: {why}.")),
            None => {}
        }
    }
}

/// The point that a measurement adds to the curve.
fn point(size: Bytes, reading: &ReadMeasurement) -> Option<CachePoint> {
    rate(reading).map(|rate| CachePoint { size: size.0 as f64, rate, missed: reading.missed_share() })
}

/// Reads a second: the median over parts of its time.
fn rate(reading: &ReadMeasurement) -> Option<f64> {
    Median::of(&reading.rates()).map(|median| median.median).filter(|rate| *rate > 0.0)
}
