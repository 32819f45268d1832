use crate::experiment::{self, DesignLookup};
use crate::summary::generator_limit;
use crate::trial::TimeSummary;
use crate::trial_state::{outcome_tone, why};
use crate::watched::subject_name;
use crate::wording::format_rate;
use crate::wording::number_of;
use crate::{CurrentLoad, RunView, Text, Tone, Trial, caveats, fleet};
use record::watch::WatchCoverage;
use record::{Event, Outcome, Purpose, RampProgress, Slice, TableStart};
use units::{Nanos, Rate, grouped};

/// Report interval of a long load.
const REPORT_INTERVAL: Nanos = Nanos::from_secs(5);
/// Loads up to this length report only their end.
const LONG_LOAD: Nanos = Nanos::from_secs(15);

/// A run as log lines: one per trial, per change of the bounds, and every five seconds of long loads. The run's state is in its view; this
/// holds the seconds not yet reported.
#[derive(Debug, Clone, Default)]
pub struct ProgressLog {
    unreported: Slice,
}

impl ProgressLog {
    /// The lines for the next event; `before` is the run's state before it.
    pub fn event_lines(&mut self, before: &RunView, event: &Event) -> Vec<Text> {
        match event {
            Event::Designed { design } => vec![experiment::design_line(design)],
            Event::VisitStarted { .. }
            | Event::Visited { .. }
            | Event::Stands { .. }
            | Event::Resumed { .. } => of_experiment(before, event),
            _ => self.of_load(before, event).into_iter().collect(),
        }
    }

    fn of_load(&mut self, before: &RunView, event: &Event) -> Option<Text> {
        match event {
            Event::TrialStarted { .. } => {
                self.unreported = Slice::default();
                None
            }
            Event::SliceDone { slice, .. } => {
                let long = |current: &&CurrentLoad| {
                    current.purpose == Purpose::Load
                        || current.planned.is_none_or(|planned| planned > LONG_LOAD)
                };
                let current = before.current.as_ref().filter(long)?;
                self.unreported.merge_after(slice);
                // Slices vary a little around a second; allow half of one.
                if (self.unreported.elapsed + Nanos::from_millis(500)) < REPORT_INTERVAL {
                    return None;
                }
                let at = current.total.elapsed + slice.elapsed;
                Some(stretch(at, &std::mem::take(&mut self.unreported)))
            }
            Event::TrialDone { trial, result, judgement } => {
                let done = Trial::done(*trial, before.arrival_kind(), result, judgement);
                // Of sixty looks at a target that is down, one line.
                let same =
                    |earlier: &&Trial| earlier.purpose == Purpose::Recovery && why(earlier) == why(&done);
                let is_known = done.purpose == Purpose::Recovery && why(&done).is_some();
                let repeated = before.trials.last().filter(|_| is_known).filter(same);
                repeated.is_none().then(|| trial_line(&done))
            }
            Event::Bounds { making: Some(making), .. } if before.generator_capacity.is_none() => {
                Some(generator_limit::capacity_line(Text::plain(format!("{:5}→ ", "")), before, making))
            }
            Event::Bounds { limits, .. } => {
                let strict_limit = limits.first()?;
                let bounds = (strict_limit.lower, strict_limit.upper);
                if bounds == before.limits.first().map_or((None, None), |limit| (limit.lower, limit.upper)) {
                    return None;
                }
                let unit = &strict_limit.unit;
                let text = match bounds {
                    (Some(lower), Some(upper)) => {
                        format!("between {} and {} {unit}", format_rate(lower), format_rate(upper))
                    }
                    (Some(lower), None) => format!("at least {} {unit}", format_rate(lower)),
                    (None, Some(upper)) => format!("below {} {unit}", format_rate(upper)),
                    (None, None) => "warm now: the bounds found while cold no longer count".to_owned(),
                };
                Some(Text::plain(format!("{:5}", "")).with_span(Tone::Strong, format!("→ {text}")))
            }
            Event::Caveat { caveat } => Some(caveats::line(caveat.to_string())),
            Event::FleetStands { members } => {
                let text = format!("fleet: {}", fleet::participation_words(members, None)?);
                Some(Text::new(Tone::Faint, text))
            }
            Event::WatchStarted { place, watched } => {
                let text = who_is_watched(watched);
                let before = before.place(place).map(|before| who_is_watched(&before.coverage));
                let head = if place.is_empty() { String::new() } else { format!("on {place}: ") };
                let tone = if watched.lost.is_some() { Tone::Warn } else { Tone::Faint };
                (before.as_ref() != Some(&text)).then(|| Text::new(tone, format!("{head}{text}")))
            }
            Event::Probing(TableStart { table, figures, expected }) => {
                Some(Text::new(Tone::Faint, format!("{table}: {figures} figures, about {expected}")))
            }
            Event::Forecast { rooms } => rooms.first().map(|system_limit| {
                let text = match system_limit.threads {
                    Some(threads) => format!(
                        "{} allows {} more threads, the least of all limits",
                        system_limit.name,
                        grouped(threads)
                    ),
                    None => "no limit is known".to_owned(),
                };
                Text::new(Tone::Faint, text)
            }),
            Event::Ramped(RampProgress { tasks, free, after }) => {
                let after = after.as_secs_f64();
                Some(Text::plain(format!("{after:6.1} s  {:>9} threads  {free:>9} free", grouped(*tasks))))
            }
            Event::Surveyed { conditions } => {
                conditions.caveats.first().map(|caveat| caveats::line(caveat.to_string()))
            }
            _ => None,
        }
    }
}

fn of_experiment(before: &RunView, event: &Event) -> Vec<Text> {
    let Some(lookup) = DesignLookup::of(before) else { return Vec::new() };
    match event {
        Event::VisitStarted(visiting) => vec![experiment::start_begun_line(&lookup, visiting)],
        Event::Visited { visit } => vec![experiment::start_done_line(&lookup, visit).indented()],
        // Same state as after the last block.
        Event::Stands { standing }
            if before.experiment_state.as_ref().is_none_or(|before| before.judged != standing.judged) =>
        {
            experiment::standing_lines(&lookup, standing)
        }
        Event::Resumed { .. } => {
            let made = number_of(lookup.all_starts.len(), "start");
            vec![Text::new(Tone::Strong, format!("resumed; {made} made already"))]
        }
        _ => Vec::new(),
    }
}

/// Prefix of a watcher in the target's own pod.
const IN_POD_PREFIX: &str = "inside:";

/// Who is watched, and what of them is not observable.
fn who_is_watched(watched: &WatchCoverage) -> String {
    if let Some(lost) = &watched.lost {
        return format!("nothing is known {lost}");
    }
    let there = watched.subjects.iter().filter(|subject| subject.pid > 0);
    let names = there.map(subject_name);
    let asked = watched.postgres.as_ref().map(|postgres| format!("PostgreSQL at {}", postgres.address));
    let names: Vec<String> = names.chain(asked).chain(watched.metrics.clone()).collect();
    let whom = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
    let from = match watched.on.starts_with(IN_POD_PREFIX) {
        true => ", from a container that stays in its pod's record until the pod goes",
        false => "",
    };
    let missing: Vec<&str> = watched.missing.iter().map(|missing| missing.what.as_str()).collect();
    let unseen = match missing.is_empty() {
        true => String::new(),
        false => format!("; not observable: {} (torment explain says why)", missing.join(", ")),
    };
    format!("watching {whom}{from}{unseen}")
}

/// Some seconds of the current load.
fn stretch(at: Nanos, since: &Slice) -> Text {
    let rate = |count| Rate::of(count, since.elapsed);
    let line =
        Text::plain(format!("{:>7}", Nanos::from_secs(at.as_secs_f64().round() as u64))).with_plain(format!(
            "   offered {:>9}  achieved {:>9}  waiting {:>6}",
            rate(since.due),
            rate(since.sent),
            grouped(since.in_flight + since.backlog),
        ));
    let line = line.with_plain(response(TimeSummary::from_histogram(&since.response)));
    Outcome::ALL.into_iter().filter(|o| *o != Outcome::Ok && since.outcomes.get(*o) > 0).fold(
        line,
        |line, o| {
            line.with_span(outcome_tone(o), format!("  {} {}", grouped(since.outcomes.get(o)), o.name()))
        },
    )
}

fn response(times: Option<TimeSummary>) -> String {
    times.map_or_else(String::new, |t| format!("  p50 {:>7}  p99 {:>7}", t.quantiles.p50, t.quantiles.p99))
}

/// A finished trial, in one line.
pub fn trial_line(trial: &Trial) -> Text {
    let state = trial.state();
    let rate = trial.rate.map(|r| r.to_string()).unwrap_or_default();
    let loaded = Nanos::from_millis((trial.loaded.as_millis_f64() / 100.0).round() as u64 * 100);
    let line =
        Text::plain(format!("{:>3}  {:<8}  {rate:>9}  {loaded:>6}  ", trial.number, trial.purpose.name()))
            .with_span(state.tone(), format!("{:<4}", state.name()));
    match why(trial) {
        Some(why) => line.with_plain(format!("  {why}")),
        None => line.with_plain(response(trial.figures.response())),
    }
}
