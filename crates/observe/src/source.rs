use crate::watch_scope::WatchScope;
use record::watch::{CloserLook, MissingMeasure, WatchCoverage, Window};
use std::time::Duration;

/// A source is read repeatedly and supplies its part of each window.
pub(crate) trait Source: Send {
    /// Interval between reads; very long if it only reads at cuts.
    fn interval(&self) -> Duration {
        Duration::from_secs(3600)
    }

    /// Reads. What cannot be read is left out of the window, and reported once (see
    /// [`WatchScope::missing`]).
    ///
    /// Must not wait for anything but the kernel: what may wait for others has its own thread and leaves
    /// its latest results here.
    fn read(&mut self, _scope: &WatchScope) {}

    /// Adds what was read since the last cut to the window and resets. [`Window::subjects`] are there
    /// already, one for each of [`WatchScope::subjects`], in their order. Counters that must be exact are
    /// read again.
    fn cut(&mut self, scope: &WatchScope, window: &mut Window);

    /// A trial begins: called, after a cut into no window, before its first window.
    fn begin(&mut self) {}

    /// The trial's load has ended.
    fn end(&mut self) {}

    /// A closer look at the target's current state is wanted: take it on a separate thread, and return it
    /// from [`Source::closer_looks`].
    fn start_closer_look(&mut self, _scope: &WatchScope) {}

    /// Closer looks taken since the last call; they belong to the current or last trial.
    fn closer_looks(&mut self) -> Vec<CloserLook> {
        Vec::new()
    }

    /// All that it could not see so far; each is reported once, however often it is found.
    fn missing(&self) -> Vec<MissingMeasure> {
        Vec::new()
    }

    /// Adds its part to the description of the whole watch; called every second.
    fn describe(&self, _coverage: &mut WatchCoverage) {}
}
