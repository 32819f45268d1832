//! The result of one run of one program, and the figures derived from it.

use crate::child::ProcessUsage;
use crate::generators::GeneratorReport;
use serde::Serialize;
use units::{Nanos, grouped};

/// One run of one program under one load.
#[derive(Debug, Clone, Serialize)]
pub struct BenchRun {
    /// Maximum requests in flight: connections, or their streams.
    pub open: u32,
    /// Requested rate per second, if any.
    pub asked_per_second: Option<u32>,
    /// Planned duration.
    pub planned_seconds: u32,
    /// What it cost.
    pub usage: ProcessUsage,
    /// What it reported.
    pub said: GeneratorReport,
    /// The exit code.
    pub code: Option<i32>,
    /// Requests answered, by the server's count.
    pub served: Option<u64>,
    /// The median in the server's record.
    pub served_p50_us: Option<f64>,
    /// Share of the generator's processor used by others.
    pub others: f64,
    /// Share of the machine stolen by the hypervisor.
    pub stolen: f64,
    /// Why the run may be misleading.
    pub doubts: Vec<String>,
}

/// With more of the generator's processor used by others, or of the machine stolen, a figure is doubtful.
const OTHERS: f64 = 0.05;

impl BenchRun {
    /// Whether something else ran at the same time.
    pub fn disturbed(&self) -> bool {
        self.others > OTHERS || self.stolen > OTHERS
    }

    fn seconds(&self) -> f64 {
        self.said.seconds.unwrap_or_else(|| f64::from(self.planned_seconds))
    }

    fn cpu_seconds(&self) -> f64 {
        self.usage.user_seconds + self.usage.kernel_seconds
    }
}

/// A program's figure in a round. A case with several loads has as many runs in a round.
pub type FigureFn = fn(&[BenchRun]) -> Option<f64>;

/// Processor-seconds, user and kernel, per million requests answered; of the whole process,
/// including its start and summary.
pub fn cpu_per_million(runs: &[BenchRun]) -> Option<f64> {
    let run = runs.last()?;
    (run.said.answered > 0).then(|| run.cpu_seconds() / run.said.answered as f64 * 1e6)
}

/// The user part of these.
pub fn user_per_million(runs: &[BenchRun]) -> Option<f64> {
    let run = runs.last()?;
    (run.said.answered > 0).then(|| run.usage.user_seconds / run.said.answered as f64 * 1e6)
}

/// Share of one processor.
pub fn cpu_share(runs: &[BenchRun]) -> Option<f64> {
    let run = runs.last()?;
    Some(run.cpu_seconds() / run.seconds())
}

/// Requests answered per second.
pub fn per_second(runs: &[BenchRun]) -> Option<f64> {
    let run = runs.last()?;
    Some(run.said.answered as f64 / run.seconds()).filter(|rate| *rate > 0.0)
}

/// Requests answered ÷ requests asked for.
pub fn reached(runs: &[BenchRun]) -> Option<f64> {
    let run = runs.last()?;
    Some(run.said.answered as f64 / (f64::from(run.asked_per_second?) * f64::from(run.planned_seconds)))
}

/// The peak resident set.
pub fn peak(runs: &[BenchRun]) -> Option<f64> {
    runs.last()?.usage.peak_bytes.map(|bytes| bytes as f64)
}

/// Growth of the resident set from the first load to the last, per additional connection.
pub fn bytes_per_connection(runs: &[BenchRun]) -> Option<f64> {
    let (few, many) = (runs.first()?, runs.last()?);
    let more = many.open.checked_sub(few.open).filter(|more| *more > 0)?;
    Some((many.usage.peak_bytes? as f64 - few.usage.peak_bytes? as f64) / f64::from(more))
}

/// The resident set of the first load.
pub fn first_peak(runs: &[BenchRun]) -> Option<f64> {
    peak(runs.first().map(std::slice::from_ref)?)
}

/// The program's own median.
pub fn p50(runs: &[BenchRun]) -> Option<f64> {
    runs.last()?.said.p50_us
}

/// The program's own 99th percentile.
pub fn p99(runs: &[BenchRun]) -> Option<f64> {
    runs.last()?.said.p99_us
}

/// The server's median.
pub fn served_p50(runs: &[BenchRun]) -> Option<f64> {
    runs.last()?.served_p50_us
}

/// The program's median above the server's.
pub fn p50_above_served(runs: &[BenchRun]) -> Option<f64> {
    Some(p50(runs)? - served_p50(runs)?)
}

/// `9.93`
pub fn decimal(value: f64) -> String {
    format!("{value:.2}")
}

/// `106,554`
pub fn whole(value: f64) -> String {
    grouped(value.round() as u64)
}

/// `36 %`
pub fn percent(value: f64) -> String {
    if value < 0.1 { format!("{:.1} %", value * 100.0) } else { format!("{:.0} %", value * 100.0) }
}

/// `4.9 MiB`
pub fn mebibytes(bytes: f64) -> String {
    format!("{:.1} MiB", bytes / f64::from(1 << 20))
}

/// `0.92 KiB`
pub fn kibibytes(bytes: f64) -> String {
    format!("{:.2} KiB", bytes / 1024.0)
}

/// `79 µs`
pub fn time(us: f64) -> String {
    let time = Nanos((us.abs() * 1e3).round() as u64);
    if us < 0.0 { format!("−{time}") } else { time.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(open: u32, peak_bytes: u64) -> BenchRun {
        BenchRun {
            open,
            asked_per_second: Some(30_000),
            planned_seconds: 2,
            usage: ProcessUsage { user_seconds: 0.1, kernel_seconds: 0.5, peak_bytes: Some(peak_bytes) },
            said: GeneratorReport { answered: 60_000, p50_us: Some(90.0), ..GeneratorReport::default() },
            code: Some(0),
            served: Some(60_000),
            served_p50_us: Some(20.0),
            others: 0.0,
            stolen: 0.0,
            doubts: Vec::new(),
        }
    }

    #[test]
    fn figures_are_of_what_they_say() {
        let runs = [run(1_000, 10_240_000), run(10_000, 19_456_000)];
        let near = |figure: FigureFn, expected: f64| {
            let value = figure(&runs).expect("it can be taken");
            assert!((value / expected - 1.0).abs() < 1e-9, "{value}, not {expected}");
        };
        near(cpu_per_million, 10.0);
        near(user_per_million, 0.1 / 0.06);
        near(cpu_share, 0.3);
        near(per_second, 30_000.0);
        near(reached, 1.0);
        near(bytes_per_connection, 1024.0);
        near(first_peak, 10_240_000.0);
        near(peak, 19_456_000.0);
        near(p50_above_served, 70.0);
        assert_eq!((p99(&runs), cpu_per_million(&[])), (None, None));
        let silent = [BenchRun { said: GeneratorReport::default(), ..run(64, 1) }];
        assert_eq!((cpu_per_million(&silent), per_second(&silent)), (None, None));
        assert_eq!(bytes_per_connection(&runs[..1]), None, "one point has no slope");
    }

    #[test]
    fn figures_read_well() {
        assert_eq!((decimal(9.928), whole(106_553.7)), ("9.93".to_owned(), "106,554".to_owned()));
        assert_eq!((percent(0.364), percent(0.0123)), ("36 %".to_owned(), "1.2 %".to_owned()));
        assert_eq!(
            (mebibytes(5.0 * 1048576.0), kibibytes(942.08)),
            ("5.0 MiB".to_owned(), "0.92 KiB".to_owned())
        );
        assert_eq!((time(79.0), time(-2.5)), ("79 µs".to_owned(), "−2.5 µs".to_owned()));
    }
}
