use crate::Key;
use crate::error::{Error, SourceLocation};
use std::collections::BTreeMap;
use units::{Nanos, ParseError, Rate};

/// A given text and where it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceText {
    pub(crate) text: String,
    pub(crate) location: SourceLocation,
}

impl SourceText {
    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        Error::at(&self.location, message)
    }

    pub(crate) fn parse<T: std::str::FromStr<Err = ParseError>>(&self) -> Result<T, Error> {
        self.text.parse().map_err(|e: ParseError| self.error(e.to_string()))
    }

    /// A whole number of at least `least`.
    pub(crate) fn parse_whole<T: TryFrom<u64>>(&self, least: u64, what: &str) -> Result<T, Error> {
        let digits = self.text.trim().replace(['_', ','], "");
        let number = digits.parse::<u64>().ok().filter(|&n| n >= least);
        number
            .and_then(|n| T::try_from(n).ok())
            .ok_or_else(|| self.error(format!("'{}' is not {what}, a whole number from {least}", self.text)))
    }

    /// A whole number from 1 to `most`.
    pub(crate) fn parse_count(&self, most: u32, what: &str) -> Result<u32, Error> {
        match self.parse_whole(1, what)? {
            number if number > most => {
                Err(self.error(format!("'{}' is too large; expected at most {most}", self.text)))
            }
            number => Ok(number),
        }
    }

    pub(crate) fn parse_flag(&self) -> Result<bool, Error> {
        self.text.parse().map_err(|_| self.error(format!("'{}' is neither true nor false", self.text)))
    }

    /// The trimmed text, or an error if it is empty.
    pub(crate) fn non_empty(&self, expected: &str) -> Result<&str, Error> {
        Some(self.text.trim()).filter(|text| !text.is_empty()).ok_or_else(|| self.error(expected))
    }

    /// A part of it, given at the same place.
    pub(crate) fn part(&self, text: &str) -> Self {
        Self { text: text.to_owned(), location: self.location.clone() }
    }

    pub(crate) fn is_option(&self) -> bool {
        matches!(self.location, SourceLocation::Option(_))
    }

    /// The name before a header's colon.
    pub(crate) fn header_name(&self) -> String {
        self.text.split(':').next().unwrap_or("").trim().to_ascii_lowercase()
    }
}

/// The keys and values of one section of a file, such as one `[[request]]`; or of all sections that occur once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Section {
    /// Where it begins, if it is one of several.
    pub(crate) location: Option<SourceLocation>,
    pub(crate) values: BTreeMap<Key, Vec<SourceText>>,
}

const BODY_KEYS: [Key; 4] = [Key::Body, Key::BodyFile, Key::BodyBase64, Key::Form];

impl Section {
    pub(crate) fn push(&mut self, key: Key, given: SourceText) {
        self.values.entry(key).or_default().push(given);
    }

    pub(crate) fn all(&self, key: Key) -> &[SourceText] {
        self.values.get(&key).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn one(&self, key: Key) -> Option<&SourceText> {
        self.all(key).last()
    }

    pub(crate) fn has(&self, key: Key) -> bool {
        !self.all(key).is_empty()
    }

    fn remove(&mut self, keys: &[Key]) {
        self.values.retain(|key, _| !keys.contains(key));
    }

    pub(crate) fn parsed<T: std::str::FromStr<Err = ParseError>>(
        &self,
        key: Key,
    ) -> Result<Option<T>, Error> {
        self.one(key).map(SourceText::parse).transpose()
    }

    pub(crate) fn flag(&self, key: Key) -> Result<Option<bool>, Error> {
        self.one(key).map(SourceText::parse_flag).transpose()
    }

    /// A time above zero.
    pub(crate) fn time(&self, key: Key) -> Result<Option<Nanos>, Error> {
        match self.parsed(key)? {
            Some(Nanos::ZERO) => {
                Err(self.invalid_value(key, "too short; expected a time above 0, such as 30s"))
            }
            Some(time) if time > MAX_DURATION => {
                Err(self.invalid_value(key, "too long; expected at most a month"))
            }
            time => Ok(time),
        }
    }

    /// A rate above zero.
    pub(crate) fn rate(&self, key: Key) -> Result<Option<Rate>, Error> {
        match self.parsed(key)? {
            Some(Rate::ZERO) => {
                Err(self.invalid_value(key, "too low; expected a rate above 0, such as 1000"))
            }
            Some(rate) if rate > MAX_RATE => {
                Err(self.invalid_value(key, &format!("too high; expected at most {MAX_RATE}")))
            }
            rate => Ok(rate),
        }
    }

    /// A whole number from 1 to `most`.
    pub(crate) fn count(&self, key: Key, most: u32, what: &str) -> Result<Option<u32>, Error> {
        self.one(key).map(|given| given.parse_count(most, what)).transpose()
    }

    /// A whole number of at least `least`.
    pub(crate) fn whole(&self, key: Key, least: u64, what: &str) -> Result<Option<u64>, Error> {
        self.one(key).map(|given| given.parse_whole(least, what)).transpose()
    }

    /// An error about an invalid value.
    pub(crate) fn invalid_value(&self, key: Key, what: &str) -> Error {
        let text = self.one(key).map_or("", |given| given.text.as_str());
        self.error_at(key, format!("'{text}' is {what}"))
    }

    /// Where in its file it begins.
    pub(crate) fn start(&self) -> usize {
        match &self.location {
            Some(SourceLocation::File { span, .. }) => span.start,
            _ => 0,
        }
    }

    /// An error at the key's value, or at the section if the key has none.
    pub(crate) fn error_at(&self, key: Key, message: impl Into<String>) -> Error {
        let location = self.one(key).map(|given| &given.location).or(self.location.as_ref());
        Error { location: location.cloned(), message: message.into() }
    }

    /// What the command line says of requests overrides what a request says: a body replaces the other kind of body,
    /// credentials the other kind of credentials, headers are replaced by name.
    pub(crate) fn overlaid_by(&mut self, overrides: &Self) {
        let is_option_given = |key| overrides.one(key).is_some_and(SourceText::is_option);
        if BODY_KEYS.into_iter().any(is_option_given) {
            self.remove(&BODY_KEYS);
        }
        let names: Vec<String> = overrides.all(Key::Headers).iter().map(SourceText::header_name).collect();
        let has_credentials = [Key::Basic, Key::Bearer].into_iter().any(is_option_given);
        if has_credentials || names.iter().any(|name| name == "authorization") {
            self.remove(&[Key::Basic, Key::Bearer]);
        }
        if let Some(headers) = self.values.get_mut(&Key::Headers) {
            headers.retain(|old| {
                let name = old.header_name();
                !(names.contains(&name) || has_credentials && name == "authorization")
            });
        }
        for (key, given) in &overrides.values {
            if *key == Key::Headers {
                self.values.entry(*key).or_default().extend(given.iter().cloned());
            } else {
                self.values.insert(*key, given.clone());
            }
        }
        self.values.retain(|_, given| !given.is_empty());
    }
}

/// No machine makes more, and due times are whole nanoseconds.
pub(crate) const MAX_RATE: Rate = Rate(100e6);
/// A month; with [`MAX_RATE`], every arrival number is still exact as a float.
pub(crate) const MAX_DURATION: Nanos = Nanos::from_secs(31 * 86_400);

/// One `[request]`, `[[request]]` or `[[flow]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FlowDraft {
    /// The flow and its only step are one section.
    Request(Section),
    /// The flow's own section, and its steps.
    Flow(Section, Vec<Section>),
}

impl FlowDraft {
    /// The section about the flow as a whole.
    pub(crate) fn whole(&self) -> &Section {
        match self {
            Self::Request(section) | Self::Flow(section, _) => section,
        }
    }

    pub(crate) fn steps(&self) -> &[Section] {
        match self {
            Self::Request(section) => std::slice::from_ref(section),
            Self::Flow(_, steps) => steps,
        }
    }

    pub(crate) fn steps_mut(&mut self) -> &mut [Section] {
        match self {
            Self::Request(section) => std::slice::from_mut(section),
            Self::Flow(_, steps) => steps,
        }
    }
}

/// Something started before the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DependencyDraft {
    /// `[postgres]`.
    Postgres(Section),
    /// `[need.NAME]`: the name, and its section.
    Program(SourceText, Section),
}

impl DependencyDraft {
    pub(crate) fn section(&self) -> &Section {
        let (Self::Postgres(section) | Self::Program(_, section)) = self;
        section
    }
}

/// A plan as given, not yet checked: texts, each with its location, from a file, the command line, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    /// Everything that occurs once. For requests it holds what applies to all of them: `[target]` headers and
    /// credentials of a file, and every option of the command line.
    pub(crate) top: Section,
    /// In the order given.
    pub(crate) flows: Vec<FlowDraft>,
    /// `[data.NAME]`: the name, and its section.
    pub(crate) data: Vec<(SourceText, Section)>,
    /// `[postgres]` and `[need.NAME]`, in the order given.
    pub(crate) needs: Vec<DependencyDraft>,
    /// `[service]`.
    pub(crate) service: Option<Section>,
    /// `[[variant]]`.
    pub(crate) variants: Vec<Section>,
    /// `[[hypothesis]]`.
    pub(crate) hypotheses: Vec<Section>,
    /// `[try]`.
    pub(crate) experiment: Section,
    /// `[quick]`.
    pub(crate) quick: Option<Section>,
}

impl Draft {
    /// Sets a command-line option. Repeating headers, form fields, stages, statuses or cores adds one more; headers
    /// are `Name: value`, form fields `name=value`. Each database statement is a request of its own, prefixed by its
    /// weight if that is not 1: `3: select …`.
    pub fn set(&mut self, key: Key, option: &'static str, text: impl Into<String>) {
        let location = SourceLocation::Option(option);
        let given = |text: String| SourceText { text, location: location.clone() };
        let text = text.into();
        if key != Key::Sql {
            let into = if key.is_in_section("try") { &mut self.experiment } else { &mut self.top };
            return into.push(key, given(text));
        }
        let mut section = Section { location: Some(location.clone()), ..Section::default() };
        // No statement begins with a number, so a number before the colon is not part of it.
        let statement = match text.split_once(':') {
            Some((weight, rest)) if weight.trim().starts_with(|c: char| c.is_ascii_digit()) => {
                section.push(Key::Weight, given(weight.trim().to_owned()));
                rest.to_owned()
            }
            _ => text,
        };
        section.push(Key::Sql, given(statement));
        self.flows.push(FlowDraft::Request(section));
    }

    /// The text of a key given for the whole plan; the last of several.
    pub fn text(&self, key: Key) -> Option<&str> {
        self.top.one(key).map(|given| given.text.as_str())
    }

    /// Lets `overrides` win wherever both say something: the command line over the plan file.
    ///
    /// What belongs together goes together: a body replaces the other kind of body, a closed loop an open one, stages
    /// a duration. Headers are replaced by name, requests by statements.
    #[must_use]
    pub fn overlaid_by(mut self, overrides: Self) -> Self {
        let has = |key| overrides.top.has(key);
        let mut removed = Vec::new();
        if has(Key::Rate) || has(Key::Stages) {
            removed.extend([Key::Connections, Key::Requests]);
        } else if has(Key::Connections) || has(Key::Requests) {
            removed.extend([Key::Rate, Key::Stages, Key::Arrivals]);
        }
        if has(Key::Stages) || has(Key::Requests) {
            removed.push(Key::Duration);
        }
        if has(Key::Rate) && (has(Key::Duration) || has(Key::Requests)) {
            removed.push(Key::Stages);
        }
        if has(Key::Pool) || has(Key::MaxConnections) {
            removed.extend([Key::Pool, Key::MaxConnections]);
        }
        // Processes are named in one way only.
        const PROCESS_KEYS: [Key; 3] = [Key::Pid, Key::Cgroup, Key::CommandText];
        if PROCESS_KEYS.into_iter().any(has) {
            removed.extend(PROCESS_KEYS);
        }
        self.top.remove(&removed);
        self.top.overlaid_by(&overrides.top);
        if !overrides.flows.is_empty() {
            self.flows = overrides.flows;
        }
        self.data.extend(overrides.data);
        self.needs.extend(overrides.needs);
        self.variants.extend(overrides.variants);
        self.hypotheses.extend(overrides.hypotheses);
        self.service = overrides.service.or(self.service);
        self.quick = overrides.quick.or(self.quick);
        self.experiment.overlaid_by(&overrides.experiment);
        self
    }

    /// Whether it has variants, and so is for `torment try`.
    pub fn is_experiment(&self) -> bool {
        !self.variants.is_empty()
    }

    /// Lets `[quick]` override `[try]` and `[find]`, but not the command line.
    ///
    /// # Errors
    /// If the plan has no such section.
    pub fn apply_quick(&mut self) -> Result<(), Error> {
        let quick = self.quick.take().ok_or_else(|| {
            Error::new(
                "this plan has no [quick]: expected that section, with the keys of [try] and [find] that \
                 it replaces, such as most = 4 or trial = \"2s\"",
            )
        })?;
        for (key, given) in quick.values {
            let section = if key.is_in_section("try") { &mut self.experiment } else { &mut self.top };
            if !section.one(key).is_some_and(SourceText::is_option) {
                section.values.insert(key, given);
            }
        }
        Ok(())
    }

    /// The requests and flows with what the command line says of all of them applied.
    ///
    /// # Errors
    /// If an option makes sense for one request only, and there are several.
    pub(crate) fn resolved_flows(&self) -> Result<Vec<FlowDraft>, Error> {
        let mut overrides = Section::default();
        for (key, given) in self.top.values.iter().filter(|(key, _)| key.is_request_key()) {
            let options: Vec<SourceText> = given.iter().filter(|given| given.is_option()).cloned().collect();
            if !options.is_empty() {
                overrides.values.insert(*key, options);
            }
        }
        let mut flows = self.flows.clone();
        if flows.is_empty() {
            flows.push(FlowDraft::Request(Section::default()));
        }
        let steps: usize = flows.iter().map(|flow| flow.steps().len()).sum();
        let single = [Key::Method, Key::Body, Key::BodyFile, Key::BodyBase64, Key::Form];
        if steps > 1
            && let Some(key) = single.into_iter().find(|&key| overrides.has(key))
        {
            let message = format!(
                "the plan has {steps} requests, and this would make them all alike: write it into the \
                 file, as {} of the one that is meant",
                key.name()
            );
            return Err(overrides.error_at(key, message));
        }
        flows.iter_mut().flat_map(FlowDraft::steps_mut).for_each(|step| step.overlaid_by(&overrides));
        Ok(flows)
    }
}
