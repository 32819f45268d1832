//! A machine that makes its part of a load, and counts it as an engine does.

use plan::{Arrivals, Stage};
use proptest::prelude::*;
use record::{Outcome, SLICE, Slice};
use schedule::{OfferedLoad, Schedule};
use units::random::{mix, one_of};
use units::{Nanos, Rate};

/// What is still open this long after the load is unfinished.
pub const DRAIN: Nanos = Nanos::from_secs(1);

pub fn schedules() -> impl Strategy<Value = Schedule> {
    let rate = || prop_oneof![Just(0.0), 1.0..200.0_f64];
    let stage = (0.2..4.0_f64, rate(), rate()).prop_map(|(seconds, from, to)| Stage {
        duration: Nanos::from_secs_f64(seconds),
        from: Rate(from),
        to: Rate(to),
    });
    let arrivals = prop_oneof![Just(Arrivals::Even), Just(Arrivals::Poisson)];
    (prop::collection::vec(stage, 1..4), arrivals, any::<u64>())
        .prop_map(|(stages, arrivals, seed)| Schedule::new(&stages, arrivals, seed))
}

/// What becomes of arrival `number`, whoever sends it: lateness, service time, and outcome.
fn fate(number: u64) -> (Nanos, Nanos, Outcome) {
    let draw = |salt, most: u64| one_of(mix(number, salt), u128::from(most)) as u64;
    let wait = if draw(1, 4) == 0 { draw(2, 400_000_000) } else { 0 };
    let takes = 1_000_000 + if draw(3, 10) == 0 { draw(4, 2_500_000_000) } else { draw(5, 30_000_000) };
    let outcome = [Outcome::Ok, Outcome::Late, Outcome::Failed, Outcome::Timeout][draw(6, 4) as usize];
    (Nanos(wait), Nanos(takes), outcome)
}

/// The slices of these loops of `all`, when the load ends at `ends`.
pub fn slices(schedule: &Schedule, loops: &[u32], all: u32, ends: Nanos) -> Vec<Slice> {
    let ends = ends.min(schedule.duration());
    let mut bounds = vec![Nanos::ZERO];
    while let Some(&last) = bounds.last().filter(|last| **last < ends) {
        bounds.push((last + SLICE).min(ends));
    }
    bounds.push(ends + DRAIN);
    let mut slices: Vec<Slice> = bounds
        .windows(2)
        .zip(0..)
        .map(|(bounds, index)| Slice {
            index,
            elapsed: bounds[1] - bounds[0],
            loops: loops.len() as u32,
            ..Slice::default()
        })
        .collect();
    let second = |at: Nanos| bounds.iter().skip(1).position(|bound| at < *bound);
    let mut arrivals: Vec<_> = loops.iter().flat_map(|index| schedule.arrivals(*index, all)).collect();
    arrivals.sort_by_key(|arrival| arrival.number);
    for arrival in arrivals.into_iter().filter(|arrival| arrival.due < ends) {
        let (wait, takes, outcome) = fate(arrival.number);
        let (sent, done) = (arrival.due + wait, arrival.due + wait + takes);
        let due_in = second(arrival.due).expect("it is due before the end");
        slices[due_in].due += 1;
        let sent_in = second(sent);
        if let Some(sent_in) = sent_in {
            slices[sent_in].sent += 1;
            slices[sent_in].lateness.record(wait);
        }
        let done_in = second(done);
        let last = slices.len() - 1;
        let (decided_in, outcome) = done_in.map_or((last, Outcome::Unfinished), |within| (within, outcome));
        slices[decided_in].outcomes.add(outcome, 1);
        slices[decided_in].response.record(done - arrival.due);
        for (index, slice) in slices.iter_mut().enumerate() {
            let is_open = index >= due_in && index < decided_in;
            let is_sent = sent_in.is_some_and(|sent_in| index >= sent_in);
            slice.in_flight += u64::from(is_open && is_sent);
            slice.backlog += u64::from(is_open && !is_sent);
            slice.outstanding.resize(10, 0.0);
            slice.outstanding[0] += f64::from(is_open) / 3.0;
        }
    }
    slices
}

/// Arrivals of these loops sent before `until`, if their load ends at `ends`.
pub fn sent_until(schedule: &Schedule, loops: &[u32], all: u32, ends: Nanos, until: Nanos) -> u64 {
    let sent =
        |arrival: &schedule::Arrival| arrival.due < ends && arrival.due + fate(arrival.number).0 < until;
    loops.iter().flat_map(|index| schedule.arrivals(*index, all)).filter(sent).count() as u64
}

/// Arrivals due before `until`.
pub fn due_until(schedule: &Schedule, until: Nanos) -> u64 {
    schedule.arrivals(0, 1).filter(|arrival| arrival.due < until).count() as u64
}

pub fn offer(schedule: &Schedule) -> OfferedLoad {
    OfferedLoad::Open(schedule.clone())
}
