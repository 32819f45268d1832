//! The arms of an experiment: the unchanged plan, each variant, and the crossed ones.

use crate::draft::{Draft, Section};
use crate::error::{Error, advice};
use crate::{Arm, Key, Setup, Variant};
use std::collections::BTreeMap;

/// The arm that is the unchanged plan.
pub(super) const BASELINE: &str = "baseline";
/// No evening is long enough for more starts.
const MAX_ARMS: usize = 64;

/// All arms, and where each came from.
pub(super) struct Arms {
    pub(super) arms: Vec<Arm>,
    pub(super) cross: CrossedFactors,
}

/// The factors that are combined.
#[derive(Default)]
pub(super) struct CrossedFactors {
    pub(super) factors: Vec<Factor>,
    /// The arm of each combination: one level of each factor, 0 for the unchanged plan.
    pub(super) arms: BTreeMap<Vec<usize>, usize>,
}

pub(super) struct Factor {
    pub(super) name: String,
    /// The arms of its levels, from 1 on.
    pub(super) levels: Vec<usize>,
}

impl Draft {
    pub(super) fn arms(&self, setup: &Setup) -> Result<Arms, Error> {
        let mut arms = vec![Arm { name: BASELINE.to_owned(), changes: Vec::new(), setup: setup.clone() }];
        for section in &self.variants {
            let change = section.change(setup)?;
            let wrong = |message| Err(section.error_at(Key::Name, message));
            if change.name == BASELINE {
                return wrong(
                    "the plan as it stands is the baseline: name the variant after what it changes"
                        .to_owned(),
                );
            }
            if arms.iter().any(|arm| arm.name == change.name) {
                return wrong(format!("'{}' is already used as a name", change.name));
            }
            let setup = change.applied(setup.clone());
            if let Some(same) = arms.iter().find(|arm| arm.setup == setup) {
                return wrong(duplicate_message(&change.name, same));
            }
            arms.push(Arm { name: change.name.clone(), changes: vec![change], setup });
        }
        let cross = self.cross(&mut arms, setup)?;
        Ok(Arms { arms, cross })
    }

    /// Adds an arm for each combination of levels of several factors.
    fn cross(&self, arms: &mut Vec<Arm>, setup: &Setup) -> Result<CrossedFactors, Error> {
        let mut cross = CrossedFactors::default();
        let named: Vec<(usize, String)> = (1..)
            .zip(&arms[1..])
            .filter_map(|(place, arm)| Some((place, arm.changes[0].factor.clone()?)))
            .collect();
        for given in self.experiment.all(Key::Cross) {
            let name = given.text.trim();
            let levels: Vec<usize> =
                named.iter().filter(|(_, factor)| factor == name).map(|(place, _)| *place).collect();
            if levels.is_empty() {
                let known: Vec<&str> = named.iter().map(|(_, factor)| factor.as_str()).collect();
                let advice = match known[..] {
                    [] => "write factor = in the variants that are its levels".to_owned(),
                    _ => advice(name, &known),
                };
                return Err(given.error(format!("no variant is a level of the factor '{name}'; {advice}")));
            }
            if cross.factors.iter().any(|factor| factor.name == name) {
                return Err(given.error(format!("'{name}' is listed twice")));
            }
            cross.factors.push(Factor { name: name.to_owned(), levels });
            let count: usize = cross.factors.iter().map(|factor| factor.levels.len() + 1).product();
            if count > MAX_ARMS {
                return Err(given.error(format!(
                    "{count} combinations, each of which is started many times; expected at most {MAX_ARMS}"
                )));
            }
        }
        if cross.factors.is_empty() {
            return Ok(cross);
        }
        let mut combinations = vec![Vec::new()];
        for factor in &cross.factors {
            let longer = |levels: Vec<usize>| {
                (0..=factor.levels.len()).map(move |level| {
                    let mut levels = levels.clone();
                    levels.push(level);
                    levels
                })
            };
            combinations = combinations.into_iter().flat_map(longer).collect();
        }
        for levels in combinations {
            let chosen = cross.factors.iter().zip(&levels).filter(|(_, level)| **level > 0);
            let indices: Vec<usize> = chosen.map(|(factor, level)| factor.levels[level - 1]).collect();
            let arm = match indices[..] {
                [] => 0,
                [single] => single,
                _ => {
                    let changes: Vec<Variant> =
                        indices.iter().map(|place| arms[*place].changes[0].clone()).collect();
                    let names: Vec<&str> = changes.iter().map(|change| change.name.as_str()).collect();
                    let name = names.join(" + ");
                    let setup = changes.iter().fold(setup.clone(), |setup, change| change.applied(setup));
                    let same = arms.iter().find(|arm| arm.setup == setup || arm.name == name);
                    if let Some(same) = same {
                        return Err(self.experiment.error_at(Key::Cross, duplicate_message(&name, same)));
                    }
                    arms.push(Arm { name, changes, setup });
                    arms.len() - 1
                }
            };
            cross.arms.insert(levels, arm);
        }
        Ok(cross)
    }
}

fn duplicate_message(name: &str, same: &Arm) -> String {
    let what = "the command, environment and limits";
    if same.name == BASELINE {
        format!("'{name}' changes nothing: it resolves to {what} of the plan as it stands")
    } else {
        format!("'{name}' is the same as '{}': it resolves to {what} of that one", same.name)
    }
}

impl Section {
    fn change(&self, setup: &Setup) -> Result<Variant, Error> {
        const SERVICE_KEYS: [Key; 8] =
            [Key::Program, Key::Args, Key::Env, Key::Files, Key::Cpus, Key::Memory, Key::Pids, Key::Cores];
        let name = self.name()?.ok_or_else(|| {
            self.error_at(Key::Name, "a variant without a name; expected name = \"what it changes\"")
        })?;
        let has = |keys: &[Key]| keys.iter().copied().find(|key| self.has(*key));
        if let (Some(key), None) = (has(&SERVICE_KEYS), &setup.service) {
            return Err(self.error_at(key, "the plan starts no [service] that this could change"));
        }
        if let (Some(key), None) = (has(&[Key::Settings, Key::DataFolder]), setup.postgres()) {
            return Err(self.error_at(key, "the plan starts no [postgres] that this could change"));
        }
        let factor = self
            .one(Key::Factor)
            .map(|given| given.non_empty("expected the name of a factor, such as threads"));
        let limits = self.limits()?;
        Ok(Variant {
            name: name.text.trim().to_owned(),
            factor: factor.transpose()?.map(str::to_owned),
            relieves: self.all(Key::Relieves).iter().map(|given| given.text.trim().to_owned()).collect(),
            command: self.command()?,
            args: self.texts(Key::Args)?,
            env: self.env()?,
            files: self.files()?,
            cpus: limits.cpus,
            memory: limits.memory,
            pids: limits.pids,
            cores: (!limits.cores.is_empty()).then_some(limits.cores),
            settings: self.settings()?,
            data: self.data_folder()?,
        })
    }
}
