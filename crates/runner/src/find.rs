//! A search: asks for a load, makes it, hands the result back, until there is a verdict.

mod profiled;

pub(crate) use profiled::{profiled, reserved};

use crate::conductor::{Conductor, Load};
use crate::exit;
use engine::{Carrier, Offer};
use plan::{Find, Goal, Plan, Stage};
use record::{Ended, Event, LimitUnit, Purpose, Recovery, Verdict};
use schedule::Schedule;
use search::{Config, Search, Step};
use units::Nanos;

/// Trials in which a worker of the fleet was lost before the search is given up.
pub(crate) const LOST_MOST: u32 = 5;

pub(crate) fn find<C: Carrier>(
    conductor: &mut Conductor<'_, C>,
    plan: &Plan,
    find: &Find,
    unit: LimitUnit,
    (curve, reserved): (bool, Nanos),
) -> (Verdict, u8) {
    let began = conductor.now();
    let goals = if find.strict { Goal::strict } else { Goal::held };
    let mut search = Search::new(Config {
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
    let bounds = |search: &Search| Event::Bounds { limits: search.limits(), making: search.making() };
    let verdict = loop {
        let proposal = match search.next() {
            Step::Try(proposal) => proposal,
            Step::Done(verdict) => break *verdict,
        };
        if conductor.interrupted() {
            break search.interrupt(Ended::Interrupted);
        }
        if find.budget.is_some_and(|budget| conductor.now() - began + proposal.duration > budget) {
            break search.time_is_up();
        }
        let stage = Stage { duration: proposal.duration, from: proposal.rate, to: proposal.rate };
        // Each trial draws its own arrivals: the same again would repeat the same luck.
        let seed = plan.generator.seed.wrapping_add(u64::from(conductor.trials()));
        let offer = match proposal.closed {
            // Each connection of a closed loop has several requests under way if it can.
            Some(users) => Offer::Closed {
                connections: users.div_ceil(plan.streams()),
                requests: None,
                duration: Some(proposal.duration),
            },
            None => Offer::Open(Schedule::new(&[stage], find.arrivals, seed)),
        };
        let load = Load {
            purpose: proposal.purpose,
            offer,
            rate: Some(proposal.rate).filter(|_| proposal.closed.is_none()),
            duration: Some(proposal.duration),
            drain: search.drain(),
        };
        let done = conductor.trial(&load, &|so_far| search.hopeless(so_far));
        if done.interrupted {
            let judgement = search.judge(&done.result);
            conductor.judged(done, &judgement);
            break search.interrupt(Ended::Interrupted);
        }
        if done.result.of_the_fleet().next().is_some() {
            // It says nothing, so that the search is not told of it and asks for the same again.
            let judgement = search.judge(&done.result);
            conductor.judged(done, &judgement);
            lost += 1;
            if lost == LOST_MOST {
                break search.interrupt(Ended::FleetFailed);
            }
            continue;
        }
        let judgement = search.judge(&done.result);
        if judgement.invalid.iter().any(|caveat| caveat.doubt.is_generator()) && conductor.grows() {
            // The same by more of them says more.
            conductor.judged(done, &judgement);
            continue;
        }
        let lost = done.result.recovery.lost().filter(|_| conductor.knows_calm());
        if let Some(after) = lost {
            // What it never answers may be lost, and the target there all the same: asked anew it tells.
            let mut result = done.result.clone();
            conductor.judged(done, &judgement);
            conductor.emit(&bounds(&search));
            let since = conductor.now();
            if conductor.recovers() {
                result.recovery = Recovery::After(after);
            }
            search.take(&result);
            conductor.emit(&bounds(&search));
            search.also_loaded(conductor.now() - since);
            continue;
        }
        if proposal.purpose == Purpose::WarmUp {
            search.also_compiled(conductor.compiling(&done));
        }
        let judgement = search.take(&done.result);
        let overloaded = !judgement.good && done.result.recovery.lost().is_none();
        conductor.judged(done, &judgement);
        conductor.emit(&bounds(&search));
        if overloaded {
            let since = conductor.now();
            if !conductor.recovers() {
                break search.interrupt(Ended::NotRecovered);
            }
            search.also_loaded(conductor.now() - since);
        }
    };
    if let Some(caveat) = search.slowing() {
        conductor.emit(&Event::Doubt { caveat });
    }
    let code = exit_code(&verdict);
    (verdict, code)
}

pub(crate) fn exit_code(verdict: &Verdict) -> u8 {
    let Verdict::Limits { limits, ended, background, .. } = verdict else { return exit::ERROR };
    match ended {
        _ if background.as_ref().is_some_and(|lost| lost.seen) && *ended != Ended::Interrupted => {
            exit::NOT_MET
        }
        Ended::Converged | Ended::MaxReached | Ended::Noisy => exit::MET,
        Ended::BudgetSpent if limits.iter().all(|limit| limit.regular) => exit::MET,
        Ended::BudgetSpent | Ended::NonStationary => exit::UNDECIDED,
        Ended::BelowMin | Ended::TargetFails => exit::NOT_MET,
        Ended::GeneratorLimit | Ended::FleetFailed => exit::NOT_TRUSTWORTHY,
        Ended::NotRecovered => exit::NOT_RECOVERED,
        Ended::Interrupted => exit::INTERRUPTED,
    }
}

#[cfg(test)]
mod tests;
