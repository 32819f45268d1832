//! One request at a time over one HTTP/1.1 connection, with limits on time and size.

use super::address::MetricsAddress;
use fetch::ServerAddress;
use std::time::Duration;
use ureq::{Agent, Error};

/// Maximum body size: node exporters of large machines have about one megabyte.
pub(super) const MOST: usize = 4 << 20;

/// A connection to an endpoint, reopened when it ends.
pub(super) struct Connection {
    endpoint: MetricsAddress,
    agent: Agent,
    timeout: Duration,
}

impl Connection {
    /// `timeout` limits the time for an answer.
    pub fn to(endpoint: MetricsAddress, timeout: Duration) -> Self {
        let agent = fetch::agent(ServerAddress::At(endpoint.address), timeout, None);
        Self { endpoint, agent, timeout }
    }

    /// The body of the answer to a GET, or why there is none.
    pub fn get(&self) -> Result<Vec<u8>, String> {
        let MetricsAddress { host, path, authorization, .. } = &self.endpoint;
        let mut request = fetch::get(&self.agent, host, path).header("accept", "text/plain;version=0.0.4");
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        let too_large = || format!("the answer is larger than {} MB", MOST >> 20);
        let why = |error: Error| match error {
            Error::BodyExceedsLimit(_) => too_large(),
            other => fetch::describe_error(&other, self.timeout),
        };
        let mut answer = request.call().map_err(why)?;
        if answer.status() != 200 {
            return Err(format!("it answers {}", answer.status()));
        }
        let encoding = answer.headers().get("content-encoding").filter(|encoding| *encoding != "identity");
        if let Some(encoding) = encoding {
            let encoding = String::from_utf8_lossy(encoding.as_bytes());
            return Err(format!("its answer is compressed ({encoding}), which was not asked for"));
        }
        // A body declared too large is not read at all: it would be requested again each second.
        if answer.body().content_length().is_some_and(|length| length > MOST as u64) {
            return Err(too_large());
        }
        // A body of the maximum size has its end after that.
        answer.body_mut().with_config().limit(MOST as u64 + 1).read_to_vec().map_err(why)
    }
}
