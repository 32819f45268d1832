//! The built-in service with known truths: what `torment target` runs, and whose limit `torment find demo`
//! finds.
//!
//! Its truth pages answer at computed times, without doing work: `/queue?us=500` is one
//! server that takes 500 µs per request, so its capacity is exactly 2,000 requests per second
//! on any machine that can carry that load. Whoever measures anything else has measured itself.
//! `/truth` tells what really happened. Beside these pages is a small clinic with a real database.
//!
//! | page | answers | parameters (default) |
//! |---|---|---|
//! | `/delay` | after a fixed time, to any number of requests at once | `ms` (10) |
//! | `/queue` | as one server, first come first served: capacity 10⁶/us per second | `us` (500) |
//! | `/pool` | as `size` servers behind one queue: capacity size·1000/ms per second | `size` (10), `ms` (20) |
//! | `/stall` | at once, but frozen for the last second of every ten since the start | `every` (10s), `for` (1s) |
//! | `/warm` | as one server that is slow at first: see [`WarmUpCurve`] | `us` (500), `factor` (10), `n` (10000) |
//! | `/shed` | as one server; 503 at once when `limit` requests wait already | `us` (500), `limit` (100) |
//! | `/json` | a small JSON text after a fixed time | `ms` (0) |
//! | `/status/NNN` | with that status, 200 to 599 | |
//! | `/bytes` | n bytes, by length, in chunks or until the connection closes | `n` (1024), `chunked`, `close` |
//! | `/continue` | after a `100 Continue` and a `103 Early Hints` | |
//! | `/echo` | the body of the request | |
//! | `/healthz` | `ok` | |
//! | `/fault/…` | after real work or a real wait, see below | |
//! | `/truth` | JSON: what was received and answered, and how long it took | `reset` |
//! | `/`, `/owners/{id}`, `/fortunes` | HTML | |
//! | `POST /owners/new` | 302 to the new owner once the row is committed, or 400 with reasons | a form |
//! | `/owners/count` | JSON: the number of owners | |
//!
//! The pages under `/fault/` are really broken, each in one known way, to show what that
//! looks like from outside. A request occupies the thread that serves it; without room it is
//! answered 503. In the model `async` blocking ones are answered 400.
//!
//! | page | what a request does | parameters (default) |
//! |---|---|---|
//! | `/burn` | uses a processor for this long, `burn_first` for a share of `a` and `burn_second` for one of `b`; `deep` calls of `burn_deeper` lead to them | `a` (70), `b` (30), `deep` (0), `us` (1000) |
//! | `/fault/cpu` | uses a processor for this long | `us` (1000) |
//! | `/fault/lock` | sleeps with the one mutex held | `us` (1000) |
//! | `/fault/permit` | sleeps with one of `size` permits, waiting at most 30 s for it | `size` (10), `us` (20000) |
//! | `/fault/call` | calls another service on this machine, over its thread's own connection | `to`, `path` (/) |
//! | `/fault/db` | by `do`, in a session of the pool; PostgreSQL only: | `do` (sleep) |
//! | … `do=sleep` | `pg_sleep` | `us` (20000) |
//! | … `do=row`, `advisory` | updates the one hot row, or takes the one advisory lock, and keeps it this long | `us` (2000) |
//! | … `do=cpu` | computes over rows | `rows` (10000) |
//! | … `do=read` | reads random pages; the first request fills the table | `n` (8), `mib` (256) |
//! | … `do=commit` | inserts a row with a commit of its own | |
//! | … `do=idle` | keeps a transaction open while the service sleeps | `us` (20000) |
//! | … `do=connect` | sleeps in a new session outside the pool | `us` (20000) |
//! | `/fault/memory` | keeps memory until `reset=1` | `kib` (256) |
//! | `/fault/thread` | starts a thread that lives this long | `ms` (1000) |
//! | `/fault/open` | keeps a descriptor open until `reset=1` | |
//! | `/fault/file` | appends to a file in the temporary folder, and waits for the disk | `kib` (4) |
//!
//! The times at `/truth` run from the moment the kernel had a request's bytes to the moment it had the
//! answer's last: in a closed loop of thousands, most of that is the wait until the service
//! reads, and the client sees it too. A client that uses the kernel's timestamps of answers
//! sees the same times; one that counts until it has read them adds its own wait.
//!
//! It is a load generator's target, not a web server for others: it has no access control,
//! never times out an idle connection, and speaks neither TLS nor HTTP/2.

mod answer;
mod answer_encoder;
mod clinic;
mod connection;
mod database;
mod error;
mod fault;
mod form;
mod listen;
mod model;
mod port_holder;
mod request_log;
mod request_parser;
mod route;
mod service_state;
mod stop_signal;
mod truth_pages;
mod virtual_servers;

use std::sync::Arc;
use std::thread::JoinHandle;

use rustix::process::{Resource, getrlimit};

pub use database::ClinicDatabase;
pub use error::Error;
pub use listen::ListenAddress;
pub use virtual_servers::WarmUpCurve;

pub(crate) use service_state::ServiceState;

/// Concurrency model: how the service waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConcurrencyModel {
    /// A poller and `workers` threads; `queue` requests may wait for one, more are answered 503.
    Pool {
        /// Requests served at the same time, sleeping ones included.
        workers: usize,
        /// Requests that may wait.
        queue: usize,
    },
    /// A thread per connection.
    Threads,
    /// `loops` event loops, each with its own descriptor table, and a thread per
    /// database session.
    Async {
        /// Threads that share the connections.
        loops: usize,
    },
    /// `workers` threads that each accept a connection, answer one request on it and close it, like the
    /// processes of PHP-FPM or of gunicorn's synchronous workers: when all are busy, clients wait
    /// in the kernel's accept queue.
    Serial {
        /// Requests served at the same time.
        workers: usize,
    },
}

/// Descriptors of a loop besides its connections, amply: 0 to 2, the listener, an epoll, and the
/// loops' wake-up events.
const LOOP_DESCRIPTORS: u64 = 72;

impl ConcurrencyModel {
    /// Tomcat's default: 200 workers, and a queue bounded by descriptors before its own limit.
    pub const POOL: Self = Self::Pool { workers: 200, queue: 100_000 };
    /// One loop.
    pub const ASYNC: Self = Self::Async { loops: 1 };

    /// Enough event loops to hold this many connections at once: the descriptor limit applies to
    /// each loop. At most 64.
    pub fn for_connections(connections: u64) -> Self {
        let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
        let each = limit.saturating_sub(LOOP_DESCRIPTORS).max(1);
        Self::Async { loops: connections.div_ceil(each).clamp(1, 64) as usize }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Pool { .. } => "pool",
            Self::Threads => "threads",
            Self::Async { .. } => "async",
            Self::Serial { .. } => "serial",
        }
    }
}

/// Configuration of a service.
#[derive(Debug, Clone)]
pub struct ServiceConfig {
    /// Where to listen.
    pub listen: ListenAddress,
    /// How to wait.
    pub model: ConcurrencyModel,
    /// Where the clinic keeps its rows.
    pub database: ClinicDatabase,
    /// Database connections, shared by all requests; HikariCP has 10.
    pub connections: usize,
    /// Connections that may wait to be accepted; the kernel caps it at `net.core.somaxconn`.
    pub backlog: u32,
    /// Makes `/delay`, `/queue`, `/pool` and `/shed` slow at first.
    pub warm_up: Option<WarmUpCurve>,
}

impl Default for ServiceConfig {
    /// The pool model on a free port of 127.0.0.1, with a temporary database.
    fn default() -> Self {
        Self {
            listen: ListenAddress::Tcp(std::net::SocketAddr::from(([127, 0, 0, 1], 0))),
            model: ConcurrencyModel::POOL,
            database: ClinicDatabase::Temporary,
            connections: 10,
            backlog: listen::BACKLOG,
            warm_up: None,
        }
    }
}

/// More workers, loops or database connections than this are a typo.
pub(crate) const THREADS_LIMIT: usize = 100_000;

/// A running service; it ends when dropped.
pub struct BuiltinService {
    state: Arc<ServiceState>,
    address: ListenAddress,
    threads: Vec<JoinHandle<()>>,
    /// The temporary database, removed last.
    _folder: Option<tempfile::TempDir>,
}

impl BuiltinService {
    /// Opens the database, listens, and starts the threads; once this returns, requests are answered.
    /// Raises the process's soft descriptor limit to the hard one.
    ///
    /// Fails when the address is taken or not ours, when the database cannot be reached, or when
    /// a thread cannot be started.
    pub fn start(config: ServiceConfig) -> Result<Self, Error> {
        let serving = match config.model {
            ConcurrencyModel::Pool { workers, .. } | ConcurrencyModel::Serial { workers } => {
                Some(("workers", workers))
            }
            ConcurrencyModel::Threads => None,
            ConcurrencyModel::Async { loops } => Some(("loops", loops)),
        };
        for (what, count) in serving.into_iter().chain([("connections", config.connections)]) {
            if !(1..=THREADS_LIMIT).contains(&count) {
                return Err(Error::Count { what, count });
            }
        }
        sys::raise_nofile();
        // The port first: a second service on it must not touch the first one's database.
        let listener = listen::Listener::bind(&config.listen, config.backlog)?;
        let address = listener.address.clone();
        let (database, folder) = database::open(&config.database, config.connections)?;
        let stop = stop_signal::StopSignal::new().map_err(Error::Threads)?;
        let state = Arc::new(ServiceState::new(stop, database, config.model.name(), config.warm_up));
        let threads = match config.model {
            ConcurrencyModel::Pool { workers, queue } => model::pool::start(&state, listener, workers, queue),
            ConcurrencyModel::Threads => model::threads::start(&state, listener),
            ConcurrencyModel::Async { loops } => model::loops::start(&state, listener, loops),
            ConcurrencyModel::Serial { workers } => model::serial::start(&state, listener, workers),
        };
        match threads {
            Ok(threads) => Ok(Self { state, address, threads, _folder: folder }),
            Err(e) => {
                // The threads already started end by themselves.
                state.stop.stop();
                Err(Error::Threads(e))
            }
        }
    }

    /// The actual address.
    pub fn address(&self) -> &ListenAddress {
        &self.address
    }

    /// The log behind `/truth`, without a request.
    pub fn truth(&self) -> serde_json::Value {
        self.state.log.json(self.state.model, false)
    }

    /// Stops the service: closes the port and all connections, waits for writes in progress to the
    /// database, and removes the temporary database. Answers not yet due are not sent.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for BuiltinService {
    fn drop(&mut self) {
        self.state.stop.stop();
        self.state.faults.stop();
        for thread in self.threads.drain(..) {
            // A panic has been reported already.
            let _ = thread.join();
        }
    }
}
