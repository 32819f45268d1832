//! The plan's flows, prepared: what a loop needs to choose, encode and check each step.

use crate::EngineConfig;
use crate::checks_and_takes::ChecksAndTakes;
use crate::cookies::CookieContext;
use crate::error::Error;
use crate::outstanding::{StepRequest, User};
use crate::protocol::{Answer, PreparedRequest, SessionSetup};
use plan::{Payload, Request, StatusRange, Target, Template, TemplatePiece};
use record::Failure;
use std::sync::Arc;
use units::Nanos;
use units::random::{mix, unit_float};

pub(crate) struct PreparedFlows {
    pub flows: Vec<PreparedFlow>,
    /// Cumulative weights; the last one is the total.
    weights: Vec<f64>,
    pub seed: u64,
    /// What all connections to a database send at their beginning.
    pub session: Option<Arc<SessionSetup>>,
    /// The origin of the cookies.
    pub cookie_origin: CookieOrigin,
    /// Steps of all flows.
    pub step_count: usize,
}

pub(crate) struct PreparedFlow {
    /// One request that needs nothing from any answer, and so no user.
    pub plain: bool,
    pub cookies: bool,
    pub steps: Vec<PreparedStep>,
}

pub(crate) struct PreparedStep {
    /// Number among all steps of all flows: the index of its own figures.
    pub index: usize,
    pub prepared: PreparedRequest,
    pub expect: Vec<StatusRange>,
    pub checks_and_takes: ChecksAndTakes,
    /// The path's constant prefix, for cookies bound to a path.
    pub path: String,
    /// The method; empty for a statement.
    pub method: String,
    /// Whether it may be sent twice, even if the server has processed it (RFC 9110 section 9.2.2).
    pub idempotent: bool,
    pub timeout: Nanos,
    pub think: Option<(Nanos, Nanos)>,
}

pub(crate) struct CookieOrigin {
    host: String,
    tls: bool,
}

impl CookieOrigin {
    /// A request for this path, now.
    pub fn cookie_context<'a>(&'a self, path: &'a str) -> CookieContext<'a> {
        let now_s = sys::now().unix_ms() / 1000;
        CookieContext { host: &self.host, path: path.as_bytes(), tls: self.tls, now_s }
    }
}

impl PreparedStep {
    /// Checks the answer against the plan, and keeps for the user what later steps need.
    ///
    /// `cookie_origin`: the origin of the cookies, if any are kept.
    pub fn check_answer(
        &self,
        answer: &Answer,
        user: Option<&mut User>,
        cookie_origin: Option<&CookieOrigin>,
    ) -> Result<(), Failure> {
        if let Some(status) = answer.status
            && !self.expect.iter().any(|range| range.contains(status))
        {
            return Err(Failure::Status(status));
        }
        answer.failure.clone().map_or(Ok(()), Err)?;
        let Some(content) = &answer.content else { return Ok(()) };
        // A single request takes nothing: it only has checks.
        let Some(user) = user else {
            return self.checks_and_takes.apply(content, &mut Vec::new()).map_err(Failure::Check);
        };
        if let Some(cookie_origin) = cookie_origin {
            let context = cookie_origin.cookie_context(&self.path);
            content.header("set-cookie").for_each(|cookie| user.jar.set(cookie, &context));
        }
        self.checks_and_takes.apply(content, &mut user.taken).map_err(Failure::Check)
    }
}

impl PreparedFlows {
    /// Fails if a check or take cannot be prepared, which the plan has checked before.
    pub fn new(config: &EngineConfig) -> Result<Self, Error> {
        let authority = config.endpoint.authority();
        let tls = config.endpoint.tls.is_some();
        let mut statements = Vec::new();
        let (mut ready, mut weights, mut sum, mut index) = (Vec::new(), Vec::new(), 0.0, 0);
        for flow in &config.flows {
            let (mut steps, mut take_count) = (Vec::new(), 0);
            for step in &flow.steps {
                let request = step.request();
                let checks = request.map_or(&[][..], |request| &request.checks);
                let checks_and_takes =
                    ChecksAndTakes::new(&step.takes, take_count, checks).map_err(Error::Plan)?;
                let content = flow.cookies || !checks_and_takes.is_empty();
                let prepared = match &step.ask {
                    Payload::Http(request) => PreparedRequest::http(request, &authority, tls, content),
                    Payload::Sql(statement) => {
                        statements.push(statement);
                        PreparedRequest::sql(statement, statements.len() - 1)
                    }
                };
                steps.push(PreparedStep {
                    index,
                    prepared,
                    expect: request.map_or_else(Vec::new, |request| request.expect.clone()),
                    checks_and_takes,
                    path: request.map_or_else(String::new, |request| fixed_path(&request.path)),
                    method: request.map_or_else(String::new, |request| request.method.clone()),
                    idempotent: request.is_some_and(Request::is_idempotent),
                    timeout: step.timeout,
                    think: step.think,
                });
                take_count += step.takes.len();
                index += 1;
            }
            sum += flow.weight;
            weights.push(sum);
            let plain = flow.is_plain();
            ready.push(PreparedFlow { plain, cookies: flow.cookies, steps });
        }
        let cookie_origin = CookieOrigin { host: config.endpoint.host().to_owned(), tls };
        let session = match &config.endpoint.target {
            Target::Sql(database) => {
                Some(Arc::new(SessionSetup::new(database, statements, config.generator.connections)))
            }
            _ => None,
        };
        Ok(Self {
            flows: ready,
            weights,
            seed: config.generator.seed,
            session,
            cookie_origin,
            step_count: index,
        })
    }

    /// The steps of all flows.
    pub fn steps(&self) -> impl Iterator<Item = &PreparedStep> {
        self.flows.iter().flat_map(|flow| &flow.steps)
    }

    /// The step that this requests.
    pub fn step(&self, request: &StepRequest) -> &PreparedStep {
        &self.flows[request.flow as usize].steps[request.step as usize]
    }

    /// The flow of this arrival, always the same.
    pub fn choose(&self, number: u64) -> usize {
        if self.flows.len() == 1 {
            return 0;
        }
        let whole = self.weights.last().copied().unwrap_or(0.0);
        let at = draw(self.seed, number, 0) * whole;
        self.weights.partition_point(|sum| *sum <= at).min(self.flows.len() - 1)
    }

    /// How long the user of this arrival pauses before this step.
    pub fn pause(&self, step: &PreparedStep, number: u64) -> Nanos {
        let Some((shortest, longest)) = step.think else { return Nanos::ZERO };
        let span = (longest - shortest).0 as f64;
        shortest + Nanos((draw(self.seed, number, 1 + step.index as u64) * span) as u64)
    }
}

fn fixed_path(path: &Template) -> String {
    let first = match path.pieces.first() {
        Some(TemplatePiece::Literal(text)) => String::from_utf8_lossy(text).into_owned(),
        _ => String::new(),
    };
    first.split(['?', '#']).next().unwrap_or_default().to_owned()
}

/// One draw per purpose and arrival, in [0, 1).
fn draw(seed: u64, number: u64, purpose: u64) -> f64 {
    unit_float(mix(mix(seed, number), purpose))
}
