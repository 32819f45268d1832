//! What one trial means: how much was lost, and whether it may be believed at all.

use crate::divergence::{Growth, growth, is_overload};
use plan::Objective;
use record::{
    BLOCK, Caveat, CaveatDetails, CaveatKind, Judgement, MemberFigures, Silence, Slice, TrialResult,
};
use std::borrow::Cow;
use units::{Nanos, Rate, Share};

/// The slope's confidence in a whole trial, looked at once.
const SURE: f64 = 0.95;
/// The confidence asked of a running trial, looked at every second.
const VERY_SURE: f64 = 0.999;
/// The smallest overload that the divergence rule looks for, whatever the width.
const LEAST_OVERLOAD: f64 = 0.005;
/// No trial is given up earlier: a target may stumble at the start and catch up.
const PATIENCE: Nanos = Nanos::from_secs(3);
/// A running trial is hopeless beyond this share lost, of all that is planned,
const HOPELESS_LOSS: f64 = 0.05;
/// or this where a target moves and may catch up,
const HOPELESS_MOVING: f64 = 0.5;
/// and beyond this many times the goal.
const HOPELESS_TIMES: f64 = 10.0;

/// A queue grows as a straight line does if the doubt about it is within this part of the width.
pub const STEADILY: f64 = 0.1;
/// This share of the rate is far beyond the limit.
const PLAINLY: f64 = 0.3;

/// More arrivals than this share left unsent make a trial invalid.
const UNSENT_MOST: f64 = 0.001;
/// The generator's own lateness may reach this share of the deadline,
const PACING_SHARE: f64 = 0.1;
/// at least this,
const PACING_LEAST: Nanos = Nanos::from_millis(1);
/// and this if there is no deadline.
const PACING_FREE: Nanos = Nanos::from_millis(20);
/// Little's law must hold within this share
const LITTLE_SHARE: f64 = 0.03;
/// and this much time a request, the bookkeeping's own resolution,
const LITTLE_FLOOR: Nanos = Nanos::from_millis(1);
/// once a trial lasts this long.
const LITTLE_FROM: Nanos = Nanos::from_millis(9_900);
/// A freeze is longer than so many of the fastest answers;
const ORDINARY: u64 = 4;
/// so large a part of what came due in it is answered within half its length,
const FREED: f64 = 0.25;
/// and at least so many: answers that come independently of each other show such a lull once in 3 million.
const LULL: f64 = 15.0;
/// A target that stands still for more than this part of the time is as slow as that.
const HALTING: f64 = 0.5;
/// Arrivals due may differ from rate × time by this share, and by what chance explains.
const DUE_SHARE: f64 = 0.01;

/// More arrivals than this share later than that make a trial invalid.
const LATE_SHARE: f64 = 0.01;
/// So few late arrivals void nothing: of a hundred, the p99 is a single hiccup of the machine.
const LATE_FEW: u64 = 5;

/// The overload that the divergence rule asks for, as a share of the rate: a quarter of the width.
pub fn overload_threshold(width: Share) -> f64 {
    (width.0 / 4.0).max(LEAST_OVERLOAD)
}

/// For whoever asks whether a queue grows: before the first users have come to the end of their pauses the load still rises, and
/// with it what is outstanding.
pub fn settled_slice(total: &Slice, pauses: Nanos) -> Cow<'_, Slice> {
    let skip = pauses.0.div_ceil(BLOCK.0) as usize;
    if skip == 0 {
        return Cow::Borrowed(total);
    }
    let outstanding = total.outstanding.iter().skip(skip).copied().collect();
    Cow::Owned(Slice { outstanding, ..total.clone() })
}

/// What the trial means for `objective`; `width` sets the smallest overload looked for, `calm` is the mean response time of
/// the target while it was calm, if that is known.
///
/// The loss is the larger of what was counted and what a growing queue implies. With a deadline any
/// growing queue is bad, for sooner or later all its answers are late. A load with steep stages can
/// look like a growing queue only if its response times are seconds.
pub fn judge(result: &TrialResult, objective: &Objective, width: Share, calm: Option<Nanos>) -> Judgement {
    let total = &result.total;
    let counted = if total.due == 0 { 0.0 } else { total.outcomes.bad() as f64 / total.due as f64 };
    let rate = Rate::of(total.due, result.loaded).0;
    let grows = growth_of(total, rate, calm, SURE)
        .filter(|g| is_overload(*g, overload_threshold(width), rate, result.loaded.as_secs_f64()))
        .map(|g| g.per_second);
    let implied = grows.map_or(0.0, |g| (g / rate).min(1.0));
    let good = !result.hopeless
        && counted <= objective.loss.0
        && (grows.is_none() || objective.deadline.is_none() && implied <= objective.loss.0);
    Judgement {
        loss: counted.max(implied),
        good,
        growth_per_second: grows,
        invalid: void_reasons(result, objective, good),
    }
}

/// When a running trial is given up for a queue that grows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum GiveUpRule {
    /// As soon as it surely does.
    Surely,
    /// If it grows as a straight line does, or is far beyond the limit: three seconds then say what ten would.
    IfSteady,
    /// Not for that, but for what is lost.
    ForLoss,
    /// Only for what could not be caught up: what the target does in three seconds says little of what it does in ten.
    Never,
}

/// Whether no later second can save a running trial, from what was seen of it `so_far`; `calm` as for [`judge`].
///
/// A single bad request decides a trial of a zero-drop goal, but does not stop it: its loss ratio is worth
/// knowing. Stopped is what loses far more than the goal, or what surely grows, as `given_up` says.
pub(crate) fn hopeless(
    so_far: &Slice,
    planned_rate: Rate,
    planned: Nanos,
    objective: &Objective,
    width: Share,
    calm: Option<Nanos>,
    given_up: GiveUpRule,
) -> bool {
    let all = planned_rate.expected_count(planned);
    let most = if given_up == GiveUpRule::Never { HOPELESS_MOVING } else { HOPELESS_LOSS };
    if so_far.outcomes.bad() as f64 > all * most.max(HOPELESS_TIMES * objective.loss.0) {
        return true;
    }
    let seconds = so_far.outstanding.len() as f64 * BLOCK.as_secs_f64();
    if seconds < PATIENCE.as_secs_f64() {
        return false;
    }
    let share = overload_threshold(width).max(objective.loss.0);
    let enough = |g: &Growth| match given_up {
        GiveUpRule::Surely => true,
        GiveUpRule::IfSteady => {
            g.per_second - g.at_least < STEADILY * width.0 * planned_rate.0
                || g.per_second > PLAINLY * planned_rate.0
        }
        GiveUpRule::ForLoss | GiveUpRule::Never => false,
    };
    growth_of(so_far, planned_rate.0, calm, VERY_SURE)
        .filter(enough)
        .is_some_and(|g| is_overload(g, share, planned_rate.0, seconds))
}

/// Whether a running trial will not count, whatever follows: of the arrivals that are `planned` too many were late or left unsent already, by the
/// generator's own doing.
pub(crate) fn is_void(so_far: &Slice, planned: f64, objective: &Objective) -> bool {
    let too_late = so_far.pacing.count_above(allowed_lateness(objective));
    so_far.outcomes.unsent as f64 > UNSENT_MOST * planned
        || too_late > LATE_FEW && too_late as f64 > LATE_SHARE * planned
}

/// How late the generator itself may be.
fn allowed_lateness(objective: &Objective) -> Nanos {
    objective
        .deadline
        .map_or(PACING_FREE, |d| Nanos::from_secs_f64(d.as_secs_f64() * PACING_SHARE).max(PACING_LEAST))
}

/// What an overloaded target kept up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SustainedRate {
    /// Useful answers a second: what was due, less what was lost on the way, less what piled up. The
    /// first estimate of the capacity.
    pub rate: f64,
    /// Its standard error, as a share: what the target's own randomness leaves open.
    pub doubt: f64,
}

impl SustainedRate {
    /// What it surely kept up.
    pub fn surely(self) -> f64 {
        self.rate * (1.0 - 2.0 * self.doubt)
    }
}

/// What the target kept up in a trial that overloaded it; none if nothing was answered.
pub fn sustained_rate(result: &TrialResult, calm: Option<Nanos>) -> Option<SustainedRate> {
    let o = &result.total.outcomes;
    let seconds = result.loaded.as_secs_f64().max(1e-9);
    let passed =
        result.total.due.saturating_sub(o.failed + o.timeout + o.refused + o.unsent) as f64 / seconds;
    let offered = Rate::of(result.total.due, result.loaded).0;
    let grows = growth_of(&result.total, offered, calm, SURE);
    // What piled up is seen growing, or else when the time is up.
    let piled_up = match grows.filter(|g| is_overload(*g, 0.0, offered, seconds)) {
        Some(growth) => growth.per_second,
        None => o.unfinished as f64 / seconds,
    };
    let rate = passed - piled_up;
    // The bound lies some 1.94 standard errors below: Student's t with six degrees of freedom.
    let doubt = grows.map_or(0.0, |g| (g.per_second - g.at_least) / 1.94 / rate);
    (rate > 0.0).then_some(SustainedRate { rate, doubt })
}

/// The largest rate at which all arrivals of this trial would have been answered by the end of its drain, as far as what piled up tells: what was
/// outstanding at the end has piled up since any moment before at a rate that the target lacked, but for what it can do in the drain.
pub fn would_have_held(result: &TrialResult, calm: Option<Nanos>, can: f64) -> f64 {
    let offered = Rate::of(result.total.due, result.loaded).0;
    let under_way = offered * calm.map_or(0.0, Nanos::as_secs_f64);
    let drained = can * result.drain.as_secs_f64();
    let outstanding = &result.total.outstanding;
    let Some(last) = outstanding.last() else { return offered };
    let since = outstanding.iter().rev().skip(1).enumerate().map(|(blocks, before)| {
        let seconds = (blocks + 1) as f64 * BLOCK.as_secs_f64();
        offered - (last - before.max(under_way) - drained) / seconds
    });
    since.fold(offered, f64::min)
}

/// The growth of the queue at `rate`: of what is outstanding beyond what a calm target has under way, which by Little's law is
/// rate × response time, and beyond what gathered in its longest freeze, for which the drain makes room, once. A load that begins fills
/// the first, and nothing can be said of a target of which no answer is known.
fn growth_of(total: &Slice, rate: f64, calm: Option<Nanos>, confidence: f64) -> Option<Growth> {
    let fastest = total.response.quantile(0.0).or(calm)?;
    let under_way = rate * calm.map_or(0.0, Nanos::as_secs_f64);
    let (block, freeze) = (BLOCK.as_secs_f64(), freeze(total, rate));
    let queue = total.outstanding.iter().enumerate().map(|(place, held)| {
        let middle = (place as f64 + 0.5) * block;
        let until = |end: Nanos| end.as_secs_f64().min(middle);
        let stood_still = freeze.map_or(0.0, |freeze| until(freeze.to) - until(freeze.from));
        (held - under_way - rate * stood_still).max(0.0)
    });
    let (queue, fastest) = (queue.collect::<Vec<f64>>(), fastest.as_secs_f64());
    // A queue that grows before it stands still grows for another reason: who answers many at once stands still the longer, the more there are.
    let before = freeze.filter(|freeze| freeze.from >= PATIENCE).and_then(|freeze| {
        let blocks = (freeze.from.0 / BLOCK.0) as usize;
        growth(&queue[..blocks.min(queue.len())], block, fastest, confidence)
    });
    let grows = |growth: &Growth| growth.at_least > 0.0;
    let whole = growth(&queue, block, fastest, confidence);
    whole.filter(grows).or(before.filter(grows)).or(whole)
}

/// The longest silence that is a freeze, of a load in the open.
pub(crate) fn freeze(total: &Slice, rate: f64) -> Option<&Silence> {
    freezes(total, rate, None).max_by_key(|silence| silence.length())
}

/// The silences in which so many went without an answer that they are no lulls, and had it soon after: a part of them, or of as many
/// users as can wait.
pub(crate) fn freezes(total: &Slice, rate: f64, users: Option<u32>) -> impl Iterator<Item = &Silence> {
    let ordinary = total.response.quantile(0.0).map_or(Nanos::MAX, |fastest| fastest * ORDINARY);
    let most = users.map_or(f64::INFINITY, f64::from) * FREED;
    total.silences.iter().filter(move |silence| {
        let missed = rate * silence.length().as_secs_f64();
        let freed = silence.freed.unwrap_or(0) as f64 * f64::from(total.loops);
        silence.length() > ordinary && missed >= LULL && freed >= (missed * FREED).max(LULL).min(most)
    })
}

/// How long the target stood still while so many users asked it for a time of `loaded`. What takes up more than [`HALTING`] of that is no freeze, but how slow it is.
pub(crate) fn freeze_time(total: &Slice, users: u32, loaded: Nanos) -> Nanos {
    let rate = total.outcomes.answered() as f64 / loaded.as_secs_f64();
    let lasted = |silence: &Silence| silence.to.min(loaded) - silence.from.min(loaded);
    let frozen = freezes(total, rate, Some(users)).fold(Nanos::ZERO, |sum, silence| sum + lasted(silence));
    if frozen.as_secs_f64() > HALTING * loaded.as_secs_f64() { Nanos::ZERO } else { frozen }
}

fn void_reasons(result: &TrialResult, objective: &Objective, good: bool) -> Vec<Caveat> {
    let total = &result.total;
    // Where a part of the load was missing, everything else that is odd follows from that.
    let of_the_fleet: Vec<Caveat> = result.fleet_caveats().cloned().collect();
    if !of_the_fleet.is_empty() {
        return of_the_fleet;
    }
    let answered_wrong = total.outcomes.failed * 2 > total.outcomes.bad();
    // What voids a bad trial, for the loss may have been ours; a good one was good all the same, and all the more. What makes torment slow makes no answer wrong.
    let ours = |c: &&Caveat| {
        let slows = matches!(c.doubt, CaveatKind::GeneratorBusy | CaveatKind::Steal);
        !good && (c.doubt.is_exhaustion() || slows && !answered_wrong)
    };
    let mut found: Vec<Caveat> = result.caveats.iter().filter(ours).cloned().collect();
    let mut add =
        |doubt: CaveatKind, grounds: CaveatDetails| found.push(Caveat::with_details(doubt, grounds));
    let share = Share::of(total.outcomes.unsent, total.due);
    if share.0 > UNSENT_MOST {
        add(CaveatKind::GeneratorLate, CaveatDetails::Unsent { share, most: Share(UNSENT_MOST) });
    }
    let most = allowed_lateness(objective);
    let too_late = total.pacing.count_above(most);
    if let Some((member, p99)) = latest_member(&result.members).filter(|(_, p99)| *p99 > most) {
        let grounds = Box::new(CaveatDetails::Late { p99, most });
        add(CaveatKind::GeneratorLate, CaveatDetails::OfMember { member, place: String::new(), grounds });
    } else if let Some(p99) =
        total.pacing.quantile(1.0 - LATE_SHARE).filter(|p99| *p99 > most && too_late > LATE_FEW)
    {
        add(CaveatKind::GeneratorLate, CaveatDetails::Late { p99, most });
    }
    let planned = result.rate.expected_count(result.loaded);
    let (due, sent) = (total.due as f64, total.sent);
    if (due - planned).abs() > DUE_SHARE * planned + 5.0 * planned.sqrt() + 2.0 {
        add(CaveatKind::OffPlan, CaveatDetails::Due { due: total.due, planned });
    }
    let explained = sent + total.outcomes.bad() + total.outcomes.unsent;
    if (explained as f64) < due * (1.0 - DUE_SHARE) - 2.0 {
        add(CaveatKind::OffPlan, CaveatDetails::Sent { sent, due: total.due });
    }
    let (held, waited) = (total.outstanding_ns as f64, total.waited_ns as f64);
    let off = (held - waited).abs();
    if result.loaded >= LITTLE_FROM
        && off > LITTLE_SHARE * held.max(waited)
        && off > LITTLE_FLOOR.0 as f64 * due
    {
        let share = Share(off / held.max(waited));
        add(CaveatKind::LittlesLaw, CaveatDetails::Differ { share, most: Share(LITTLE_SHARE) });
    }
    found
}

/// Of a fleet the member that was the latest at p99, by what its clock is good for, if it sent more than a few: a mean over all
/// hides the one that drowns.
fn latest_member(members: &[MemberFigures]) -> Option<(u32, Nanos)> {
    let told = members.iter().filter(|worked| worked.due as f64 * LATE_SHARE > LATE_FEW as f64);
    let late = told.filter_map(|worked| Some((worked.member, worked.pacing_p99? + worked.clock)));
    late.max_by_key(|(_, p99)| *p99).filter(|_| members.len() > 1)
}

#[cfg(test)]
pub(crate) mod tests;
