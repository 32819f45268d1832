//! What the target did while frozen, from its windows.
//!
//! A window is seldom frozen from beginning to end. So each sign is regressed on the frozen part of the window: the slope is how much
//! more of it there is in a frozen second than in another, and the correlation is how well they agree. Each trial is compared with
//! itself, for loads differ.

use super::{Freeze, Trial};
use crate::format::{format_count, format_number};
use crate::loaded_window::cpu;
use record::watch::{ThreadWait, Window};
use std::collections::BTreeMap;
use units::Nanos;

/// Least amount of the sign in a frozen second: of a thread, or of a processor.
const MIN_SLOPE: f64 = 0.5;
/// Least correlation between sign and frozen part.
const MIN_CORRELATION: f64 = 0.6;
/// If the service uses this many processors while frozen, it computes, though no more than usual.
const MIN_COMPUTING: f64 = 0.8;
/// Fewest observed seconds for a correlation.
const MIN_SECONDS: usize = 4;
/// A certain stop covers a freeze if it lasts for this part of it,
const MIN_COVERED_PART: f64 = 0.5;
/// and explains freezes if it covers this share of the frozen time: by chance, half of it is above the median;
const MIN_COVERED_SHARE: f64 = 0.6;
/// of one or two freezes that says nothing.
const MIN_COVERED_FREEZES: usize = 3;

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

    /// Amount of the sign per second.
    fn amount(&self, sign: &Sign) -> f64 {
        self.signs.get(sign).copied().unwrap_or(0.0)
    }

    fn seconds(&self) -> f64 {
        (self.to - self.from).as_secs_f64()
    }

    /// Seconds of the freeze within it.
    fn frozen_seconds(&self, freeze: &Freeze) -> f64 {
        let (from, to) = (self.from.max(freeze.from), self.to.min(freeze.to));
        if to > from { (to - from).as_secs_f64() } else { 0.0 }
    }

    /// Its frozen part.
    fn frozen(&self, freezes: &[Freeze]) -> f64 {
        let seconds: f64 = freezes.iter().map(|freeze| self.frozen_seconds(freeze)).sum();
        seconds / self.seconds().max(f64::MIN_POSITIVE)
    }
}

impl Sign {
    /// Whether the service stands still for as long as there is of it; a quota's is the sum over its processors.
    fn is_certain_stop(&self) -> bool {
        matches!(self, Self::Quota | Self::Collector | Self::Safepoint)
    }
}

/// A trial with freezes, and its observed windows.
struct FrozenTrial<'a> {
    freezes: Vec<Freeze>,
    windows: Vec<&'a WindowSigns>,
}

impl<'a> FrozenTrial<'a> {
    fn of(trial: &'a Trial, freezes: &[Freeze]) -> Option<Self> {
        let freezes: Vec<Freeze> =
            freezes.iter().filter(|freeze| freeze.trial == trial.number).copied().collect();
        let windows: Vec<&WindowSigns> = trial.windows.iter().filter(|sight| sight.observed).collect();
        (!freezes.is_empty() && !windows.is_empty()).then_some(Self { freezes, windows })
    }

    /// Median amount of the sign per second in windows without a freeze, if there are any.
    fn usual(&self, sign: &Sign) -> Option<f64> {
        let without = self.windows.iter().filter(|sight| sight.frozen(&self.freezes) == 0.0);
        let mut usual: Vec<f64> = without.map(|sight| sight.amount(sign)).collect();
        usual.sort_by(f64::total_cmp);
        usual.get(usual.len() / 2).copied()
    }

    /// Each observed freeze in seconds, and how many seconds of the sign, beyond those of other windows, are in its windows and the next:
    /// a stop is counted when it ends.
    fn stops(&self, sign: &Sign) -> Vec<(f64, f64)> {
        let Some(usual) = self.usual(sign) else { return Vec::new() };
        let stop = |freeze: &Freeze| {
            let has_some = |sight: &&&WindowSigns| sight.frozen_seconds(freeze) > 0.0;
            let first = self.windows.iter().position(|sight| has_some(&sight))?;
            let later = &self.windows[first..];
            let count = later.iter().take_while(has_some).count();
            let frozen = later[..count].iter().map(|sight| sight.frozen_seconds(freeze)).sum();
            let near = later.iter().take(count + 1);
            Some((frozen, near.map(|sight| (sight.amount(sign) - usual) * sight.seconds()).sum()))
        };
        self.freezes.iter().filter_map(stop).collect()
    }
}

/// Whether most of the frozen time is covered by certain stops. One that lies in two windows is counted in the later, which may
/// hold little of its freeze: then it hardly correlates.
fn is_covered(trials: &[FrozenTrial<'_>], sign: &Sign) -> bool {
    let stops: Vec<(f64, f64)> = trials.iter().flat_map(|trial| trial.stops(sign)).collect();
    let all: f64 = stops.iter().map(|(frozen, _)| frozen).sum();
    let is_long = |(frozen, stopped): &&(f64, f64)| *stopped >= MIN_COVERED_PART * frozen;
    let covered: f64 = stops.iter().filter(is_long).map(|(frozen, _)| frozen).sum();
    stops.len() >= MIN_COVERED_FREEZES && covered >= MIN_COVERED_SHARE * all
}

pub(super) fn infer_activity(trials: &[Trial], freezes: &[Freeze]) -> FreezeActivity {
    let mut deviations: Vec<(f64, BTreeMap<&Sign, f64>)> = Vec::new();
    let (mut last, mut computed, mut frozen_seconds) = (None, 0.0, 0.0);
    let trials: Vec<FrozenTrial<'_>> =
        trials.iter().filter_map(|trial| FrozenTrial::of(trial, freezes)).collect();
    for trial in &trials {
        let FrozenTrial { freezes: here, windows } = trial;
        let usual = trial.usual(&Sign::Busy);
        for sight in windows.iter().filter(|sight| sight.frozen(here) > 0.0) {
            // What it has beyond its other time, in which the service did as usual.
            let frozen = sight.frozen(here).min(1.0);
            let busy = sight.amount(&Sign::Busy);
            computed += sight.seconds() * usual.map_or(busy * frozen, |usual| busy - usual * (1.0 - frozen));
            frozen_seconds += sight.seconds() * frozen;
        }
        last = windows.iter().rev().find(|sight| sight.frozen(here) > 0.0).copied().or(last);
        let count = windows.len() as f64;
        let mean_frozen = windows.iter().map(|sight| sight.frozen(here)).sum::<f64>() / count;
        let mut means: BTreeMap<&Sign, f64> = BTreeMap::new();
        for (sign, value) in windows.iter().flat_map(|sight| &sight.signs) {
            *means.entry(sign).or_default() += value / count;
        }
        deviations.extend(windows.iter().map(|sight| {
            let over = means.iter().map(|(sign, mean)| (*sign, sight.amount(sign) - mean));
            (sight.frozen(here) - mean_frozen, over.collect())
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
        let correlates = slope >= MIN_SLOPE && correlation >= MIN_CORRELATION;
        if correlates || sign.is_certain_stop() && is_covered(&trials, sign) {
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
        None if computed >= MIN_COMPUTING * frozen_seconds => {
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
                "meanwhile the hypervisor had taken {}: the target did not cause it",
                format_count(slope, "processor")
            ),
        ),
        Sign::Stopped => FreezeActivity::of("stopped", "meanwhile its threads were stopped"),
        Sign::Quota => {
            let quota = last.quota.as_ref();
            let of = quota
                .map(|(cpus, group)| format!(" (cpu.max of {group}: {})", format_count(*cpus, "processor")));
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
        Sign::Busy => FreezeActivity::of("busy", "meanwhile it computed more than usual"),
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
