use record::watch::MissingMeasure;
use std::io;

/// What a source could not read: each measure once, with the first reason.
#[derive(Debug, Default)]
pub(crate) struct MissingLog(Vec<MissingMeasure>);

impl MissingLog {
    /// Notes that this cannot be observed.
    pub fn note(&mut self, what: &str, why: impl Into<String>) {
        if !self.0.iter().any(|missing| missing.what == what) {
            self.0.push(MissingMeasure::new(what, why));
        }
    }

    /// Returns what was read; on an error, notes why and returns none.
    pub fn ok_or_note<T>(&mut self, what: &str, path: &str, read: io::Result<T>) -> Option<T> {
        read.map_err(|error| self.note(what, format!("{path} cannot be read: {error}"))).ok()
    }

    pub fn list(&self) -> Vec<MissingMeasure> {
        self.0.clone()
    }
}
