use crate::{Cause, Caveat, RunId};
use plan::{ArmMeasure, Hypothesis, LoadLevel};
use serde::{Deserialize, Serialize};
use units::{Nanos, Rate, Share};

/// The design of an experiment: the part of the plan that its analysis needs, without secrets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// The first is the unchanged plan.
    pub arms: Vec<DesignArm>,
    /// What is measured at each start, in this order.
    pub probes: Vec<DesignMeasurement>,
    /// What is asked.
    pub hypotheses: Vec<Hypothesis>,
    /// Baseline starts before the first block.
    pub pilot: u32,
    /// Blocks before the first look.
    pub least: u32,
    /// Blocks at most.
    pub most: u32,
    /// Total time.
    pub budget: Option<Nanos>,
    /// Of all verdicts together.
    pub confidence: Share,
    /// Seed of the order within blocks.
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
    /// Changes to the plan: `TOMCAT_THREADS 200 → 400`. Empty for the first.
    pub changes: Vec<String>,
}

/// A measurement, in words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DesignMeasurement {
    /// The workload's name; `all` if the plan has only one.
    pub workload: String,
    /// Its load.
    pub at: LoadLevel,
    /// Indices of the arms it applies to.
    pub arms: Vec<usize>,
}

/// One start of one arm with all its measurements: the replicate of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmStart {
    /// Counted from 1 over the whole experiment, including repeated starts.
    pub number: u32,
    /// 0 is the pilot; blocks count from 1.
    pub block: u32,
    /// Index of the arm in the plan's experiment.
    pub arm: usize,
    /// The baseline's second start in its block: the placebo.
    pub placebo: bool,
    /// Begin, in milliseconds since 1970.
    pub at_unix_ms: u64,
    /// Its duration.
    pub took: Nanos,
    /// From starting the service until it was ready; without a service, of everything needed.
    pub started_in: Nanos,
    /// Where the rest of its time went; zero in starts of earlier versions.
    #[serde(default)]
    pub spent: StartTimes,
    /// Results of the measurements that apply to this arm.
    pub taken: Vec<MeasurementResult>,
    /// Why it is void; none if it counts.
    pub void: Option<String>,
}

/// Where a start's time went, beside [`ArmStart::started_in`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StartTimes {
    /// Until everything the service needs was ready.
    pub needs: Nanos,
    /// Resetting the state.
    pub reset: Nanos,
    /// Loads before any that counts, until throughput was level.
    pub warm: Nanos,
    /// Loads that count.
    pub load: Nanos,
    /// Repeated loads, because the machine had been taken away.
    pub again: Nanos,
    /// After loads, until everything was answered and the service had recovered.
    pub drain: Nanos,
    /// Starting and stopping loops and observation, and the diagnosis.
    pub rest: Nanos,
    /// Until everything that was started had ended.
    pub stop: Nanos,
}

impl StartTimes {
    /// Adds another start's times.
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

/// The result of one measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasurementResult {
    /// Index of the measurement in the design.
    pub probe: usize,
    /// The stored run.
    pub run: RunId,
    /// The rate held, if any.
    pub rate: Option<Rate>,
    /// Figures in the measure's unit; only those available.
    pub figures: Vec<(ArmMeasure, f64)>,
    /// The figures are lower bounds: the generator or the plan ended the search.
    pub at_least: bool,
    /// What gave first, if anything did.
    pub cause: Option<Cause>,
    /// In words: the diagnosis' first sentence.
    pub says: String,
    /// Reasons for doubt.
    pub caveats: Vec<Caveat>,
}

/// The answer to a hypothesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HypothesisAnswer {
    /// The whole interval is beyond the smallest effect, for the better.
    Better,
    /// The same, for the worse.
    Worse,
    /// The whole interval is within the smallest effect.
    NoDifference,
    /// Neither.
    Undecided,
    /// Nothing to compare: an arm could not be measured.
    NotMeasured,
}

/// What the baseline's diagnosis leads one to expect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExpectedAnswer {
    /// The expected answer; none if the diagnosis says nothing about it.
    pub answer: Option<HypothesisAnswer>,
    /// Why, in one sentence.
    pub why: String,
}

/// The result of a hypothesis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HypothesisResult {
    /// Index in the plan's hypotheses; none for the placebo.
    pub hypothesis: Option<usize>,
    /// Its name.
    pub name: String,
    /// The current answer.
    pub answer: HypothesisAnswer,
    /// Ratio of the two arms' geometric means; its interval has the planned confidence for all hypotheses and looks together.
    pub ratio: Option<Interval>,
    /// The interval excludes 1: there is some effect, whether or not it matters.
    pub some_effect: bool,
    /// Complete blocks it rests on.
    pub blocks: u32,
    /// The expected answer.
    pub expected: Option<ExpectedAnswer>,
    /// Whether that came true; none if undecided or nothing was expected.
    pub held: Option<bool>,
    /// What gave first in each arm, in a sentence; or why there is nothing to compare. May be empty.
    pub says: String,
    /// Reasons for doubt.
    pub caveats: Vec<Caveat>,
}

/// The answer to a hypothesis, by the arm that it asks about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmAnswer {
    /// The arm's name; for a hypothesis about several arms, or one of several about an arm, its own name.
    pub arm: String,
    /// The answer.
    pub answer: HypothesisAnswer,
    /// The ratio to what it was compared with; none if not measured.
    pub factor: Option<f64>,
}

impl ArmAnswer {
    /// All answers of an experiment, in the order of its hypotheses, without placebos.
    pub fn from_state(design: &Design, state: &ExperimentState) -> Vec<Self> {
        let arm = |asked: &Hypothesis| {
            let compared_arm = |asked: &Hypothesis| {
                let mut raised = asked.contrast.iter().filter(|(_, weight)| *weight > 0.0);
                raised.next().filter(|_| asked.contrast.len() == 2).map(|(arm, _)| *arm)
            };
            let arm = compared_arm(asked)?;
            let asked = design.hypotheses.iter().filter(|other| compared_arm(other) == Some(arm)).count();
            design.arms.get(arm).filter(|_| asked == 1).map(|arm| arm.name.clone())
        };
        let answer = |judged: &HypothesisResult| {
            let hypothesis = design.hypotheses.get(judged.hypothesis?)?;
            Some(Self {
                arm: arm(hypothesis).unwrap_or_else(|| judged.name.clone()),
                answer: judged.answer,
                factor: judged.ratio.map(|ratio| ratio.value),
            })
        };
        state.judged.iter().filter_map(answer).collect()
    }
}

/// A figure with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The noise, from the pilot and the blocks so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Index of the measurement.
    pub probe: usize,
    /// The measure.
    pub measure: ArmMeasure,
    /// Standard deviation of the logarithm between two starts of the same arm: 0.1 is about a tenth.
    pub deviation: f64,
    /// Degrees of freedom it rests on.
    pub freedom: u32,
    /// The smallest effect that the planned blocks find in nine in ten experiments, as a ratio above 1.
    pub visible: f64,
}

/// The state of an experiment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ExperimentState {
    /// Complete blocks.
    pub blocks: u32,
    /// One for each hypothesis, and one for the placebo of each measure asked about.
    pub judged: Vec<HypothesisResult>,
    /// One for each measure asked about.
    pub noise: Vec<Noise>,
    /// Caveats about the whole: drift between blocks, arms of unequal noise.
    pub caveats: Vec<Caveat>,
    /// Why it ended; none while it continues.
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
    /// The next block would exceed the budget.
    BudgetSpent,
    /// Nothing left to compare: the baseline, or all variants, could not be measured.
    NothingToCompare,
    /// Ctrl-C.
    Interrupted,
}
