//! `torment try`: `[try]`, and what follows from it together with variants and hypotheses.

use super::hypothesis::{Context, MODERATE_LOAD, parse_load_level};
use super::measurements::Measurements;
use crate::draft::{Draft, MAX_DURATION, Section};
use crate::error::{Error, advice};
use crate::{
    ArmMeasure, ExperimentPlan, ExperimentSettings, Flow, Key, LoadLevel, SearchPlan, Setup, Workload,
};
use units::{Nanos, Share};

/// The workload of all flows together.
const ALL: &str = "all";
const DEFAULT_PILOT_STARTS: u32 = 3;
const DEFAULT_MIN_BLOCKS: u32 = 4;
const DEFAULT_MAX_BLOCKS: u32 = 10;
/// Maximum starts or blocks: no budget allows more.
const MAX_STARTS: u32 = 1000;
const DEFAULT_CONFIDENCE: Share = Share(0.95);
const DEFAULT_WARM: Nanos = Nanos::from_secs(20);
const DEFAULT_HOLD: Nanos = Nanos::from_secs(10);
pub(super) const DEFAULT_EFFECT: Share = Share(0.1);

impl Draft {
    pub(super) fn experiment(&self, flows: &[Flow], setup: Option<&Setup>) -> Result<ExperimentPlan, Error> {
        let experiment = &self.experiment;
        let Some(setup) = setup else {
            let first = self.hypotheses.first().or(self.variants.first()).unwrap_or(experiment);
            return Err(Error {
                location: first.location.clone(),
                message: "an experiment restarts the service for each measurement: expected a [service] \
                          with its command, or a [postgres]"
                    .to_owned(),
            });
        };
        if self.variants.is_empty() {
            return Err(Error {
                location: experiment.location.clone(),
                message:
                    "nothing to try: expected at least one [[variant]], which changes the service, and a \
                     [[hypothesis]] about it"
                        .to_owned(),
            });
        }
        let arms = self.arms(setup)?;
        let workloads = experiment.workloads(flows)?;
        let table = experiment.table()?;
        let mut measurements = Measurements::default();
        let all_arms: Vec<usize> = (0..arms.arms.len()).collect();
        let context = Context { arms: &arms, workloads: &workloads, table: &table };
        let (texts, pending) = self.pending_hypotheses(&context)?;
        for workload in 0..workloads.len() {
            // Where no hypothesis concerns a workload, the pilot reports it.
            let is_measured = pending.is_empty() || pending.iter().any(|q| q.workload == workload);
            let measured = if is_measured { &all_arms[..] } else { &[0] };
            let closed = table.connections.iter().map(|n| LoadLevel::Connections(*n));
            let limit = table.capacity.then_some(LoadLevel::Limit);
            for at in limit.into_iter().chain(table.at.iter().copied()).chain(closed) {
                measurements.require(workload, at, measured);
            }
        }
        for question in &pending {
            let measured: Vec<usize> = question.hypothesis.contrast.iter().map(|(arm, _)| *arm).collect();
            measurements.require(question.workload, question.at, &measured);
        }
        let are_named = table.named && !pending.is_empty();
        if are_named || measurements.any(|at| matches!(at, LoadLevel::Limit | LoadLevel::Share(_))) {
            // For the unchanged plan, every workload is measured for its capacity, and for how it does well below
            // that.
            let moderate = table
                .at
                .iter()
                .copied()
                .find(|at| matches!(at, LoadLevel::Share(_)))
                .unwrap_or(MODERATE_LOAD);
            for workload in 0..workloads.len() {
                measurements.require(workload, LoadLevel::Limit, &[0]);
                measurements.require(workload, moderate, &[0]);
            }
        }
        let measurements = measurements.sorted();
        for (arm, section) in (1..).zip(&self.variants) {
            if !measurements.iter().any(|probe| probe.arms.contains(&arm)) {
                return Err(section.error_at(
                    Key::Name,
                    format!(
                        "'{}' is never tested: expected a [[hypothesis]] with this variant, its factor in \
                         [try] cross, or [try] connections, at or capacity",
                        arms.arms[arm].name
                    ),
                ));
            }
        }
        let no_hypotheses = pending.is_empty();
        let hypotheses =
            pending.into_iter().map(|question| question.with_measurement(&measurements)).collect();
        // A table alone compares nothing: it needs no pilot, and one block suffices.
        let is_table =
            no_hypotheses && !measurements.iter().any(|probe| matches!(probe.at, LoadLevel::Share(_)));
        let pilot = match experiment.one(Key::Pilot) {
            Some(given) if is_table && given.text.trim() == "0" => 0,
            None if is_table => 0,
            _ => experiment
                .count(Key::Pilot, MAX_STARTS, "a number of starts")?
                .unwrap_or(DEFAULT_PILOT_STARTS),
        };
        let most = experiment.count(Key::Most, MAX_STARTS, "a number of blocks")?;
        let least = experiment.count(Key::Least, MAX_STARTS, "a number of blocks")?;
        let least = least.unwrap_or(DEFAULT_MIN_BLOCKS.min(most.unwrap_or(DEFAULT_MIN_BLOCKS)));
        let most = most.unwrap_or(DEFAULT_MAX_BLOCKS.max(least));
        if least < 2 && !no_hypotheses {
            let key = if experiment.has(Key::Least) { Key::Least } else { Key::Most };
            return Err(experiment.error_at(key, "one block shows no noise: expected at least 2"));
        }
        if least > most {
            let key = if experiment.has(Key::Most) { Key::Most } else { Key::Least };
            return Err(experiment
                .error_at(key, format!("at least {least} blocks and at most {most}: least is above most")));
        }
        let find = self.top.find()?;
        Ok(ExperimentPlan {
            arms: arms.arms,
            workloads,
            probes: measurements,
            hypotheses,
            pilot,
            least,
            most,
            budget: experiment.time(Key::TryBudget)?,
            confidence: experiment.confidence()?,
            warm: experiment.warm()?,
            hold: experiment.time(Key::Hold)?.unwrap_or(DEFAULT_HOLD),
            find: SearchPlan { budget: experiment.time(Key::Search)?.or(find.budget), ..find },
            said: ExperimentSettings { asked: texts, ..table },
        })
    }
}

impl Section {
    fn workloads(&self, flows: &[Flow]) -> Result<Vec<Workload>, Error> {
        let everything = || Workload { name: ALL.to_owned(), flows: (0..flows.len()).collect() };
        let mut workloads: Vec<Workload> = Vec::new();
        for given in self.all(Key::Workloads) {
            let name = given.text.trim();
            if workloads.iter().any(|workload| workload.name == name) {
                return Err(given.error(format!("'{name}' is listed twice")));
            }
            workloads.push(match flows.iter().position(|flow| flow.name == name) {
                _ if name == ALL => everything(),
                Some(place) => Workload { name: name.to_owned(), flows: vec![place] },
                None => {
                    let mut names: Vec<&str> = flows.iter().map(|flow| flow.name.as_str()).collect();
                    names.push(ALL);
                    let advice = advice(name, &names);
                    return Err(given.error(format!("'{name}' is the name of no request or flow; {advice}")));
                }
            });
        }
        Ok(if workloads.is_empty() { vec![everything()] } else { workloads })
    }

    /// What is measured of every arm, and compared for crossed ones.
    fn table(&self) -> Result<ExperimentSettings, Error> {
        let connections = self.all(Key::TryConnections).iter().map(|given| given.connections(&given.text));
        let mut settings = ExperimentSettings {
            named: self.has(Key::Workloads),
            cross: self.all(Key::Cross).iter().map(|given| given.text.trim().to_owned()).collect(),
            measure: self.measure(ArmMeasure::Capacity)?,
            effect: self.effect()?.unwrap_or(DEFAULT_EFFECT),
            connections: connections.collect::<Result<_, _>>()?,
            at: Vec::new(),
            capacity: self.flag(Key::Capacity)?.unwrap_or(false),
            asked: Vec::new(),
        };
        for given in self.all(Key::At) {
            match parse_load_level(given)? {
                LoadLevel::Connections(_) => {
                    return Err(given.error("connections go in [try] connections = [1000]"));
                }
                at if settings.at.contains(&at) => return Err(given.error("this load is listed twice")),
                at => settings.at.push(at),
            }
        }
        Ok(settings)
    }

    /// What is compared, or else this default.
    pub(super) fn measure(&self, default: ArmMeasure) -> Result<ArmMeasure, Error> {
        let given = self.one(Key::Measure);
        given.map_or(Ok(default), |given| super::parse_choice(given, &ArmMeasure::ALL, ArmMeasure::name))
    }

    pub(super) fn effect(&self) -> Result<Option<Share>, Error> {
        let effect: Option<Share> = self.parsed(Key::Effect)?;
        match effect {
            Some(effect) if effect.0 <= 0.0 => Err(self.error_at(
                Key::Effect,
                "no experiment can show that nothing at all has changed: expected the smallest effect worth having, \
                 such as 10%",
            )),
            effect => Ok(effect),
        }
    }

    fn confidence(&self) -> Result<Share, Error> {
        let confidence: Share = self.parsed(Key::Confidence)?.unwrap_or(DEFAULT_CONFIDENCE);
        if confidence.0 < 0.5 || confidence.0 > 0.9999 {
            return Err(self.error_at(
                Key::Confidence,
                format!("{confidence} is not a confidence such as 95%, at least 50 % and below 100 %"),
            ));
        }
        Ok(confidence)
    }

    /// Zero is allowed, for a service that is never cold.
    fn warm(&self) -> Result<Nanos, Error> {
        match self.parsed(Key::Warm)? {
            Some(warm) if warm > MAX_DURATION => {
                Err(self.invalid_value(Key::Warm, "too long; expected at most a month"))
            }
            warm => Ok(warm.unwrap_or(DEFAULT_WARM)),
        }
    }
}
