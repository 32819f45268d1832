//! After a search, profiles the target well below its limit and just above.

use crate::Profiling;
use crate::trial_runner::{PlannedTrial, TrialRunner};
use engine::{LoadGenerator, OfferedLoad};
use plan::{Plan, SearchPlan, Stage};
use record::{Cause, LoadSide, Purpose, SearchEnd, Verdict};
use schedule::Schedule;
use search::judge;
use units::{Nanos, Rate};

/// Length of each load: at 199 Hz per processor some 1,200 samples of each busy one.
const LENGTH: Nanos = Nanos::from_secs(6);
/// Longest time to answer after an overload of that length; the rest is abandoned.
const DRAIN: Nanos = Nanos::from_secs(2);
/// Share of the rate that holds: far enough below the limit that nothing waits.
const BELOW: f64 = 0.5;
/// Multiple of the lowest rate that does not hold: a queue forms within a second.
const ABOVE: f64 = 1.1;

/// Whether the next question is which code runs.
fn is_of_processors(cause: Cause) -> bool {
    matches!(cause, Cause::Cpu | Cause::CpuQuota | Cause::Gc | Cause::ColdJit)
}

/// Time that a search without a budget reserves for this.
pub(crate) fn reserved(when: Profiling) -> Nanos {
    match when {
        Profiling::Never => Nanos::ZERO,
        Profiling::IfProcessors | Profiling::Always => LENGTH * 2,
    }
}

/// Samples the target under two short loads, if asked for or if it tells more than the verdict does. It changes no
/// result of the search; if the target cannot be sampled, that is a caveat, and takes no time.
pub(crate) fn profile_loads<C: LoadGenerator>(
    runner: &mut TrialRunner<'_, C>,
    plan: &Plan,
    find: &SearchPlan,
    (verdict, took): (&Verdict, Nanos),
    when: Profiling,
) {
    let Verdict::Limits { limits, ended, .. } = verdict else { return };
    let wanted = match when {
        Profiling::Never => false,
        Profiling::IfProcessors => {
            let in_time = find.budget.is_none_or(|budget| took + LENGTH * 2 + DRAIN <= budget);
            in_time && runner.observer.gave_first.is_some_and(is_of_processors)
        }
        Profiling::Always => true,
    };
    let is_known = matches!(
        ended,
        SearchEnd::Converged | SearchEnd::Noisy | SearchEnd::BudgetSpent | SearchEnd::MaxReached
    );
    // What half of the trials do not hold either is above.
    let most = limits.iter().filter_map(|limit| limit.upper).reduce(f64::max);
    let limit = limits.first().and_then(|limit| Some((limit.held.or(limit.lower)?, limit.upper.and(most))));
    let Some((held, upper)) = limit.filter(|_| wanted && is_known) else { return };
    if let Err(why) = runner.observer.can_sample() {
        return runner.observer.emit_not_profiled(&why);
    }
    let loads = match upper {
        Some(upper) => {
            vec![(LoadSide::Well, held * BELOW), (LoadSide::Above, (upper * ABOVE).min(find.max.0))]
        }
        // It was never overloaded.
        None => vec![(LoadSide::Well, held)],
    };
    for (side, rate) in loads {
        if runner.is_interrupted() {
            return;
        }
        let stage = Stage { duration: LENGTH, from: Rate(rate), to: Rate(rate) };
        let seed = plan.generator.seed.wrapping_add(u64::from(runner.trials));
        let load = PlannedTrial {
            purpose: Purpose::Profile,
            offer: OfferedLoad::Open(Schedule::new(&[stage], find.arrivals, seed)),
            rate: Some(Rate(rate)),
            duration: Some(LENGTH),
            drain: DRAIN,
        };
        let done = runner.trial(&load, &|_| false);
        let judgement = judge(&done.result, &plan.objective, find.width, None);
        runner.emit_judgement_on(side, done, &judgement);
    }
}
