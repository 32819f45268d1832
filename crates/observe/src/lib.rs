//! Watches a target from outside, without instrumenting it: what its threads do and wait for, which
//! limits it meets, its sockets, its Java virtual machine, its PostgreSQL.
//!
//! A [`Watch`] is one thread that reads its sources, each at its own rate, and cuts what they saw into
//! windows of a second. Nothing here judges: that is `diagnosis`.

/// Takes from the counters of `now` what they were before; its other fields stay.
macro_rules! less {
    ($now:ident, $before:ident: $($counter:ident)+) => {
        $($now.$counter = $now.$counter.saturating_sub($before.$counter);)+
    };
}

mod absent;
mod cgroup;
mod diag;
mod disks;
mod finder;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod host;
mod jvm;
mod local;
mod metrics;
mod neighbours;
mod network;
mod own;
mod pace;
mod postgres;
mod processes;
mod real_time;
mod said;
mod scene;
mod sockets;
mod source;
mod sweep;
mod target;
mod titles;
mod waiting;
mod watch;
mod workers;

pub use cgroup::limits_of;
pub use target::Where;
pub use waiting::waiting;
pub use watch::Watch;

use finder::Finder;
use source::Source;
use std::net::SocketAddr;
use std::time::Duration;

/// Starts to watch what is asked for, or else whoever listens at the target; what that is, and what of it cannot be
/// seen, is the first thing that the watch says.
///
/// Fails if no thread can be started.
pub fn start(asked: &plan::Watch, target: &Where) -> std::io::Result<Watch> {
    let finder = Finder::new(asked, target);
    let mut sources: Vec<Box<dyn Source>> = vec![
        Box::new(cgroup::Cgroups::default()),
        Box::new(host::Machine::default()),
        Box::new(pace::Pace::start()?),
        Box::new(processes::Processes::default()),
        Box::new(network::Networks::default()),
        Box::new(sockets::Sockets::new(target.addresses())),
        Box::new(own::Own::new()),
        Box::new(jvm::JvmSource::new(asked.attach)),
        Box::new(waiting::WaitingThreads::new(asked.attach)),
        Box::new(sweep::Sweeps::start(finder.scene())?),
    ];
    sources.extend(asked.postgres_url().map(|url| or_absent(postgres::Source::open(&url))));
    sources.extend(asked.metrics_url().map(|url| or_absent(metrics::Source::open(&url))));
    Watch::start(|seen| watch::Collector::new(finder, sources, seen))
}

/// Asks the database and reads the metrics that are named, and looks for no process: who is loaded is looked at elsewhere.
///
/// Fails if no thread can be started.
pub fn ask(asked: &plan::Watch) -> std::io::Result<Watch> {
    let finder = Finder::new(&plan::Watch::default(), &Where::Elsewhere);
    let database = asked.postgres_url().map(|url| or_absent(postgres::Source::open(&url)));
    let metrics = asked.metrics_url().map(|url| or_absent(metrics::Source::open(&url)));
    let sources: Vec<Box<dyn Source>> = database.into_iter().chain(metrics).collect();
    Watch::start(|seen| watch::Collector::new(finder, sources, seen))
}

/// The address of a host that was named beside the target; the reason in words if there is none.
fn address(host: &str, port: u16) -> Result<SocketAddr, String> {
    sys::address(host, port, Duration::from_secs(1))
        .map_err(|why| format!("the name '{host}' does not resolve: {why}"))
}

fn or_absent(opened: Result<impl Source + 'static, record::watch::Missing>) -> Box<dyn Source> {
    match opened {
        Ok(source) => Box::new(source),
        Err(missing) => Box::new(absent::Absent(missing)),
    }
}
