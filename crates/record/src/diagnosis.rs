use crate::Cause;
use serde::{Deserialize, Serialize};
use units::{Nanos, Rate};

/// What gave first, the evidence, and what would help.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Diagnosis {
    /// The conclusion, in one or two sentences.
    pub sentences: Vec<String>,
    /// Findings by rank; the first is the verdict, later ones hold as well but follow from it, came later or are less sure. Empty:
    /// nothing is wrong, or nothing can be said.
    pub findings: Vec<Finding>,
    /// Why there is no cause, if there is none.
    pub none: Option<NoFinding>,
    /// The first two or more findings are equally likely, and none explains another.
    pub tie: bool,
    /// From the request to what waits for nothing else: `200 workers → 10 connections`.
    pub chain: Vec<String>,
    /// The same, starting at torment, with the utilisation of each place; empty in runs of earlier versions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stations: Vec<Station>,
    /// The rate at which the target was degraded.
    pub degraded_at: Option<Rate>,
    /// The highest rate at which it was well, for contrast.
    pub well_at: Option<Rate>,
    /// Whether the verdict reproduces the rate measured.
    pub arithmetic: Option<CapacityCheck>,
    /// What to do, in order.
    pub next: Vec<String>,
    /// The expected effect of that, and the next limit.
    pub prediction: Option<Prediction>,
    /// What would change this verdict.
    pub unless: Vec<String>,
    /// What could not be observed, and so not ruled out.
    pub unseen: Vec<String>,
}

impl Diagnosis {
    /// Where the verdict was seen; empty: where torment is, or unknown.
    pub fn place(&self) -> &str {
        self.findings.first().map_or("", |finding| finding.place.as_str())
    }

    /// If the load generator was the limit: what the target itself had next to nothing left of.
    pub fn also_saturated(&self) -> Option<&Finding> {
        let is_full =
            |finding: &&Finding| finding.cause.is_resource() && finding.confidence.value() >= MIN_CONFIDENCE;
        self.findings.iter().skip(1).find(is_full).filter(|_| self.cause() == Some(Cause::Generator))
    }

    /// The verdict's cause, if any.
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
    /// Degraded, and no rule holds.
    Unexplained,
    /// Degraded, and not observable.
    NotObservable,
    /// Nothing measured that could be judged.
    NothingMeasured,
}

/// One cause, with its confidence and evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The cause.
    pub cause: Cause,
    /// Where it was seen; empty: where torment is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// Where else it held.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_at: Vec<String>,
    /// One sentence.
    pub sentence: String,
    /// Its confidence.
    pub confidence: Confidence,
    /// The trial in which it first showed.
    pub since_trial: Option<u32>,
    /// The other finding it follows from.
    pub follows_from: Option<Cause>,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
}

/// A confidence is medium from here on.
const MIN_CONFIDENCE: f64 = 0.5;

/// The confidence in a finding: the product of four factors, each 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Confidence {
    /// How far past the threshold; 1 from twice it on.
    pub margin: f64,
    /// Share of the degraded windows in which it holds.
    pub persistence: f64,
    /// Independent sources that agree.
    pub independence: f64,
    /// Share of what was observable that was observed.
    pub coverage: f64,
}

impl Confidence {
    /// The product.
    pub fn value(self) -> f64 {
        let product = self.margin * self.persistence * self.independence * self.coverage;
        if self.coverage < 0.7 { product.min(0.49) } else { product }
    }

    /// In words: high, medium, low.
    pub fn word(self) -> &'static str {
        match self.value() {
            v if v >= 0.8 => "high",
            v if v >= MIN_CONFIDENCE => "medium",
            _ => "low",
        }
    }
}

/// A fact that a finding rests on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// In words: `190 of 200 workers wait for another thread, with a deadline of at most 30 s`.
    pub text: String,
    /// The value seen.
    pub value: f64,
    /// The threshold from which it counts.
    pub threshold: f64,
    /// Unit of both: `threads`, `share`, `ms`.
    pub unit: String,
    /// The value at the last rate where the target was well.
    pub well: Option<f64>,
    /// Where it was read: `/proc/PID/task/*/schedstat`, `pg_stat_activity`, `own schedule`.
    pub source: String,
    /// Windows in which it was seen.
    pub windows: u32,
}

/// A place on a request's path.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Station {
    /// What it is: `10 connections to 127.0.0.1:5432`.
    pub name: String,
    /// Its part of the path.
    pub place: StationKind,
    /// How many may be in use at once; none if unbounded or unknown.
    pub size: Option<f64>,
    /// Its use while the target was well,
    pub well: Option<StationUse>,
    /// and while it was degraded.
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

impl From<&str> for Station {
    fn from(name: &str) -> Self {
        name.to_owned().into()
    }
}

/// Parts of a request's path, by which views find further figures of a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StationKind {
    /// torment itself.
    Generator,
    /// torment's connections to the target.
    Connections,
    /// Threads and processes of the service, their locks, and their processors.
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
    /// A station of this kind.
    pub fn station(self, name: impl Into<String>) -> Station {
        Station { name: name.into(), place: self, ..Station::default() }
    }
}

/// A station's use, on average; unknown values are none.
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

/// A check of the verdict: a correct one reproduces the measured rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityCheck {
    /// In words: `10 connections / 51 ms held per request`.
    pub formula: String,
    /// The rate that follows.
    pub ceiling: Rate,
    /// The rate measured.
    pub measured: Rate,
}

impl CapacityCheck {
    /// Within 2 %.
    pub fn is_near(&self) -> bool {
        (self.ceiling.0 / self.measured.0.max(f64::MIN_POSITIVE) - 1.0).abs() <= 0.02
    }

    /// Whether clearly more than the ceiling was held, or less, as by a target that moves: then it explains what overloads got, and no limit.
    pub fn differs_from(&self, held: Rate) -> bool {
        !Self { measured: held, ..self.clone() }.agrees()
    }

    /// Within 15 %.
    pub fn agrees(&self) -> bool {
        (self.ceiling.0 / self.measured.0 - 1.0).abs() <= 0.15
    }
}

/// The expected effect of a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The change.
    pub change: String,
    /// The expected capacity; none: unchanged.
    pub capacity: Option<Rate>,
    /// The answered rate it was computed from: the ratio of the two scales any other limit. None in earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Rate>,
    /// What gives next, and when this prediction is wrong.
    pub then: String,
}
