//! A run that goes on, as a face shows it meanwhile: its page, and a recording for the rules, which go by the raw windows.

use crate::page::PageBuilder;
use crate::verdict::sentences;
use crate::{Text, TrialState};
use diagnosis::{ObservedRun, diagnose, diagnose_ongoing};
use record::{Event, Purpose};

/// A long load is judged again after so many of its seconds.
const EVERY: u32 = 10;

/// A run that goes on, for a face that shows it meanwhile: its page, and what that does not say before the end.
#[derive(Debug, Clone, Default)]
pub struct LiveRun {
    /// Its page, as far as it has come.
    pub pages: PageBuilder,
    recording: ObservedRun,
    suspected: Option<Text>,
    begun_unix_ms: u64,
}

impl LiveRun {
    /// All of some events, heard at once.
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>, now_unix_ms: u64) -> Self {
        let mut ongoing = Self::default();
        events.into_iter().for_each(|event| ongoing.fold(event, now_unix_ms));
        ongoing
    }

    /// Takes the next event in, which is heard now.
    pub fn fold(&mut self, event: &Event, now_unix_ms: u64) {
        self.pages.fold(event);
        self.pages.run.running = self.pages.run.end.is_none();
        self.recording.fold(event);
        match event {
            Event::Probing { .. } => self.begun_unix_ms = now_unix_ms,
            Event::TrialDone { .. } if self.is_bad() => self.set_suspected(diagnose(&self.recording)),
            Event::SliceDone { slice, .. } if self.is_long() && slice.index % EVERY == EVERY - 1 => {
                self.set_suspected(diagnose_ongoing(&self.recording));
            }
            _ => {}
        }
    }

    fn is_bad(&self) -> bool {
        self.pages.run.trials.last().is_some_and(|trial| TrialState::from_trial(trial) == TrialState::Bad)
    }

    fn is_long(&self) -> bool {
        self.pages.run.current.as_ref().is_some_and(|current| current.purpose == Purpose::Load)
    }

    /// What was suspected before stays while nothing else is.
    fn set_suspected(&mut self, diagnosis: record::Diagnosis) {
        if !diagnosis.findings.is_empty() {
            self.suspected = sentences(&diagnosis).into_iter().next();
        }
    }

    /// What seems to have given first, by what is known so far: the verdict may be another.
    pub fn suspected(&self) -> Option<&Text> {
        self.suspected.as_ref()
    }

    /// Milliseconds since 1970 when the last table of figures was begun.
    pub fn table_begun_unix_ms(&self) -> u64 {
        self.begun_unix_ms
    }
}
