//! Downstreams on the service's own machine, treated as if the load met them: the cause may be there.
//!
//! A proxy's own threads show nothing, for it waits in one event loop for everything behind it. So the rules for a service are also
//! applied to each of these, with its windows in the service's place. At most as many requests wait there as it has connections: the
//! service may hold back the rest.

use crate::loaded_window::LoadedWindow;
use crate::run_split::{RunPart, RunSplit};
use record::watch::{TreeRole, WatchCoverage, Window};

/// A downstream, and what was observed of it.
pub(crate) struct DownstreamView {
    pub watched: WatchCoverage,
    degraded: Vec<(Window, f64)>,
    well: Vec<(Window, f64)>,
    near: Vec<(Window, f64)>,
}

impl DownstreamView {
    /// All of one place. A database has rules of its own.
    pub fn all(watched: &WatchCoverage, split: &RunSplit<'_>) -> Vec<Self> {
        let is_downstream = |(_, subject): &(usize, &record::watch::WatchedProcesses)| {
            subject.role == TreeRole::Downstream && !subject.is_postgres
        };
        let downstreams = watched.subjects.iter().enumerate().filter(is_downstream);
        downstreams.map(|(at, _)| Self::of(watched, split, at)).collect()
    }

    fn of(watched: &WatchCoverage, split: &RunSplit<'_>, at: usize) -> Self {
        let mut reordered = watched.clone();
        reordered.subjects[..=at].rotate_right(1);
        for (place, subject) in reordered.subjects.iter_mut().enumerate() {
            subject.role = if place == 0 { TreeRole::Service } else { TreeRole::Downstream };
        }
        Self {
            watched: reordered,
            degraded: windows(&split.degraded, at),
            well: windows(&split.well, at),
            near: windows(&split.near, at),
        }
    }

    /// The same parts of the run.
    pub fn apply_to<'b>(&'b self, split: &RunSplit<'b>) -> RunSplit<'b> {
        let with_windows = |part: &RunPart<'b>, windows: &'b [(Window, f64)]| RunPart {
            windows: windows
                .iter()
                .map(|(window, outstanding)| LoadedWindow { window, outstanding: *outstanding })
                .collect(),
            ..part.clone()
        };
        RunSplit {
            degraded: with_windows(&split.degraded, &self.degraded),
            well: with_windows(&split.well, &self.well),
            near: with_windows(&split.near, &self.near),
            ..split.clone()
        }
    }
}

/// The windows in which it was observed, with what waited there.
fn windows(part: &RunPart<'_>, at: usize) -> Vec<(Window, f64)> {
    let from_subject = |moment: &LoadedWindow<'_>| {
        let connections = f64::from(moment.subjects.get(at)?.clients);
        let mut reordered = moment.window.clone();
        reordered.subjects[..=at].rotate_right(1);
        Some((reordered, moment.outstanding.min(connections)))
    };
    part.windows.iter().filter_map(from_subject).collect()
}
