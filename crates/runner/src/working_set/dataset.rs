//! The data to read: memory, a file or a table, behind a cache made small.

use super::{CacheKind, WorkingSetRequest};
use crate::{Error, StopFlag};
use plan::{Dependency, PostgresSetup, ResetMethod, ResourceLimits, Setup};
use service::Guard;
use std::fs::{File, OpenOptions, metadata};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use units::{Bytes, Nanos};
use workingset::{BLOCK, PostgresTable, ReadMeasurement, ReadSource, ReaderProcess, RereadTimes};

/// Sizes as multiples of the limit: enough below it to measure hits, and far enough above it for misses.
const SIZE_MULTIPLES: [f64; 11] = [0.5, 0.65, 0.8, 1.0, 1.25, 1.6, 2.0, 2.8, 4.0, 5.6, 8.0];
/// For quick runs. Two below the limit and three above it are the fewest for three parameters.
const QUICK_MULTIPLES: [f64; 6] = [0.5, 0.75, 1.25, 2.0, 3.0, 4.0];
/// Largest multiple for a table, which takes longer to create.
const TABLE_MULTIPLE_MOST: f64 = 4.0;
/// Share of its memory that our own server leaves to the page cache; the rest is for its processes and its shared
/// buffers, which duplicate that cache.
const PAGE_CACHE_SHARE: f64 = 0.5;
/// Sizes are multiples of this.
const GRAIN: u64 = 1 << 20;
/// The smallest set in memory, which fits every processor's first cache.
const MEMORY_LEAST: Bytes = Bytes(16 << 10);
/// The largest set in memory, unless the last cache is unusually large.
const MEMORY_MOST: u64 = 512 << 20;
/// The part of the available memory that may be taken (1/n).
const MEMORY_PART: u64 = 4;
/// A set this many times a cache's size is hardly in it any more.
const BEYOND_CACHE: u64 = 4;
/// Start timeout of our own server.
const SERVER_START_LIMIT: Nanos = Nanos::from_secs(120);

/// The readers, and how far they can read.
pub struct Dataset {
    /// Readers, named if there are several. The last is the one that is explained.
    pub readers: Vec<(Option<String>, DatasetReader)>,
    pub sizes: Vec<Bytes>,
    /// Where the curve may begin: smaller sizes are shown, but are not part of it. Of several, the best fit counts.
    pub curve_from: Vec<Bytes>,
    /// The most that can be read.
    pub most: Bytes,
    pub grain: Bytes,
    pub is_memory: bool,
    /// Notes to show first.
    pub notes: Vec<String>,
    /// Holds the control group and the file; dropped after the readers.
    _guard: Option<Guard>,
}

pub enum DatasetReader {
    Reader(ReaderProcess),
    Table(Box<PostgresTable>),
}

impl Dataset {
    /// As requested, except a table in our own server.
    pub fn of(request: &WorkingSetRequest, stop: &StopFlag) -> Result<Self, Error> {
        match &request.cache {
            CacheKind::Memory => memory(request),
            CacheKind::File { path, depth } => file(request, path.as_deref(), Some(*depth), stop),
            CacheKind::Direct { path } => file(request, path.as_deref(), None, stop),
            CacheKind::Postgres { url: Some(url) } => Self::table(request, url, false, stop),
            CacheKind::Postgres { url: None } => {
                Err(Error::Machine("torment's own server is not started".to_owned()))
            }
        }
    }

    /// A table in the server at this address.
    pub fn table(request: &WorkingSetRequest, url: &str, own: bool, stop: &StopFlag) -> Result<Self, Error> {
        let wanted = table_sizes(request);
        let largest = wanted.last().copied().unwrap_or(request.limit);
        let table = PostgresTable::create(url, largest, own, request.seed, &|| stop.is_requested())?;
        let most = Bytes(table.size().0 / GRAIN * GRAIN);
        let mut sizes: Vec<Bytes> = wanted.into_iter().map(|size| size.min(most)).collect();
        sizes.dedup();
        let mut notes = vec![format!(
            "A table of {} in PostgreSQL, a row of 1 KiB at a time by its key, one connection: what a query takes beside the read is \
             in the time of a hit.",
            table.size()
        )];
        if own {
            notes.push(format!(
                "The server is torment's own, in a control group with {} of memory.",
                request.limit
            ));
        }
        let readers = vec![(None, DatasetReader::Table(Box::new(table)))];
        Ok(Self { most, notes, ..Self::with(readers, sizes, None) })
    }

    fn with(readers: Vec<(Option<String>, DatasetReader)>, sizes: Vec<Bytes>, guard: Option<Guard>) -> Self {
        Self {
            readers,
            curve_from: vec![Bytes(0)],
            most: sizes.last().copied().unwrap_or_default(),
            sizes,
            grain: Bytes(GRAIN),
            is_memory: false,
            notes: Vec::new(),
            _guard: guard,
        }
    }

    pub fn read(&mut self, way: usize, set: Bytes, time: Nanos) -> Result<ReadMeasurement, Error> {
        Ok(match &mut self.readers[way].1 {
            DatasetReader::Reader(reader) => reader.read(set, time)?,
            DatasetReader::Table(table) => table.read(set, time)?,
        })
    }

    /// `None` where there is nothing below.
    pub fn measure_reread(&mut self) -> Option<Result<RereadTimes, workingset::Error>> {
        match self.readers.last_mut() {
            Some((_, DatasetReader::Reader(reader))) if !self.is_memory => Some(reader.read_twice()),
            _ => None,
        }
    }
}

/// Sizes for a table: around the memory left to cache it.
fn table_sizes(request: &WorkingSetRequest) -> Vec<Bytes> {
    let own = matches!(request.cache, CacheKind::Postgres { url: None });
    let part = if own { PAGE_CACHE_SHARE } else { 1.0 };
    let limit = Bytes((request.limit.0 as f64 * part) as u64);
    sizes(&WorkingSetRequest { limit, ..request.clone() }, TABLE_MULTIPLE_MOST)
}

/// The sizes asked for, or multiples of the limit up to `most`; ascending.
fn sizes(request: &WorkingSetRequest, most: f64) -> Vec<Bytes> {
    let whole = |part: &f64| Bytes(((request.limit.0 as f64 * part) as u64 / GRAIN).max(1) * GRAIN);
    let parts: &[f64] = if request.quick { &QUICK_MULTIPLES } else { &SIZE_MULTIPLES };
    let mut sizes = match request.sizes.as_slice() {
        [] => parts.iter().filter(|part| **part <= most).map(whole).collect(),
        given => given.to_vec(),
    };
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn memory(request: &WorkingSetRequest) -> Result<Dataset, Error> {
    let caches = workingset::processor_caches();
    let last = caches.last().map_or(0, |(_, size)| size.0);
    let available = available().unwrap_or(MEMORY_MOST * MEMORY_PART);
    let most = Bytes(MEMORY_MOST.max(8 * last).min(available / MEMORY_PART).max(MEMORY_LEAST.0));
    let sizes = match request.sizes.as_slice() {
        [] => workingset::size_ladder(MEMORY_LEAST, most, 1, MEMORY_LEAST),
        _ => sizes(request, f64::INFINITY),
    };
    let most = sizes.last().copied().unwrap_or(most);
    if most.0 > available {
        let text = format!(
            "a set of {most} is more than the {} of memory that are available; ask for less with --sizes",
            Bytes(available)
        );
        return Err(Error::Machine(text));
    }
    let start = |name: &str, huge| {
        let reader = ReaderProcess::start(
            &request.program,
            &ReadSource::Memory { most, huge },
            request.seed,
            Vec::new(),
        )?;
        Ok::<_, Error>((Some(name.to_owned()), DatasetReader::Reader(reader)))
    };
    let readers = vec![start("each, small pages", false)?, start("each, huge pages", true)?];
    let known: Vec<String> = caches.iter().map(|(level, size)| format!("L{level} of {size}")).collect();
    let known = if known.is_empty() { "unknown caches".to_owned() } else { known.join(", ") };
    // The curve describes one cache, and behind each but the last is another; in a virtual machine the last is shared.
    let beyond = caches.iter().rev().skip(1).map(|(_, size)| Bytes(BEYOND_CACHE * size.0));
    let curve_from = beyond.chain([Bytes(0)]).collect();
    let notes = vec![format!(
        "Lines of 64 bytes, each read waiting for the one before; drawing the place is taken off. The processor has {known}; \
         explained is the cliff that one cache explains best, in huge pages."
    )];
    Ok(Dataset {
        curve_from,
        most,
        grain: MEMORY_LEAST,
        is_memory: true,
        notes,
        ..Dataset::with(readers, sizes, None)
    })
}

/// A file behind the kernel's cache if a depth is given, else bypassing it behind our own.
fn file(
    request: &WorkingSetRequest,
    path: Option<&Path>,
    depth: Option<u32>,
    stop: &StopFlag,
) -> Result<Dataset, Error> {
    let mut guard = Guard::start(&request.program)?;
    let mut notes = Vec::new();
    // Bypassing the kernel's cache needs no control group.
    let (mut depth, mut groups) = (depth, Vec::new());
    if depth.is_some() {
        match group(&mut guard, request.limit) {
            Ok(open) => groups = open,
            Err(why) => {
                depth = None;
                notes.push(format!(
                    "The kernel's cache cannot be made small: {why}. So the reads go past it (O_DIRECT), through a cache of \
                     torment's own."
                ));
            }
        }
    }
    let mut sizes = sizes(request, f64::INFINITY);
    let path = match path {
        Some(path) => {
            let length = length(path)?;
            sizes.iter_mut().for_each(|size| *size = (*size).min(length));
            sizes.dedup();
            path.to_owned()
        }
        None => {
            let largest = sizes.last().copied().unwrap_or(request.limit);
            let path = guard.temporary_folder(Some(workingset::find_folder(largest)?))?.join("blocks");
            workingset::write_random_file(&path, largest, request.seed, &|| stop.is_requested())?;
            path
        }
    };
    let reader =
        |behind: ReadSource, groups| ReaderProcess::start(&request.program, &behind, request.seed, groups);
    let (reader, words) = match depth {
        None => {
            let behind = ReadSource::Direct { path: path.clone(), cache: request.limit };
            (
                reader(behind, groups)?,
                format!("past the kernel's cache, through one of torment's own of {}", request.limit),
            )
        }
        Some(depth) => {
            let words = |depth| {
                format!(
                    "through the kernel's cache, in a control group with {} of memory, {depth}",
                    request.limit
                )
            };
            let behind = ReadSource::File { path: path.clone(), depth };
            let several = if depth > 1 {
                format!("{depth} under way at once by io_uring")
            } else {
                "one at a time".to_owned()
            };
            match (reader(behind, copies(&groups)?), depth) {
                (Err(why), 2..) => {
                    notes.push(format!("{why}. So one read is under way at a time."));
                    (
                        reader(ReadSource::File { path: path.clone(), depth: 1 }, groups)?,
                        words("one at a time".to_owned()),
                    )
                }
                (started, _) => (started?, words(several)),
            }
        }
    };
    notes.insert(0, format!("Blocks of {BLOCK} of {}, {words}.", path.display()));
    Ok(Dataset { notes, ..Dataset::with(vec![(None, DatasetReader::Reader(reader))], sizes, Some(guard)) })
}

/// Opens a control group with this much memory, to be entered.
fn group(guard: &mut Guard, limit: Bytes) -> Result<Vec<OwnedFd>, String> {
    let limits = ResourceLimits { memory: Some(limit), ..ResourceLimits::default() };
    let files = guard.make_group(&limits).map_err(|why| why.to_string())?;
    let open = |file: &PathBuf| {
        let open = OpenOptions::new().write(true).open(file);
        open.map(OwnedFd::from).map_err(|why| format!("{}: {why}", file.display()))
    };
    files.iter().map(open).collect()
}

fn copies(open: &[OwnedFd]) -> Result<Vec<OwnedFd>, Error> {
    let copies: Result<Vec<OwnedFd>, std::io::Error> = open.iter().map(OwnedFd::try_clone).collect();
    copies.map_err(|why| Error::Machine(format!("no descriptor is left: {why}; raise ulimit -n")))
}

/// Length of the user's file in whole steps.
fn length(path: &Path) -> Result<Bytes, Error> {
    let failed = |why: std::io::Error| {
        Error::Machine(format!("{}: {why}; --file names a file that can be read", path.display()))
    };
    File::open(path).map_err(failed)?;
    let found = metadata(path).map_err(failed)?;
    let length = found.len() / GRAIN * GRAIN;
    if !found.is_file() || length == 0 {
        let text = format!(
            "{} holds {} and is expected to be a file of more than 1 MiB",
            path.display(),
            Bytes(found.len())
        );
        return Err(Error::Machine(text));
    }
    Ok(Bytes(length))
}

/// Memory available without taking others' (MemAvailable of proc_meminfo(5)).
fn available() -> Option<u64> {
    procfs::kib_field(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable")
}

/// The server to start, and its address, if our own is needed.
pub fn server(request: &WorkingSetRequest) -> Result<Option<(Setup, String)>, Error> {
    let CacheKind::Postgres { url: None } = request.cache else { return Ok(None) };
    let largest = table_sizes(request).last().copied().unwrap_or(request.limit);
    // The table, its index, and what the server writes beside them.
    let folder = workingset::find_folder(Bytes(largest.0 * 2))?;
    let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    let port = free.map_err(|why| Error::Machine(format!("no port of 127.0.0.1 is free: {why}")))?.port();
    // Small, since the kernel's cache behind it holds the same.
    let shared = format!("{}kB", (request.limit.0 / 8 / 1024).max(128));
    let settings = [
        ("shared_buffers", shared.as_str()),
        ("fsync", "off"),
        ("full_page_writes", "off"),
        ("wal_level", "minimal"),
        ("max_wal_senders", "0"),
        ("autovacuum", "off"),
        ("max_connections", "10"),
    ];
    let postgres = PostgresSetup {
        port,
        database: "postgres".to_owned(),
        seed: Vec::new(),
        reset: None,
        settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        data: Some(folder.display().to_string()),
        within: SERVER_START_LIMIT,
        limits: ResourceLimits { memory: Some(request.limit), ..ResourceLimits::default() },
    };
    let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
    Ok(Some((
        Setup { needs: vec![Dependency::Postgres(postgres)], service: None, reset: ResetMethod::None },
        url,
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> WorkingSetRequest {
        WorkingSetRequest {
            cache: CacheKind::Postgres { url: None },
            limit: Bytes(256 << 20),
            sizes: Vec::new(),
            time: Nanos::from_secs(2),
            quick: false,
            seed: 1,
            program: "/proc/self/exe".into(),
            words: String::new(),
        }
    }

    #[test]
    fn sizes_are_around_the_limit_unless_given() {
        let found = sizes(&asked(), f64::INFINITY);
        assert_eq!((found[0], found[3], found.len()), (Bytes(128 << 20), Bytes(256 << 20), 11));
        assert_eq!(sizes(&asked(), 4.0).last(), Some(&Bytes(1 << 30)));
        let quick = sizes(&WorkingSetRequest { quick: true, ..asked() }, f64::INFINITY);
        assert!(quick.iter().filter(|size| size.0 < 256 << 20).count() >= 2 && quick.len() >= 5);
        assert_eq!(table_sizes(&asked()).last(), Some(&Bytes(512 << 20)), "the server takes half");
        let given = WorkingSetRequest { sizes: vec![Bytes(3), Bytes(1), Bytes(3)], ..asked() };
        assert_eq!(sizes(&given, 4.0), [Bytes(1), Bytes(3)]);
    }

    #[test]
    fn a_server_of_our_own_is_limited() {
        let (setup, url) = server(&asked()).expect("there is room").expect("one is needed");
        let [Dependency::Postgres(postgres)] = &setup.needs[..] else { panic!("one server") };
        assert_eq!(postgres.limits.memory, Some(Bytes(256 << 20)));
        assert!(url.contains(&format!(":{}/", postgres.port)));
        let theirs = WorkingSetRequest { cache: CacheKind::Postgres { url: Some(url) }, ..asked() };
        assert!(server(&theirs).expect("nothing is looked for").is_none());
    }

    #[test]
    fn a_file_that_is_none_is_refused() {
        for path in ["/no/such/file", "/proc", "/dev/null", "/proc/self/stat"] {
            let why = length(Path::new(path)).expect_err("it is no file of blocks").to_string();
            assert!(why.contains(path) && why.contains("file"), "{why}");
        }
        assert!(available().is_some_and(|bytes| bytes > GRAIN));
    }
}
