//! A search: asks for a load, makes it, hands the result back, until there is a verdict.

use crate::conductor::{Carrier, Conductor, Load};
use crate::exit;
use engine::Offer;
use plan::{Find, Goal, Plan, Stage};
use record::{BLOCK, Ended, Event, Recovery, Slice, TrialResult, Verdict};
use schedule::Schedule;
use search::{Config, Search, Step, hopeless};
use std::borrow::Cow;
use std::time::Instant;
use units::Nanos;

pub(crate) fn find<C: Carrier>(
    conductor: &mut Conductor<'_, C>,
    plan: &Plan,
    find: &Find,
    curve: bool,
) -> (Verdict, u8) {
    let (began, pauses) = (Instant::now(), plan.longest_pauses());
    let mut search = Search::new(Config {
        goals: Goal::pair(&plan.objective, find.trial, find.sum, find.width).to_vec(),
        objective: plan.objective,
        from: find.from,
        max: find.max,
        width: find.width,
        budget: find.budget,
        timeout: plan.longest_timeout(),
        seed: plan.generator.seed,
        curve,
    });
    let verdict = loop {
        let proposal = match search.next() {
            Step::Try(proposal) => proposal,
            Step::Done(verdict) => break *verdict,
        };
        if conductor.interrupted() {
            break search.interrupt(Ended::Interrupted);
        }
        // Users who pause come to every step of their flow, and are as many at a time as they will be, only in a trial that
        // is longer than their pauses.
        let duration = proposal.duration.max(plan.least_trial());
        if find.budget.is_some_and(|budget| Nanos::from(began.elapsed()) + duration > budget) {
            break search.interrupt(Ended::BudgetSpent);
        }
        let stage = Stage { duration, from: proposal.rate, to: proposal.rate };
        // Each trial draws its own arrivals: the same again would repeat the same luck.
        let seed = plan.generator.seed.wrapping_add(u64::from(conductor.trials()));
        let load = Load {
            purpose: proposal.purpose,
            offer: Offer::Open(Schedule::new(&[stage], find.arrivals, seed)),
            rate: Some(proposal.rate),
            duration: Some(duration),
            drain: search.drain(),
        };
        let done = conductor.trial(&load, &|so_far| {
            hopeless(&steady(so_far, pauses), proposal.rate, duration, &plan.objective, find.width)
        });
        if done.interrupted {
            let judgement = search::judge(&done.result, &plan.objective, find.width);
            conductor.judged(done, &judgement);
            break search.interrupt(Ended::Interrupted);
        }
        let total = steady(&done.result.total, pauses).into_owned();
        let judgement = search.take(&TrialResult { total, ..done.result.clone() });
        let overloaded = !judgement.good;
        let came_back = !matches!(done.result.recovery, Recovery::Not(_));
        conductor.judged(done, &judgement);
        conductor.emit(&Event::Bounds { limits: search.limits() });
        if overloaded && came_back && !conductor.recovers() {
            break search.interrupt(Ended::NotRecovered);
        }
    };
    let code = exit_code(&verdict);
    (verdict, code)
}

/// For whoever asks whether a queue grows: not before the first users have come to the end of their pauses does the load stand
/// still.
pub(crate) fn steady(total: &Slice, pauses: Nanos) -> Cow<'_, Slice> {
    let skip = pauses.0.div_ceil(BLOCK.0) as usize;
    if skip == 0 {
        return Cow::Borrowed(total);
    }
    let outstanding = total.outstanding.iter().skip(skip).copied().collect();
    Cow::Owned(Slice { outstanding, ..total.clone() })
}

pub(crate) fn exit_code(verdict: &Verdict) -> u8 {
    let Verdict::Limits { limits, ended, .. } = verdict else { return exit::ERROR };
    match ended {
        Ended::Converged | Ended::MaxReached => exit::MET,
        Ended::BudgetSpent if limits.iter().all(|limit| limit.regular) => exit::MET,
        Ended::BudgetSpent | Ended::NonStationary => exit::UNDECIDED,
        Ended::BelowMin | Ended::TargetFails => exit::NOT_MET,
        Ended::GeneratorLimit => exit::NOT_TRUSTWORTHY,
        Ended::NotRecovered => exit::NOT_RECOVERED,
        Ended::Interrupted => exit::INTERRUPTED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// While users come to their later steps the load rises, and with it what is outstanding: that is no queue that grows.
    #[test]
    fn a_load_that_rises_is_not_asked_whether_its_queue_grows() {
        let outstanding: Vec<f64> = (0..40).map(f64::from).collect();
        let total = Slice { due: 7, outstanding, ..Slice::default() };
        assert!(matches!(steady(&total, Nanos::ZERO), Cow::Borrowed(_)));
        let after = steady(&total, Nanos::from_millis(1_950));
        assert_eq!((after.due, after.outstanding.len(), after.outstanding[0]), (7, 20, 20.0));
        assert!(steady(&total, Nanos::from_secs(60)).outstanding.is_empty());
    }
}
