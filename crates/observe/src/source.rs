use crate::watch_scope::WatchScope;
use record::watch::{CloserLook, MissingMeasure, WatchCoverage, Window};
use std::time::Duration;

/// Something that is read again and again, and gives its part of each window.
pub(crate) trait Source: Send {
    /// How often it wants to be read; hardly ever, if it only reads when a window is cut.
    fn every(&self) -> Duration {
        Duration::from_secs(3600)
    }

    /// Reads. What cannot be read is left out of the window, and once said (see [`crate::scene::Scene::missing`]).
    ///
    /// It must not wait for anything but the kernel: what may wait for others has a thread of its own and
    /// leaves here what it last heard.
    fn read(&mut self, _scene: &WatchScope) {}

    /// Puts what was read since the last cut into the window, whose [`Window::subjects`] are there
    /// already, one for each of [`Scene::subjects`] and in their order; and begins anew. Counters that
    /// have to be exact are read once more.
    fn cut(&mut self, scene: &WatchScope, window: &mut Window);

    /// A trial begins: a cut into no window, and this, come before its first window.
    fn begin(&mut self) {}

    /// The load of the trial is over.
    fn end(&mut self) {}

    /// Somebody wants a closer look, while the target is as it is now: take it on a thread of its own, and
    /// leave it in [`Source::looks`].
    fn look(&mut self, _scene: &WatchScope) {}

    /// Closer looks taken since it was last asked; they belong to the trial that goes on, or went on last.
    fn looks(&mut self) -> Vec<CloserLook> {
        Vec::new()
    }

    /// What it found that it cannot see, so far; each is said once, however often it is found.
    fn missing(&self) -> Vec<MissingMeasure> {
        Vec::new()
    }

    /// Puts what it knows of the watch as a whole into what is said of it; asked every second.
    fn describe(&self, _watched: &mut WatchCoverage) {}
}
