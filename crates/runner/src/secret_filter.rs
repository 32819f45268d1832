//! Removes the plan's secrets from all events.

use crate::{Error, Sink};
use plan::Redactor;
use record::Event;
use std::borrow::Cow;

/// A sink that removes secrets before passing events on.
pub(crate) struct SecretFilter<'a> {
    sink: &'a mut dyn Sink,
    secrets: &'a Redactor,
}

impl<'a> SecretFilter<'a> {
    pub fn new(sink: &'a mut dyn Sink, secrets: &'a Redactor) -> Self {
        Self { sink, secrets }
    }

    fn redacted<'e>(&self, event: &'e Event) -> Cow<'e, Event> {
        let mut event = Cow::Borrowed(event);
        if !self.secrets.is_empty() {
            event.to_mut().visit_texts(&mut |text| self.secrets.redact_in_place(text));
        }
        event
    }
}

impl Sink for SecretFilter<'_> {
    fn event(&mut self, event: &Event) {
        self.sink.event(&self.redacted(event));
    }

    fn measurement_event(&mut self, event: &Event) {
        self.sink.measurement_event(&self.redacted(event));
    }
}

impl Error {
    /// The same without secrets; an error that held any is reduced to its message.
    pub(crate) fn without_secrets(self, secrets: &Redactor) -> Self {
        let said = self.to_string();
        let mut hidden = said.clone();
        secrets.redact_in_place(&mut hidden);
        if hidden == said { self } else { Self::Redacted(hidden) }
    }
}
