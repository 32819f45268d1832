//! What a storm cost, as figures of the table "processes".

use crate::{MachineSecond, StormStats};
use record::{Caveat, CaveatDetails, CaveatKind, Figure, FigureUnit, OperationTimes};
use stats::Histogram;
use sys::Ticks;
use units::{Nanos, Rate, Share};

/// The table of all figures here. A column is given as its name and, after a comma, what it belongs to.
pub const TABLE: &str = "processes";
/// A clock tick is 10 ms: with less total time than this, shares of it mean nothing.
const MIN_TOTAL_S: f64 = 0.3;
/// Shorter blocks are left out where there are longer ones.
const MIN_BLOCK_S: f64 = 0.5;

/// One kind of processor time.
type TickField = fn(&Ticks) -> u64;

impl StormStats {
    /// Processes started per second.
    pub fn rate(&self) -> Rate {
        Rate::of(self.started, self.loaded)
    }

    /// The whole machine's processor time per process, as /proc/stat counts it.
    pub fn processor_time_per_process(&self) -> Option<Nanos> {
        let busy = self.ticks().busy();
        (self.started > 0).then(|| Nanos::from(busy) / self.started)
    }

    /// Processor time that passed, all processors together.
    pub fn ticks(&self) -> Ticks {
        let none = Ticks { user: 0, system: 0, idle: 0, stolen: 0 };
        self.machine.iter().fold(none, |sum, block| Ticks {
            user: sum.user + block.ticks.user,
            system: sum.system + block.ticks.system,
            idle: sum.idle + block.ticks.idle,
            stolen: sum.stolen + block.ticks.stolen,
        })
    }

    /// All figures.
    pub fn figures(&self) -> Vec<Figure> {
        let n = self.started;
        let per_process = |sum: u64| sum as f64 / n.max(1) as f64;
        let one = |row: &str, column: &str, unit: FigureUnit, value: f64| {
            process_figure(row, column, unit, &[value], n)
        };
        let seconds = self.loaded.as_secs_f64().max(f64::MIN_POSITIVE);
        let mut figures =
            vec![one("this program", "a second, started", FigureUnit::PerSecond, self.rate().0)];
        figures.extend(self.shares());
        figures.push(one("alive", "mean, at once", FigureUnit::Count, self.alive_ns as f64 / 1e9 / seconds));
        figures.push(one("alive", "most, at once", FigureUnit::Count, self.max_alive as f64));
        let running: Vec<f64> = self.blocks().map(|block| block.running).collect();
        figures.push(process_figure("able to run", "mean, at once", FigureUnit::Count, &running, n));
        let group = self.machine.iter().filter_map(|block| block.cgroup_tasks).max();
        figures.push(group.and_then(|most| {
            one("tasks in our control group", "most, at once", FigureUnit::Count, most as f64)
        }));
        let sum = |of: fn(&MachineSecond) -> u64| per_process(self.machine.iter().map(of).sum());
        if n > 0 && !self.machine.is_empty() {
            figures.push(one(
                "context switches",
                "each process",
                FigureUnit::Count,
                sum(|block| block.switches),
            ));
            figures.push(one("tasks created", "each process", FigureUnit::Count, sum(|block| block.created)));
        }
        let processor = self.processor_time_per_process().filter(|_| !self.is_short());
        figures.push(
            processor
                .and_then(|time| one("processor time", "each process", FigureUnit::Nanos, time.0 as f64)),
        );
        figures.push(process_times_figure("until it is executed", "each process", &self.spawn_times));
        figures.into_iter().flatten().collect()
    }

    /// Shares of the processor time; these are not per block.
    fn shares(&self) -> Vec<Option<Figure>> {
        let parts: [(&str, TickField); 4] =
            [("user", |t| t.user), ("system", |t| t.system), ("idle", |t| t.idle), ("stolen", |t| t.stolen)];
        parts
            .into_iter()
            .map(|(name, part)| {
                let shares: Vec<f64> = self
                    .blocks()
                    .filter_map(|block| {
                        let t = &block.ticks;
                        let all = t.user + t.system + t.idle + t.stolen;
                        (all > 0).then(|| part(t) as f64 / all as f64)
                    })
                    .collect();
                let mut figure = process_figure(
                    name,
                    "share, of the processors",
                    FigureUnit::Share,
                    &shares,
                    self.started,
                )?;
                if self.is_short() {
                    let details = CaveatDetails::Short { loaded: self.loaded };
                    figure.caveats.push(Caveat::with_details(CaveatKind::TooShort, details));
                }
                Some(figure)
            })
            .collect()
    }

    fn is_short(&self) -> bool {
        self.machine.iter().map(|block| block.time.as_secs_f64()).sum::<f64>() < MIN_TOTAL_S
    }

    /// The full seconds; in a shorter storm, whatever there is.
    fn blocks(&self) -> impl Iterator<Item = &MachineSecond> {
        let long = |block: &&MachineSecond| block.time.as_secs_f64() >= MIN_BLOCK_S;
        let any_long = self.machine.iter().any(|block| long(&block));
        self.machine.iter().filter(move |block| !any_long || long(block))
    }

    /// What the figures mean together, in sentences.
    pub fn notes(&self) -> Vec<String> {
        let ticks = self.ticks();
        let all = ticks.user + ticks.system + ticks.idle + ticks.stolen;
        if all == 0 || self.is_short() {
            return Vec::new();
        }
        let share = |part: u64| Share((100.0 * part as f64 / all as f64).round() / 100.0);
        vec![format!(
            "of the processors' time programs had {}, the kernel {}, nobody {} and other machines {}: from /proc/stat, \
             for what the kernel charges to processes shorter than a clock tick is a guess",
            share(ticks.user),
            share(ticks.system),
            share(ticks.idle),
            share(ticks.stolen)
        )]
    }
}

/// A figure of the table from its blocks; `None` without any.
pub fn process_figure(
    row: &str,
    column: &str,
    unit: FigureUnit,
    blocks: &[f64],
    operations: u64,
) -> Option<Figure> {
    Figure::from_blocks((TABLE, row, column), unit, blocks.to_vec(), operations)
}

/// A figure from times of single operations.
fn process_times_figure(row: &str, column: &str, times: &Histogram) -> Option<Figure> {
    let quantiles = times.quantiles()?;
    let figure = process_figure(row, column, FigureUnit::Nanos, &[quantiles.p50.0 as f64], times.count())?;
    Some(Figure { single: OperationTimes::from_histogram(times), ..figure })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn example_stats() -> StormStats {
        let ticks = |user, system, idle, stolen| Ticks { user, system, idle, stolen };
        let block = |ticks, ms| MachineSecond {
            ticks,
            time: Duration::from_millis(ms),
            switches: 4000,
            created: 1200,
            running: 2.5,
            cgroup_tasks: Some(120),
        };
        let mut spawn = Histogram::default();
        spawn.record(Nanos::from_micros(150));
        StormStats {
            loaded: Nanos::from_millis(2100),
            started: 2000,
            ended: 2000,
            max_alive: 100,
            alive_ns: Nanos::from_millis(2100).0 * 90,
            spawn_times: spawn,
            machine: vec![
                block(ticks(40, 120, 30, 10), 1000),
                block(ticks(60, 100, 40, 0), 1000),
                block(ticks(0, 0, 20, 0), 100),
            ],
        }
    }

    fn value(stats: &StormStats, row: &str, column: &str) -> f64 {
        let figures = stats.figures();
        let found = figures.iter().find(|figure| figure.row == row && figure.column == column);
        found.unwrap_or_else(|| panic!("no {row}, {column} in {figures:?}")).median
    }

    #[test]
    fn what_was_counted_becomes_figures() {
        let stats = example_stats();
        let is = |row: &str, column: &str, expected: f64| {
            let found = value(&stats, row, column);
            assert!((found - expected).abs() < 1e-6 * expected.max(1.0), "{row}, {column}: {found}");
        };
        is("user", "share, of the processors", 0.25);
        is("system", "share, of the processors", 0.55);
        is("idle", "share, of the processors", 0.175);
        is("stolen", "share, of the processors", 0.025);
        is("alive", "mean, at once", 90.0);
        is("alive", "most, at once", 100.0);
        is("this program", "a second, started", 2000.0 / 2.1);
        is("context switches", "each process", 6.0);
        is("tasks created", "each process", 1.8);
        let tick = 1.0 / stats.ticks().busy().as_secs_f64() * 320.0;
        is("processor time", "each process", 320.0 / tick / 2000.0 * 1e9);
        assert!(stats.notes()[0].contains("kernel 52 %"), "{:?}", stats.notes());
    }

    #[test]
    fn a_moment_says_nothing_of_shares() {
        let mut short = example_stats();
        short.machine.drain(..2);
        let figures = short.figures();
        let user = figures.iter().find(|figure| figure.row == "user").expect("it is measured all the same");
        assert_eq!(user.caveats[0].doubt, CaveatKind::TooShort);
        assert!(short.notes().is_empty());
        assert!(StormStats::default().figures().iter().all(|figure| figure.median.is_finite()));
    }
}
