use crate::{Request, Template};
use serde::{Deserialize, Serialize};
use units::Nanos;

/// What one arrival does: one request, or several in a row by the same user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// The word in reports.
    pub name: String,
    /// How often it is chosen, beside the weights of the others. Above zero.
    pub weight: f64,
    /// Whether cookies set by answers go with later requests of the same user.
    pub cookies: bool,
    /// At least one.
    pub steps: Vec<Step>,
}

/// One request of a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The word in reports.
    pub name: String,
    /// The user's pause before it: shortest and longest, each length between equally likely.
    pub think: Option<(Nanos, Nanos)>,
    /// What is sent.
    pub ask: Ask,
    /// From the due time to the last byte of the answer.
    pub timeout: Nanos,
    /// What later steps of the flow need of the answer; the n-th of all takes of a flow fills
    /// [`crate::Piece::Taken`] number n.
    pub takes: Vec<Take>,
}

/// What is sent, by the language of the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Ask {
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
    /// What goes in their places, as text.
    pub parameters: Vec<Template>,
}

/// A value taken from an answer, under a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Take {
    /// Later steps say `{name}`.
    pub name: String,
    /// Where it stands in the answer.
    pub from: TakeFrom,
}

/// Where a value stands in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TakeFrom {
    /// In a JSON body, by pointer (RFC 6901).
    Json(String),
    /// In the body, by regular expression: its first group, or all that it matches.
    Regex(String),
    /// A header, by name.
    Header(String),
    /// A cookie that the answer sets, by name.
    Cookie(String),
}

/// What an answer must be, beside its status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Check {
    /// The header is there and contains this text.
    Header(String, String),
    /// The body contains this text.
    Body(String),
    /// The JSON body has this value at a pointer: text as it is, other values by their JSON text.
    Json(String, String),
}

impl Flow {
    /// Whether it is one request that needs nothing of any answer: the cheapest kind.
    pub fn is_plain(&self) -> bool {
        let [step] = self.steps.as_slice() else { return false };
        !self.cookies && step.takes.is_empty() && step.think.is_none()
    }

    /// How many values its steps take from answers.
    pub fn takes(&self) -> usize {
        self.steps.iter().map(|step| step.takes.len()).sum()
    }
}

impl Step {
    /// The HTTP request, if it is one.
    pub fn request(&self) -> Option<&Request> {
        match &self.ask {
            Ask::Http(request) => Some(request),
            Ask::Sql(_) => None,
        }
    }

    /// As [`Step::request`].
    pub fn request_mut(&mut self) -> Option<&mut Request> {
        match &mut self.ask {
            Ask::Http(request) => Some(request),
            Ask::Sql(_) => None,
        }
    }
}
