//! A run in progress, as displayed: its page, and a recording for the diagnosis rules, which need raw windows.

use crate::page::PageBuilder;
use crate::verdict::sentences;
use crate::{Text, TrialState};
use diagnosis::{ObservedRun, diagnose, diagnose_ongoing};
use record::{Event, Purpose};

/// A long load is diagnosed again every so many seconds.
const DIAGNOSIS_INTERVAL: u32 = 10;

/// A run in progress, for display: its page, and what that only says at the end.
#[derive(Debug, Clone, Default)]
pub struct LiveRun {
    /// Its page so far.
    pub page: PageBuilder,
    recording: ObservedRun,
    suspected: Option<Text>,
    begun_unix_ms: u64,
}

impl LiveRun {
    /// Folds events that all arrive at once.
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>, now_unix_ms: u64) -> Self {
        let mut live_run = Self::default();
        events.into_iter().for_each(|event| live_run.fold(event, now_unix_ms));
        live_run
    }

    /// Folds the next event, received at `now_unix_ms`.
    pub fn fold(&mut self, event: &Event, now_unix_ms: u64) {
        self.page.fold(event);
        self.page.run.running = self.page.run.end.is_none();
        self.recording.fold(event);
        match event {
            Event::Probing { .. } => self.begun_unix_ms = now_unix_ms,
            Event::TrialDone { .. } if self.is_bad() => self.set_suspected(diagnose(&self.recording)),
            Event::SliceDone { slice, .. }
                if self.is_long() && slice.index % DIAGNOSIS_INTERVAL == DIAGNOSIS_INTERVAL - 1 =>
            {
                self.set_suspected(diagnose_ongoing(&self.recording));
            }
            _ => {}
        }
    }

    fn is_bad(&self) -> bool {
        self.page.run.trials.last().is_some_and(|trial| trial.state() == TrialState::Bad)
    }

    fn is_long(&self) -> bool {
        self.page.run.current.as_ref().is_some_and(|current| current.purpose == Purpose::Load)
    }

    /// An earlier suspicion stays until there is another.
    fn set_suspected(&mut self, diagnosis: record::Diagnosis) {
        if !diagnosis.findings.is_empty() {
            self.suspected = sentences(&diagnosis).into_iter().next();
        }
    }

    /// What seems to have given first so far; the verdict may differ.
    pub fn suspected(&self) -> Option<&Text> {
        self.suspected.as_ref()
    }

    /// When the current table of figures began, in milliseconds since 1970.
    pub fn table_begun_unix_ms(&self) -> u64 {
        self.begun_unix_ms
    }
}
