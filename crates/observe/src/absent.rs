use crate::scene::Scene;
use crate::source::{ONLY_AT_CUTS, Source};
use record::watch::{Missing, Window};
use std::time::Duration;

/// Stands for a source that was asked for and cannot be had: it says so, and gives nothing.
pub(crate) struct Absent(pub Missing);

impl Source for Absent {
    fn every(&self) -> Duration {
        ONLY_AT_CUTS
    }

    fn read(&mut self, _: &Scene) {}

    fn cut(&mut self, _: &Scene, _: &mut Window) {}

    fn missing(&self) -> Vec<Missing> {
        vec![self.0.clone()]
    }
}
