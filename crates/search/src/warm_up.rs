//! Warm-up: gentle load in doubling windows until the response time no longer falls.
//!
//! A target that is still warming answers faster than ever before; a level one may waver, and be faster than the last time, but not than
//! at its best. Windows double, so that a slow fall has ever more time to show. A very slow warm-up still looks level; the drift sentinel
//! is there for it.

use crate::judge::freeze_time;
use record::Slice;
use stats::Histogram;
use units::Nanos;

/// A fall of the median below this share is level,
const MAX_FALL: f64 = 0.02;
/// and so is one below this time: the loopback's own jitter.
pub(crate) const JITTER: Nanos = Nanos::from_micros(50);
/// The median must be known this well for a comparison to be believed,
const MAX_DOUBT: f64 = 0.05;
/// unless the windows are as long as this.
const LONG_WINDOW: Nanos = Nanos::from_secs(8);
/// Longest window.
const MAX_WINDOW: Nanos = Nanos::from_secs(64);
/// Level or not, a warm-up ends after the time of this many windows (three minutes if the first lasts a second),
const MAX_WINDOWS: usize = 9;
/// and a gentle one, which a wavering target keeps from ever being level, after this many (a minute).
const MAX_GENTLE_WINDOWS: usize = 7;
/// One comparison may be luck.
const COMPARISONS: usize = 2;
/// A target whose compilers kept this many threads busy is not warm, however level its throughput: they have the rest of its code to
/// compile.
const MIN_COMPILING_THREADS: f64 = 0.5;
/// Meanwhile no window is longer, so as not to miss their end.
const MAX_COMPILING_WINDOW: Nanos = Nanos::from_secs(8);

/// The median response time of a window, and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowMedian {
    /// The median, in seconds.
    pub value: f64,
    /// Half the width of its 95 % interval, as a share of the median. From order statistics: the ranks n/2 ± √n contain the true median
    /// with 95 %, whatever the distribution.
    pub doubt: f64,
}

impl WindowMedian {
    /// None without samples.
    pub fn of(times: &Histogram) -> Option<Self> {
        let ranks = 1.0 / (times.count().max(1) as f64).sqrt();
        let at = |q: f64| times.quantile(q.clamp(0.0, 1.0)).map(Nanos::as_secs_f64);
        let value = at(0.5)?;
        Some(Self { value, doubt: (at(0.5 + ranks)? - at(0.5 - ranks)?) / 2.0 / value })
    }

    /// The mean time between useful answers to `users` users, freezes excluded, for they come warm or not. None without answers.
    pub fn of_goodput(total: &Slice, users: u32, loaded: Nanos) -> Option<Self> {
        let answered = total.outcomes.answered();
        (answered > 0).then(|| {
            let (count, running_time) = (answered as f64, loaded - freeze_time(total, users, loaded));
            Self { value: running_time.as_secs_f64() / count, doubt: 2.0 / count.sqrt() }
        })
    }
}

/// A warm-up so far.
#[derive(Debug, Clone)]
pub struct WarmUp {
    next_window: Nanos,
    /// Time left for the warm-up.
    time_left: Nanos,
    windows: Vec<(Nanos, WindowMedian)>,
    is_compiling: bool,
}

impl WarmUp {
    /// A warm-up with a first window of this length; `gentle` if the target is not kept busy in it.
    pub fn new(first: Nanos, gentle: bool) -> Self {
        let next = first.clamp(Nanos::from_secs(1), MAX_WINDOW);
        let doublings = if gentle { MAX_GENTLE_WINDOWS } else { MAX_WINDOWS } - 1;
        let windows = (0..doublings).map(|doubled| (next * (1 << doubled)).min(MAX_WINDOW));
        let left = windows.fold(next, |sum, window| sum + window);
        Self { next_window: next, time_left: left, windows: Vec::new(), is_compiling: false }
    }

    /// Length of the next window: the first length twice, then doubling.
    pub fn window(&self) -> Nanos {
        self.next_window
    }

    /// Adds a window of this length, in which this many threads of the target compiled.
    pub fn push(&mut self, window: Nanos, median: WindowMedian, compiling: f64) {
        self.time_left = self.time_left - self.next_window;
        self.is_compiling = compiling >= MIN_COMPILING_THREADS;
        let longer = (self.next_window * 2).min(MAX_WINDOW);
        if !self.windows.is_empty() && (!self.is_compiling || longer <= MAX_COMPILING_WINDOW) {
            self.next_window = longer;
        }
        self.windows.push((window, median));
    }

    /// Whether the target no longer gets faster, or has had enough time.
    pub fn is_done(&self) -> bool {
        let count = self.windows.len();
        let level = count > COMPARISONS
            && (count - COMPARISONS..count).all(|at| {
                let (before, after) = (self.best(at), self.windows[at].1);
                let noise = (before.doubt.min(MAX_DOUBT) + after.doubt.min(MAX_DOUBT)) / 2.0;
                before.value - after.value <= (before.value * (MAX_FALL + noise)).max(JITTER.as_secs_f64())
            })
            && self.windows.last().is_some_and(|(length, m)| m.doubt <= MAX_DOUBT || *length >= LONG_WINDOW);
        level && !self.is_compiling || self.time_left == Nanos::ZERO
    }

    /// The quickest of the first so many windows.
    fn best(&self, count: usize) -> WindowMedian {
        let earlier = self.windows[..count].iter().map(|(_, median)| *median);
        earlier.min_by(|a, b| a.value.total_cmp(&b.value)).expect("there is one before")
    }

    /// How many times faster the target became, from the first window to the last.
    pub fn speedup(&self) -> f64 {
        let ends = self.windows.first().zip(self.windows.last());
        ends.map_or(1.0, |((_, first), (_, last))| first.value / last.value)
    }

    /// The last window: its length and level.
    pub fn level(&self) -> Option<(Nanos, WindowMedian)> {
        self.windows.last().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows until done, for a median that follows `curve` (seconds since the start).
    fn windows(curve: impl Fn(f64) -> f64) -> usize {
        windows_of(curve, |_| 0.0)
    }

    /// The same, with this many compiler threads busy at a time.
    fn windows_of(curve: impl Fn(f64) -> f64, compiling: impl Fn(f64) -> f64) -> usize {
        let mut warm = WarmUp::new(Nanos::from_secs(1), false);
        let (mut now, mut count) = (0.0, 0);
        while !warm.is_done() {
            let window = warm.window();
            let middle = now + window.as_secs_f64() / 2.0;
            warm.push(window, WindowMedian { value: curve(middle), doubt: 0.005 }, compiling(middle));
            now += window.as_secs_f64();
            count += 1;
        }
        count
    }

    #[test]
    fn stops_when_level() {
        assert_eq!(windows(|_| 0.010), 3);
        assert_eq!(windows(|t| 0.0005 + 0.00004 / (1.0 + t)), 3, "jitter is level");
        assert!(windows(|t| 0.010 * (1.0 + 4.0 * (-t / 20.0).exp())) >= 8);
        assert_eq!(windows(|t| 10.0 / (1.0 + t)), MAX_WINDOWS, "never level, but never without end");
    }

    /// Puma on a shared machine: 149 answers a second are more than the 131 before, but no more than the 176 at first. That cost 200 s.
    #[test]
    fn is_level_if_it_only_wavers() {
        let rates = [176.0, 160.0, 135.0, 131.0, 149.0, 180.0, 162.0, 195.0, 179.0];
        let mut warm = WarmUp::new(Nanos::from_secs(1), false);
        let took = rates.into_iter().take_while(|rate: &f64| {
            let window = warm.window();
            let doubt = 2.0 / (rate * window.as_secs_f64()).sqrt();
            warm.push(window, WindowMedian { value: 1.0 / rate, doubt }, 0.0);
            !warm.is_done()
        });
        assert_eq!(took.count() + 1, 5);
    }

    /// Spring on one processor with its database: for 80 s its compiler got a fifth of it and wanted all, and throughput was level at
    /// half of its later value.
    #[test]
    fn is_not_level_while_compilers_are_busy() {
        let cold = |t: f64| if t < 80.0 { 0.002 } else { 0.001 };
        assert_eq!(windows(cold), 3, "it looks level");
        let compiling = |t: f64| if t < 80.0 { 1.0 } else { 0.1 };
        // 1, 1, 2, 4, and 8 s nine times; then 8, 16 and 32 s.
        assert_eq!(windows_of(cold, compiling), 4 + 9 + 3);
        assert_eq!(windows_of(|_| 0.010, |_| 0.1), 3, "a little is compiled at any time");
        assert_eq!(windows_of(|_| 0.010, |_| 1.0), 4 + 23, "three minutes and no longer");
    }

    #[test]
    fn knows_how_well_it_knows() {
        let mut times = Histogram::default();
        assert_eq!(WindowMedian::of(&times), None);
        for us in 1..=10_000 {
            times.record(Nanos::from_micros(us));
        }
        let m = WindowMedian::of(&times).expect("not empty");
        assert!((m.value - 0.005).abs() < 1e-4 && (m.doubt - 0.02).abs() < 1e-3, "{m:?}");
    }
}
