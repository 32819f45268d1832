//! What an arrival can be: requests and flows, with their names, weights and steps.

use super::request::RequestContext;
use crate::draft::{Draft, FlowDraft, MAX_DURATION, Section, SourceText};
use crate::error::Error;
use crate::placeholder::NameScope;
use crate::url::TargetUrl;
use crate::{DataSet, Extraction, Flow, Key, Payload, ReadFile, Step};
use std::collections::BTreeSet;
use units::Nanos;

const DEFAULT_TIMEOUT: Nanos = Nanos::from_secs(10);
/// Each is counted separately, second by second: more make reports that nobody reads.
const MAX_STEPS: usize = 1000;

impl Draft {
    pub(super) fn flows(
        &self,
        address: &TargetUrl,
        data: &[DataSet],
        read: ReadFile<'_>,
    ) -> Result<Vec<Flow>, Error> {
        let drafts = self.resolved_flows()?;
        let steps: usize = drafts.iter().map(|draft| draft.steps().len()).sum();
        if steps > MAX_STEPS {
            return Err(Error::new(format!("{steps} requests in one plan; expected at most {MAX_STEPS}")));
        }
        let mut flows = Vec::new();
        for draft in &drafts {
            flows.push(self.flow(draft, address, data, read)?);
        }
        let mut names = Vec::new();
        for (number, (flow, draft)) in flows.iter().zip(&drafts).enumerate() {
            let default = match draft {
                FlowDraft::Request(_) => default_name(&flow.steps[0].ask),
                FlowDraft::Flow(..) => format!("flow {}", number + 1),
            };
            names.push((draft.whole().name()?, default));
        }
        for (flow, name) in flows.iter_mut().zip(unique_names(names)?) {
            flow.name = name;
        }
        for (flow, draft) in flows.iter_mut().zip(&drafts) {
            match draft {
                FlowDraft::Request(_) => flow.steps[0].name.clone_from(&flow.name),
                FlowDraft::Flow(_, steps) => {
                    let defaults = flow.steps.iter().map(|step| default_name(&step.ask));
                    let given_names = steps.iter().map(Section::name).collect::<Result<Vec<_>, _>>()?;
                    let names = unique_names(given_names.into_iter().zip(defaults).collect())?;
                    flow.steps.iter_mut().zip(names).for_each(|(step, name)| step.name = name);
                }
            }
        }
        Ok(flows)
    }

    fn flow(
        &self,
        draft: &FlowDraft,
        address: &TargetUrl,
        data: &[DataSet],
        read: ReadFile<'_>,
    ) -> Result<Flow, Error> {
        let whole = draft.whole();
        let is_flow = matches!(draft, FlowDraft::Flow(..));
        if draft.steps().is_empty() {
            return Err(
                whole.error_at(Key::Name, "a flow without steps; expected at least one [[flow.step]]")
            );
        }
        let takes = draft.steps().iter().map(Section::takes).collect::<Result<Vec<_>, _>>()?;
        let names: Vec<String> = takes.iter().flatten().map(|take: &Extraction| take.name.clone()).collect();
        let (mut steps, mut known) = (Vec::new(), 0);
        for (number, (section, takes)) in (0..).zip(draft.steps().iter().zip(takes)) {
            let (extracted, later) = names.split_at(known);
            known += takes.len();
            let names = NameScope { data, extracted, later };
            let context = RequestContext { address, top: &self.top, names, is_step: is_flow };
            let mut step = Step {
                name: String::new(),
                think: section.think(number == 0)?,
                ask: section.payload(&context, read)?,
                timeout: section.time(Key::Timeout)?.unwrap_or(DEFAULT_TIMEOUT),
                takes,
            };
            step.templates_mut().for_each(|template| template.step = number);
            steps.push(step);
        }
        // A single request has no use for cookies, and statements set none.
        let several = steps.len() > 1 && steps[0].request().is_some();
        let cookies = whole.flag(Key::Cookies)?.unwrap_or(is_flow) && several;
        Ok(Flow { name: String::new(), weight: whole.weight()?, cookies, steps })
    }
}

impl Section {
    pub(super) fn name(&self) -> Result<Option<&SourceText>, Error> {
        match self.one(Key::Name) {
            Some(given) if given.text.trim().is_empty() || given.text.contains(char::is_control) => {
                Err(given.error("expected a name for reports, without line breaks"))
            }
            name => Ok(name),
        }
    }

    /// The pause before a step.
    fn think(&self, is_first: bool) -> Result<Option<(Nanos, Nanos)>, Error> {
        let Some(given) = self.one(Key::Think) else { return Ok(None) };
        let pause = Some(think(given)?).filter(|(_, most)| *most > Nanos::ZERO);
        match pause {
            Some(_) if is_first => Err(given.error(
                "a pause before the first step, which begins when its user arrives; give the pause to a \
                 later step",
            )),
            pause => Ok(pause),
        }
    }

    fn weight(&self) -> Result<f64, Error> {
        let Some(given) = self.one(Key::Weight) else { return Ok(1.0) };
        let weight = given.text.trim().replace(['_', ','], "").parse::<f64>();
        weight.ok().filter(|weight| (1e-9..=1e9).contains(weight)).ok_or_else(|| {
            given.error(format!("'{}' is not a weight, a number above 0 such as 3 or 0.5", given.text))
        })
    }
}

/// The default name.
pub(crate) fn default_name(ask: &Payload) -> String {
    match ask {
        Payload::Http(request) => format!("{} {}", request.method, request.path),
        Payload::Sql(statement) => {
            let text = statement.to_text();
            let words =
                text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
            words.collect::<Vec<_>>().join(" ")
        }
    }
}

/// Names given and by default, made unique.
fn unique_names(names: Vec<(Option<&SourceText>, String)>) -> Result<Vec<String>, Error> {
    let mut used = BTreeSet::new();
    for given in names.iter().filter_map(|(given, _)| *given) {
        if !used.insert(given.text.trim().to_owned()) {
            return Err(given.error(format!("'{}' is already used as a name", given.text)));
        }
    }
    let name = |(given, default): (Option<&SourceText>, String)| match given {
        Some(given) => given.text.trim().to_owned(),
        None => {
            let name = unique_name(&default, |name| !used.contains(name));
            used.insert(name.clone());
            name
        }
    };
    Ok(names.into_iter().map(name).collect())
}

/// The first of `name`, `name (2)`, `name (3)`, … that is free.
pub(super) fn unique_name(name: &str, is_free: impl Fn(&String) -> bool) -> String {
    let again = (2..).map(|n| format!("{name} ({n})"));
    std::iter::once(name.to_owned()).chain(again).find(is_free).expect("numbers do not end")
}

/// A time, or a range of times.
fn think(given: &SourceText) -> Result<(Nanos, Nanos), Error> {
    let (least, most) = given.text.split_once("..").unwrap_or((&given.text, &given.text));
    let parse = |text: &str| text.parse::<Nanos>().map_err(|e| given.error(e.to_string()));
    let (least, most) = (parse(least)?, parse(most)?);
    if least > most {
        return Err(
            given.error(format!("'{}' ends before it begins; expected 1s..3s, shortest first", given.text))
        );
    }
    if most > MAX_DURATION {
        return Err(given.error(format!("'{}' is too long; expected at most a month", given.text)));
    }
    Ok((least, most))
}
