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
        if !matches!(event, Event::RunStarted { .. }) {
            return self.sink.event(event);
        }
        let mut event = event.clone();
        if let Event::RunStarted(started) = &mut event {
            started.label = self.label.clone();
        }
        self.sink.event(&event);
    }

    /// An experiment's measurements are found through it.
    fn measurement_event(&mut self, event: &Event) {
        self.sink.measurement_event(event);
    }
}
