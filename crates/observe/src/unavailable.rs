use crate::source::Source;
use crate::watch_scope::WatchScope;
use record::watch::{MissingMeasure, Window};

/// Stands for a requested source that is unavailable: reports that, and supplies nothing.
pub(crate) struct UnavailableSource(pub MissingMeasure);

impl Source for UnavailableSource {
    fn cut(&mut self, _: &WatchScope, _: &mut Window) {}

    fn missing(&self) -> Vec<MissingMeasure> {
        vec![self.0.clone()]
    }
}
