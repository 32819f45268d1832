use crate::{CacheModel, ExperimentState, Failure, LimitUnit, Outcomes, RampEnd};
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos, Rate};

/// The interval found for one goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// The goal's name: `nine-of-ten` and `half`, or `strict` and `typical`.
    pub goal: String,
    /// The rate that is held, if it was estimated from all trials; `lower` and `upper` are then its 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<f64>,
    /// The highest rate shown to meet the goal (relevant lower bound).
    pub lower: Option<f64>,
    /// The lowest rate shown to fail it (relevant upper bound).
    pub upper: Option<f64>,
    /// Unit of both.
    pub unit: LimitUnit,
    /// Both bounds exist and are within the goal's width.
    pub regular: bool,
    /// Good trials at the lower bound.
    pub good_trials: u32,
    /// Bad trials at the upper bound.
    pub bad_trials: u32,
    /// Requests due at the lower bound in all its trials together.
    pub lower_due: u64,
    /// Bad ones among them.
    pub lower_bad: u64,
    /// MLRsearch conditional throughput at the lower bound, requests per second.
    pub throughput: Option<f64>,
}

/// Response time at a fixed share of the capacity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Share of the capacity, 0 to 1.
    pub share: f64,
    /// Offered rate.
    pub rate: Rate,
    /// Arrivals due.
    pub due: u64,
    /// Half of the response times are below.
    pub response_p50: Nanos,
    /// 99 % are below.
    pub response_p99: Nanos,
    /// The largest.
    pub response_max: Nanos,
    /// Mean arrivals outstanding, which by Little's law is rate × mean response time.
    pub outstanding: f64,
    /// Mean response time.
    pub response_mean: Nanos,
}

/// Why a search ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchEnd {
    /// Every goal has both bounds within its width, confirmed.
    Converged,
    /// The largest rate allowed meets every goal: at least that.
    MaxReached,
    /// The smallest rate fails already.
    BelowMin,
    /// The time given was used up.
    BudgetSpent,
    /// The target's own noise leaves the limit less sharp than asked for, after as long as a search takes.
    Noisy,
    /// The generator was the limit, again and again: at least the lower bound.
    GeneratorLimit,
    /// The target kept changing, so that no bound stood.
    NonStationary,
    /// The target did not come back after an overload.
    NotRecovered,
    /// Ctrl-C.
    Interrupted,
    /// Only errors came back: nothing to search.
    TargetFails,
    /// Workers of the fleet were lost again and again.
    FleetFailed,
}

impl SearchEnd {
    /// Whether no limit was found: it is at least what holds, whatever failed above it.
    pub fn is_at_least(&self) -> bool {
        matches!(self, Self::MaxReached | Self::GeneratorLimit | Self::FleetFailed)
    }
}

/// Requests that are lost at any rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BackgroundLoss {
    /// Lost, in the trials without a growing queue.
    pub bad: u64,
    /// Due in them.
    pub due: u64,
    /// A quarter of the rate at which it was noticed, requests per second.
    pub at: f64,
    /// Whether any was lost there too; they may be too rare to tell.
    pub seen: bool,
    /// How most of them failed.
    pub failure: Option<Failure>,
}

/// What a warm-up came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WarmUpResult {
    /// Time under load.
    pub loaded: Nanos,
    /// Answers in it.
    pub answered: u64,
    /// So many times quicker was the target at the end than in the first window; 1 if it was warm already.
    pub times: f64,
}

/// What the generator makes against this target when it is asked for more than it can.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GeneratorCapacity {
    /// Requests sent in a second.
    pub most: f64,
    /// Processor time of its loops for each request, outside of the kernel.
    pub user: Nanos,
    /// In the kernel.
    pub kernel: Nanos,
    /// Share of the time in which its loops worked, 0 to 1,
    pub worked: f64,
    /// and in which they were ready and waited for a processor.
    pub waited: f64,
    /// Connections made for each request.
    pub connects: f64,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Verdict {
    /// Of `torment find`.
    Limits {
        /// One for each goal, the strict one first.
        limits: Vec<Limit>,
        /// Why the search ended.
        ended: SearchEnd,
        /// p50, p99 and max at fixed shares of the capacity.
        curve: Vec<CurvePoint>,
        /// Overload smaller than this share is invisible to a trial without the divergence rule.
        detection_limit: f64,
        /// Trials made.
        trials: u32,
        /// Time under load.
        loaded: Nanos,
        /// What is lost at any rate, if anything is: the limits are those without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        background: Option<BackgroundLoss>,
        /// How the target was warmed up, if it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        warmed_up: Option<WarmUpResult>,
        /// Requests per second that the target did while many waited, if that is clearly less than it holds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        overloaded: Option<f64>,
        /// What the generator can make, if that was the limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        generator: Option<GeneratorCapacity>,
    },
    /// Of `torment try`.
    Answers {
        /// What became of every hypothesis.
        standing: ExperimentState,
    },
    /// Of `torment probe`.
    Sheet {
        /// Figures measured.
        figures: u32,
        /// Those among them with a caveat.
        doubtful: u32,
        /// Whether it was interrupted before all were measured.
        cut_short: bool,
    },
    /// Of `torment profile`.
    Profiled {
        /// Samples in all of its profiles.
        samples: u64,
        /// The function that ran most often, and the share of the samples in which it did; none without samples.
        most: Option<(String, f64)>,
    },
    /// Of `torment find threads`.
    Tasks {
        /// The most that existed at once, beside those that were there before.
        reached: u64,
        /// What the limits allowed, as read before.
        forecast: Option<u64>,
        /// What ended the ramp.
        gave: RampEnd,
    },
    /// Of `torment find working-set`.
    WorkingSet {
        /// What explains the rates, if anything does.
        model: Option<CacheModel>,
        /// The size at which the rate is half of that from the cache, as the model has it.
        half_predicted: Option<Bytes>,
        /// The same, measured: the largest size with more than half, and the smallest with less.
        half_measured: Option<(Bytes, Bytes)>,
    },
    /// Of `torment run`.
    Goal {
        /// Whether the goal was met; none if the trial is not trustworthy.
        met: Option<bool>,
        /// The goal in words.
        goal: String,
        /// What became of the arrivals.
        outcomes: Outcomes,
        /// Share of arrivals lost, with what the divergence of the queue adds.
        loss: f64,
    },
}
