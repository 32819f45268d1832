//! Opens the perf events: on every processor for whatever runs there, if permitted; otherwise for every
//! thread of the processes.

use crate::Error;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::time::Duration;
use sys::{SampleConfig, SampleEvent, SampleRing, SampledTask};

/// Bytes of user stack copied per sample. Copying takes the target's time, and most programs need few;
/// where that is not enough, as with buffers on the stack, more are copied. Frame pointers reach beyond the
/// copy.
const STACK_BYTES: u32 = 8 << 10;
const MUCH_STACK_BYTES: u32 = 32 << 10;
/// Where the user may lock little memory.
const LITTLE_STACK_BYTES: u32 = 16 << 10;
/// Samples per processor ring: more than half a second at 99 Hz; at higher rates proportionally larger, up
/// to a bound.
const RING_SAMPLES: usize = 64;
const RING_HZ: u32 = 100;
const MAX_TIMES: usize = 8;
/// With more processors, sleeps this long instead of waiting for each sample.
const MAX_AT_ONCE: usize = 8;
const PAUSE: Duration = Duration::from_millis(1);
/// The kernel's maximum (`NR_CPUS`).
const MAX_PROCESSORS: u32 = 8192;

/// Open perf events, sampling from [`PerfRings::begin`] until dropped.
pub struct PerfRings {
    /// One per processor.
    pub rings: Vec<SampleRing>,
    /// Events of existing threads that sample into these rings.
    extra_events: Vec<SampleEvent>,
    /// Whether other processes are sampled too.
    pub system_wide: bool,
    pub config: SampleConfig,
}

impl PerfRings {
    /// # Errors
    /// If the kernel does not permit it, or there is no memory.
    pub fn open(pids: &[u32], hz: u32, wakes: bool) -> Result<Self, Error> {
        let config = SampleConfig { hz, kernel: true, stack_bytes: STACK_BYTES, wake_on_sample: wakes };
        match open_per_processor(config) {
            Err(why) if is_refusal(&why) => {}
            rings => return Ok(Self { rings: rings?, extra_events: Vec::new(), system_wide: true, config }),
        }
        let config = SampleConfig { stack_bytes: LITTLE_STACK_BYTES, ..config };
        match open_per_thread(pids, config) {
            Err(Error::Refused { .. }) => open_per_thread(pids, SampleConfig { kernel: false, ..config }),
            opened => opened,
        }
    }

    /// Waits for the next sample, at most this long.
    pub fn wait(&self, longest: Duration) {
        // With many processors, waking for each sample would cost too much.
        if self.rings.len() > MAX_AT_ONCE {
            std::thread::sleep(PAUSE);
        }
        let mut rings: Vec<PollFd<'_>> =
            self.rings.iter().map(|ring| PollFd::new(ring, PollFlags::IN)).collect();
        let longest = Timespec::try_from(longest).expect("it is short");
        let woken = poll(&mut rings, Some(&longest));
        // The thread has ended: there is nothing to wait for.
        if woken.is_err() || rings.iter().any(|ring| ring.revents().contains(PollFlags::HUP)) {
            std::thread::sleep(PAUSE);
        }
    }

    /// Copies more of each stack from now on, if permitted. The rings must have been read before.
    ///
    /// # Errors
    /// If the kernel lacks memory: the size stays, and this is not tried again.
    pub fn copy_more_stack(&mut self) -> Result<(), Error> {
        if !self.system_wide || self.config.stack_bytes >= MUCH_STACK_BYTES {
            return Ok(());
        }
        self.config.stack_bytes = MUCH_STACK_BYTES;
        let deeper = Self { rings: open_per_processor(self.config)?, extra_events: Vec::new(), ..*self };
        deeper.begin()?;
        *self = deeper;
        Ok(())
    }

    /// Starts sampling.
    ///
    /// # Errors
    /// If the kernel fails to enable an event.
    pub fn begin(&self) -> Result<(), Error> {
        let begun = self.rings.iter().try_for_each(SampleRing::begin);
        let begun = begun.and_then(|()| self.extra_events.iter().try_for_each(SampleEvent::begin));
        begun.map_err(|why| Error::Lacking { what: "sampling does not begin", why })
    }
}

fn is_refusal(error: &Error) -> bool {
    let denied = |why| matches!(Errno::from_io_error(why), Some(Errno::ACCESS | Errno::PERM));
    matches!(error, Error::Refused { why, .. } if denied(why))
}

/// Opens an event on each processor; an offline one has none.
fn open_per_processor(config: SampleConfig) -> Result<Vec<SampleRing>, Error> {
    let mut rings = Vec::new();
    for processor in processors() {
        match SampleEvent::open(SampledTask::Any, processor, config) {
            Err(why) if Errno::from_io_error(&why) == Some(Errno::NODEV) => {}
            event => rings.push(ring(event.map_err(|why| Error::of(0, why))?, config)?),
        }
    }
    Ok(rings)
}

/// Opens events for each existing thread on each processor; threads and processes that these start are
/// inherited.
fn open_per_thread(pids: &[u32], config: SampleConfig) -> Result<PerfRings, Error> {
    let mut rings = Vec::new();
    let (mut extra_events, mut gone) = (Vec::new(), pids.first().copied().unwrap_or(0));
    for processor in processors() {
        let mut first: Option<SampleRing> = None;
        for pid in pids {
            for thread in thread_ids(*pid) {
                let event = match SampleEvent::open(SampledTask::Thread(thread), processor, config) {
                    Ok(event) => event,
                    Err(why) if Errno::from_io_error(&why) == Some(Errno::SRCH) => {
                        gone = *pid;
                        continue;
                    }
                    Err(why) if Errno::from_io_error(&why) == Some(Errno::NODEV) => break,
                    Err(why) => return Err(Error::of(*pid, why)),
                };
                match &first {
                    None => first = Some(ring(event, config)?),
                    Some(ring) => {
                        ring.collect_from(&event)
                            .map_err(|why| Error::Lacking { what: "samples find no room", why })?;
                        extra_events.push(event);
                    }
                }
            }
        }
        rings.extend(first);
    }
    if rings.is_empty() {
        return Err(Error::Gone(gone));
    }
    Ok(PerfRings { rings, extra_events, system_wide: false, config })
}

/// A ring as large as this user may lock.
fn ring(event: SampleEvent, config: SampleConfig) -> Result<SampleRing, Error> {
    let times = (config.hz.div_ceil(RING_HZ) as usize).next_power_of_two().min(MAX_TIMES);
    let mut pages = RING_SAMPLES * config.stack_bytes as usize * times / rustix::param::page_size();
    let mut event = event;
    loop {
        event = match SampleRing::new(event, pages) {
            Ok(ring) => return Ok(ring),
            Err((_, event)) if pages > 32 => event,
            Err((why, _)) => {
                let what = "samples find no room; raise kernel.perf_event_mlock_kb, or run torment as root";
                return Err(Error::Lacking { what, why });
            }
        };
        pages /= 2;
    }
}

pub fn thread_ids(pid: u32) -> Vec<u32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The online processors: `0-3,8`.
fn processors() -> Vec<u32> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let found = parse_ranges(&text);
    if found.is_empty() { vec![0] } else { found }
}

/// The processors that the calling thread may use and none of the processes may, judging by their main
/// threads.
pub fn unused_processors(pids: &[u32]) -> Vec<u32> {
    let theirs = |pid: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        parse_ranges(procfs::field(&status, "Cpus_allowed_list").unwrap_or_default())
    };
    let theirs: Vec<u32> = pids.iter().flat_map(theirs).collect();
    let own = sys::CpuAffinity::current().map(|allowed| allowed.list()).unwrap_or_default();
    own.into_iter().filter(|processor| !theirs.contains(processor)).collect()
}

fn parse_ranges(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (from.parse().ok()?, to.parse().ok()?);
        (from <= to && to < MAX_PROCESSORS).then_some(from..=to)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_listed_in_ranges() {
        for (text, expected) in
            [("0-3,8\n", vec![0, 1, 2, 3, 8]), ("0\n", vec![0]), ("", vec![]), ("3-1,x,0-4294967295", vec![])]
        {
            assert_eq!(parse_ranges(text), expected, "{text}");
        }
    }
}
