//! Checks before any load: descriptors, the address, the first answer.

use crate::{Error, demo};
use engine::{EngineConfig, Exchange, ResolvedTarget, exchanges_once};
use plan::{Load, Plan, Target, Task};
use record::{Caveat, CaveatDetails, CaveatKind};

/// Ports left to others.
const PORTS_SPARE: u64 = 64;
/// Methods that change nothing (RFC 9110 section 9.2.1): one more request does no harm.
const SAFE_METHODS: [&str; 3] = ["GET", "HEAD", "OPTIONS"];
/// How much of an unexpected answer is shown.
const SAYS_LENGTH: usize = 120;

/// Engine configuration for this plan and its actual target.
///
/// Fails if the name does not resolve or certificates cannot be read.
pub(crate) fn engine_config(plan: &Plan, target: &Target) -> Result<EngineConfig, Error> {
    engine_config_trusting(plan, target, None)
}

/// The same, trusting these authorities instead of this machine's.
pub(crate) fn engine_config_trusting(
    plan: &Plan,
    target: &Target,
    authorities: Option<&[u8]>,
) -> Result<EngineConfig, Error> {
    let endpoint = ResolvedTarget::resolve_trusting(target, authorities)?;
    let mut generator = plan.generator.clone();
    if let Task::Run(Load::Closed { connections, .. }) = plan.task {
        generator.connections = connections;
        // Each user has at most one request outstanding, which is limit enough.
        generator.outstanding = u32::MAX;
    }
    Ok(EngineConfig {
        endpoint,
        flows: plan.flows.clone(),
        arrivals_limit: plan.arrivals_limit(),
        generator,
        loops: plan.fleet.worker_cpus.unwrap_or(1),
        deadline: plan.objective.deadline,
        secrets: plan.redactor(),
    })
}

/// `--once`: all requests of one user of each flow.
pub fn preview(plan: &Plan) -> Result<Vec<Exchange>, Error> {
    let exchanges = || {
        let (_demo, target) = demo::start_if_asked(plan)?;
        Ok(exchanges_once(&engine_config(plan, &target)?, false)?)
    };
    exchanges().map_err(|error: Error| error.without_secrets(&plan.redactor()))
}

/// Raises the descriptor limit, and fits the connections into it and into the available ports.
pub(crate) fn fit_connections(config: &mut EngineConfig) -> Result<Vec<Caveat>, Error> {
    let (allowed, _) = sys::raise_nofile();
    if allowed < sys::DESCRIPTORS_LEAST {
        return Err(Error::Descriptors { allowed });
    }
    let room = engine::max_connections();
    let ports = config.endpoint.port_limit().map(|ports| ports.saturating_sub(PORTS_SPARE));
    let mut caveats = Vec::new();
    let wanted = u64::from(config.generator.connections);
    if wanted > room {
        caveats.push(Caveat::with_details(
            CaveatKind::FewDescriptors,
            CaveatDetails::FewFiles { allowed, room },
        ));
    }
    if let Some(ports) = ports.filter(|ports| wanted > *ports && room > *ports) {
        caveats.push(Caveat::with_details(CaveatKind::FewPorts, CaveatDetails::FewPorts { ports }));
    }
    config.generator.connections = wanted.min(room).min(ports.unwrap_or(u64::MAX)) as u32;
    Ok(caveats)
}

/// Whether the target is there and answers as expected. A request that may change something is not sent: then only the
/// first load tells.
pub(crate) fn check_first_answer(config: &EngineConfig) -> Result<(), Error> {
    let first = &config.flows[0].steps[0];
    if first.request().is_none_or(|request| !SAFE_METHODS.contains(&request.method.as_str())) {
        return Ok(engine::connect_once(config)?);
    }
    let Some(exchange) = exchanges_once(config, true)?.pop() else { return Ok(()) };
    let Err(why) = &exchange.verdict else { return Ok(()) };
    let text = String::from_utf8_lossy(&exchange.answer);
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let says: String =
        body.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SAYS_LENGTH).collect();
    let request = String::from_utf8_lossy(&exchange.request);
    let request = request.lines().next().unwrap_or("").trim_end_matches(" HTTP/1.1").to_owned();
    Err(Error::Unexpected { request, status: exchange.status, why: why.clone(), says })
}
