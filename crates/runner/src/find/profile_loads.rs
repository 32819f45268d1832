//! After a search: which code the target runs well below its limit, and which just above.

use crate::Profiling;
use crate::trial_runner::{PlannedTrial, TrialRunner};
use engine::{LoadGenerator, OfferedLoad};
use plan::{Plan, SearchPlan, Stage};
use record::{Cause, Caveat, CaveatDetails, CaveatKind, Event, LoadSide, Purpose, SearchEnd, Verdict};
use schedule::Schedule;
use search::judge;
use units::{Nanos, Rate};

/// How long each load lasts: at 199 looks a second at each processor that is some 1,200 samples of each that is busy.
const LENGTH: Nanos = Nanos::from_secs(6);
/// So long an overload of that length may take to be answered; what is then still open is left.
const DRAIN: Nanos = Nanos::from_secs(2);
/// Of the rate that holds: far enough from the limit that nothing waits.
const BELOW: f64 = 0.5;
/// Of the lowest rate that does not: a queue forms within a second.
const ABOVE: f64 = 1.1;

/// Whether which code runs is the next question.
fn is_of_processors(cause: Cause) -> bool {
    matches!(cause, Cause::Cpu | Cause::CpuQuota | Cause::Gc | Cause::ColdJit)
}

/// What a search without a budget leaves for it.
pub(crate) fn reserved(when: Profiling) -> Nanos {
    match when {
        Profiling::Never => Nanos::ZERO,
        Profiling::WhereItTells | Profiling::Always => LENGTH * 2,
    }
}

/// Samples the target under two short loads, if that was asked for or says more than the verdict does. Nothing that the search came to
/// changes; that nobody can be sampled is a doubt, and costs no time.
pub(crate) fn profile_loads<C: LoadGenerator>(
    conductor: &mut TrialRunner<'_, C>,
    plan: &Plan,
    find: &SearchPlan,
    (verdict, took): (&Verdict, Nanos),
    when: Profiling,
) {
    let Verdict::Limits { limits, ended, .. } = verdict else { return };
    let wanted = match when {
        Profiling::Never => false,
        Profiling::WhereItTells => {
            let in_time = find.budget.is_none_or(|budget| took + LENGTH * 2 + DRAIN <= budget);
            in_time && conductor.gave_first().is_some_and(is_of_processors)
        }
        Profiling::Always => true,
    };
    let is_known = matches!(
        ended,
        SearchEnd::Converged | SearchEnd::Noisy | SearchEnd::BudgetSpent | SearchEnd::MaxReached
    );
    let limit = limits.first().and_then(|limit| Some((limit.held.or(limit.lower)?, limit.upper)));
    let Some((held, upper)) = limit.filter(|_| wanted && is_known) else { return };
    if let Err(why) = conductor.can_sample() {
        let grounds = CaveatDetails::Text(format!("the target is not profiled: {why}"));
        return conductor
            .emit(&Event::Caveat { caveat: Caveat::with_details(CaveatKind::NotProfiled, grounds) });
    }
    let loads = match upper {
        Some(upper) => {
            vec![(LoadSide::Well, held * BELOW), (LoadSide::Above, (upper * ABOVE).min(find.max.0))]
        }
        // It never was too much.
        None => vec![(LoadSide::Well, held)],
    };
    for (side, rate) in loads {
        if conductor.is_interrupted() {
            return;
        }
        let stage = Stage { duration: LENGTH, from: Rate(rate), to: Rate(rate) };
        let seed = plan.generator.seed.wrapping_add(u64::from(conductor.trials()));
        let load = PlannedTrial {
            purpose: Purpose::Profile,
            offer: OfferedLoad::Open(Schedule::new(&[stage], find.arrivals, seed)),
            rate: Some(Rate(rate)),
            duration: Some(LENGTH),
            drain: DRAIN,
        };
        let done = conductor.trial(&load, &|_| false);
        let judgement = judge(&done.result, &plan.objective, find.width, None);
        conductor.emit_judgement_on(side, done, &judgement);
    }
}
