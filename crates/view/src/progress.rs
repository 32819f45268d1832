use crate::experiment::{self, Names};
use crate::reason::why_bad_there;
use crate::trial::Times;
use crate::watched::subject_name;
use crate::words::number;
use crate::{RunView, Text, Tone, Trial, TrialState, Words};
use record::watch::Watched;
use record::{Event, Outcome, Probing, Purpose, Ramped, Slice};
use units::{Nanos, Rate, grouped};

/// A long load reports this often.
const EVERY: Nanos = Nanos::from_secs(5);
/// A load no longer than this reports only its end.
const LONG: Nanos = Nanos::from_secs(15);

/// A run as lines for a log: one for each trial, each change of the bounds, and for long loads one
/// every five seconds.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    long: bool,
    words: Words,
    since: Slice,
    at: Nanos,
    bounds: (Option<f64>, Option<f64>),
    /// What was last said of the watch.
    watched: String,
    /// An experiment so far.
    experiment: RunView,
}

impl Progress {
    /// What the next event is worth saying.
    pub fn event(&mut self, event: &Event) -> Vec<Text> {
        match event {
            Event::Designed { .. }
            | Event::VisitStarted { .. }
            | Event::Visited { .. }
            | Event::Stands { .. }
            | Event::Resumed { .. } => self.of_experiment(event),
            _ => self.of_load(event).into_iter().collect(),
        }
    }

    fn of_experiment(&mut self, event: &Event) -> Vec<Text> {
        let before = self.experiment.standing.clone();
        self.experiment.fold(event);
        let Some(names) = Names::of(&self.experiment) else { return Vec::new() };
        match event {
            Event::Designed { design } => vec![experiment::designed(design)],
            Event::VisitStarted { .. } => {
                let visiting = self.experiment.visiting.as_ref();
                visiting.map(|visiting| experiment::started(&names, visiting)).into_iter().collect()
            }
            Event::Visited { visit } => vec![experiment::visited(&names, visit).indented()],
            // At the end it stands where it stood after the last block.
            Event::Stands { standing } if before.is_none_or(|before| before.judged != standing.judged) => {
                experiment::stands(&names, standing)
            }
            Event::Resumed { .. } => {
                let made = experiment::number_of(names.visits.len(), "start");
                vec![Text::empty().and(Tone::Strong, format!("resumed; {made} made already"))]
            }
            _ => Vec::new(),
        }
    }

    fn of_load(&mut self, event: &Event) -> Option<Text> {
        match event {
            Event::RunStarted(started) => {
                self.words = Words::of(&started.command);
                None
            }
            Event::TrialStarted { duration, purpose, .. } => {
                self.long = *purpose == Purpose::Load || duration.is_none_or(|d| d > LONG);
                (self.since, self.at) = (Slice::default(), Nanos::ZERO);
                None
            }
            Event::SliceDone { slice, .. } if self.long => {
                self.since.merge_after(slice);
                self.at += slice.elapsed;
                // Slices are a little longer or shorter than a second; half of one is near enough.
                if (self.since.elapsed + Nanos::from_millis(500)) < EVERY {
                    return None;
                }
                Some(stretch(self.at, &std::mem::take(&mut self.since)))
            }
            Event::TrialDone { trial, result, judgement } => {
                Some(trial_line(&Trial::done(*trial, self.words, result, judgement)))
            }
            Event::Bounds { limits } => {
                let strict = limits.first()?;
                let bounds = (strict.lower, strict.upper);
                if bounds == self.bounds {
                    return None;
                }
                self.bounds = bounds;
                let unit = &strict.unit;
                let text = match bounds {
                    (Some(lower), Some(upper)) => {
                        format!("between {} and {} {unit}", number(lower), number(upper))
                    }
                    (Some(lower), None) => format!("at least {} {unit}", number(lower)),
                    (None, Some(upper)) => format!("below {} {unit}", number(upper)),
                    (None, None) => "warm now: the bounds found while cold no longer count".to_owned(),
                };
                Some(Text::plain(format!("{:5}", "")).and(Tone::Strong, format!("→ {text}")))
            }
            Event::Doubt { caveat } => Some(Text::empty().and(Tone::Warn, "caveat: ").then(&caveat.text)),
            Event::WatchStarted { watched } => {
                let text = who_is_watched(watched);
                if text == self.watched {
                    return None;
                }
                self.watched.clone_from(&text);
                Some(Text::empty().and(Tone::Faint, text))
            }
            Event::Probing(Probing { table, figures, expected }) => {
                Some(Text::empty().and(Tone::Faint, format!("{table}: {figures} figures, about {expected}")))
            }
            Event::Forecast { rooms } => rooms.first().map(|room| {
                let text = match room.threads {
                    Some(threads) => format!(
                        "{} allows {} more threads, the least of all limits",
                        room.name,
                        grouped(threads)
                    ),
                    None => "no limit is known".to_owned(),
                };
                Text::empty().and(Tone::Faint, text)
            }),
            Event::Ramped(Ramped { tasks, free, after }) => {
                let after = after.as_secs_f64();
                Some(Text::plain(format!("{after:6.1} s  {:>9} threads  {free:>9} free", grouped(*tasks))))
            }
            Event::Surveyed { conditions } => conditions
                .caveats
                .first()
                .map(|caveat| Text::empty().and(Tone::Warn, "caveat: ").then(&caveat.text)),
            Event::SliceDone { .. }
            | Event::Known { .. }
            | Event::Measured { .. }
            | Event::Noted { .. }
            | Event::Logged { .. }
            | Event::Designed { .. }
            | Event::Resumed { .. }
            | Event::VisitStarted { .. }
            | Event::Visited { .. }
            | Event::Stands { .. }
            | Event::Observed { .. }
            | Event::Looked { .. }
            | Event::Diagnosed { .. }
            | Event::RunEnded { .. } => None,
        }
    }
}

/// Who is watched, and what of them cannot be.
fn who_is_watched(watched: &Watched) -> String {
    let there = watched.subjects.iter().filter(|subject| subject.pid > 0);
    let names = there.map(subject_name);
    let asked = watched.postgres.as_ref().map(|postgres| format!("PostgreSQL at {}", postgres.address));
    let names: Vec<String> = names.chain(asked).chain(watched.metrics.clone()).collect();
    let text = if names.is_empty() {
        "watching nothing".to_owned()
    } else {
        format!("watching {}", names.join(", "))
    };
    let missing: Vec<&str> = watched.missing.iter().map(|missing| missing.what.as_str()).collect();
    match missing.is_empty() {
        true => text,
        false => format!("{text}; not observable: {} (torment explain says why)", missing.join(", ")),
    }
}

/// Some seconds of a load that goes on.
fn stretch(at: Nanos, since: &Slice) -> Text {
    let rate = |count| Rate::of(count, since.elapsed);
    let line =
        Text::plain(format!("{:>7}", Nanos::from_secs(at.as_secs_f64().round() as u64))).then(format!(
            "   offered {:>9}  achieved {:>9}  waiting {:>6}",
            rate(since.due),
            rate(since.sent),
            grouped(since.in_flight + since.backlog),
        ));
    let line = line.then(response(Times::of(&since.response)));
    Outcome::ALL.into_iter().filter(|o| *o != Outcome::Ok && since.outcomes.get(*o) > 0).fold(
        line,
        |line, o| {
            let tone = if o.is_bad() { Tone::Bad } else { Tone::Warn };
            line.and(tone, format!("  {} {}", grouped(since.outcomes.get(o)), o.name()))
        },
    )
}

fn response(times: Option<Times>) -> String {
    times.map_or_else(String::new, |t| format!("  p50 {:>7}  p99 {:>7}", t.quantiles.p50, t.quantiles.p99))
}

/// A trial that is over, in one line.
pub fn trial_line(trial: &Trial) -> Text {
    let state = TrialState::of(trial);
    let rate = trial.rate.map(|r| r.to_string()).unwrap_or_default();
    let loaded = Nanos::from_millis((trial.loaded.as_millis_f64() / 100.0).round() as u64 * 100);
    let line =
        Text::plain(format!("{:>3}  {:<8}  {rate:>9}  {loaded:>6}  ", trial.number, trial.purpose.name()))
            .and(state.tone(), format!("{:<4}", state.name()));
    let why = match state {
        TrialState::Bad => why_bad_there(trial),
        TrialState::Void => trial.judgement.as_ref().and_then(|j| j.invalid.first()).map(|c| c.text.clone()),
        TrialState::Good | TrialState::Unjudged => None,
    };
    match why {
        Some(why) => line.then(format!("  {why}")),
        None => line.then(response(trial.figures.response())),
    }
}
