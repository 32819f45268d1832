//! A worker's call to another service: over a connection that it keeps, blocking in a
//! read until the answer arrives.

use fetch::ServerAddress;
use std::cell::RefCell;
use std::net::SocketAddr;
use std::time::Duration;
use ureq::Agent;

/// A common client timeout.
const PATIENCE: Duration = Duration::from_secs(30);
/// A longer answer is none of ours.
const ANSWER_LIMIT: u64 = 1 << 20;

thread_local! {
    /// The last service called by this thread, with its connection.
    static KEPT: RefCell<Option<(SocketAddr, Agent)>> = const { RefCell::new(None) };
}

/// Requests `path`; returns the status.
pub(super) fn call(to: SocketAddr, path: &str) -> Result<u16, String> {
    let kept = KEPT.take().filter(|(whose, _)| *whose == to);
    let agent = kept.map_or_else(|| fetch::agent(ServerAddress::At(to), PATIENCE, None), |(_, agent)| agent);
    let answer = fetch::get(&agent, &to.to_string(), path).call().and_then(|mut answer| {
        // Read to its end: only then is the connection reused.
        answer.body_mut().with_config().limit(ANSWER_LIMIT).read_to_vec()?;
        Ok(answer.status().as_u16())
    });
    KEPT.set(Some((to, agent)));
    answer.map_err(|why| fetch::describe_error(&why, PATIENCE))
}
