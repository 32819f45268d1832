//! The plan's flows, made ready to be sent: what one loop needs to choose, write and judge each step.

use crate::EngineConfig;
use crate::checks_and_takes::ChecksAndTakes;
use crate::cookies::CookieContext;
use crate::error::Error;
use crate::outstanding::User;
use crate::protocol::{Answer, PreparedRequest, SessionSetup};
use plan::{Payload, Request, StatusRange, Target, Template, TemplatePiece};
use record::Failure;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use units::Nanos;
use units::random::{mix, unit_float};

/// All flows of a plan.
pub(crate) struct PreparedFlows {
    pub flows: Vec<PreparedFlow>,
    /// Running sums of the weights; the last one is the whole.
    weights: Vec<f64>,
    pub seed: u64,
    /// What all connections to a database say at their beginning.
    pub session: Option<Arc<SessionSetup>>,
    /// Whose cookies are kept.
    pub site: CookieOrigin,
    /// Steps of all flows.
    pub parts: usize,
}

pub(crate) struct PreparedFlow {
    /// One request that needs nothing of any answer: it needs no user.
    pub plain: bool,
    pub cookies: bool,
    pub steps: Vec<PreparedStep>,
}

pub(crate) struct PreparedStep {
    /// Number among all steps of all flows: where its own figures are kept.
    pub part: usize,
    pub words: PreparedRequest,
    pub expect: Vec<StatusRange>,
    pub reading: ChecksAndTakes,
    /// The path as far as it is the same for all, for cookies that are bound to one.
    pub path: String,
    /// Its method, of a statement nothing.
    pub method: String,
    /// Whether it may be sent twice, for all the server knows of it then (RFC 9110 section 9.2.2).
    pub idempotent: bool,
    pub timeout: Nanos,
    pub think: Option<(Nanos, Nanos)>,
}

/// The host that all requests go to.
pub(crate) struct CookieOrigin {
    host: String,
    tls: bool,
}

impl CookieOrigin {
    /// A request of this path, now.
    pub fn cookie_context<'a>(&'a self, path: &'a str) -> CookieContext<'a> {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        CookieContext { host: &self.host, path: path.as_bytes(), tls: self.tls, now_s }
    }
}

impl PreparedStep {
    /// Whether this is the answer that the plan expects, and if not, why; what later steps need of it is kept for the user.
    ///
    /// `site`: whose cookies are kept, if any are.
    pub fn check_answer(
        &self,
        answer: &Answer,
        user: Option<&mut User>,
        site: Option<&CookieOrigin>,
    ) -> Result<(), Failure> {
        if let Some(status) = answer.status
            && !self.expect.iter().any(|range| range.contains(status))
        {
            return Err(Failure::Status(status));
        }
        answer.failure.clone().map_or(Ok(()), Err)?;
        let Some(content) = &answer.content else { return Ok(()) };
        // One request by itself takes nothing: there is only something to check.
        let Some(user) = user else {
            return self.reading.apply(content, &mut Vec::new()).map_err(Failure::Check);
        };
        if let Some(site) = site {
            let visit = site.cookie_context(&self.path);
            content.header("set-cookie").for_each(|cookie| user.jar.set(cookie, &visit));
        }
        self.reading.apply(content, &mut user.taken).map_err(Failure::Check)
    }
}

impl PreparedFlows {
    /// Fails if a check or a take cannot be made ready, which the plan has looked at before.
    pub fn new(job: &EngineConfig) -> Result<Self, Error> {
        let authority = job.endpoint.authority();
        let tls = job.endpoint.tls.is_some();
        let mut statements = Vec::new();
        let (mut ready, mut weights, mut sum, mut part) = (Vec::new(), Vec::new(), 0.0, 0);
        for flow in &job.flows {
            let (mut steps, mut takes) = (Vec::new(), 0);
            for step in &flow.steps {
                let request = step.request();
                let checks = request.map_or(&[][..], |request| &request.checks);
                let reading = ChecksAndTakes::new(&step.takes, takes, checks).map_err(Error::Plan)?;
                let content = flow.cookies || !reading.is_empty();
                let words = match &step.ask {
                    Payload::Http(request) => PreparedRequest::http(request, &authority, tls, content),
                    Payload::Sql(statement) => {
                        statements.push(statement);
                        PreparedRequest::sql(statement, statements.len() - 1)
                    }
                };
                steps.push(PreparedStep {
                    part,
                    words,
                    expect: request.map_or_else(Vec::new, |request| request.expect.clone()),
                    reading,
                    path: request.map_or_else(String::new, |request| fixed_path(&request.path)),
                    method: request.map_or_else(String::new, |request| request.method.clone()),
                    idempotent: request.is_some_and(Request::is_idempotent),
                    timeout: step.timeout,
                    think: step.think,
                });
                takes += step.takes.len();
                part += 1;
            }
            sum += flow.weight;
            weights.push(sum);
            let plain = flow.is_plain();
            ready.push(PreparedFlow { plain, cookies: flow.cookies, steps });
        }
        let site = CookieOrigin { host: job.endpoint.host().to_owned(), tls };
        let session = match &job.endpoint.target {
            Target::Sql(database) => {
                Some(Arc::new(SessionSetup::new(database, statements, job.generator.connections)))
            }
            _ => None,
        };
        Ok(Self { flows: ready, weights, seed: job.generator.seed, session, site, parts: part })
    }

    /// The steps of all flows.
    pub fn steps(&self) -> impl Iterator<Item = &PreparedStep> {
        self.flows.iter().flat_map(|flow| &flow.steps)
    }

    /// Which flow the arrival of this number takes: the same whoever asks.
    pub fn choose(&self, number: u64) -> usize {
        if self.flows.len() == 1 {
            return 0;
        }
        let whole = self.weights.last().copied().unwrap_or(0.0);
        let at = draw(self.seed, number, 0) * whole;
        self.weights.partition_point(|sum| *sum <= at).min(self.flows.len() - 1)
    }

    /// How long the user of this arrival thinks before this step.
    pub fn pause(&self, step: &PreparedStep, number: u64) -> Nanos {
        let Some((shortest, longest)) = step.think else { return Nanos::ZERO };
        let span = (longest - shortest).0 as f64;
        shortest + Nanos((draw(self.seed, number, 1 + step.part as u64) * span) as u64)
    }
}

fn fixed_path(path: &Template) -> String {
    let first = match path.pieces.first() {
        Some(TemplatePiece::Literal(text)) => String::from_utf8_lossy(text).into_owned(),
        _ => String::new(),
    };
    first.split(['?', '#']).next().unwrap_or_default().to_owned()
}

/// One draw for each purpose of each arrival: from 0 up to, and without, 1.
fn draw(seed: u64, number: u64, purpose: u64) -> f64 {
    unit_float(mix(mix(seed, number), purpose))
}
