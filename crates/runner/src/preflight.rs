//! What is checked before any load: descriptors, the address, the first answer.

use crate::{Error, demo};
use engine::{Endpoint, Exchange, Job, exchange_once};
use plan::{Origin, Plan};
use record::Caveat;

/// Descriptors needed beside connections: the store, the terminal, the loops.
const DESCRIPTORS_SPARE: u64 = 64;
/// With fewer than this no load is worth making.
pub(crate) const DESCRIPTORS_LEAST: u64 = DESCRIPTORS_SPARE + 16;
/// Methods that change nothing (RFC 9110 section 9.2.1): one more request does no harm.
const SAFE_METHODS: [&str; 3] = ["GET", "HEAD", "OPTIONS"];
/// So much of an unexpected answer is shown.
const SAYS_LENGTH: usize = 120;

/// What the engine is given for this plan. `origin` is none for a null target.
///
/// Fails if the name does not resolve or certificates cannot be read.
pub fn job(plan: &Plan, origin: Option<&Origin>) -> Result<Job, Error> {
    let endpoint = origin.map_or(Ok(Endpoint::null()), Endpoint::of)?;
    Ok(Job {
        endpoint,
        authority: origin.map_or_else(|| "null".to_owned(), Origin::authority),
        request: plan.request.clone(),
        generator: plan.generator.clone(),
        deadline: plan.objective.deadline,
    })
}

/// `--once`: one request, all of it.
pub fn preview(plan: &Plan) -> Result<Exchange, Error> {
    let (_demo, origin) = demo::start_if_asked(plan)?;
    Ok(exchange_once(&job(plan, origin.as_ref())?)?)
}

/// Raises the limit of descriptors and fits the connections into it.
pub(crate) fn descriptors(job: &mut Job) -> Result<Option<Caveat>, Error> {
    let (allowed, _) = sys::raise_nofile();
    if allowed < DESCRIPTORS_LEAST {
        return Err(Error::Descriptors { allowed });
    }
    let room = allowed - DESCRIPTORS_SPARE;
    if u64::from(job.generator.connections) <= room {
        return Ok(None);
    }
    job.generator.connections = room as u32;
    Ok(Some(Caveat::new(
        "few-descriptors",
        format!(
            "this process may open {allowed} files, so at most {room} connections are made; \
             raise the hard limit (ulimit -Hn) for more"
        ),
    )))
}

/// Whether the target is there and answers as expected. A request that may change something is not
/// sent: then only the first load tells.
pub(crate) fn first_answer(job: &Job) -> Result<(), Error> {
    if !SAFE_METHODS.contains(&job.request.method.as_str()) {
        return Ok(engine::connect_once(job)?);
    }
    let exchange = exchange_once(job)?;
    if exchange.expected {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&exchange.answer);
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let says: String =
        body.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SAYS_LENGTH).collect();
    let request = String::from_utf8_lossy(&exchange.request);
    let request = request.lines().next().unwrap_or("").trim_end_matches(" HTTP/1.1").to_owned();
    Err(Error::Unexpected { request, status: exchange.status, says })
}
