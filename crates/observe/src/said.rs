use record::watch::Missing;
use std::io;

/// What a source could not read: each thing once, with the first reason.
#[derive(Debug, Default)]
pub(crate) struct Unobservable(Vec<Missing>);

impl Unobservable {
    /// Notes that this is not observable.
    pub fn say(&mut self, what: &str, why: impl Into<String>) {
        if !self.0.iter().any(|missing| missing.what == what) {
            self.0.push(Missing::new(what, why));
        }
    }

    /// What was read, or none: then notes why.
    pub fn take<T>(&mut self, what: &str, path: &str, read: io::Result<T>) -> Option<T> {
        read.map_err(|error| self.say(what, format!("{path} cannot be read: {error}"))).ok()
    }

    pub fn list(&self) -> Vec<Missing> {
        self.0.clone()
    }
}
