//! The pace of the target's processors: how long a fixed piece of arithmetic takes on them. Where a
//! hypervisor runs others on the other hyperthread of a core, or the clock is lowered, a program gets less
//! done in the same processor time, and no kernel counter shows it.

use crate::command_thread::CommandThread;
use crate::priority;
use crate::source::Source;
use crate::watch_scope::WatchScope;
use record::watch::Window;
use std::hint::black_box;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use sys::thread_cpu_ns;

/// Interval between measurements, each on the next processor.
const EVERY: Duration = Duration::from_millis(100);
/// The piece: steps in each of several lanes, which fill a core; some 20 µs.
const STEPS: u32 = 5_000;
const LANES: usize = 6;
/// The shortest of this many in a row counts: an interrupt lengthens one.
const ROW: usize = 3;

/// Times the piece on the processors that subjects may run on, from a thread that moves from one to the
/// next.
pub(crate) struct PaceSource {
    shared: Arc<Mutex<PaceTimings>>,
    /// Told whether there is load.
    thread: CommandThread<bool>,
}

#[derive(Debug, Default)]
struct PaceTimings {
    /// Processors to measure; empty: all.
    processors: Vec<u32>,
    /// Total time and number of pieces since the last cut.
    sum_ns: u64,
    count: u64,
}

impl PaceSource {
    /// Fails if no thread can be started.
    pub fn start() -> std::io::Result<Self> {
        let shared = Arc::new(Mutex::new(PaceTimings::default()));
        let timed = Arc::clone(&shared);
        let thread = CommandThread::start("watch-pace", move |commands| run_timer(&timed, commands))?;
        Ok(Self { shared, thread })
    }
}

impl Source for PaceSource {
    /// Must come after the machine, into whose part the pace goes.
    fn cut(&mut self, scope: &WatchScope, window: &mut Window) {
        let timed = {
            let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(
                &mut *shared,
                PaceTimings { processors: processors(scope), ..PaceTimings::default() },
            )
        };
        if let Some(host) = window.host.as_mut().filter(|_| timed.count > 0) {
            host.pace_ns = Some(timed.sum_ns as f64 / timed.count as f64);
        }
    }

    fn begin(&mut self) {
        self.thread.send(true);
    }

    fn end(&mut self) {
        self.thread.send(false);
    }
}

/// The processors that any subject may run on; empty if one may run anywhere.
fn processors(scope: &WatchScope) -> Vec<u32> {
    let each = || scope.subjects.iter().map(|subject| &subject.about.processors);
    if each().any(Vec::is_empty) {
        return Vec::new();
    }
    let mut all: Vec<u32> = each().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Times one processor after the other while there is load.
fn run_timer(timings: &Mutex<PaceTimings>, commands: &Receiver<bool>) {
    // On a full processor it would wait for its turn at each.
    let _ = priority::raise_priority();
    let everywhere = sys::CpuAffinity::all_processors();
    let (mut loaded, mut turn) = (false, 0);
    loop {
        match if loaded { commands.recv_timeout(EVERY) } else { commands.recv().map_err(Into::into) } {
            Ok(now) => loaded = now,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let wanted = timings.lock().unwrap_or_else(PoisonError::into_inner).processors.clone();
                let among = if wanted.is_empty() { everywhere.as_slice() } else { &wanted };
                turn += 1;
                // Skips those that torment itself may not use.
                let next = among.get(turn % among.len().max(1)).filter(|cpu| sys::move_to(**cpu).is_ok());
                if let Some(took) = next.and_then(|_| (0..ROW).map(|_| run_piece()).min()) {
                    let mut timed = timings.lock().unwrap_or_else(PoisonError::into_inner);
                    (timed.sum_ns, timed.count) = (timed.sum_ns + took, timed.count + 1);
                }
            }
        }
    }
}

/// Processor time of one piece.
fn run_piece() -> u64 {
    let before = thread_cpu_ns();
    let mut lanes = black_box([1u64; LANES]);
    for _ in 0..STEPS {
        for (number, lane) in lanes.iter_mut().enumerate() {
            *lane = lane.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number as u64;
        }
    }
    black_box(lanes);
    thread_cpu_ns() - before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch_scope::WatchedTree;
    use record::watch::{Host, WatchedProcesses};

    fn subject(processors: &[u32]) -> WatchedTree {
        WatchedTree {
            about: WatchedProcesses { processors: processors.to_vec(), ..WatchedProcesses::default() },
            pids: vec![1],
        }
    }

    #[test]
    fn where_the_subjects_run() {
        let scene = |subjects: &[&[u32]]| WatchScope {
            subjects: subjects.iter().map(|processors| subject(processors)).collect(),
            ..WatchScope::default()
        };
        assert_eq!(processors(&scene(&[&[3, 1], &[1, 2]])), [1, 2, 3]);
        assert_eq!(processors(&scene(&[&[3, 1], &[]])), [] as [u32; 0], "one may run anywhere");
    }

    #[test]
    fn the_same_piece_again_and_again_while_there_is_a_load() {
        let mut pace = PaceSource::start().expect("there can be a thread");
        let first = sys::CpuAffinity::all_processors()[0];
        let scene = WatchScope { subjects: vec![subject(&[first])], ..WatchScope::default() };
        let mut window = Window { host: Some(Host::default()), ..Window::default() };
        std::thread::sleep(EVERY * 2);
        pace.cut(&scene, &mut window);
        assert_eq!(window.host.as_ref().expect("it is there").pace_ns, None, "there is no load");
        pace.begin();
        std::thread::sleep(EVERY * 8);
        pace.cut(&scene, &mut window);
        let took = window.host.expect("it is there").pace_ns.expect("there is a load");
        // A lane needs at least a cycle per step, at 10 GHz at most; unoptimised on a slow processor a
        // thousand times that.
        let least = f64::from(STEPS) / 10.0;
        assert!((least..least * 1000.0).contains(&took), "{took}");
    }
}
