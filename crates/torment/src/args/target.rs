use clap::{Args, ValueEnum};
use reference::{ClinicDatabase, ConcurrencyModel, ListenAddress, ServiceConfig, WarmUpCurve};

/// Run the built-in service, whose limits are known
///
/// /queue?us=500 is one server that takes 500 µs for each request: exactly 2,000 a second. /pool, /delay, /stall,
/// /warm and /shed have other known limits, / and /owners/new are a small clinic with a database; /truth says what
/// really happened. /fault/cpu, /fault/lock and others really burn, wait and hold;
/// /burn has two functions with known shares of its processor time.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment target
  torment target --listen 9000 --model threads --database clinic.db
  torment target --model serial --workers 4 --backlog 16
  torment target --listen unix:/tmp/torment.sock --database postgres://me@127.0.0.1/clinic")]
pub struct TargetArgs {
    /// A port, ADDRESS:PORT, or unix:PATH
    #[arg(long, value_name = "WHERE", default_value = "127.0.0.1:8080")]
    listen: ListenAddress,
    /// How it serves: a pool of workers, a thread per connection, event loops, or workers that each accept a
    /// connection, answer once and close it
    #[arg(long, value_enum, default_value_t)]
    model: ModelName,
    /// Workers of the pool [default: 200] or serial ones [default: 4], or event loops [default: enough
    /// for 65536 connections]
    #[arg(long, value_name = "COUNT")]
    workers: Option<usize>,
    /// Requests that may wait for a worker of the pool; more are answered 503 [default: 100000]
    #[arg(long, value_name = "COUNT")]
    queue: Option<usize>,
    /// Connections that may wait to be accepted [default: as many as the kernel allows]
    #[arg(long, value_name = "COUNT")]
    backlog: Option<u32>,
    /// Database of the clinic: a postgres:// URL or an SQLite file [default: a temporary one]
    #[arg(long, value_name = "URL|PATH")]
    database: Option<ClinicDatabase>,
    /// Connections to the database, shared by all requests
    #[arg(long, value_name = "COUNT", default_value_t = ServiceConfig::default().connections)]
    connections: usize,
    /// Start out this many times slower, and speed up until this many requests are answered
    #[arg(long, value_name = "FACTOR:REQUESTS", value_parser = warming)]
    warming: Option<WarmUpCurve>,
    /// Processors to run on, such as 0,2 or 0-3 [default: all]
    #[arg(long, value_name = "LIST", value_parser = plan::parse_cores)]
    cores: Option<std::vec::Vec<u32>>,
    /// End when standard input does.
    #[arg(long, hide = true)]
    pub while_stdin: bool,
}

/// Enough to see them work at the same time.
const SERIAL_WORKERS: usize = 4;

/// What event loops can hold unless their number is given: more than a load wants, and one loop does
/// where the limit of descriptors is higher.
const CONNECTIONS: u64 = 65_536;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum ModelName {
    #[default]
    Pool,
    Threads,
    Async,
    Serial,
}

impl TargetArgs {
    /// The processors to run on; none given: all.
    pub fn cores(&self) -> &[u32] {
        self.cores.as_deref().unwrap_or_default()
    }

    /// What to start.
    ///
    /// # Errors
    /// If an option has no meaning in the model chosen.
    pub fn config(&self) -> Result<ServiceConfig, String> {
        let model = match (self.model, self.workers, self.queue) {
            (ModelName::Pool, workers, queue) => {
                let ConcurrencyModel::Pool { workers: usual_workers, queue: usual_queue } =
                    ConcurrencyModel::POOL
                else {
                    unreachable!("it is the pool")
                };
                ConcurrencyModel::Pool {
                    workers: workers.unwrap_or(usual_workers),
                    queue: queue.unwrap_or(usual_queue),
                }
            }
            (ModelName::Async, Some(loops), None) => ConcurrencyModel::Async { loops },
            (ModelName::Async, None, None) => ConcurrencyModel::for_connections(CONNECTIONS),
            (ModelName::Serial, workers, None) => {
                ConcurrencyModel::Serial { workers: workers.unwrap_or(SERIAL_WORKERS) }
            }
            (ModelName::Threads, None, None) => ConcurrencyModel::Threads,
            (ModelName::Threads, Some(_), _) => {
                return Err("--workers: --model threads makes a thread for each connection".to_owned());
            }
            (_, _, Some(_)) => return Err("--queue: only --model pool has a queue".to_owned()),
        };
        Ok(ServiceConfig {
            listen: self.listen.clone(),
            model,
            database: self.database.clone().unwrap_or_default(),
            connections: self.connections,
            backlog: self.backlog.unwrap_or(ServiceConfig::default().backlog),
            warm_up: self.warming,
        })
    }
}

fn warming(text: &str) -> Result<WarmUpCurve, String> {
    let parse = |(factor, requests): (&str, &str)| {
        let factor = factor.parse().ok().filter(|f: &f64| *f >= 1.0 && f.is_finite())?;
        Some(WarmUpCurve { factor, requests: requests.parse().ok()? })
    };
    text.split_once(':').and_then(parse).ok_or_else(|| {
        format!("'{text}' is not a warm-up such as 10:40000, ten times slower until 40,000 requests")
    })
}
