//! Nothing that a run says holds a secret of its plan: whatever is told passes here.

use crate::{Error, Sink};
use plan::Secrets;
use record::Event;

/// A sink before which secrets are left out.
pub(crate) struct Discreet<'a> {
    sink: &'a mut dyn Sink,
    secrets: &'a Secrets,
}

impl<'a> Discreet<'a> {
    pub fn before(sink: &'a mut dyn Sink, secrets: &'a Secrets) -> Self {
        Self { sink, secrets }
    }

    /// The event as it may be told.
    fn told(&self, event: &Event) -> Event {
        let mut told = event.clone();
        told.each_text(&mut |text| self.secrets.hide_in(text));
        told
    }
}

impl Sink for Discreet<'_> {
    fn event(&mut self, event: &Event) {
        if self.secrets.is_empty() {
            return self.sink.event(event);
        }
        self.sink.event(&self.told(event));
    }

    fn part(&mut self, event: &Event) {
        if self.secrets.is_empty() {
            return self.sink.part(event);
        }
        self.sink.part(&self.told(event));
    }
}

impl Error {
    /// The same without secrets; one that held any is only its words.
    pub(crate) fn without(self, secrets: &Secrets) -> Self {
        let said = self.to_string();
        let mut hidden = said.clone();
        secrets.hide_in(&mut hidden);
        if hidden == said { self } else { Self::Told(hidden) }
    }
}
