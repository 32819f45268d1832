//! A call to another service, as a worker makes it: over a connection that it keeps, waiting in a
//! read until the answer is there.

use fetch::ServerAddress;
use std::cell::RefCell;
use std::net::SocketAddr;
use std::time::Duration;
use ureq::Agent;

/// As long as clients commonly wait.
const PATIENCE: Duration = Duration::from_secs(30);
/// An answer longer than this is none of ours.
const ANSWER_LIMIT: u64 = 1 << 20;

thread_local! {
    /// Whom this thread has asked last, by whom it has the connection.
    static KEPT: RefCell<Option<(SocketAddr, Agent)>> = const { RefCell::new(None) };
}

/// Asks for `path`; gives the status.
pub(super) fn call(to: SocketAddr, path: &str) -> Result<u16, String> {
    let kept = KEPT.take().filter(|(whose, _)| *whose == to);
    let agent = kept.map_or_else(|| fetch::agent(ServerAddress::At(to), PATIENCE, None), |(_, agent)| agent);
    let answer = fetch::get(&agent, &to.to_string(), path).call().and_then(|mut answer| {
        // Read to its end: only then the next one goes over the same connection.
        answer.body_mut().with_config().limit(ANSWER_LIMIT).read_to_vec()?;
        Ok(answer.status().as_u16())
    });
    KEPT.set(Some((to, agent)));
    answer.map_err(|why| fetch::describe_error(&why, PATIENCE))
}
