//! Reads blocks of a file: through the kernel's page cache, several at once, or past it through our own cache.

use crate::clock_cache::{CacheLookup, ClockCache};
use crate::stopwatch::Stopwatch;
use crate::xorshift::Xorshift;
use crate::{BLOCK, BLOCKS, ReadMeasurement, RereadTimes};
use rustix::fs::{Advice, fadvise};
use std::fs::{File, OpenOptions, read_to_string};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::{AnonymousMapping, UringReads};
use units::{Bytes, Nanos};

/// Bytes per read in the sequential pass.
const PASS_STEP: usize = 1 << 20;
/// Blocks read twice, to detect caches below the kernel.
const REREADS: u64 = 400;

/// A file open for reading.
pub struct BlockFile {
    path: PathBuf,
    /// Through the page cache.
    file: File,
    method: ReadMethod,
    length: u64,
    rng: Xorshift,
    /// Read buffer.
    page: Vec<u8>,
}

enum ReadMethod {
    /// One read at a time.
    PageCache,
    /// This many reads in flight.
    Uring(Box<UringReads>, usize),
    /// Past the page cache.
    OwnCache { direct: File, clock: ClockCache, frames: AnonymousMapping },
}

impl BlockFile {
    /// Opens the file, and drops as much of it from the page cache as possible.
    pub fn open(path: &Path, depth: u32, own_cache: Option<Bytes>, seed: u64) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len() / BLOCK.0 * BLOCK.0;
        if length == 0 {
            return Err(io::Error::other(format!("it holds less than a block of {BLOCK}")));
        }
        let method = match own_cache {
            Some(cache) => {
                let frames = (cache.0 / BLOCK.0).max(1);
                let mut memory = AnonymousMapping::private(Bytes(frames * BLOCK.0))?;
                memory.fill(0);
                let clock = ClockCache::new(frames as usize, (length / BLOCK.0) as usize);
                ReadMethod::OwnCache { direct: open_direct(path)?, clock, frames: memory }
            }
            None if depth > 1 => {
                let reads = UringReads::new(file.try_clone()?, depth, BLOCK.0 as u32)?;
                ReadMethod::Uring(Box::new(reads), depth as usize)
            }
            None => ReadMethod::PageCache,
        };
        let (path, rng) = (path.to_owned(), Xorshift::new(seed));
        Ok(Self { path, file, method, length, rng, page: vec![0; PASS_STEP] })
    }

    /// Reads in its first `set` bytes for this time, from a cache filled by one sequential pass.
    pub fn read(&mut self, set: Bytes, time: Nanos) -> io::Result<ReadMeasurement> {
        let set = set.0.clamp(BLOCK.0, self.length) / BLOCK.0;
        self.clear_caches()?;
        self.read_through(set)?;
        let part = time.to_duration() / BLOCKS;
        self.measure_part(set, part, &mut ReadMeasurement::default())?;
        let (mut reading, before) = (ReadMeasurement::default(), device_bytes_read());
        for _ in 0..BLOCKS {
            self.measure_part(set, part, &mut reading)?;
        }
        if !matches!(self.method, ReadMethod::OwnCache { .. }) {
            let bytes = before.zip(device_bytes_read()).map(|(before, now)| now.saturating_sub(before));
            reading.missed = bytes.map(|bytes| bytes as f64 / BLOCK.0 as f64);
        }
        Ok(reading)
    }

    fn clear_caches(&mut self) -> io::Result<()> {
        if let ReadMethod::OwnCache { clock, .. } = &mut self.method {
            clock.clear();
        }
        drop_page_cache(&self.file)?;
        // No readahead of unwanted neighbours.
        Ok(fadvise(&self.file, 0, None, Advice::Random)?)
    }

    fn read_through(&mut self, set: u64) -> io::Result<()> {
        if matches!(self.method, ReadMethod::OwnCache { .. }) {
            return (0..set).try_for_each(|block| self.read_block(block).map(drop));
        }
        let end = set * BLOCK.0;
        for offset in (0..end).step_by(PASS_STEP) {
            let length = PASS_STEP.min((end - offset) as usize);
            self.file.read_exact_at(&mut self.page[..length], offset)?;
        }
        Ok(())
    }

    fn measure_part(&mut self, set: u64, time: Duration, into: &mut ReadMeasurement) -> io::Result<()> {
        let (stopwatch, began) = (Stopwatch::begin(), sys::monotonic_ns());
        let until = began + Nanos::from(time).0;
        let (mut reads, mut missed, mut last) = (0_u64, 0_u64, began);
        if let ReadMethod::Uring(deep, depth) = &mut self.method {
            let (rng, times) = (&mut self.rng, &mut into.times);
            reads = read_with_uring(deep, *depth, &mut || rng.below(set) * BLOCK.0, until, &mut |took| {
                times.record(took)
            })?;
        } else {
            while last < until {
                let block = self.rng.below(set);
                missed += u64::from(self.read_block(block)?);
                let now = sys::monotonic_ns();
                into.times.record(Nanos(now - last));
                last = now;
                reads += 1;
            }
        }
        into.blocks.push((reads, Nanos::from(stopwatch.elapsed())));
        if matches!(self.method, ReadMethod::OwnCache { .. }) {
            *into.missed.get_or_insert(0.0) += missed as f64;
        }
        Ok(())
    }

    /// Reads a block; true if our own cache missed.
    fn read_block(&mut self, block: u64) -> io::Result<bool> {
        let page = &mut self.page[..BLOCK.0 as usize];
        let offset = block * BLOCK.0;
        let ReadMethod::OwnCache { direct, clock, frames } = &mut self.method else {
            return self.file.read_exact_at(page, offset).map(|()| false);
        };
        let at = |frame: usize| frame * BLOCK.0 as usize..(frame + 1) * BLOCK.0 as usize;
        let (frame, missed) = match clock.access(block as u32) {
            CacheLookup::Hit(frame) => (frame, false),
            CacheLookup::Miss(frame) => {
                direct.read_exact_at(&mut frames[at(frame)], offset)?;
                (frame, true)
            }
        };
        // The reader gets a copy, as from the kernel.
        page.copy_from_slice(&frames[at(frame)]);
        Ok(missed)
    }

    /// Reads some blocks past every cache of this machine, then the same again.
    pub fn read_twice(&mut self) -> io::Result<RereadTimes> {
        let direct = open_direct(&self.path)?;
        let mut memory = AnonymousMapping::private(BLOCK)?;
        let blocks: Vec<u64> =
            (0..REREADS).map(|_| self.rng.below(self.length / BLOCK.0) * BLOCK.0).collect();
        let mut median = || {
            let mut times = Vec::new();
            for offset in &blocks {
                let began = sys::monotonic_ns();
                direct.read_exact_at(&mut memory, *offset)?;
                times.push(sys::monotonic_ns() - began);
            }
            times.sort_unstable();
            Ok::<_, io::Error>(Nanos(times[times.len() / 2]))
        };
        Ok(RereadTimes { first: median()?, again: median()? })
    }
}

/// Drops the file from the page cache, where nobody else uses it.
pub fn drop_page_cache(file: &File) -> io::Result<()> {
    Ok(fadvise(file, 0, None, Advice::DontNeed)?)
}

/// Opens with O_DIRECT; not every file system can.
fn open_direct(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::DIRECT.bits() as i32;
    let open = OpenOptions::new().read(true).custom_flags(flags).open(path);
    open.map_err(|why| io::Error::new(why.kind(), format!("not past the kernel's cache (O_DIRECT): {why}")))
}

/// Keeps `depth` reads in flight until the time is over; returns how many completed, once none is in flight.
fn read_with_uring(
    uring: &mut UringReads,
    depth: usize,
    offset: &mut dyn FnMut() -> u64,
    until: u64,
    record_time: &mut dyn FnMut(Nanos),
) -> io::Result<u64> {
    let (mut count, mut last, mut in_flight) = (0, sys::monotonic_ns(), 0);
    let mut started = vec![last; depth];
    let mut free: Vec<usize> = (0..depth).collect();
    loop {
        if last < until {
            for place in free.drain(..) {
                started[place] = sys::monotonic_ns();
                uring.begin(place, offset())?;
                in_flight += 1;
            }
        }
        if in_flight == 0 {
            return Ok(count);
        }
        let mut short = false;
        uring.wait(&mut |place, length| {
            let now = sys::monotonic_ns();
            short |= length < BLOCK.0 as usize;
            record_time(Nanos(now - started[place]));
            (count, last, in_flight) = (count + 1, now, in_flight - 1);
            free.push(place);
        })?;
        if short {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Bytes fetched from devices for this process (proc_pid_io(5)); none where that is not counted.
fn device_bytes_read() -> Option<u64> {
    procfs::number_field(&read_to_string("/proc/self/io").ok()?, "read_bytes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder_space::write_random_file;

    fn made(mib: u64) -> tempfile::NamedTempFile {
        let file = tempfile::Builder::new().tempfile_in("/var/tmp").expect("a folder that is a disk's");
        write_random_file(file.path(), Bytes(mib << 20), 7, &|| false).expect("there is room");
        file
    }

    #[test]
    fn through_the_kernels_cache_one_or_several_at_a_time() {
        let file = made(4);
        for depth in [1, 8] {
            let mut blocks = match BlockFile::open(file.path(), depth, None, 1) {
                Ok(blocks) => blocks,
                Err(why) if depth > 1 => return eprintln!("SKIPPED: no io_uring here: {why}"),
                Err(why) => panic!("{why}"),
            };
            let reading = blocks.read(Bytes(2 << 20), Nanos::from_millis(80)).expect("it can be read");
            assert_eq!((reading.blocks.len(), reading.times.count()), (8, reading.reads()));
            assert!(reading.reads() > 100, "{}", reading.reads());
            // All of it was read before, and 2 MiB fit in memory.
            assert!(reading.missed_share().is_none_or(|share| share < 0.05), "{:?}", reading.missed);
        }
    }

    #[test]
    fn past_it_our_own_cache_misses_by_the_share_that_does_not_fit() {
        let file = made(4);
        let mut blocks = match BlockFile::open(file.path(), 1, Some(Bytes(1 << 20)), 1) {
            Ok(blocks) => blocks,
            Err(why) => return eprintln!("SKIPPED: {why}"),
        };
        for (set, truth) in [(1, 0.0), (2, 0.5), (4, 0.75), (100, 0.75)] {
            let reading = blocks.read(Bytes(set << 20), Nanos::from_millis(200)).expect("it can be read");
            let share = reading.missed_share().expect("it is ours to know");
            let doubt = 5.0 / (reading.reads() as f64).sqrt();
            assert!((share - truth).abs() <= doubt, "{set} MiB: {share}, {} reads", reading.reads());
        }
        let twice = blocks.read_twice().expect("it can be read");
        assert!(twice.first > Nanos::ZERO && twice.again > Nanos::ZERO);
    }

    #[test]
    fn an_empty_file_is_refused() {
        let file = tempfile::NamedTempFile::new().expect("a temporary folder");
        let why = BlockFile::open(file.path(), 1, None, 1).err().expect("there is nothing to read");
        assert!(why.to_string().contains("less than a block of 8 KiB"), "{why}");
    }
}
