//! Whether the target goes on working after a load: its answers do not wait for all that they make it do, and a trial ends before that is done.

use crate::Recording;
use crate::condition::cpu;
use crate::recording::Trial;
use record::watch::Window;
use record::{Caveat, Doubt, Grounds, Purpose};
use units::Nanos;

/// Who is at it for a shorter time tidies up: closes connections, collects garbage.
const LASTED: Nanos = Nanos::from_secs(5);
/// It is at work if it uses so much of a processor, in each look at it.
const AT_WORK: f64 = 0.25;

/// The load after which it went on for the longest time, as far as it was looked at.
pub(super) fn works_on(recording: &Recording) -> Option<Caveat> {
    recording.places().into_iter().find_map(|place| {
        // A virtual machine compiles what ran, for minutes.
        let about = recording.watched.get(place)?.subjects.first()?;
        let runs = recording.trials.chunk_by(|_, next| next.purpose == Purpose::Recovery);
        let found = runs.filter_map(|run| {
            let (load, looks) = run.split_first()?;
            let looks = looks.iter().map_while(|look| at_work(look, place));
            let (lasted, work) =
                looks.fold((0.0, 0.0), |(time, work), look| (time + look.0, work + look.0 * look.1));
            Some((load.rate?, Nanos::from_secs_f64(lasted), work / lasted))
        });
        let (after, lasted, used) =
            found.max_by_key(|(_, lasted, _)| *lasted).filter(|_| about.java.is_none())?;
        (lasted >= LASTED).then(|| Caveat::on(Doubt::WorksOn, Grounds::WorkedOn { after, lasted, used }))
    })
}

/// How long a look was, in seconds, and the processors that were used; none if it was not at work.
fn at_work(look: &Trial, place: &str) -> Option<(f64, f64)> {
    let all = Window::merged(look.at(place)?.windows.iter());
    let used = cpu(all.subjects.first()?, all.length());
    (used >= AT_WORK).then(|| (all.length().as_secs_f64(), used))
}
