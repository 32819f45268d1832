//! How busy a virtual machine's compilers are: while they have much to do, its code is still getting faster.

use record::Event;
use record::watch::TreeWindow;
use std::collections::BTreeMap;
use units::Nanos;

/// HotSpot's name for its compiler threads: C1, C2, JVMCI.
const COMPILER: &str = " CompilerT";

/// Compiler activity in the last load, folded from a run's events in order.
#[derive(Debug, Clone, Default)]
pub struct CompilerActivity(BTreeMap<String, PlaceCompilers>);

#[derive(Debug, Clone, Copy, Default)]
struct PlaceCompilers {
    /// Their threads' time on a processor, or ready for one.
    busy: Nanos,
    length: Nanos,
}

impl CompilerActivity {
    /// Folds the next event.
    pub fn fold(&mut self, event: &Event) {
        match event {
            Event::TrialStarted { .. } => self.0.clear(),
            Event::Observed { place, window, .. } => {
                let compilers = self.0.entry(place.clone()).or_default();
                compilers.busy += window.service().map_or(Nanos::ZERO, busy);
                compilers.length += window.length();
            }
            _ => {}
        }
    }

    /// How long this place was observed in it so far.
    pub fn observed_time(&self, place: &str) -> Nanos {
        self.0.get(place).map_or(Nanos::ZERO, |seen| seen.length)
    }

    /// Average number of busy compiler threads, on a processor or ready for one: at the place with the most.
    pub fn busy_threads(&self) -> f64 {
        let at = |seen: &PlaceCompilers| {
            seen.busy.as_secs_f64() / seen.length.as_secs_f64().max(f64::MIN_POSITIVE)
        };
        self.0.values().map(at).fold(0.0, f64::max)
    }
}

fn busy(service: &TreeWindow) -> Nanos {
    let compilers = service.groups.iter().filter(|group| group.name.contains(COMPILER));
    Nanos(compilers.map(|group| group.on_cpu_ns + group.run_delay_ns).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Purpose;
    use record::watch::{ThreadGroup, Window};

    fn began(trial: u32) -> Event {
        Event::TrialStarted { trial, purpose: Purpose::WarmUp, rate: None, duration: None, at_unix_ms: 0 }
    }

    /// A second in which these threads ran, and waited for a processor, for this many seconds.
    fn second(place: &str, groups: &[(&str, f64, f64)]) -> Event {
        let ns = |seconds: f64| Nanos::from_secs_f64(seconds).0;
        let group = |(name, ran, waited): &(&str, f64, f64)| ThreadGroup {
            name: (*name).to_owned(),
            on_cpu_ns: ns(*ran),
            run_delay_ns: ns(*waited),
            ..ThreadGroup::default()
        };
        let service = TreeWindow { groups: groups.iter().map(group).collect(), ..TreeWindow::default() };
        let window = Window { to: Nanos::from_secs(1), subjects: vec![service], ..Window::default() };
        Event::Observed { trial: 1, place: place.to_owned(), window: Box::new(window) }
    }

    #[test]
    fn compilers_are_busy_that_run_or_want_to() {
        let mut activity = CompilerActivity::default();
        assert_eq!(
            (activity.busy_threads(), activity.observed_time("")),
            (0.0, Nanos::ZERO),
            "nobody looked"
        );
        let busy =
            [("C2 CompilerThre", 0.18, 0.82), ("C1 CompilerThre", 0.1, 0.0), ("http-nio-N-exec", 0.6, 3.1)];
        for event in [began(1), second("", &busy), second("", &busy[1..]), second("db", &busy[2..])] {
            activity.fold(&event);
        }
        assert!((activity.busy_threads() - 0.6).abs() < 1e-9, "{activity:?}");
        assert_eq!(activity.observed_time(""), Nanos::from_secs(2));
        activity.fold(&began(2));
        assert_eq!(activity.busy_threads(), 0.0, "of the last load");
    }
}
