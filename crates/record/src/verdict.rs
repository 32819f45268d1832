use crate::{CacheModel, ExperimentState, Failure, LimitUnit, Outcomes, RampEnd};
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos, Rate};

/// The interval found for one goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// The goal's name: `nine-of-ten` and `half`, or `strict` and `typical`.
    pub goal: String,
    /// The held rate, if estimated from all trials; `lower` and `upper` are then its 95 % interval.
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
    /// Requests due at the lower bound in all its trials.
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
    /// Median response time.
    pub response_p50: Nanos,
    /// 99th percentile of the response time.
    pub response_p99: Nanos,
    /// The longest response time.
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
    /// The largest rate allowed meets every goal: a lower bound of the limit.
    MaxReached,
    /// Even the smallest rate fails.
    BelowMin,
    /// The time budget was used up.
    BudgetSpent,
    /// The target's own noise leaves the limit less sharp than requested, after a search's maximum duration.
    Noisy,
    /// The generator was the limit repeatedly: the lower bound is a lower bound of the limit.
    GeneratorLimit,
    /// The target kept changing, so that no bound held.
    NonStationary,
    /// The target did not recover after an overload.
    NotRecovered,
    /// Ctrl-C.
    Interrupted,
    /// All requests failed: nothing to search.
    TargetFails,
    /// Workers of the fleet were lost repeatedly.
    FleetFailed,
}

impl SearchEnd {
    /// Whether no limit was found: it is at least what holds, whatever failed above it.
    pub fn is_at_least(&self) -> bool {
        matches!(self, Self::MaxReached | Self::GeneratorLimit | Self::FleetFailed)
    }
}

/// Background loss: requests lost at any rate.
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

/// The result of a warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WarmUpResult {
    /// Time under load.
    pub loaded: Nanos,
    /// Answers in it.
    pub answered: u64,
    /// How many times faster the target was at the end than in the first window; 1 if it was already warm.
    pub times: f64,
}

/// What the generator makes against this target when overloaded itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GeneratorCapacity {
    /// Requests sent per second.
    pub most: f64,
    /// Processor time of its loops per request, outside the kernel.
    pub user: Nanos,
    /// In the kernel.
    pub kernel: Nanos,
    /// Share of the time that its loops worked, 0 to 1,
    pub worked: f64,
    /// and were ready and waited for a processor.
    pub waited: f64,
    /// Connections made per request.
    pub connects: f64,
}

/// The result of a run.
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
        /// The background loss, if any: the limits exclude it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        background: Option<BackgroundLoss>,
        /// The warm-up, if there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        warmed_up: Option<WarmUpResult>,
        /// Throughput under a long queue, in requests per second, if clearly less than it holds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        overloaded: Option<f64>,
        /// What the generator can make, if that was the limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        generator: Option<GeneratorCapacity>,
    },
    /// Of `torment try`.
    Answers {
        /// The final state, with the result of every hypothesis.
        standing: ExperimentState,
    },
    /// Of `torment probe`.
    Sheet {
        /// Figures measured.
        figures: u32,
        /// Those with a caveat.
        doubtful: u32,
        /// Whether it was interrupted before all were measured.
        cut_short: bool,
    },
    /// Of `torment profile`.
    Profiled {
        /// Samples in all of its profiles.
        samples: u64,
        /// The function sampled most often, and its share of the samples; none without samples.
        most: Option<(String, f64)>,
    },
    /// Of `torment find threads`.
    Tasks {
        /// The most tasks that existed at once, beyond those before.
        reached: u64,
        /// What the limits allowed, as read beforehand.
        forecast: Option<u64>,
        /// What ended the ramp.
        gave: RampEnd,
    },
    /// Of `torment find working-set`.
    WorkingSet {
        /// The model that explains the rates, if any.
        model: Option<CacheModel>,
        /// The model's size at which the rate is half of that from the cache.
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
        /// Arrivals by outcome.
        outcomes: Outcomes,
        /// Share of arrivals lost, including what the queue's divergence adds.
        loss: f64,
    },
}
