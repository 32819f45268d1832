//! Whether the target goes on working after a load: its answers do not wait for all the work they cause, and a trial ends before that is
//! done.

use crate::ObservedRun;
use crate::loaded_window::cpu;
use crate::observed_run::{Second, Trial};
use record::watch::Window;
use record::{Caveat, CaveatDetails, CaveatKind, Purpose};
use units::Nanos;

/// Shorter work is tidying up: closing connections, collecting garbage.
const MIN_DURATION: Nanos = Nanos::from_secs(5);
/// It is at work if it uses this many more processors than its requests cost, in each look.
const MIN_EXTRA_CPUS: f64 = 0.25;
/// A longer response time means waiting for earlier requests: that is a queue, not deferred work.
const MAX_MEDIAN: Nanos = Nanos::from_millis(100);

/// The load after which it worked the longest, as far as observed.
pub(super) fn continued_work(recording: &ObservedRun) -> Option<Caveat> {
    recording.places().into_iter().find_map(|place| {
        // A JVM compiles for minutes.
        recording.watched.get(place)?.subjects.first().filter(|about| about.java.is_none())?;
        let good = |trial: &&Trial| trial.end.as_ref().is_some_and(|end| end.good);
        let judged = recording.trials.iter().filter(|trial| trial.purpose.is_judged()).filter(good);
        let costs = judged.filter_map(|trial| Some(cpu_used(trial, place)?.1 / trial.rate?.0));
        let cost = costs.reduce(f64::min)?;
        let runs = recording.trials.chunk_by(|_, next| next.purpose == Purpose::Recovery);
        let found = runs.filter_map(|run| {
            let (load, looks) = run.split_first()?;
            let looks = looks.iter().map_while(|look| work_after_load(look, place, cost));
            let (lasted, work) =
                looks.fold((0.0, 0.0), |(time, work), look| (time + look.0, work + look.0 * look.1));
            Some((load.rate?, Nanos::from_secs_f64(lasted), work / lasted))
        });
        let (after, lasted, used) = found.max_by_key(|(_, lasted, _)| *lasted)?;
        (lasted >= MIN_DURATION).then(|| {
            Caveat::with_details(CaveatKind::WorksOn, CaveatDetails::WorkedOn { after, lasted, used })
        })
    })
}

/// A look's length in seconds, and the processors used, if a request costs `cost`; none if it was not at work beyond that.
fn work_after_load(look: &Trial, place: &str, cost: f64) -> Option<(f64, f64)> {
    let at_once = |second: &Second| second.response_p50.is_none_or(|median| median <= MAX_MEDIAN);
    let more = |used: f64| used - look.rate.map_or(0.0, |rate| rate.0 * cost);
    cpu_used(look, place)
        .filter(|(_, used)| more(*used) >= MIN_EXTRA_CPUS && look.seconds.iter().all(at_once))
}

/// A trial's observed length in seconds, and the processors the service used in it.
fn cpu_used(trial: &Trial, place: &str) -> Option<(f64, f64)> {
    let all = Window::merged(trial.at(place)?.windows.iter());
    Some((all.length().as_secs_f64(), cpu(all.service()?, all.length())))
}
