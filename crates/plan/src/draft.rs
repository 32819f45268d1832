use crate::error::{Error, Place};
use std::collections::BTreeMap;
use units::ParseError;

/// A text that somebody gave, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) text: String,
    pub(crate) place: Place,
}

impl Given {
    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        Error::at(&self.place, message)
    }

    pub(crate) fn parse<T: std::str::FromStr<Err = ParseError>>(&self) -> Result<T, Error> {
        self.text.parse().map_err(|e: ParseError| self.error(e.to_string()))
    }

    /// A whole number from `least` on.
    pub(crate) fn whole<T: TryFrom<u64>>(&self, least: u64, what: &str) -> Result<T, Error> {
        let digits = self.text.trim().replace(['_', ','], "");
        let number = digits.parse::<u64>().ok().filter(|&n| n >= least);
        number
            .and_then(|n| T::try_from(n).ok())
            .ok_or_else(|| self.error(format!("'{}' is not {what}, a whole number from {least}", self.text)))
    }

    pub(crate) fn flag(&self) -> Result<bool, Error> {
        self.text.parse().map_err(|_| self.error(format!("'{}' is neither true nor false", self.text)))
    }
}

/// Everything that can be said in a plan; each is a key of a plan file and an option of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "named as in the file; the crate's page describes each")]
pub enum Key {
    Goal,
    Url,
    UnixSocket,
    Insecure,
    Method,
    Headers,
    Body,
    BodyFile,
    BodyBase64,
    Form,
    Timeout,
    ExpectStatus,
    Rate,
    Duration,
    Stages,
    Arrivals,
    Connections,
    Requests,
    From,
    Max,
    Width,
    Trial,
    Sum,
    Careful,
    Budget,
    MaxConnections,
    MaxOutstanding,
    Cores,
    Seed,
}

/// Which shapes of TOML values a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A string.
    Text,
    /// A string or a number.
    Quantity,
    /// A boolean.
    Flag,
    /// A string, a number, or an array of them.
    List,
    /// A table of strings, or an array of strings with this between name and value.
    Pairs(char),
}

impl Key {
    /// Key, section of the file (the first has none), name in it.
    pub(crate) const ALL: [(Self, &'static str, &'static str, Kind); 29] = [
        (Self::Goal, "", "goal", Kind::Text),
        (Self::Url, "target", "url", Kind::Text),
        (Self::UnixSocket, "target", "unix_socket", Kind::Text),
        (Self::Insecure, "target", "insecure", Kind::Flag),
        (Self::Method, "request", "method", Kind::Text),
        (Self::Headers, "request", "headers", Kind::Pairs(':')),
        (Self::Body, "request", "body", Kind::Text),
        (Self::BodyFile, "request", "body_file", Kind::Text),
        (Self::BodyBase64, "request", "body_base64", Kind::Text),
        (Self::Form, "request", "form", Kind::Pairs('=')),
        (Self::Timeout, "request", "timeout", Kind::Quantity),
        (Self::ExpectStatus, "request", "expect_status", Kind::List),
        (Self::Rate, "load", "rate", Kind::Quantity),
        (Self::Duration, "load", "duration", Kind::Quantity),
        (Self::Stages, "load", "stages", Kind::List),
        (Self::Arrivals, "load", "arrivals", Kind::Text),
        (Self::Connections, "load", "connections", Kind::Quantity),
        (Self::Requests, "load", "requests", Kind::Quantity),
        (Self::From, "find", "from", Kind::Quantity),
        (Self::Max, "find", "max", Kind::Quantity),
        (Self::Width, "find", "width", Kind::Quantity),
        (Self::Trial, "find", "trial", Kind::Quantity),
        (Self::Sum, "find", "sum", Kind::Quantity),
        (Self::Careful, "find", "careful", Kind::Flag),
        (Self::Budget, "find", "budget", Kind::Quantity),
        (Self::MaxConnections, "generator", "connections", Kind::Quantity),
        (Self::MaxOutstanding, "generator", "outstanding", Kind::Quantity),
        (Self::Cores, "generator", "cores", Kind::List),
        (Self::Seed, "generator", "seed", Kind::Quantity),
    ];
}

/// A plan as given, not yet checked: texts, each with its place, from a file, the command line, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    values: BTreeMap<Key, Vec<Given>>,
}

const BODIES: [Key; 4] = [Key::Body, Key::BodyFile, Key::BodyBase64, Key::Form];

impl Draft {
    /// Takes the value of an option of the command line. Repeating headers, form fields, stages, statuses
    /// or cores adds one more; headers are `Name: value`, form fields `name=value`.
    pub fn set(&mut self, key: Key, option: &'static str, text: impl Into<String>) {
        self.push(key, Given { text: text.into(), place: Place::Option(option) });
    }

    pub(crate) fn push(&mut self, key: Key, given: Given) {
        self.values.entry(key).or_default().push(given);
    }

    pub(crate) fn all(&self, key: Key) -> &[Given] {
        self.values.get(&key).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn one(&self, key: Key) -> Option<&Given> {
        self.all(key).last()
    }

    /// The value of a key as text, if one was given; the last of several.
    pub fn text(&self, key: Key) -> Option<&str> {
        self.one(key).map(|given| given.text.as_str())
    }

    /// Lets `over` win wherever both say something: the command line over the plan file.
    ///
    /// What belongs together goes together: a body replaces the other kind of body, a closed loop
    /// an open one, stages a duration. Headers are replaced by name.
    #[must_use]
    pub fn overlaid_by(mut self, over: Self) -> Self {
        let has = |key| over.values.contains_key(&key);
        let mut drop = Vec::new();
        if BODIES.into_iter().any(has) {
            drop.extend(BODIES);
        }
        if has(Key::Rate) || has(Key::Stages) {
            drop.extend([Key::Connections, Key::Requests]);
        } else if has(Key::Connections) || has(Key::Requests) {
            drop.extend([Key::Rate, Key::Stages, Key::Arrivals]);
        }
        if has(Key::Stages) || has(Key::Requests) {
            drop.push(Key::Duration);
        }
        if has(Key::Rate) && (has(Key::Duration) || has(Key::Requests)) {
            drop.push(Key::Stages);
        }
        for key in drop {
            self.values.remove(&key);
        }
        for (key, given) in over.values {
            if key == Key::Headers {
                let name = |g: &Given| g.text.split(':').next().unwrap_or("").trim().to_ascii_lowercase();
                let headers = self.values.entry(key).or_default();
                headers.retain(|old| given.iter().all(|new| name(new) != name(old)));
                headers.extend(given);
            } else {
                self.values.insert(key, given);
            }
        }
        self
    }
}
