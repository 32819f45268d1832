//! Threads until a limit gives: up by doubling, then down again, and told of all the while.

use crate::child::Child;
use crate::crowd::{CrowdReport, CrowdRequest};
use crate::readings::Readings;
use crate::rooms::{PerThread, rooms};
use crate::{Error, ThreadsWanted, gave, reserve};
use plan::Limits;
use procfs::kib;
use record::{Event, Gave, RoomUnit, Verdict};
use service::Guard;
use service::Heard;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use units::{Bytes, Nanos};

/// Between two looks at threads and memory.
const TICK: Duration = Duration::from_millis(200);
/// Until all threads have ended by themselves.
const LEAVING: Duration = Duration::from_secs(60);

/// Makes threads until one cannot be made, or there are as many as may be; says which limit it was, and lets all of them
/// go again. Tells what every limit allows, and then how far it has come. `program` is torment, whose hidden word `crowd` is
/// [`crate::crowd()`], and whose `guard` is that of the service crate.
///
/// # Errors
/// When what is asked for makes no sense, its own control group cannot be made, or the child does not do its work.
pub fn ramp(
    asked: &ThreadsWanted,
    program: &Path,
    tell: &mut dyn FnMut(Event),
    stop: &dyn Fn() -> bool,
) -> Result<Verdict, Error> {
    asked.check()?;
    let here = Readings::take(Path::new("/"), std::process::id());
    let (guard, groups) = match asked.until_failure {
        true => own_group(program, &here, asked).map(|(guard, groups)| (Some(guard), groups))?,
        false => (None, Vec::new()),
    };
    let stack = Bytes(PerThread::of(&here, asked).stack);
    let ask = CrowdRequest { stack, touch: asked.touch, raw: asked.raw, maps: asked.maps };
    let child = Child::start(program, &ask, &groups)?;
    let before = Readings::take(Path::new("/"), child.pid());
    let rooms = rooms(&before, asked);
    let forecast = rooms.first().and_then(|room| room.threads);
    tell(Event::Forecast { rooms });
    let mut ramp = Ramp { child, asked, before, tell, stop, began: Instant::now(), told: None };
    ramp.say(0);
    let gave = ramp.climb()?;
    let reached = ramp.child.made();
    ramp.say(reached);
    if !matches!(gave, Gave::Interrupted | Gave::Killed { .. }) {
        ramp.descend()?;
    }
    drop(ramp);
    drop(guard);
    Ok(Verdict::Tasks { reached, forecast, gave })
}

/// One whose limit is out of the way of all others, but there: whatever happens, no more than that comes of it.
fn own_group(program: &Path, here: &Readings, asked: &ThreadsWanted) -> Result<(Guard, Vec<PathBuf>), Error> {
    let why = |why: service::Error| {
        let text = match why {
            service::Error::Limits { why, .. } => why,
            other => other.to_string(),
        };
        Error::UntilFailure(text)
    };
    let threads = rooms(here, asked)
        .iter()
        .filter(|room| room.unit == RoomUnit::Tasks)
        .filter_map(|room| room.threads)
        .min();
    let pids = threads.map_or(1 << 22, |threads| threads + threads / 10 + 100);
    let mut guard = Guard::start(program).map_err(why)?;
    let groups = guard.group(&Limits { pids: Some(pids), ..Limits::default() }).map_err(why)?;
    Ok((guard, groups))
}

struct Ramp<'a> {
    child: Child,
    asked: &'a ThreadsWanted,
    before: Readings,
    tell: &'a mut dyn FnMut(Event),
    stop: &'a dyn Fn() -> bool,
    began: Instant,
    told: Option<Instant>,
}

impl Ramp<'_> {
    /// How far it has come. What memory is available.
    fn say(&mut self, tasks: u64) -> Option<u64> {
        self.told = Some(Instant::now());
        let memory = read_to_string("/proc/meminfo").unwrap_or_default();
        let free = Bytes(kib(&memory, "MemFree").unwrap_or_default());
        (self.tell)(Event::Ramped(record::Ramped { tasks, free, after: Nanos::from(self.began.elapsed()) }));
        kib(&memory, "MemAvailable")
    }

    /// The same, if it was not said just now.
    fn tick(&mut self) -> Option<u64> {
        let is_due = self.told.is_none_or(|told| told.elapsed() >= TICK);
        if is_due { self.say(self.child.made()) } else { None }
    }

    /// Up, step by step, until something gives.
    fn climb(&mut self) -> Result<Gave, Error> {
        let mut now = self.before.clone();
        loop {
            let made = self.child.made();
            let most = self.asked.most.unwrap_or(u64::MAX);
            if made >= most {
                return Ok(Gave::Asked);
            }
            let mut rooms = rooms(&now, self.asked).into_iter();
            let nearest = rooms.next();
            let room = nearest.as_ref().and_then(|room| room.threads);
            let allowed = reserve::allowed(&self.before, &now, self.asked);
            if allowed == Some(0) {
                let room = nearest.map(|room| gave::advised(&self.before, self.asked, &room));
                return Ok(Gave::Reserve { room: room.map(Box::new) });
            }
            let step = reserve::step(made, room).min(allowed.unwrap_or(u64::MAX));
            if let Some(gave) = self.make(made.saturating_add(step).min(most))? {
                return Ok(gave);
            }
            now = Readings::take(Path::new("/"), self.child.pid());
        }
    }

    /// Until there are so many; or what gave before.
    fn make(&mut self, ceiling: u64) -> Result<Option<Gave>, Error> {
        self.child.go(ceiling)?;
        loop {
            let heard = self.child.hear(TICK)?;
            let available = self.tick();
            if (self.stop)() {
                return Ok(Some(Gave::Interrupted));
            }
            if available.is_some_and(|available| reserve::is_short(&self.before, available, self.asked)) {
                self.child.allow(0)?;
            }
            match heard {
                Heard::Nothing => {}
                Heard::Said(CrowdReport::Reached) => return Ok(None),
                Heard::Said(CrowdReport::Failed(failure)) => {
                    let after = Readings::take(Path::new("/"), self.child.pid());
                    return Ok(Some(gave::which(&self.before, &after, self.asked, &failure)));
                }
                Heard::Said(other) => {
                    return Err(Error::Crowd(format!("it says {other:?}, which is unexpected")));
                }
                Heard::Gone => {
                    self.child.was_killed()?;
                    let groups: Vec<_> = self.before.memories.iter().map(|group| group.again()).collect();
                    let kills = self.before.kills_now();
                    return Ok(Some(gave::killed(&self.before, &groups, kills, self.asked)));
                }
            }
        }
    }

    /// Down: all threads are let go, and end in their own time.
    fn descend(&mut self) -> Result<(), Error> {
        self.child.release()?;
        let until = Instant::now() + LEAVING;
        while Instant::now() < until && !(self.stop)() {
            if self.child.hear(TICK)? == Heard::Gone {
                break;
            }
            let threads = self.child.threads().unwrap_or_default();
            self.say(threads);
        }
        self.say(0);
        Ok(())
    }
}
