use crate::{Figures, PartFigures, Times, Trial};
use record::watch::{Look, Watched, Window};
use record::{Caveat, Design, Diagnosis, Event, Limit, Machine, Outcomes, Purpose, Recovery, RunId, Slice};
use record::{Standing, Verdict, Visit};
use std::collections::{BTreeMap, VecDeque};
use units::{Nanos, Rate};

/// Seconds kept for charts: a day of load is some 15 MB, no more.
const SECONDS_KEPT: usize = 86_400;

/// How a run began.
#[derive(Debug, Clone, PartialEq)]
pub struct Started {
    /// The run.
    pub id: RunId,
    /// Milliseconds since 1970.
    pub at_unix_ms: u64,
    /// torment's version.
    pub version: String,
    /// [`record::METHOD`] of that version.
    pub method: u32,
    /// `find` or `run`.
    pub command: String,
    /// The target as shown to people.
    pub target: String,
    /// The objective in words.
    pub goal: String,
    /// The plan as understood, as TOML.
    pub plan: String,
    /// Names of the steps of all flows; none if there is only one.
    pub parts: Vec<String>,
    /// Where it ran.
    pub machine: Machine,
    /// The experiment it belongs to.
    pub part_of: Option<RunId>,
}

/// The load that goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct Current {
    /// Counted from 1.
    pub number: u32,
    /// Why it is made.
    pub purpose: Purpose,
    /// Offered rate; none of a closed loop.
    pub rate: Option<Rate>,
    /// How long it is to last.
    pub planned: Option<Nanos>,
    /// Milliseconds since 1970.
    pub at_unix_ms: u64,
    /// All its seconds so far, merged.
    pub total: Slice,
}

impl Current {
    /// What can be said of it if it ends here.
    pub fn cut_short(&self) -> Trial {
        Trial {
            number: self.number,
            purpose: self.purpose,
            rate: self.rate,
            planned: self.planned,
            loaded: self.total.elapsed,
            drain: Nanos::ZERO,
            hopeless: false,
            recovery: Recovery::NotNeeded,
            caveats: Vec::new(),
            judgement: None,
            figures: Figures::of(&self.total),
        }
    }
}

/// One second of load, as charts need it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Second {
    /// Its trial.
    pub trial: u32,
    /// Which second of the trial, from 0.
    pub index: u32,
    /// How much time it covers.
    pub elapsed: Nanos,
    /// Starts that came due, a second.
    pub offered: Rate,
    /// Starts made, a second.
    pub achieved: Rate,
    /// Sent and not done, at its end.
    pub in_flight: u64,
    /// Due and not sent, at its end.
    pub backlog: u64,
    /// What was decided in it.
    pub outcomes: Outcomes,
    /// Half of its response times are below.
    pub response_p50: Option<Nanos>,
    /// 99 % are below.
    pub response_p99: Option<Nanos>,
}

impl Second {
    fn of(trial: u32, slice: &Slice) -> Self {
        let response = Times::of(&slice.response);
        Self {
            trial,
            index: slice.index,
            elapsed: slice.elapsed,
            offered: Rate::of(slice.due, slice.elapsed),
            achieved: Rate::of(slice.sent, slice.elapsed),
            in_flight: slice.in_flight,
            backlog: slice.backlog,
            outcomes: slice.outcomes,
            response_p50: response.map(|t| t.quantiles.p50),
            response_p99: response.map(|t| t.quantiles.p99),
        }
    }
}

impl Second {
    /// Whether its rates say anything: the rest of a load or a drain is too short to.
    pub fn is_whole(&self) -> bool {
        self.elapsed.0 * 4 >= record::SLICE.0 * 3
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    /// Milliseconds since 1970.
    pub at_unix_ms: u64,
    /// What it came to.
    pub verdict: Option<Verdict>,
    /// Exit code of the command.
    pub exit_code: u8,
    /// Why it came to none.
    pub error: Option<String>,
}

/// A start of an experiment's arm that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visiting {
    /// As in [`Visit`].
    pub number: u32,
    /// As in [`Visit`].
    pub block: u32,
    /// As in [`Visit`].
    pub arm: usize,
    /// As in [`Visit`].
    pub placebo: bool,
    /// What it is expected to take.
    pub expected: Option<Nanos>,
}

/// What a program has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// Its name in the plan.
    pub program: String,
    /// The output, of a long one its beginning and end.
    pub text: String,
    /// Bytes left out between them.
    pub left_out: u64,
}

/// A run as far as its events tell: fold them in their order with [`RunView::fold`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunView {
    /// How it began; none before the first event.
    pub started: Option<Started>,
    /// The load that goes on, or was cut short.
    pub current: Option<Current>,
    /// The trials that are done.
    pub trials: Vec<Trial>,
    /// The bounds of a search so far, the strict goal first.
    pub limits: Vec<Limit>,
    /// Doubts about the whole run.
    pub caveats: Vec<Caveat>,
    /// The last seconds of load, the oldest first.
    pub seconds: VecDeque<Second>,
    /// What is watched; none if nothing is.
    pub watched: Option<Watched>,
    /// What was seen in the last second.
    pub window: Option<Window>,
    /// All that was seen in each trial, as one window; 0 is no trial.
    pub watched_trials: BTreeMap<u32, Window>,
    /// What was looked at once.
    pub looks: Vec<Look>,
    /// What gave first.
    pub diagnosis: Option<Diagnosis>,
    /// What an experiment is to find out.
    pub design: Option<Design>,
    /// The starts of an experiment's arms that are done.
    pub visits: Vec<Visit>,
    /// The start that goes on.
    pub visiting: Option<Visiting>,
    /// Where an experiment stands.
    pub standing: Option<Standing>,
    /// What the programs that the plan started have written.
    pub logs: Vec<Log>,
    /// How it ended; none if it goes on or was cut short.
    pub end: Option<End>,
    /// Its process still writes it, so that a missing end is none to worry about. Events cannot
    /// tell: whoever reads them from a store sets it.
    pub running: bool,
    /// Events that this version could not read; set by whoever reads them.
    pub skipped: u64,
}

impl RunView {
    /// Takes the next event in.
    pub fn fold(&mut self, event: &Event) {
        match event {
            Event::RunStarted {
                id,
                at_unix_ms,
                version,
                method,
                command,
                target,
                goal,
                plan,
                parts,
                machine,
                part_of,
            } => {
                self.started = Some(Started {
                    id: id.clone(),
                    at_unix_ms: *at_unix_ms,
                    version: version.clone(),
                    method: *method,
                    command: command.clone(),
                    target: target.clone(),
                    goal: goal.clone(),
                    plan: plan.clone(),
                    parts: parts.clone(),
                    machine: machine.clone(),
                    part_of: part_of.clone(),
                });
            }
            Event::TrialStarted { trial, purpose, rate, duration, at_unix_ms } => {
                self.current = Some(Current {
                    number: *trial,
                    purpose: *purpose,
                    rate: *rate,
                    planned: *duration,
                    at_unix_ms: *at_unix_ms,
                    total: Slice::default(),
                });
            }
            Event::SliceDone { trial, slice } => {
                if let Some(current) = self.current.as_mut().filter(|c| c.number == *trial) {
                    current.total.merge_after(slice);
                }
                if self.seconds.len() == SECONDS_KEPT {
                    self.seconds.pop_front();
                }
                self.seconds.push_back(Second::of(*trial, slice));
            }
            Event::TrialDone { trial, result, judgement } => {
                self.current = None;
                self.trials.push(Trial::done(*trial, result, judgement));
            }
            Event::Bounds { limits } => self.limits.clone_from(limits),
            Event::WatchStarted { watched } => self.watched = Some((**watched).clone()),
            Event::Observed { trial, window } => {
                self.window = Some((**window).clone());
                diagnosis::add(self.watched_trials.entry(*trial).or_default(), window);
            }
            Event::Looked { look, .. } => self.looks.push(look.clone()),
            Event::Logged { program, text, left_out } => {
                self.logs.push(Log { program: program.clone(), text: text.clone(), left_out: *left_out });
            }
            Event::Resumed { .. } => self.end = None,
            Event::Designed { design } => self.design = Some((**design).clone()),
            Event::VisitStarted { number, block, arm, placebo, expected } => {
                self.visiting = Some(Visiting {
                    number: *number,
                    block: *block,
                    arm: *arm,
                    placebo: *placebo,
                    expected: *expected,
                });
            }
            Event::Visited { visit } => {
                self.visiting = None;
                self.visits.push((**visit).clone());
            }
            Event::Stands { standing } => self.standing = Some((**standing).clone()),
            Event::Diagnosed { diagnosis } => self.diagnosis = Some((**diagnosis).clone()),
            Event::Doubt { caveat } => self.caveats.push(caveat.clone()),
            Event::RunEnded { at_unix_ms, verdict, exit_code, error } => {
                match verdict {
                    Some(Verdict::Limits { limits, .. }) => self.limits.clone_from(limits),
                    Some(Verdict::Answers { standing }) => self.standing = Some(standing.clone()),
                    Some(Verdict::Goal { .. }) | None => {}
                }
                self.end = Some(End {
                    at_unix_ms: *at_unix_ms,
                    verdict: verdict.clone(),
                    exit_code: *exit_code,
                    error: error.clone(),
                });
            }
        }
    }

    /// All of some events.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut view = Self::default();
        events.into_iter().for_each(|event| view.fold(event));
        view
    }

    /// Whether it is a search: `torment find`.
    pub fn is_search(&self) -> bool {
        match self.end.as_ref().and_then(|e| e.verdict.as_ref()) {
            Some(verdict) => matches!(verdict, Verdict::Limits { .. }),
            None => self.started.as_ref().is_some_and(|s| s.command == "find"),
        }
    }

    /// Whether it is an experiment: `torment try`.
    pub fn is_experiment(&self) -> bool {
        match self.end.as_ref().and_then(|e| e.verdict.as_ref()) {
            Some(verdict) => matches!(verdict, Verdict::Answers { .. }),
            None => self.design.is_some() || self.started.as_ref().is_some_and(|s| s.command == "try"),
        }
    }

    /// The load of `torment run`, done or as far as it came.
    pub fn load(&self) -> Option<Trial> {
        let done = self.trials.iter().rev().find(|t| t.purpose == Purpose::Load);
        done.cloned().or_else(|| self.current.as_ref().map(Current::cut_short))
    }

    /// The steps of all flows by name, with what happened to each in this load.
    pub fn parts<'a>(&'a self, load: &'a Trial) -> impl Iterator<Item = (&'a str, &'a PartFigures)> {
        let names = self.started.iter().flat_map(|started| &started.parts).map(String::as_str);
        names.zip(&load.figures.parts)
    }

    /// Time under load, of all trials.
    pub fn loaded(&self) -> Nanos {
        let current = self.current.as_ref().map_or(Nanos::ZERO, |c| c.total.elapsed);
        self.trials.iter().fold(current, |sum, trial| sum + trial.loaded)
    }
}
