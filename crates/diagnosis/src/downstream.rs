//! Downstreams on the service's own machine, treated as if the load met them: the cause may be there.
//!
//! A proxy's own threads show nothing, for it waits in one event loop for everything behind it. So the rules for a service are also
//! applied to each of these, with its windows in the service's place. At most as many requests wait there as it has connections: the
//! service may hold back the rest.

use crate::run_split::{RunPart, RunSplit};
use record::watch::{TreeRole, WatchCoverage, Window};

/// A downstream, and what was observed of it.
pub(crate) struct DownstreamView {
    pub watched: WatchCoverage,
    bad: Vec<(Window, f64)>,
    well: Vec<(Window, f64)>,
}

impl DownstreamView {
    /// All of one place. A database has rules of its own.
    pub fn all(watched: &WatchCoverage, steps: &RunSplit<'_>) -> Vec<Self> {
        let is_one = |(_, subject): &(usize, &record::watch::WatchedProcesses)| {
            subject.role == TreeRole::Downstream && !subject.is_postgres
        };
        let some = watched.subjects.iter().enumerate().filter(is_one);
        some.map(|(at, _)| Self::of(watched, steps, at)).collect()
    }

    fn of(watched: &WatchCoverage, steps: &RunSplit<'_>, at: usize) -> Self {
        let mut turned = watched.clone();
        turned.subjects[..=at].rotate_right(1);
        for (place, subject) in turned.subjects.iter_mut().enumerate() {
            subject.role = if place == 0 { TreeRole::Service } else { TreeRole::Downstream };
        }
        Self { watched: turned, bad: windows(&steps.bad, at), well: windows(&steps.well, at) }
    }

    /// The same parts of the run.
    pub fn steps<'b>(&'b self, steps: &RunSplit<'b>) -> RunSplit<'b> {
        let seen = |part: &RunPart<'b>, windows: &'b [(Window, f64)]| RunPart {
            windows: windows.iter().map(|(window, outstanding)| (window, *outstanding)).collect(),
            ..part.clone()
        };
        RunSplit { bad: seen(&steps.bad, &self.bad), well: seen(&steps.well, &self.well), ..steps.clone() }
    }
}

/// The windows in which it was observed, with what waited there.
fn windows(part: &RunPart<'_>, at: usize) -> Vec<(Window, f64)> {
    let there = |(window, outstanding): &(&Window, f64)| {
        let connections = f64::from(window.subjects.get(at)?.clients);
        let mut turned = (*window).clone();
        turned.subjects[..=at].rotate_right(1);
        Some((turned, outstanding.min(connections)))
    };
    part.windows.iter().filter_map(there).collect()
}
