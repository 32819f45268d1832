//! What the target did while frozen, from its windows.
//!
//! A window is seldom frozen from beginning to end. So each sign is regressed on the frozen part of the window: the slope is how much
//! more of it there is in a frozen second than in another, and the correlation is how well they agree. Each trial is compared with
//! itself, for loads differ.

use super::{Freeze, Trial};
use crate::format::format_number;
use crate::loaded_window::cpu;
use record::watch::{ThreadWait, Window};
use std::collections::BTreeMap;
use units::Nanos;

/// Least amount of the sign in a frozen second: of a thread, or of a processor.
const MIN_SLOPE: f64 = 0.5;
/// Least correlation between sign and frozen part.
const MIN_CORRELATION: f64 = 0.6;
/// A window is all freeze from this part on. If the service then uses this many processors, it computes, though no more than usual.
const MIN_FROZEN_PART: f64 = 0.5;
const MIN_COMPUTING: f64 = 0.8;
/// Fewest observed seconds for a correlation.
const MIN_SECONDS: usize = 4;

/// What the target did while frozen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreezeActivity {
    /// A stable name for programs: `stopped`, `quota`, `collector`, `safepoint`, `stolen`, `disk`, `waiting`, `busy`; `computing` if
    /// it was as busy as at other times, `nothing` if it did nothing unusual, `unseen` if it could not be observed.
    pub code: &'static str,
    /// A clause for people.
    pub text: String,
}

impl FreezeActivity {
    fn of(code: &'static str, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }
}

/// Signs in a window of why nothing went on.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct WindowSigns {
    from: Nanos,
    to: Nanos,
    /// Amount of each per second: time ÷ time, or threads.
    signs: BTreeMap<Sign, f64>,
    /// The binding quota, in processors.
    quota: Option<(f64, String)>,
    /// Cause of the last collection.
    cause: Option<String>,
    observed: bool,
}

/// Earlier variants explain later ones.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Sign {
    Stolen,
    Stopped,
    Quota,
    Collector,
    Safepoint,
    Disk(String),
    PageFault,
    Busy,
    Waiting(ThreadWait, String),
}

impl WindowSigns {
    pub fn of(window: &Window) -> Self {
        let mut signs = Self { from: window.from, to: window.to, ..Self::default() };
        let length = window.length().0 as f64;
        if length <= 0.0 {
            return signs;
        }
        let mut add = |sign: Sign, value: f64| {
            if value > 0.0 {
                *signs.signs.entry(sign).or_default() += value;
            }
        };
        if let Some(host) = &window.host {
            add(Sign::Stolen, host.steal_ns as f64 / length);
        }
        let Some(service) = window.service().filter(|service| service.is_there()) else {
            return signs;
        };
        if let Some(quota) = service.cpu_quota() {
            add(Sign::Quota, quota.throttled_ns as f64 / length);
            signs.quota = Some((quota.cpus, quota.group.clone()));
        }
        if let Some(jvm) = &service.jvm {
            add(Sign::Collector, jvm.pause_ns as f64 / length);
            add(Sign::Safepoint, (jvm.safepoint_ns + jvm.safepoint_sync_ns) as f64 / length);
            signs.cause = Some(jvm.cause.clone()).filter(|cause| !cause.is_empty());
        }
        add(Sign::Busy, cpu(service, window.length()));
        for group in &service.groups {
            for state in &group.states {
                let sign = match &state.wait {
                    ThreadWait::Other { what } if what == "stopped" => Sign::Stopped,
                    ThreadWait::Disk { what } => Sign::Disk(what.clone()),
                    ThreadWait::PageFault => Sign::PageFault,
                    // Idle waits; and states recognised otherwise, or not at all.
                    ThreadWait::Running
                    | ThreadWait::Events
                    | ThreadWait::Accept
                    | ThreadWait::Client
                    | ThreadWait::Unknown => continue,
                    wait => Sign::Waiting(wait.clone(), group.name.clone()),
                };
                add(sign, state.threads);
            }
        }
        signs.observed = true;
        signs
    }

    fn frozen(&self, freezes: &[Freeze]) -> f64 {
        let inside = |freeze: &Freeze| {
            let (from, to) = (self.from.max(freeze.from), self.to.min(freeze.to));
            if to > from { (to - from).as_secs_f64() } else { 0.0 }
        };
        freezes.iter().map(inside).sum::<f64>() / (self.to - self.from).as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

pub(super) fn infer_activity(trials: &[Trial], freezes: &[Freeze]) -> FreezeActivity {
    let mut deviations: Vec<(f64, BTreeMap<&Sign, f64>)> = Vec::new();
    let (mut last, mut computing) = (None, Vec::new());
    for trial in trials {
        let here: Vec<Freeze> =
            freezes.iter().filter(|freeze| freeze.trial == trial.number).copied().collect();
        let windows: Vec<&WindowSigns> = trial.windows.iter().filter(|sight| sight.observed).collect();
        if here.is_empty() || windows.is_empty() {
            continue;
        }
        last = windows.iter().rev().find(|sight| sight.frozen(&here) > 0.0).copied().or(last);
        let all_frozen = windows.iter().filter(|sight| sight.frozen(&here) >= MIN_FROZEN_PART);
        computing.extend(all_frozen.map(|sight| sight.signs.get(&Sign::Busy).copied().unwrap_or(0.0)));
        let count = windows.len() as f64;
        let mean_frozen = windows.iter().map(|sight| sight.frozen(&here)).sum::<f64>() / count;
        let mut means: BTreeMap<&Sign, f64> = BTreeMap::new();
        for (sign, value) in windows.iter().flat_map(|sight| &sight.signs) {
            *means.entry(sign).or_default() += value / count;
        }
        deviations.extend(windows.iter().map(|sight| {
            let over =
                means.iter().map(|(sign, mean)| (*sign, sight.signs.get(*sign).unwrap_or(&0.0) - mean));
            (sight.frozen(&here) - mean_frozen, over.collect())
        }));
    }
    let Some(last) = last.filter(|_| deviations.len() >= MIN_SECONDS) else {
        return FreezeActivity::of("unseen", "what it did then could not be seen");
    };
    let mut found: Vec<(&Sign, f64)> = Vec::new();
    let frozen_variance: f64 = deviations.iter().map(|(frozen, _)| frozen * frozen).sum();
    let signs: std::collections::BTreeSet<&Sign> =
        deviations.iter().flat_map(|(_, signs)| signs.keys().copied()).collect();
    for sign in signs {
        let value = |signs: &BTreeMap<&Sign, f64>| signs.get(sign).copied().unwrap_or(0.0);
        let covariance: f64 = deviations.iter().map(|(frozen, signs)| frozen * value(signs)).sum();
        let sign_variance: f64 = deviations.iter().map(|(_, signs)| value(signs).powi(2)).sum();
        let (slope, correlation) =
            (covariance / frozen_variance, covariance / (frozen_variance * sign_variance).sqrt());
        if slope >= MIN_SLOPE && correlation >= MIN_CORRELATION {
            found.push((sign, slope));
        }
    }
    // Of several things that threads waited for, the most common.
    let rank = |sign: &Sign| matches!(sign, Sign::Waiting(..));
    found.sort_by(|(a, more), (b, less)| {
        rank(a).cmp(&rank(b)).then_with(|| if rank(a) { less.total_cmp(more) } else { a.cmp(b) })
    });
    match found.first() {
        Some((sign, slope)) => describe(sign, *slope, last),
        None if !computing.is_empty()
            && computing.iter().sum::<f64>() >= MIN_COMPUTING * computing.len() as f64 =>
        {
            FreezeActivity::of("computing", "meanwhile it computed, though no more than usual")
        }
        None => FreezeActivity::of("nothing", "nothing observed explains it"),
    }
}

/// `slope`: excess in a frozen second over another.
fn describe(sign: &Sign, slope: f64, last: &WindowSigns) -> FreezeActivity {
    let threads = |count: f64| {
        let whole = count.round().max(1.0);
        let some = if whole == 1.0 { "one".to_owned() } else { format_number(whole) };
        format!("{some} of its threads")
    };
    match sign {
        Sign::Stolen => FreezeActivity::of(
            "stolen",
            format!(
                "meanwhile the hypervisor had taken {} processors: the target did not cause it",
                format_number(slope)
            ),
        ),
        Sign::Stopped => FreezeActivity::of("stopped", "meanwhile its threads were stopped"),
        Sign::Quota => {
            let quota = last.quota.as_ref();
            let of = quota
                .map(|(cpus, group)| format!(" (cpu.max of {group}: {} processors)", format_number(*cpus)));
            FreezeActivity::of(
                "quota",
                format!("meanwhile its processor quota was used up{}", of.unwrap_or_default()),
            )
        }
        Sign::Collector => {
            let cause = last.cause.as_ref().map(|cause| format!(" ({cause})")).unwrap_or_default();
            FreezeActivity::of("collector", format!("meanwhile its garbage collector had stopped it{cause}"))
        }
        Sign::Safepoint => FreezeActivity::of(
            "safepoint",
            "meanwhile its virtual machine had stopped it at a safepoint, not to collect garbage",
        ),
        Sign::Disk(what) => {
            FreezeActivity::of("disk", format!("meanwhile {} waited for a disk ({what})", threads(slope)))
        }
        Sign::PageFault => {
            FreezeActivity::of("disk", format!("meanwhile {} waited for a page of memory", threads(slope)))
        }
        Sign::Busy => FreezeActivity::of(
            "busy",
            format!("meanwhile it computed, on {} more processors than usual", format_number(slope)),
        ),
        Sign::Waiting(wait, group) => {
            let (who, wait) = (threads(slope), wait.to_string());
            let wait = if who.starts_with("one ") { wait } else { plural(&wait) };
            FreezeActivity::of("waiting", format!("meanwhile {who} ({group}) {wait}"))
        }
    }
}

/// `waits for a pipe` becomes `wait for a pipe`.
fn plural(wait: &str) -> String {
    let (verb, rest) = wait.split_once(' ').unwrap_or((wait, ""));
    let verb = verb.strip_suffix('s').unwrap_or(verb);
    format!("{verb} {rest}").trim_end().to_owned()
}
