use crate::scene::Scene;
use crate::source::Source;
use record::watch::{Missing, Window};

/// Stands for a source that was asked for and cannot be had: it says so, and gives nothing.
pub(crate) struct Absent(pub Missing);

impl Source for Absent {
    fn cut(&mut self, _: &Scene, _: &mut Window) {}

    fn missing(&self) -> Vec<Missing> {
        vec![self.0.clone()]
    }
}
