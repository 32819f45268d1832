//! A search: asks for a load, makes it, returns the result, until there is a verdict.

mod profile_loads;

pub(crate) use profile_loads::{profile_loads, reserved};

use crate::exit;
use crate::trial_runner::{PlannedTrial, TrialRunner};
use engine::{LoadGenerator, OfferedLoad};
use plan::{Goal, Plan, SearchPlan, Stage};
use record::{Event, LimitUnit, Purpose, Recovery, SearchEnd, Verdict};
use schedule::Schedule;
use search::{Search, SearchConfig, SearchStep};
use units::Nanos;

/// Trials with a lost worker before the search is given up.
pub(crate) const LOST_MOST: u32 = 5;

pub(crate) fn find<C: LoadGenerator>(
    runner: &mut TrialRunner<'_, C>,
    plan: &Plan,
    find: &SearchPlan,
    unit: LimitUnit,
    (curve, reserved): (bool, Nanos),
) -> (Verdict, u8) {
    let began = runner.now();
    let goals = if find.strict { Goal::strict_goals } else { Goal::default_goals };
    let mut search = Search::new(SearchConfig {
        goals: goals(&plan.objective, find.trial, find.sum, find.width).to_vec(),
        objective: plan.objective,
        from: find.from,
        max: find.max,
        width: find.width,
        least: plan.least_trial(),
        pauses: plan.longest_pauses(),
        budget: find.budget,
        timeout: plan.longest_timeout(),
        seed: plan.generator.seed,
        curve,
        reserved,
        unit,
    });
    let mut lost = 0;
    let bounds =
        |search: &Search| Event::Bounds { limits: search.limits(), making: search.generator_capacity() };
    let verdict = loop {
        let proposal = match search.next() {
            SearchStep::Try(proposal) => proposal,
            SearchStep::Done(verdict) => break *verdict,
        };
        if runner.is_interrupted() {
            break search.interrupt(SearchEnd::Interrupted);
        }
        if find.budget.is_some_and(|budget| runner.now() - began + proposal.duration > budget) {
            break search.end_by_budget();
        }
        let stage = Stage { duration: proposal.duration, from: proposal.rate, to: proposal.rate };
        // Each trial draws its own arrivals: repeating the same ones would repeat their luck.
        let seed = plan.generator.seed.wrapping_add(u64::from(runner.trials));
        let offer = match proposal.users {
            // Each connection of a closed loop has several requests in flight if it can.
            Some(users) => OfferedLoad::Closed {
                connections: users.div_ceil(plan.streams()),
                requests: None,
                duration: Some(proposal.duration),
            },
            None => OfferedLoad::Open(Schedule::new(&[stage], find.arrivals, seed)),
        };
        let load = PlannedTrial {
            purpose: proposal.purpose,
            offer,
            rate: Some(proposal.rate).filter(|_| proposal.users.is_none()),
            duration: Some(proposal.duration),
            drain: search.drain(),
        };
        let finished = runner.trial(&load, &|so_far| search.hopeless(so_far));
        let judgement = search.judge(&finished.result);
        if finished.interrupted {
            runner.emit_judgement(finished, &judgement);
            break search.interrupt(SearchEnd::Interrupted);
        }
        if finished.result.fleet_caveats().next().is_some() {
            // Not reported to the search, so that it asks for the same trial again.
            runner.emit_judgement(finished, &judgement);
            lost += 1;
            if lost == LOST_MOST {
                break search.interrupt(SearchEnd::FleetFailed);
            }
            continue;
        }
        if judgement.invalid.iter().any(|caveat| caveat.doubt.is_generator()) && runner.grow() {
            // Repeating it with more workers tells more.
            runner.emit_judgement(finished, &judgement);
            continue;
        }
        let lost = finished.result.recovery.lost().filter(|_| runner.has_baseline());
        if let Some(after) = lost {
            // Requests that are never answered may be lost although the target is back: a new one tells.
            let mut result = finished.result.clone();
            runner.emit_judgement(finished, &judgement);
            runner.emit(&bounds(&search));
            let since = runner.now();
            if runner.await_recovery() {
                result.recovery = Recovery::After(after);
            }
            search.add_result(&result);
            runner.emit(&bounds(&search));
            search.add_load_time(runner.now() - since);
            continue;
        }
        if proposal.purpose == Purpose::WarmUp {
            search.set_compiling_threads(runner.observer.compiling(finished.result.loaded));
        }
        let judgement = search.add_result(&finished.result);
        let overloaded = !judgement.good && finished.result.recovery.lost().is_none();
        runner.emit_judgement(finished, &judgement);
        runner.emit(&bounds(&search));
        if overloaded {
            let since = runner.now();
            if !runner.await_recovery() {
                break search.interrupt(SearchEnd::NotRecovered);
            }
            search.add_load_time(runner.now() - since);
        }
    };
    if let Some(caveat) = search.slowing() {
        runner.observer.emit_caveat(caveat);
    }
    let code = exit_code(&verdict);
    (verdict, code)
}

pub(crate) fn exit_code(verdict: &Verdict) -> u8 {
    let Verdict::Limits { limits, ended, background, .. } = verdict else { return exit::ERROR };
    match ended {
        _ if background.as_ref().is_some_and(|lost| lost.seen) && *ended != SearchEnd::Interrupted => {
            exit::NOT_MET
        }
        SearchEnd::Converged | SearchEnd::MaxReached | SearchEnd::Noisy => exit::MET,
        SearchEnd::BudgetSpent if limits.iter().all(|limit| limit.regular) => exit::MET,
        SearchEnd::BudgetSpent | SearchEnd::NonStationary => exit::UNDECIDED,
        SearchEnd::BelowMin | SearchEnd::TargetFails => exit::NOT_MET,
        SearchEnd::GeneratorLimit | SearchEnd::FleetFailed => exit::NOT_TRUSTWORTHY,
        SearchEnd::NotRecovered => exit::NOT_RECOVERED,
        SearchEnd::Interrupted => exit::INTERRUPTED,
    }
}

#[cfg(test)]
mod tests;
