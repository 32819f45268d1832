//! Adds a run's label to its events: its conductor need not know it.

use crate::args::LabelArgs;
use record::{Event, Label};
use runner::Sink;

/// Passes everything on, the first event with a label.
pub struct LabelSink<'a> {
    sink: &'a mut dyn Sink,
    label: Label,
}

/// Labels the run from here on.
pub fn with_label<'a>(args: &LabelArgs, sink: &'a mut dyn Sink) -> LabelSink<'a> {
    LabelSink { sink, label: args.label() }
}

impl Sink for LabelSink<'_> {
    fn event(&mut self, event: &Event) {
        let Event::RunStarted(started) = event else { return self.sink.event(event) };
        let mut started = started.clone();
        started.label = self.label.clone();
        self.sink.event(&Event::RunStarted(started));
    }

    /// An experiment's measurements are found through it.
    fn measurement_event(&mut self, event: &Event) {
        self.sink.measurement_event(event);
    }
}
