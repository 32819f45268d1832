use crate::Cause;
use serde::{Deserialize, Serialize};
use units::{Nanos, Rate};

/// What gave first, why that is believed, and what would help.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Diagnosis {
    /// What it came to, in one or two sentences.
    pub sentences: Vec<String>,
    /// Causes in the order of belief; the first is the verdict, those after it hold as well but follow from
    /// it, came later or are less sure. Empty: nothing is wrong, or nothing can be said.
    pub findings: Vec<Finding>,
    /// Why there is no cause, if there is none.
    pub none: Option<NoFinding>,
    /// The two or more first findings are equally likely, and none explains another.
    pub tie: bool,
    /// From the request to what does not wait for anything else: `200 workers → 10 connections`.
    pub chain: Vec<String>,
    /// The same from torment on, with how full each place was; empty in runs of earlier versions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stations: Vec<Station>,
    /// The rate at which it was found degraded.
    pub degraded_at: Option<Rate>,
    /// The highest rate at which it was well, to contrast with.
    pub well_at: Option<Rate>,
    /// Whether the verdict reproduces the rate measured.
    pub arithmetic: Option<CapacityCheck>,
    /// What to do, the first thing first.
    pub next: Vec<String>,
    /// What that should give, and what the next limit is.
    pub prediction: Option<Prediction>,
    /// What would change this verdict.
    pub unless: Vec<String>,
    /// What could not be seen, and therefore not be ruled out.
    pub unseen: Vec<String>,
}

impl Diagnosis {
    /// Where it was seen: of the verdict; nothing where that is where torment is, or unknown.
    pub fn place(&self) -> &str {
        self.findings.first().map_or("", |finding| finding.place.as_str())
    }

    /// Where the load generator was the limit, what the target itself had next to nothing left of.
    pub fn also_saturated(&self) -> Option<&Finding> {
        let is_full =
            |finding: &&Finding| finding.cause.is_resource() && finding.confidence.value() >= SURE_ENOUGH;
        self.findings.iter().skip(1).find(is_full).filter(|_| self.cause() == Some(Cause::Generator))
    }

    /// The verdict's cause, if there is one.
    pub fn cause(&self) -> Option<Cause> {
        self.findings.first().map(|finding| finding.cause)
    }
}

/// Why no cause is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoFinding {
    /// The target was well at every rate offered.
    NotSaturated,
    /// It was not, and no rule holds.
    Unexplained,
    /// It was not, and it could not be looked at.
    NotObservable,
    /// Nothing was measured that could be judged.
    NothingMeasured,
}

/// One cause, with how sure it is and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Which.
    pub cause: Cause,
    /// Where it was seen; empty: where torment is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// Where else it held.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_at: Vec<String>,
    /// One sentence.
    pub sentence: String,
    /// How sure.
    pub confidence: Confidence,
    /// The trial in which it first showed.
    pub since_trial: Option<u32>,
    /// The one of the other findings that it follows from.
    pub follows_from: Option<Cause>,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
}

/// From here on a confidence is medium.
const SURE_ENOUGH: f64 = 0.5;

/// How sure a finding is: the product of four factors, each from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Confidence {
    /// How far past the threshold; 1 from twice on.
    pub margin: f64,
    /// In how many of the degraded windows it holds.
    pub persistence: f64,
    /// How many independent sources say so.
    pub independence: f64,
    /// How much of what there was to see has been seen.
    pub coverage: f64,
}

impl Confidence {
    /// As one number.
    pub fn value(self) -> f64 {
        let product = self.margin * self.persistence * self.independence * self.coverage;
        if self.coverage < 0.7 { product.min(0.49) } else { product }
    }

    /// As a word: high, medium, low.
    pub fn word(self) -> &'static str {
        match self.value() {
            v if v >= 0.8 => "high",
            v if v >= SURE_ENOUGH => "medium",
            _ => "low",
        }
    }
}

/// A fact that a sentence rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// For people: `190 of 200 workers wait for another thread, with a deadline of at most 30 s`.
    pub text: String,
    /// The value seen.
    pub value: f64,
    /// The value from which on it counts.
    pub threshold: f64,
    /// Unit of both: `threads`, `share`, `ms`.
    pub unit: String,
    /// The value one step below, where the target was well.
    pub well: Option<f64>,
    /// Where it was read: `/proc/PID/task/*/schedstat`, `pg_stat_activity`, `own schedule`.
    pub source: String,
    /// Windows it was seen in.
    pub windows: u32,
}

/// Somewhere that a request comes by on its way.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Station {
    /// What it is: `10 connections to 127.0.0.1:5432`.
    pub name: String,
    /// Which part of the way it is.
    pub place: StationKind,
    /// How many may be in use at once; none if nothing bounds them, or nobody knows.
    pub size: Option<f64>,
    /// How it was used where the target was well,
    pub well: Option<StationUse>,
    /// and where it was degraded.
    pub degraded: Option<StationUse>,
    /// It gave first.
    pub gave: bool,
}

/// A link of the chain, of which nothing more is known.
impl From<String> for Station {
    fn from(name: String) -> Self {
        Self { name, ..Self::default() }
    }
}

/// Parts of the way of a request: whoever shows a station finds there what else was seen of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StationKind {
    /// torment itself.
    Generator,
    /// torment's connections to the target.
    Connections,
    /// Threads and processes of the service, what they hold of each other, and their processors.
    Threads,
    /// Connections of the service to something else.
    Peers,
    /// A database.
    Database,
    /// Anything else.
    #[default]
    Elsewhere,
}

impl StationKind {
    /// A station there.
    pub fn station(self, name: impl Into<String>) -> Station {
        Station { name: name.into(), place: self, ..Station::default() }
    }
}

/// How a station was used, on average; what is not known is none.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StationUse {
    /// How many were in use.
    pub in_use: Option<f64>,
    /// How long a request stayed: by Little's law, the number in use ÷ rate.
    pub stay: Option<Nanos>,
    /// How many waited before it.
    pub waiting: Option<f64>,
}

/// A verdict that is right reproduces the rate measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityCheck {
    /// In words: `10 connections / 51 ms held per request`.
    pub formula: String,
    /// What follows.
    pub ceiling: Rate,
    /// What was measured.
    pub measured: Rate,
}

impl CapacityCheck {
    /// Within 2 %.
    pub fn is_near(&self) -> bool {
        (self.ceiling.0 / self.measured.0.max(f64::MIN_POSITIVE) - 1.0).abs() <= 0.02
    }

    /// Within 15 %.
    pub fn agrees(&self) -> bool {
        (self.ceiling.0 / self.measured.0 - 1.0).abs() <= 0.15
    }
}

/// What a change should give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The change.
    pub change: String,
    /// The capacity expected; none: as before.
    pub capacity: Option<Rate>,
    /// What was answered where that was reckoned from: which limit that makes of another one, the two tell together. None of what earlier
    /// versions stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Rate>,
    /// What gives next, and when this prediction is wrong.
    pub then: String,
}
