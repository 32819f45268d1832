//! Watches a target from outside, without instrumentation: what its threads do and wait for, which limits
//! it hits, its sockets, Java VM and PostgreSQL.
//!
//! A [`TargetWatch`] is one thread that reads each source at its own rate and cuts the results into windows
//! of a second. Nothing here judges: that is `diagnosis`.

/// Subtracts from the counters of `now` their earlier values; other fields stay.
macro_rules! less {
    ($now:ident, $before:ident: $($counter:ident)+) => {
        $($now.$counter = $now.$counter.saturating_sub($before.$counter);)+
    };
}

mod cgroup;
mod command_thread;
mod disks;
mod finder;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod jvm;
mod machine;
mod metrics;
mod missing;
mod neighbours;
mod network;
mod own;
mod own_workers;
mod pace;
mod postgres;
mod priority;
mod processes;
mod sock_diag;
mod sockets;
mod source;
mod sweep;
mod target;
mod titles;
mod unavailable;
mod unix_sockets;
mod waiting_threads;
mod watch;
mod watch_scope;

pub use cgroup::limits_of;
pub use target::TargetLocation;
pub use waiting_threads::sample_waiting_threads;
pub use watch::TargetWatch;

use finder::Finder;
use source::Source;
use std::net::SocketAddr;
use std::time::Duration;

/// Starts to watch the processes asked for, or else those listening at the target; the first event says
/// what these are, and what cannot be seen of them.
///
/// Fails if no thread can be started.
pub fn start(plan: &plan::WatchPlan, target: &TargetLocation) -> std::io::Result<TargetWatch> {
    let finder = Finder::new(plan, target);
    let mut sources: Vec<Box<dyn Source>> = vec![
        Box::new(cgroup::CgroupSource::default()),
        Box::new(machine::MachineSource::default()),
        Box::new(pace::PaceSource::start()?),
        Box::new(processes::ProcessSource::default()),
        Box::new(network::NetworkSource::default()),
        Box::new(sockets::SocketSource::new(target.addresses())),
        Box::new(own::OwnSource::new()),
        Box::new(jvm::JvmSource::new(plan.attach)),
        Box::new(waiting_threads::WaitingThreadsSource::new(plan.attach)),
        Box::new(sweep::SweepSource::start(finder.scope())?),
    ];
    sources.extend(queried_sources(plan));
    TargetWatch::start(finder, sources)
}

/// Queries the named database and metrics only, without watching processes: the target is watched
/// elsewhere.
///
/// Fails if no thread can be started.
pub fn start_without_processes(plan: &plan::WatchPlan) -> std::io::Result<TargetWatch> {
    let finder = Finder::new(&plan::WatchPlan::default(), &TargetLocation::Remote);
    TargetWatch::start(finder, queried_sources(plan).collect())
}

/// The database and the metrics that the plan names.
fn queried_sources(plan: &plan::WatchPlan) -> impl Iterator<Item = Box<dyn Source>> {
    let database = plan.postgres_url().map(|url| boxed_or_unavailable(postgres::PostgresSource::open(&url)));
    let metrics = plan.metrics_url().map(|url| boxed_or_unavailable(metrics::MetricsSource::open(&url)));
    database.into_iter().chain(metrics)
}

/// Resolves a host named beside the target; the error says why it has no address.
fn resolve(host: &str, port: u16) -> Result<SocketAddr, String> {
    sys::resolve_host(host, port, Duration::from_secs(1))
        .map_err(|why| format!("the name '{host}' does not resolve: {why}"))
}

fn boxed_or_unavailable(
    opened: Result<impl Source + 'static, record::watch::MissingMeasure>,
) -> Box<dyn Source> {
    match opened {
        Ok(source) => Box::new(source),
        Err(missing) => Box::new(unavailable::UnavailableSource(missing)),
    }
}
