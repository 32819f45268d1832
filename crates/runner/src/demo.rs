//! `demo`: this program, started as the built-in service for the length of a run.

use crate::{Error, ServiceProcess};
use plan::{Origin, Plan, Target};

/// The actual target: the plan's own, or that of a child started for it.
pub(crate) fn start_if_asked(plan: &Plan) -> Result<(Option<ServiceProcess>, Target), Error> {
    if plan.target != Target::Demo {
        return Ok((None, plan.target.clone()));
    }
    let started = ServiceProcess::own(&["--model", "async"]);
    let started = started.and_then(|mut command| ServiceProcess::start(&mut command, |_| Ok(())));
    let demo = started.map_err(Error::Demo)?;
    let origin = Origin::new(false, demo.address.ip().to_string(), demo.address.port());
    Ok((Some(demo), Target::Http(origin)))
}
