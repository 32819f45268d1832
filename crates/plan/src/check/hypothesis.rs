//! Hypotheses: each `[[hypothesis]]`, and the effects of crossed factors.

use super::flow::unique_name;
use super::variant::{Arms, CrossedFactors};
use crate::draft::{Draft, MAX_RATE, Section, SourceText};
use crate::error::{Error, advice};
use crate::{
    ArmMeasure, ExperimentSettings, Hypothesis, HypothesisText, Key, LoadLevel, Measurement, Workload,
};
use std::collections::BTreeSet;
use units::{Rate, Share};

/// The target is busy there, and still well.
pub(super) const MODERATE_LOAD: LoadLevel = LoadLevel::Share(Share(0.5));

/// What a hypothesis can refer to.
pub(super) struct Context<'a> {
    pub(super) arms: &'a Arms,
    pub(super) workloads: &'a [Workload],
    pub(super) table: &'a ExperimentSettings,
}

/// A hypothesis whose measurement is not known yet.
#[derive(Clone)]
pub(super) struct PendingHypothesis {
    /// All but the index of its measurement.
    pub(super) hypothesis: Hypothesis,
    pub(super) workload: usize,
    pub(super) at: LoadLevel,
}

impl PendingHypothesis {
    pub(super) fn with_measurement(self, measurements: &[Measurement]) -> Hypothesis {
        let is_it = |probe: &Measurement| probe.workload == self.workload && probe.at == self.at;
        let probe = measurements.iter().position(is_it).expect("every question wants its probe");
        Hypothesis { probe, ..self.hypothesis }
    }
}

impl Draft {
    /// As written, and as worked out: those of the file, then those of crossed factors.
    pub(super) fn pending_hypotheses(
        &self,
        context: &Context<'_>,
    ) -> Result<(Vec<HypothesisText>, Vec<PendingHypothesis>), Error> {
        let (mut texts, mut pending, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
        for section in &self.hypotheses {
            let (text, question) = section.parse_hypothesis(context)?;
            if let Some(name) = &text.name
                && !names.insert(name.clone())
            {
                return Err(section.error_at(Key::Name, format!("'{name}' is already used as a name")));
            }
            let on = text.on.as_ref();
            let on = on.and_then(|name| context.workloads.iter().position(|w| w.name == *name));
            context.add_for_workloads(on, question, &mut pending);
            texts.push(text);
        }
        for question in context.crossed() {
            context.add_for_workloads(None, question, &mut pending);
        }
        let mut used: BTreeSet<String> = BTreeSet::new();
        for PendingHypothesis { hypothesis: Hypothesis { name, .. }, .. } in &mut pending {
            let is_free = |one: &String| !used.contains(one) && (one == name || !names.contains(one));
            *name = unique_name(name, is_free);
            used.insert(name.clone());
        }
        Ok((texts, pending))
    }
}

impl Context<'_> {
    /// Asks about one workload, or about each.
    fn add_for_workloads(
        &self,
        on: Option<usize>,
        question: PendingHypothesis,
        into: &mut Vec<PendingHypothesis>,
    ) {
        let workloads = on.map_or(0..self.workloads.len(), |on| on..on + 1);
        let names_workload = workloads.len() > 1;
        for workload in workloads {
            let mut question = PendingHypothesis { workload, ..question.clone() };
            if names_workload {
                question.hypothesis.name += &format!(" on {}", self.workloads[workload].name);
            }
            into.push(question);
        }
    }

    /// The main effect of every level, and the interaction of each pair of levels.
    fn crossed(&self) -> Vec<PendingHypothesis> {
        let Self { arms: Arms { arms, cross }, table, .. } = self;
        let measure = table.measure;
        let at = table.load_of(measure);
        let pending = |name, contrast, relieves| PendingHypothesis {
            hypothesis: Hypothesis { name, contrast, probe: 0, measure, effect: table.effect, relieves },
            workload: 0,
            at,
        };
        let levels: Vec<(usize, usize)> = (0..cross.factors.len())
            .flat_map(|factor| (1..=cross.factors[factor].levels.len()).map(move |level| (factor, level)))
            .collect();
        let arm_of = |(factor, level): (usize, usize)| &arms[cross.factors[factor].levels[level - 1]];
        let main = levels.iter().map(|&level| {
            let arm = arm_of(level);
            let name = format!("{} changes {}", arm.name, measure.name());
            pending(name, cross.contrast(&[level]), arm.changes[0].relieves.clone())
        });
        let pairs = levels.iter().enumerate().flat_map(|(n, &one)| {
            levels[n + 1..].iter().filter(move |other| other.0 != one.0).map(move |&other| (one, other))
        });
        let together = pairs.map(|(one, other)| {
            let name = format!(
                "{} changes what {} does to {}",
                arm_of(one).name,
                arm_of(other).name,
                measure.name()
            );
            pending(name, cross.contrast(&[one, other]), Vec::new())
        });
        main.chain(together).collect()
    }
}

impl CrossedFactors {
    /// Each of these factors at its level against the unchanged plan, averaged over the levels of all others: for one
    /// factor its main effect, for two their interaction.
    fn contrast(&self, of: &[(usize, usize)]) -> Vec<(usize, f64)> {
        let others = self.factors.iter().enumerate().filter(|(place, _)| of.iter().all(|(f, _)| f != place));
        let count: usize = others.map(|(_, factor)| factor.levels.len() + 1).product();
        let weight = |levels: &[usize]| {
            of.iter().try_fold(1.0 / count as f64, |weight, (factor, level)| match levels[*factor] {
                0 => Some(-weight),
                found if found == *level => Some(weight),
                _ => None,
            })
        };
        self.arms.iter().filter_map(|(levels, arm)| Some((*arm, weight(levels)?))).collect()
    }
}

impl ExperimentSettings {
    /// Default load of a measure: of the table's loads, one at which the measure can differ.
    fn load_of(&self, measure: ArmMeasure) -> LoadLevel {
        let open = self.at.first().copied();
        let closed = self.connections.first().map(|count| LoadLevel::Connections(*count));
        match measure {
            ArmMeasure::Capacity => LoadLevel::Limit,
            // An open loop's throughput only repeats its own rate.
            ArmMeasure::Throughput => closed.or(open).unwrap_or(MODERATE_LOAD),
            _ => open.or(closed).unwrap_or(MODERATE_LOAD),
        }
    }
}

impl Section {
    fn parse_hypothesis(&self, context: &Context<'_>) -> Result<(HypothesisText, PendingHypothesis), Error> {
        let arms = &context.arms.arms;
        let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
        let arm_index = |given: &SourceText| {
            let name = given.text.trim();
            names.iter().position(|known| *known == name).ok_or_else(|| {
                let advice = advice(name, &names);
                given.error(format!("'{name}' is not a variant; {advice}"))
            })
        };
        let given = self.one(Key::Variant).ok_or_else(|| {
            self.error_at(
                Key::Variant,
                "about which variant? Expected variant = \"the name of a [[variant]]\"",
            )
        })?;
        let variant = arm_index(given)?;
        let baseline = self.one(Key::Baseline).map(arm_index).transpose()?;
        let against = baseline.unwrap_or(0);
        if variant == against {
            let key = if baseline.is_some() { Key::Baseline } else { Key::Variant };
            return Err(self.error_at(key, format!("'{}' is compared with itself", names[variant])));
        }
        let measure = self.measure(context.table.measure)?;
        let at = self.load_of(measure, context.table)?;
        let on = self.one(Key::OnWorkload).map(|given| {
            let known: Vec<&str> = context.workloads.iter().map(|workload| workload.name.as_str()).collect();
            let name = given.text.trim();
            known.iter().find(|known| **known == name).map(|name| (*name).to_owned()).ok_or_else(|| {
                let advice = advice(name, &known);
                given.error(format!(
                    "'{name}' is not a workload; {advice} (they are listed in [try] workloads)"
                ))
            })
        });
        let name = self.name()?.map(|given| given.text.trim().to_owned());
        let effect = self.effect()?.unwrap_or(context.table.effect);
        let mut relieves: Vec<String> = Vec::new();
        for cause in arms[variant].changes.iter().flat_map(|change| &change.relieves) {
            if !relieves.contains(cause) {
                relieves.push(cause.clone());
            }
        }
        let default_name = || {
            let against = if against == 0 { String::new() } else { format!(" against {}", names[against]) };
            format!("{} changes {}{against}", names[variant], measure.name())
        };
        let hypothesis = Hypothesis {
            name: name.clone().unwrap_or_else(default_name),
            contrast: vec![(variant, 1.0), (against, -1.0)],
            probe: 0,
            measure,
            effect,
            relieves,
        };
        let text = HypothesisText {
            name,
            variant: names[variant].to_owned(),
            baseline: baseline.filter(|place| *place != 0).map(|place| names[place].to_owned()),
            on: on.transpose()?,
            measure,
            at,
            effect,
        };
        Ok((text, PendingHypothesis { hypothesis, workload: 0, at }))
    }

    /// The load at which a measure is taken.
    fn load_of(&self, measure: ArmMeasure, table: &ExperimentSettings) -> Result<LoadLevel, Error> {
        match (self.all(Key::At), measure) {
            ([], _) => Ok(table.load_of(measure)),
            ([given, ..], ArmMeasure::Capacity) => Err(given.error(
                "the capacity is searched for, not measured at a load: leave this out, or name a measure",
            )),
            ([given], _) => parse_load_level(given),
            ([_, given, ..], _) => {
                Err(given.error("a hypothesis is about one load; expected a [[hypothesis]] for each"))
            }
        }
    }
}

/// A share of the capacity, a rate, or a number of connections.
pub(super) fn parse_load_level(given: &SourceText) -> Result<LoadLevel, Error> {
    let text = given.text.trim();
    let wrong = |why: &str| {
        given.error(format!(
            "'{text}' is not a load such as 50% (of the capacity), 200/s or 1000 connections{why}"
        ))
    };
    let count = ["connections", "connection"].iter().find_map(|word| text.strip_suffix(word));
    if let Some(count) = count {
        return given.connections(count.trim()).map(LoadLevel::Connections);
    }
    if text.ends_with('%') {
        let share = text.parse().ok().filter(|share: &Share| share.0 > 0.0);
        return share
            .map(LoadLevel::Share)
            .ok_or_else(|| wrong(": expected more than 0 % and at most 100 %"));
    }
    let rate = text.parse().ok().filter(|rate: &Rate| rate.0 > 0.0 && *rate <= MAX_RATE);
    rate.map(LoadLevel::Rate).ok_or_else(|| wrong(""))
}
