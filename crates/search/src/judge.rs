//! What one trial means: how much was lost, and whether it can be trusted at all.

use crate::divergence::{Growth, growth, is_overload};
use plan::Objective;
use record::{
    BLOCK, Caveat, CaveatDetails, CaveatKind, Judgement, MemberFigures, Silence, Slice, TrialResult,
};
use std::borrow::Cow;
use units::{Nanos, Rate, Share};

/// Confidence of the slope in a whole trial, tested once.
const CONFIDENCE: f64 = 0.95;
/// Confidence in a running trial, tested every second.
const EARLY_CONFIDENCE: f64 = 0.999;
/// The smallest overload the divergence rule looks for, whatever the width.
const MIN_OVERLOAD: f64 = 0.005;
/// No trial is given up earlier: a target may stumble at the start and catch up.
const MIN_TIME_TO_GIVE_UP: Nanos = Nanos::from_secs(3);
/// A running trial is hopeless beyond this loss, relative to all planned arrivals,
const HOPELESS_LOSS: f64 = 0.05;
/// or this if the target moves and may catch up,
const HOPELESS_MOVING: f64 = 0.5;
/// and beyond this multiple of the goal.
const HOPELESS_FACTOR: f64 = 10.0;

/// A queue grows linearly if its uncertainty is within this share of the width.
pub const MAX_STEADY_DOUBT: f64 = 0.1;
/// An excess of this share of the rate is far beyond the limit.
const PLAIN_OVERLOAD: f64 = 0.3;

/// A larger share left unsent voids a trial.
const MAX_UNSENT: f64 = 0.001;
/// The pacing may reach this share of the deadline,
const MAX_PACING_SHARE: f64 = 0.1;
/// at least this,
const MIN_ALLOWED_LATENESS: Nanos = Nanos::from_millis(1);
/// and this without a deadline.
const LATENESS_WITHOUT_DEADLINE: Nanos = Nanos::from_millis(20);
/// Little's law must hold within this share,
const MAX_LITTLE_SHARE: f64 = 0.03;
/// and within this time per request, the bookkeeping's own resolution,
const MIN_LITTLE_DIFFERENCE: Nanos = Nanos::from_millis(1);
/// once a trial lasts this long.
const MIN_LITTLE_DURATION: Nanos = Nanos::from_millis(9_900);
/// A freeze is longer than this many of the fastest answers;
const FREEZE_FACTOR: u64 = 4;
/// this share of the arrivals due in it is answered within half its length,
const MIN_FREED_SHARE: f64 = 0.25;
/// and at least this many: independent answers show such a lull once in 3 million.
const MIN_MISSED: f64 = 15.0;
/// A target frozen for more than this share of the time is simply that slow.
const MAX_FROZEN_SHARE: f64 = 0.5;
/// A backlog at the end is more than chance leaves if it exceeds this share of the arrivals due, and so many standard deviations,
const MAX_BACKLOG_SHARE: f64 = 0.2;
const CHANCE_DEVIATIONS: f64 = 3.0;
/// and this multiple of its median: a long queue may be level.
const MIN_BACKLOG_RISE: f64 = 1.5;
/// Arrivals due may differ from rate × time by this share, plus chance.
const MAX_DUE_DIFFERENCE: f64 = 0.01;

/// A larger share later than that voids a trial.
const MAX_LATE_SHARE: f64 = 0.01;
/// This few late arrivals void nothing: of a hundred, the p99 is a single hiccup of the machine.
const MAX_LATE_FEW: u64 = 5;

/// The overload that the divergence rule looks for, as a share of the rate: a quarter of the width.
pub fn overload_threshold(width: Share) -> f64 {
    (width.0 / 4.0).max(MIN_OVERLOAD)
}

/// The slice to test for a growing queue: until the first users have finished their pauses, the load still rises, and with it the number
/// outstanding.
pub fn settled_slice(total: &Slice, pauses: Nanos) -> Cow<'_, Slice> {
    let skip = pauses.0.div_ceil(BLOCK.0) as usize;
    if skip == 0 {
        return Cow::Borrowed(total);
    }
    let outstanding = total.outstanding.iter().skip(skip).copied().collect();
    Cow::Owned(Slice { outstanding, ..total.clone() })
}

/// Judges the trial by `objective`; `width` sets the smallest overload looked for, `calm` is the mean response time of the calm target,
/// if known.
///
/// The loss is the larger of what was counted and what a growing queue implies. With a deadline any growing queue is bad, for eventually
/// all its answers are late. A load with steep stages can look like a growing queue only if its response times are seconds.
pub fn judge(
    result: &TrialResult,
    objective: &Objective,
    width: Share,
    calm_response: Option<Nanos>,
) -> Judgement {
    let total = &result.total;
    let counted_loss = if total.due == 0 { 0.0 } else { total.outcomes.bad() as f64 / total.due as f64 };
    let rate = Rate::of(total.due, result.loaded).0;
    let growth_rate = growth_of(total, rate, calm_response, CONFIDENCE)
        .filter(|g| is_overload(*g, overload_threshold(width), rate, result.loaded.as_secs_f64()))
        .map(|g| g.per_second);
    let implied_loss = growth_rate.map_or(0.0, |g| (g / rate).min(1.0));
    let good = !result.hopeless
        && counted_loss <= objective.loss.0
        && (growth_rate.is_none() || objective.deadline.is_none() && implied_loss <= objective.loss.0);
    Judgement {
        loss: counted_loss.max(implied_loss),
        good,
        growth_per_second: growth_rate,
        invalid: void_reasons(result, objective, good),
    }
}

/// When a running trial is given up for a growing queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum GiveUpRule {
    /// As soon as it surely grows.
    Surely,
    /// If it grows linearly, or is far beyond the limit: then three seconds say what ten would.
    IfSteady,
    /// Only for loss.
    ForLoss,
    /// Only for what could not be caught up: three seconds of the target say little of ten.
    Never,
}

/// Whether no later second can save a running trial, from its slice `so_far`; `calm` as for [`judge`].
///
/// A single bad request decides a trial of a zero-drop goal, but does not stop it: its loss ratio is worth knowing. Stopped is what loses
/// far more than the goal, or surely grows, as `given_up` says.
pub(crate) fn hopeless(
    so_far: &Slice,
    planned_rate: Rate,
    planned: Nanos,
    objective: &Objective,
    width: Share,
    calm_response: Option<Nanos>,
    rule: GiveUpRule,
) -> bool {
    let all = planned_rate.expected_count(planned);
    let most = if rule == GiveUpRule::Never { HOPELESS_MOVING } else { HOPELESS_LOSS };
    if so_far.outcomes.bad() as f64 > all * most.max(HOPELESS_FACTOR * objective.loss.0) {
        return true;
    }
    let seconds = so_far.outstanding.len() as f64 * BLOCK.as_secs_f64();
    if seconds < MIN_TIME_TO_GIVE_UP.as_secs_f64() {
        return false;
    }
    let share = overload_threshold(width).max(objective.loss.0);
    let enough = |g: &Growth| match rule {
        GiveUpRule::Surely => true,
        GiveUpRule::IfSteady => {
            g.per_second - g.at_least < MAX_STEADY_DOUBT * width.0 * planned_rate.0
                || g.per_second > PLAIN_OVERLOAD * planned_rate.0
        }
        GiveUpRule::ForLoss | GiveUpRule::Never => false,
    };
    growth_of(so_far, planned_rate.0, calm_response, EARLY_CONFIDENCE)
        .filter(enough)
        .is_some_and(|g| is_overload(g, share, planned_rate.0, seconds))
}

/// Whether a running trial is already void: too many of the `planned` arrivals were late or left unsent, by the generator's own doing.
pub(crate) fn is_void(so_far: &Slice, planned: f64, objective: &Objective) -> bool {
    let too_late = so_far.pacing.count_above(allowed_lateness(objective));
    so_far.outcomes.unsent as f64 > MAX_UNSENT * planned
        || too_late > MAX_LATE_FEW && too_late as f64 > MAX_LATE_SHARE * planned
}

/// The pacing allowed.
fn allowed_lateness(objective: &Objective) -> Nanos {
    objective.deadline.map_or(LATENESS_WITHOUT_DEADLINE, |d| {
        Nanos::from_secs_f64(d.as_secs_f64() * MAX_PACING_SHARE).max(MIN_ALLOWED_LATENESS)
    })
}

/// The rate that an overloaded target sustained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SustainedRate {
    /// Useful answers per second: arrivals due, less loss, less what piled up. The first estimate of the capacity.
    pub rate: f64,
    /// Its standard error, as a share: the target's own randomness.
    pub doubt: f64,
}

impl SustainedRate {
    /// What it surely sustained.
    pub fn surely(self) -> f64 {
        self.rate * (1.0 - 2.0 * self.doubt)
    }
}

/// What the target sustained in a trial that overloaded it; none if nothing was answered.
pub fn sustained_rate(result: &TrialResult, calm_response: Option<Nanos>) -> Option<SustainedRate> {
    let o = &result.total.outcomes;
    let seconds = result.loaded.as_secs_f64().max(1e-9);
    let passed =
        result.total.due.saturating_sub(o.failed + o.timeout + o.refused + o.unsent) as f64 / seconds;
    let offered = Rate::of(result.total.due, result.loaded).0;
    let growth = growth_of(&result.total, offered, calm_response, CONFIDENCE);
    // What piled up is seen growing, or else at the end.
    let piled_up = match growth.filter(|g| is_overload(*g, 0.0, offered, seconds)) {
        Some(growth) => growth.per_second,
        None => o.unfinished as f64 / seconds,
    };
    let rate = passed - piled_up;
    // The bound lies some 1.94 standard errors below: Student's t with six degrees of freedom.
    let doubt = growth.map_or(0.0, |g| (g.per_second - g.at_least) / 1.94 / rate);
    (rate > 0.0).then_some(SustainedRate { rate, doubt })
}

/// The largest rate at which all arrivals of this trial would have been answered by the end of its drain, judging by what piled up: the
/// number outstanding at the end has accumulated since any earlier moment at the rate that the target lacked, less what it can do in the
/// drain.
pub fn would_have_held(result: &TrialResult, calm_response: Option<Nanos>, capacity: f64) -> f64 {
    let offered = Rate::of(result.total.due, result.loaded).0;
    let under_way = offered * calm_response.map_or(0.0, Nanos::as_secs_f64);
    let drained = capacity * result.drain.as_secs_f64();
    let outstanding = &result.total.outstanding;
    let Some(last) = outstanding.last() else { return offered };
    let since_block = outstanding.iter().rev().skip(1).enumerate().map(|(blocks, before)| {
        let seconds = (blocks + 1) as f64 * BLOCK.as_secs_f64();
        offered - (last - before.max(under_way) - drained) / seconds
    });
    since_block.fold(offered, f64::min)
}

/// The growth of the queue at `rate`: of what is outstanding beyond a calm target's in-flight requests, which by Little's law are rate ×
/// response time, and beyond what gathered in its longest freeze, for which the drain makes room, once. A load that begins fills the
/// former, and nothing can be said of a target with no known answer.
fn growth_of(total: &Slice, rate: f64, calm_response: Option<Nanos>, confidence: f64) -> Option<Growth> {
    let fastest = total.response.quantile(0.0).or(calm_response)?;
    let under_way = rate * calm_response.map_or(0.0, Nanos::as_secs_f64);
    let (block, freeze) = (BLOCK.as_secs_f64(), longest_freeze(total, rate));
    let queue = total.outstanding.iter().enumerate().map(|(place, held)| {
        let middle = (place as f64 + 0.5) * block;
        let until = |end: Nanos| end.as_secs_f64().min(middle);
        let stood_still = freeze.map_or(0.0, |freeze| until(freeze.to) - until(freeze.from));
        (held - under_way - rate * stood_still).max(0.0)
    });
    let (queue, fastest) = (queue.collect::<Vec<f64>>(), fastest.as_secs_f64());
    // A queue that grows before the freeze grows for another reason: a target that answers in batches freezes the longer, the larger they
    // are.
    let before = freeze.filter(|freeze| freeze.from >= MIN_TIME_TO_GIVE_UP).and_then(|freeze| {
        let blocks = (freeze.from.0 / BLOCK.0) as usize;
        growth(&queue[..blocks.min(queue.len())], block, fastest, confidence)
    });
    let grows = |growth: &Growth| growth.at_least > 0.0;
    let whole = growth(&queue, block, fastest, confidence);
    let backlog = || calm_response.and_then(|_| backlog_growth(&queue, rate));
    whole.filter(grows).or(before.filter(grows)).or_else(backlog).or(whole)
}

/// The growth of a queue that rises in leaps, by what is left of it at the end: far more than chance leaves, and than waited midway.
fn backlog_growth(queue: &[f64], rate: f64) -> Option<Growth> {
    let seconds = queue.len() as f64 * BLOCK.as_secs_f64();
    let (left, due) = (*queue.last()?, rate * seconds);
    let mut sorted = queue.to_vec();
    sorted.sort_by(f64::total_cmp);
    let chance = CHANCE_DEVIATIONS * (2.0 * due).sqrt();
    let grows = left > MAX_BACKLOG_SHARE * due + chance && left > MIN_BACKLOG_RISE * sorted[sorted.len() / 2];
    grows.then(|| Growth { per_second: left / seconds, at_least: (left - chance) / seconds })
}

/// The longest silence that is a freeze, in an open loop.
pub(crate) fn longest_freeze(total: &Slice, rate: f64) -> Option<&Silence> {
    freezes(total, rate, None).max_by_key(|silence| silence.length())
}

/// The silences in which too many went unanswered for a lull, and were answered soon after: a share of them, or of as many users as can
/// wait.
pub(crate) fn freezes(total: &Slice, rate: f64, users: Option<u32>) -> impl Iterator<Item = &Silence> {
    let ordinary = total.response.quantile(0.0).map_or(Nanos::MAX, |fastest| fastest * FREEZE_FACTOR);
    let most = users.map_or(f64::INFINITY, f64::from) * MIN_FREED_SHARE;
    total.silences.iter().filter(move |silence| {
        let missed = rate * silence.length().as_secs_f64();
        let freed = silence.freed.unwrap_or(0) as f64 * f64::from(total.loops);
        silence.length() > ordinary
            && missed >= MIN_MISSED
            && freed >= (missed * MIN_FREED_SHARE).max(MIN_MISSED).min(most)
    })
}

/// How long the target was frozen under `users` over a time of `loaded`. More than [`MAX_FROZEN_SHARE`] of that is no freeze, but its speed.
pub(crate) fn freeze_time(total: &Slice, users: u32, loaded: Nanos) -> Nanos {
    let rate = total.outcomes.answered() as f64 / loaded.as_secs_f64();
    let lasted = |silence: &Silence| silence.to.min(loaded) - silence.from.min(loaded);
    let frozen = freezes(total, rate, Some(users)).fold(Nanos::ZERO, |sum, silence| sum + lasted(silence));
    if frozen.as_secs_f64() > MAX_FROZEN_SHARE * loaded.as_secs_f64() { Nanos::ZERO } else { frozen }
}

fn void_reasons(result: &TrialResult, objective: &Objective, good: bool) -> Vec<Caveat> {
    let total = &result.total;
    // If a part of the load was missing, every other anomaly follows from that.
    let fleet_caveats: Vec<Caveat> = result.fleet_caveats().cloned().collect();
    if !fleet_caveats.is_empty() {
        return fleet_caveats;
    }
    let answered_wrong = total.outcomes.failed * 2 > total.outcomes.bad();
    // What voids a bad trial, for the loss may have been ours; a good one remains good all the more. A slow torment makes no answer
    // wrong.
    let is_generators = |c: &&Caveat| {
        let slows = matches!(c.doubt, CaveatKind::GeneratorBusy | CaveatKind::Steal);
        !good && (c.doubt.is_exhaustion() || slows && !answered_wrong)
    };
    let mut found: Vec<Caveat> = result.caveats.iter().filter(is_generators).cloned().collect();
    let mut add =
        |doubt: CaveatKind, grounds: CaveatDetails| found.push(Caveat::with_details(doubt, grounds));
    let share = Share::of(total.outcomes.unsent, total.due);
    if share.0 > MAX_UNSENT {
        add(CaveatKind::GeneratorLate, CaveatDetails::Unsent { share, most: Share(MAX_UNSENT) });
    }
    let allowed = allowed_lateness(objective);
    let too_late = total.pacing.count_above(allowed);
    if let Some((member, p99)) = latest_member(&result.members).filter(|(_, p99)| *p99 > allowed) {
        let grounds = Box::new(CaveatDetails::Late { p99, most: allowed });
        add(CaveatKind::GeneratorLate, CaveatDetails::OfMember { member, place: String::new(), grounds });
    } else if let Some(p99) =
        total.pacing.quantile(1.0 - MAX_LATE_SHARE).filter(|p99| *p99 > allowed && too_late > MAX_LATE_FEW)
    {
        add(CaveatKind::GeneratorLate, CaveatDetails::Late { p99, most: allowed });
    }
    let planned = result.rate.expected_count(result.loaded);
    let (due, sent) = (total.due as f64, total.sent);
    if (due - planned).abs() > MAX_DUE_DIFFERENCE * planned + 5.0 * planned.sqrt() + 2.0 {
        add(CaveatKind::OffPlan, CaveatDetails::Due { due: total.due, planned });
    }
    let explained = sent + total.outcomes.bad() + total.outcomes.unsent;
    if (explained as f64) < due * (1.0 - MAX_DUE_DIFFERENCE) - 2.0 {
        add(CaveatKind::OffPlan, CaveatDetails::Sent { sent, due: total.due });
    }
    let (held, waited) = (total.outstanding_ns as f64, total.waited_ns as f64);
    let off = (held - waited).abs();
    if result.loaded >= MIN_LITTLE_DURATION
        && off > MAX_LITTLE_SHARE * held.max(waited)
        && off > MIN_LITTLE_DIFFERENCE.0 as f64 * due
    {
        let share = Share(off / held.max(waited));
        add(CaveatKind::LittlesLaw, CaveatDetails::Differ { share, most: Share(MAX_LITTLE_SHARE) });
    }
    found
}

/// The fleet member with the latest p99 lateness, allowing for its clock, if it sent more than a few: a mean over all would hide the one
/// that is overloaded.
fn latest_member(members: &[MemberFigures]) -> Option<(u32, Nanos)> {
    let counted = members.iter().filter(|worked| worked.due as f64 * MAX_LATE_SHARE > MAX_LATE_FEW as f64);
    let late = counted.filter_map(|worked| Some((worked.member, worked.pacing_p99? + worked.clock)));
    late.max_by_key(|(_, p99)| *p99).filter(|_| members.len() > 1)
}

#[cfg(test)]
pub(crate) mod tests;
