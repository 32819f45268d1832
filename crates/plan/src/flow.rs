use crate::{Plan, Request, Setup, Target, Task, Template, TemplatePiece};
use serde::{Deserialize, Serialize};
use units::Nanos;

/// What one arrival does: one request, or several in a row by the same user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Its name in reports.
    pub name: String,
    /// Its relative frequency among the flows. Above zero.
    pub weight: f64,
    /// Whether cookies set by answers are sent with the user's later requests.
    pub cookies: bool,
    /// At least one.
    pub steps: Vec<Step>,
}

/// One request of a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its name in reports.
    pub name: String,
    /// The user's pause before it: minimum and maximum, uniformly distributed.
    pub think: Option<(Nanos, Nanos)>,
    /// What is sent.
    pub ask: Payload,
    /// From the due time to the last byte of the answer.
    pub timeout: Nanos,
    /// What later steps of the flow need of the answer; the n-th extraction of the whole flow fills
    /// [`crate::TemplatePiece::Taken`] number n.
    pub takes: Vec<Extraction>,
}

/// What is sent, in the target's language.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Payload {
    /// An HTTP request.
    Http(Request),
    /// A statement for a database.
    Sql(Statement),
}

/// A prepared statement and its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// With `$1`, `$2`, … where the plan has placeholders.
    pub text: String,
    /// The parameters' values, as text.
    pub parameters: Vec<Template>,
}

/// A named value extracted from an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extraction {
    /// Later steps refer to it as `{name}`.
    pub name: String,
    /// Where in the answer it is.
    pub from: ExtractionSource,
}

/// Where in an answer a value is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExtractionSource {
    /// In a JSON body, by pointer (RFC 6901).
    Json(String),
    /// In the body, by regular expression: its first group, or the whole match.
    Regex(String),
    /// A header, by name.
    Header(String),
    /// A cookie set by the answer, by name.
    Cookie(String),
}

/// A condition on an answer, beside its status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AnswerCheck {
    /// The header is present and contains this text.
    Header(String, String),
    /// The body contains this text.
    Body(String),
    /// The JSON body has this value at a pointer: a string as is, other values as JSON text.
    Json(String, String),
}

impl Flow {
    /// Maximum total pause of its user.
    fn pauses(&self) -> Nanos {
        self.steps.iter().filter_map(|step| step.think).fold(Nanos::ZERO, |sum, (_, most)| sum + most)
    }

    /// Whether it is one request that needs nothing of any answer: the cheapest kind.
    pub fn is_plain(&self) -> bool {
        let [step] = self.steps.as_slice() else { return false };
        !self.cookies && step.takes.is_empty() && step.think.is_none()
    }

    /// How many values its steps extract from answers.
    pub fn takes(&self) -> usize {
        self.steps.iter().map(|step| step.takes.len()).sum()
    }
}

impl Plan {
    /// Calls `visit` for each piece of every template: the same as [`Plan::templates_mut`], so that neither misses
    /// one.
    pub(crate) fn visit(&self, mut visit: impl FnMut(&TemplatePiece)) {
        for template in self.clone().templates_mut() {
            template.visit_mut(&mut |piece| visit(piece));
        }
    }

    /// Every template, database passwords included.
    pub(crate) fn templates_mut(&mut self) -> impl Iterator<Item = &mut Template> {
        let password = match &mut self.target {
            Target::Sql(database) => database.password.as_mut(),
            _ => None,
        };
        let steps = self.flows.iter_mut().flat_map(|flow| &mut flow.steps);
        let watched = self.watch.templates_mut();
        let load = password.into_iter().chain(steps.flat_map(Step::templates_mut)).chain(watched);
        let tried = if let Task::Try(experiment) = &mut self.task { Some(experiment) } else { None };
        let started = self.setup.iter_mut().flat_map(Setup::templates_mut);
        load.chain(started).chain(tried.into_iter().flat_map(|experiment| experiment.templates_mut()))
    }
}

impl Step {
    pub(crate) fn templates_mut(&mut self) -> impl Iterator<Item = &mut Template> {
        let (request, statement) = match &mut self.ask {
            Payload::Http(request) => (Some(request), None),
            Payload::Sql(statement) => (None, Some(statement)),
        };
        let http = request.into_iter().flat_map(|request| {
            let values = request.headers.iter_mut().map(|(_, value)| value);
            [&mut request.path, &mut request.body].into_iter().chain(values)
        });
        http.chain(statement.into_iter().flat_map(|statement| &mut statement.parameters))
    }

    /// The HTTP request, if it is one.
    pub fn request(&self) -> Option<&Request> {
        match &self.ask {
            Payload::Http(request) => Some(request),
            Payload::Sql(_) => None,
        }
    }
}

/// Minimum trial time as a multiple of the longest flow's pauses: during the first the load only builds up, as later
/// steps are yet to come, and growth cannot be judged; then twice as long as one user takes.
const PAUSES_PER_TRIAL: u64 = 3;

impl crate::Plan {
    /// Maximum total pause of any flow's user.
    pub fn longest_pauses(&self) -> Nanos {
        self.flows.iter().map(Flow::pauses).max().unwrap_or(Nanos::ZERO)
    }

    /// A shorter trial says little about users who pause.
    pub fn least_trial(&self) -> Nanos {
        self.longest_pauses() * PAUSES_PER_TRIAL
    }

    /// The longest timeout of any request.
    pub fn longest_timeout(&self) -> Nanos {
        self.flows.iter().flat_map(|flow| &flow.steps).map(|step| step.timeout).max().unwrap_or(Nanos::ZERO)
    }
}
