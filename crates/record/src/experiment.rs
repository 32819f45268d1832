use crate::{Cause, Caveat, RunId};
use plan::{ArmMeasure, Hypothesis, LoadLevel};
use serde::{Deserialize, Serialize};
use units::{Nanos, Rate, Share};

/// What an experiment is to find out, and how: of the plan what its analysis needs, and nothing secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// The first is the plan as it stands.
    pub arms: Vec<DesignArm>,
    /// What is measured at one start, in this order.
    pub probes: Vec<DesignMeasurement>,
    /// What is asked.
    pub hypotheses: Vec<Hypothesis>,
    /// Starts of the baseline before the first block.
    pub pilot: u32,
    /// Blocks before the first look.
    pub least: u32,
    /// Blocks at most.
    pub most: u32,
    /// Time for all of it.
    pub budget: Option<Nanos>,
    /// Of all verdicts together.
    pub confidence: Share,
    /// Of the order within blocks.
    pub seed: u64,
}

impl Design {
    /// Starts in a block: every arm once, and the baseline once more if anything is compared.
    pub fn starts_in_block(&self) -> u32 {
        self.arms.len() as u32 + u32::from(!self.hypotheses.is_empty())
    }

    /// Starts before the first look at the result.
    pub fn starts_to_first_look(&self) -> u32 {
        self.pilot + self.least * self.starts_in_block()
    }
}

/// An arm, in words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DesignArm {
    /// Its name.
    pub name: String,
    /// What is different from the plan as it stands: `TOMCAT_THREADS 200 → 400`. None for the first.
    pub changes: Vec<String>,
}

/// What is measured, in words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DesignMeasurement {
    /// The workload's name; `all` if the plan has only one.
    pub workload: String,
    /// At what load.
    pub at: LoadLevel,
    /// Places of the arms it is measured of.
    pub arms: Vec<usize>,
}

/// One start of one arm, and all that was measured of it: the replicate of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmStart {
    /// Counted from 1 over the whole experiment, repeated visits included.
    pub number: u32,
    /// 0 is the pilot; blocks count from 1.
    pub block: u32,
    /// Place of the arm in the plan's experiment.
    pub arm: usize,
    /// The second visit of the baseline in its block: the placebo, which is not different from it.
    pub placebo: bool,
    /// When it began, and how long it took.
    pub at_unix_ms: u64,
    /// See above.
    pub took: Nanos,
    /// From the start of the service until it was ready; without one, of all that is needed.
    pub started_in: Nanos,
    /// Where the rest of its time went; zeros of starts before this was kept.
    #[serde(default)]
    pub spent: StartTimes,
    /// What was measured at each probe that is for this arm.
    pub taken: Vec<MeasurementResult>,
    /// Why it does not count; none if it does.
    pub void: Option<String>,
}

/// Where a start's time went, beside [`Visit::started_in`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StartTimes {
    /// Until all that the service needs was ready.
    pub needs: Nanos,
    /// Putting the state back.
    pub reset: Nanos,
    /// Loads before any that counts, until what the service does was level.
    pub warm: Nanos,
    /// Loads that count.
    pub load: Nanos,
    /// Loads made again, for the machine was taken away meanwhile.
    pub again: Nanos,
    /// After loads, until all was answered and the service had come back.
    pub drain: Nanos,
    /// Starting and ending loops and watch, and finding out what gave first.
    pub rest: Nanos,
    /// Until all had ended that was started.
    pub stop: Nanos,
}

impl StartTimes {
    /// Adds another start's.
    pub fn add(&mut self, other: &Self) {
        self.needs += other.needs;
        self.reset += other.reset;
        self.warm += other.warm;
        self.load += other.load;
        self.again += other.again;
        self.drain += other.drain;
        self.rest += other.rest;
        self.stop += other.stop;
    }
}

/// What one probe gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasurementResult {
    /// Place of the probe in the plan's experiment.
    pub probe: usize,
    /// The run that was kept of it.
    pub run: RunId,
    /// The rate that was held, if one was.
    pub rate: Option<Rate>,
    /// Figures in the measure's unit; only those that could be taken.
    pub figures: Vec<(ArmMeasure, f64)>,
    /// Figures that are only known to be at least this: the generator or the plan ended the search.
    pub at_least: bool,
    /// What gave first, if anything did.
    pub cause: Option<Cause>,
    /// In words: the diagnosis' first sentence.
    pub says: String,
    /// Reasons for doubt.
    pub caveats: Vec<Caveat>,
}

/// What can be said of a hypothesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HypothesisAnswer {
    /// The whole interval is beyond the smallest effect, to the better.
    Better,
    /// To the worse.
    Worse,
    /// The whole interval is within the smallest effect.
    NoDifference,
    /// Neither.
    Undecided,
    /// There is nothing to compare: an arm could not be measured.
    NotMeasured,
}

/// What the diagnosis of the baseline lets expect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExpectedAnswer {
    /// The answer that was expected; none if the diagnosis says nothing about it.
    pub answer: Option<HypothesisAnswer>,
    /// Why, in one sentence.
    pub why: String,
}

/// A hypothesis and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HypothesisResult {
    /// Place in the plan's hypotheses; none of the placebo.
    pub hypothesis: Option<usize>,
    /// Its name.
    pub name: String,
    /// The answer now.
    pub answer: HypothesisAnswer,
    /// Ratio of the two arms' geometric means; with its interval of the planned confidence, which holds for all
    /// hypotheses and looks together.
    pub ratio: Option<Interval>,
    /// The interval excludes 1: there is some effect, whether or not it matters.
    pub some_effect: bool,
    /// Complete blocks it rests on.
    pub blocks: u32,
    /// What was expected of it.
    pub expected: Option<ExpectedAnswer>,
    /// Whether that came true; none if it is undecided or nothing was expected.
    pub held: Option<bool>,
    /// What gave first in each arm, in a sentence; or why there is nothing to compare. May be empty.
    pub says: String,
    /// Reasons for doubt.
    pub caveats: Vec<Caveat>,
}

/// The answer to a hypothesis, by the arm that it asks about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmAnswer {
    /// The arm's name; of a hypothesis of several arms, or one of several of an arm, its own.
    pub arm: String,
    /// See above.
    pub answer: HypothesisAnswer,
    /// How many times as much as what it was compared with; none if it was not measured.
    pub factor: Option<f64>,
}

impl ArmAnswer {
    /// Those of an experiment, in the order they were asked; placebos are no hypotheses.
    pub fn all(design: &Design, standing: &ExperimentState) -> Vec<Self> {
        let arm = |asked: &Hypothesis| {
            let raised = |asked: &Hypothesis| {
                let mut raised = asked.contrast.iter().filter(|(_, weight)| *weight > 0.0);
                raised.next().filter(|_| asked.contrast.len() == 2).map(|(arm, _)| *arm)
            };
            let arm = raised(asked)?;
            let asked = design.hypotheses.iter().filter(|other| raised(other) == Some(arm)).count();
            design.arms.get(arm).filter(|_| asked == 1).map(|arm| arm.name.clone())
        };
        let answer = |judged: &HypothesisResult| {
            let asked = design.hypotheses.get(judged.hypothesis?)?;
            Some(Self {
                arm: arm(asked).unwrap_or_else(|| judged.name.clone()),
                answer: judged.answer,
                factor: judged.ratio.map(|ratio| ratio.value),
            })
        };
        standing.judged.iter().filter_map(answer).collect()
    }
}

/// A figure with the bounds that it is within.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The best guess.
    pub value: f64,
    /// See above.
    pub low: f64,
    /// See above.
    pub high: f64,
}

/// What the pilot and the blocks so far say about the noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Place of the probe, and the measure.
    pub probe: usize,
    /// See above.
    pub measure: ArmMeasure,
    /// Standard deviation of the logarithm between two starts of the same: 0.1 is about a tenth.
    pub deviation: f64,
    /// Degrees of freedom it rests on.
    pub freedom: u32,
    /// The smallest effect that the planned blocks find in nine of ten experiments, as a ratio above 1.
    pub visible: f64,
}

/// Where an experiment stands.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ExperimentState {
    /// Complete blocks.
    pub blocks: u32,
    /// One for each hypothesis, and one for the placebo of each measure that is asked for.
    pub judged: Vec<HypothesisResult>,
    /// One for each measure that is asked for.
    pub noise: Vec<Noise>,
    /// Doubts about the whole: drift between blocks, arms of unequal noise.
    pub caveats: Vec<Caveat>,
    /// Why it is over; none while it goes on.
    pub over: Option<ExperimentEnd>,
}

/// Why an experiment ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExperimentEnd {
    /// Every hypothesis has an answer.
    Decided,
    /// All planned blocks are made.
    BlocksMade,
    /// The next block would not fit the budget.
    BudgetSpent,
    /// There was nothing left to compare: the baseline, or all variants, could not be measured.
    NothingToCompare,
    /// Ctrl-C.
    Interrupted,
}
