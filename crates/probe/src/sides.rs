//! The two sides of a measurement: one here, the other in a thread or a process of its own.

use rustix::io::Errno;
use rustix::process::getpid;
use rustix::thread::futex;
use serde::{Deserialize, Serialize};
use std::fs::{read_dir, read_to_string};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};
use sys::{Alarm, CpuAffinity, ForkedChild, SharedMemory, bind_to, check_processors};
use units::{Bytes, Nanos};

/// Sides that wait longer for each other are deadlocked: the prober is killed by a signal, which tells why.
const LIMIT: Duration = Duration::from_secs(120);
/// For the other side to start, or an ended thread to disappear, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

units::named! {
    /// What the other side is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum TaskKind {
        Threads = "threads",
        Processes = "processes",
    }
}

units::named! {
    /// Where both sides run.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Placement {
        /// Both on the last processor that this process may use.
        One = "one processor",
        /// On the last two.
        Two = "two processors",
        /// Wherever the scheduler puts them.
        Free = "free",
    }
}

impl Placement {
    /// Those for which this process has enough processors.
    pub fn possible() -> Vec<Self> {
        Self::ALL.into_iter().filter(|placement| placement.processors().is_ok()).collect()
    }

    /// Processors of this side and the other; none if unbound.
    pub fn processors(self) -> io::Result<Option<[u32; 2]>> {
        match (self, CpuAffinity::current()?.list().as_slice()) {
            (Self::Free, _) => Ok(None),
            (Self::One, [.., last]) => Ok(Some([*last, *last])),
            (Self::Two, [.., before, last]) => Ok(Some([*before, *last])),
            _ => Err(io::Error::other("this process may use only one processor")),
        }
    }
}

/// Which [`Placement`]s are left out here, or what to know of them; for the notes of a table.
pub fn placement_note() -> Option<String> {
    let Ok(Some([first, second])) = Placement::Two.processors() else {
        return Some("This process may use only one processor: nothing is measured on two.".to_owned());
    };
    let path = format!("/sys/devices/system/cpu/cpu{second}/topology/thread_siblings_list");
    let siblings = read_to_string(path).unwrap_or_default();
    lists(siblings.trim(), first).then(|| {
        format!("Processors {first} and {second} are hardware threads of one core: \"two processors\" is nearer here than between cores.")
    })
}

/// Whether a list such as `0-2,8` contains this number.
fn lists(list: &str, number: u32) -> bool {
    list.split(',').any(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        matches!((first.parse::<u32>(), last.parse::<u32>()), (Ok(first), Ok(last)) if (first..=last).contains(&number))
    })
}

// Layout of the shared memory; words that one side changes often are on cache lines of their own.
const READY: usize = 0;
const TURN: usize = 128;
const PROCESSOR: usize = 256;
const REPORT: usize = 384;
const SIZE: Bytes = Bytes(4096);

/// Not yet up, up, and failed.
const UP: u32 = 1;
const FAILED: u32 = 2;

/// Memory shared by both sides.
pub struct SidesMemory {
    memory: SharedMemory,
}

/// What the other side saw; read once it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SideReport {
    pub switches: u64,
    pub took: Nanos,
}

impl SidesMemory {
    pub fn new() -> io::Result<Self> {
        Ok(Self { memory: SharedMemory::new(SIZE)? })
    }

    /// The word handed over, 0 at first.
    pub fn turn(&self) -> &AtomicU32 {
        self.memory.word(TURN)
    }

    /// The processor on which the other side last ran.
    pub fn processor(&self) -> &AtomicU32 {
        self.memory.word(PROCESSOR)
    }

    /// Called by the other side at its end.
    pub fn store_report(&self, report: SideReport) {
        let all = [report.switches, report.took.0].map(u64::to_ne_bytes).concat();
        self.memory.write(REPORT, &all);
    }

    /// Called by this side after the other's end, which orders both.
    pub fn load_report(&self) -> SideReport {
        let number = |at: usize| {
            let mut bytes = [0; 8];
            self.memory.read(REPORT + at, &mut bytes);
            u64::from_ne_bytes(bytes)
        };
        SideReport { switches: number(0), took: Nanos(number(8)) }
    }

    fn state(&self) -> &AtomicU32 {
        self.memory.word(READY)
    }

    fn set_state(&self, state: u32) {
        self.state().store(state, Ordering::SeqCst);
        // Only the other side waits for it; a failed wake-up would show as its timeout.
        let _ = futex::wake(self.state(), futex::Flags::empty(), 1);
    }

    /// Waits until the other side is up, or has failed to start.
    fn wait_until_up(&self) -> io::Result<()> {
        let until = Instant::now() + PATIENCE;
        let step = futex::Timespec { tv_sec: 1, tv_nsec: 0 };
        while self.state().load(Ordering::SeqCst) == 0 {
            if Instant::now() > until {
                return Err(io::Error::other("the other side does not start"));
            }
            match futex::wait(self.state(), futex::Flags::empty(), 0, Some(&step)) {
                Ok(()) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => {}
                Err(why) => return Err(why.into()),
            }
        }
        Ok(())
    }
}

/// Runs `here` in this thread and `there` in another or in a child, each in its place, once both are up.
///
/// Fails if either does, with the error of `here`; of `there` only the failure is known, since most often `here`
/// ends first.
pub fn run_both<T>(
    kind: TaskKind,
    placement: Placement,
    sides: &SidesMemory,
    here: impl FnOnce() -> io::Result<T>,
    there: impl FnOnce() -> io::Result<()> + Send,
) -> io::Result<T> {
    let _alarm = Alarm::within(LIMIT);
    let processors = placement.processors()?;
    if let Some(places) = &processors {
        check_processors(places)?;
    }
    let there = || {
        let outcome = pin_side(processors, 1).and_then(|()| {
            sides.set_state(UP);
            there()
        });
        if outcome.is_err() {
            sides.set_state(FAILED);
        }
        outcome.is_ok()
    };
    let here = || {
        sides.wait_until_up()?;
        pin_side(processors, 0)?;
        here()
    };
    let (done, other_succeeded) = match kind {
        TaskKind::Processes => {
            wait_until_single_threaded()?;
            // What is measured between processes must not be measured within one.
            let own = getpid();
            let partner = ForkedChild::start(|| getpid() != own && there())?;
            let done = here()?;
            (done, partner.wait()?)
        }
        TaskKind::Threads => thread::scope(|scope| -> io::Result<_> {
            let other = Builder::new().spawn_scoped(scope, there)?;
            let done = here();
            let well = other.join().unwrap_or(false);
            Ok((done?, well))
        })?,
    };
    if other_succeeded { Ok(done) } else { Err(io::Error::other("the other side has failed")) }
}

/// Binds the calling thread to the last processor that this process may use.
pub fn bind_to_last_processor() -> io::Result<()> {
    let allowed = CpuAffinity::current()?.list();
    bind_to(&allowed[allowed.len().saturating_sub(1)..])
}

/// Binds the calling thread to its processor.
fn pin_side(processors: Option<[u32; 2]>, side: usize) -> io::Result<()> {
    processors.map_or(Ok(()), |places| bind_to(&[places[side]]))
}

/// Waits until this thread is the only one: a joined thread lingers for a moment, and would forbid to fork.
fn wait_until_single_threaded() -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    while read_dir("/proc/self/task")?.count() > 1 && Instant::now() < until {
        thread::sleep(Duration::from_micros(50));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_ours() {
        let all = CpuAffinity::current().expect("every kernel has it").list();
        let last = *all.last().expect("this runs somewhere");
        assert_eq!(Placement::One.processors().expect("there is one"), Some([last, last]));
        assert_eq!(Placement::Free.processors().expect("it asks for none"), None);
        assert_eq!(Placement::possible().contains(&Placement::Two), all.len() > 1);
        assert!(
            Placement::Two.processors().is_ok_and(|two| two.is_some_and(|two| two[0] < two[1]))
                || all.len() == 1
        );
    }

    #[test]
    fn lists_of_processors() {
        for (list, number, has) in [
            ("0-2,8", 1, true),
            ("0-2,8", 8, true),
            ("0-2,8", 3, false),
            ("1", 1, true),
            ("1", 0, false),
            ("", 0, false),
        ] {
            assert_eq!(lists(list, number), has, "{number} in {list:?}");
        }
    }

    #[test]
    fn the_other_side_tells_and_may_fail() {
        let common = SidesMemory::new().expect("a page can be had");
        let left = SideReport { switches: 1 << 40, took: Nanos(7) };
        let told = run_both(
            TaskKind::Threads,
            Placement::Free,
            &common,
            || Ok(3),
            || {
                common.store_report(left);
                Ok(())
            },
        );
        assert_eq!((told.expect("neither fails"), common.load_report()), (3, left));
        let common = SidesMemory::new().expect("a page can be had");
        let failed = run_both(
            TaskKind::Threads,
            Placement::Free,
            &common,
            || Ok(()),
            || Err(io::Error::other("on purpose")),
        );
        assert_eq!(failed.expect_err("the other side says so").to_string(), "the other side has failed");
    }
}
