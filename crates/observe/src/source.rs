use crate::scene::Scene;
use record::watch::Window;
use std::time::Duration;

/// Something that is read again and again, and gives its part of each window.
pub(crate) trait Source: Send {
    /// How often it wants to be read.
    fn every(&self) -> Duration;

    /// Reads. What cannot be read is left out of the window, and once said (see [`crate::scene::Scene::missing`]).
    ///
    /// It must not wait for anything but the kernel: what may wait for others has a thread of its own and
    /// leaves here what it last heard.
    fn read(&mut self, scene: &Scene);

    /// Puts what was read since the last cut into the window, whose [`Window::subjects`] are there
    /// already, one for each of [`Scene::subjects`] and in their order; and begins anew. Counters that
    /// have to be exact are read once more.
    fn cut(&mut self, scene: &Scene, window: &mut Window);
}
