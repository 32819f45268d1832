//! What each event adds to what is known of a run.

use super::{Current, End, Log, Probing, Ramped, RunView, Started, Visiting};
use crate::{Second, Trial};
use record::{Event, Slice, Verdict};

/// Seconds kept for charts: a day of load is some 15 MB, no more.
const SECONDS_KEPT: usize = 86_400;

impl RunView {
    /// Takes the next event in.
    pub fn fold(&mut self, event: &Event) {
        self.stillness.fold(event);
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
                label,
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
                    label: (**label).clone(),
                });
            }
            Event::TrialStarted { trial, purpose, rate, duration, at_unix_ms } => {
                self.current = Some(Current {
                    number: *trial,
                    words: self.words(),
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
                self.trials.push(Trial::done(*trial, self.words(), result, judgement));
            }
            Event::Bounds { limits } => self.limits.clone_from(limits),
            Event::WatchStarted { watched } => self.watched = Some((**watched).clone()),
            Event::Observed { trial, window } => {
                self.window = Some((**window).clone());
                self.watched_trials.entry(*trial).or_default().add(window);
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
            Event::Surveyed { conditions } => self.conditions = Some((**conditions).clone()),
            Event::Probing { table, figures, expected } => {
                self.probing.push(Probing { table: table.clone(), figures: *figures, expected: *expected });
            }
            // It is told where it explains something.
            Event::Known { .. } => {}
            Event::Measured { figure } => self.measured.push((**figure).clone()),
            Event::Noted { table, text } => self.notes.push((table.clone(), text.clone())),
            Event::Forecast { rooms } => self.rooms.clone_from(rooms),
            Event::Ramped { tasks, free, after } => {
                self.ramp.push(Ramped { tasks: *tasks, free: *free, after: *after });
            }
            Event::Diagnosed { diagnosis } => self.diagnosis = Some((**diagnosis).clone()),
            Event::Doubt { caveat } => self.caveats.push(caveat.clone()),
            Event::RunEnded { at_unix_ms, verdict, exit_code, error } => {
                match verdict {
                    Some(Verdict::Limits { limits, .. }) => self.limits.clone_from(limits),
                    Some(Verdict::Answers { standing }) => self.standing = Some(standing.clone()),
                    _ => {}
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
}
