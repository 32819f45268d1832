use super::*;
use proptest::prelude::*;

/// A machine whose clock has an offset and a drift, and may be set at some time.
#[derive(Debug, Clone, Copy)]
struct SimulatedClock {
    offset: i64,
    ppm: f64,
    set: Option<(u64, i64)>,
}

impl SimulatedClock {
    /// What its clock shows when ours shows `ours`.
    fn shows(&self, ours: u64) -> Nanos {
        let drift = (ours as f64 * self.ppm * 1e-6).round() as i64;
        let set = self.set.map_or(0, |(at, by)| if ours >= at { by } else { 0 });
        Nanos(ours.wrapping_add_signed(self.offset + drift + set))
    }

    fn offset(&self, ours: u64) -> i64 {
        difference(self.shows(ours), Nanos(ours))
    }

    /// An exchange that starts at `asked`, with the times there, to answer, and back.
    fn signal(&self, asked: u64, [there, thought, back]: [u64; 3]) -> ClockExchange {
        let (heard, told) = (asked + there, asked + there + thought);
        let answered = Nanos(told + back);
        ClockExchange { asked: Nanos(asked), heard: self.shows(heard), told: self.shows(told), answered }
    }
}

/// A one-way delay: as between local processes, within a building, or with a packet lost and resent.
fn way() -> impl Strategy<Value = u64> {
    prop_oneof![1_000_u64..60_000, 50_000_u64..5_000_000, Just(200_000_000_u64)]
}

fn ways() -> impl Strategy<Value = Vec<(u64, [u64; 3])>> {
    let gap = prop_oneof![10_000_u64..1_000_000, Just(1_000_000_000_u64), 1_000_000_u64..20_000_000_000];
    let ways = (way(), 1_000_u64..200_000, way()).prop_map(|(there, thought, back)| [there, thought, back]);
    prop::collection::vec((gap, ways), 1..200)
}

fn machine() -> impl Strategy<Value = SimulatedClock> {
    // Two clocks, each off by 200 ppm, up to a week after they started.
    (-600_000_000_000_000_i64..600_000_000_000_000, -400.0..400.0_f64)
        .prop_map(|(offset, ppm)| SimulatedClock { offset, ppm, set: None })
}

/// The exchanges, one after the other.
fn signals(machine: SimulatedClock, ways: &[(u64, [u64; 3])]) -> Vec<ClockExchange> {
    let mut at = 1_000_000_000_000_000;
    let ask = |&(gap, ways): &(u64, [u64; 3])| {
        let signal = machine.signal(at + gap, ways);
        at = signal.answered.0;
        signal
    };
    ways.iter().map(ask).collect()
}

proptest! {
    #[test]
    fn the_true_offset_is_within_the_bound(machine in machine(), ways in ways(), later in 0_u64..2_000_000_000) {
        let mut clock = RemoteClock::default();
        for signal in signals(machine, &ways) {
            prop_assert_eq!(clock.add(signal), Ok(()), "a steady clock does not jump");
            for at in [signal.answered.0, signal.answered.0 + later] {
                let reading = clock.reading(Nanos(at)).expect("it was heard");
                let wrong = reading.offset_ns.abs_diff(machine.offset(at));
                prop_assert!(wrong <= reading.bound.0, "off by {} ns, bound {}", wrong, reading.bound);
                prop_assert!(reading.drift_ppm.abs() <= SPEED * 1e6);
            }
        }
    }

    /// The bound is never less than half the shortest round trip, and never wider than the latest exchange's own.
    #[test]
    fn the_bound_is_no_wider_than_the_way(machine in machine(), ways in ways()) {
        let mut clock = RemoteClock::default();
        for signal in signals(machine, &ways) {
            clock.add(signal).expect("a steady clock does not jump");
            let reading = clock.reading(signal.answered).expect("it was heard");
            let way = signal.answered - signal.asked;
            let alone = way.0 as f64 / 2.0 + ROUNDED + SPEED * way.0 as f64;
            prop_assert!(reading.bound.0 as f64 <= alone + 2.0, "{} against {}", reading.bound, alone);
        }
    }

    /// A clock set by more than the uncertainty is reported at once, and known again from then on.
    #[test]
    fn a_clock_that_is_set_is_called_jumped(
        machine in machine(), ways in ways(), place in 0..200_usize,
        by in prop_oneof![-5_000_000_000_i64..5_000_000_000, -200_000..200_000_i64],
    ) {
        let steady = signals(machine, &ways);
        let place = place % steady.len();
        let set = SimulatedClock { set: Some((steady[place].asked.0, by)), ..machine };
        let (mut clock, mut jumped) = (RemoteClock::default(), false);
        for (index, signal) in signals(set, &ways).into_iter().enumerate() {
            let before = clock.reading(signal.answered);
            jumped |= clock.add(signal).is_err();
            let reading = clock.reading(signal.answered).expect("it was heard");
            if jumped || index < place {
                let wrong = reading.offset_ns.abs_diff(set.offset(signal.answered.0));
                prop_assert!(wrong <= reading.bound.0, "off by {} ns, bound {}", wrong, reading.bound);
            }
            if let Some(before) = before.filter(|_| index == place) {
                let way = signal.answered - signal.asked;
                // Twice their width, and the slack of both.
                let unsure = 2 * before.bound.0 + way.0 + (2.0 * SPEED * way.0 as f64) as u64 + 10;
                prop_assert!(jumped || by.unsigned_abs() <= unsure, "{} ns unseen, {} unsure", by, unsure);
            }
        }
    }
}

/// Twenty exchanges within a millisecond, then one a second: as before and during a trial.
#[test]
fn a_trial_s_signals_pin_offset_and_speed_down() {
    let machine = SimulatedClock { offset: -86_400_000_000_000, ppm: 37.0, set: None };
    let (mut clock, mut at) = (RemoteClock::default(), 100_000_000_000_000);
    let mut ask = |clock: &mut RemoteClock, gap: u64| {
        at += gap;
        clock.add(machine.signal(at, [12_000, 5_000, 30_000])).expect("a steady clock does not jump");
        at
    };
    for gap in [[50_000; 20].as_slice(), &[1_000_000_000; 10]].concat() {
        ask(&mut clock, gap);
    }
    let now = ask(&mut clock, 1_000_000_000);
    let reading = clock.reading(Nanos(now)).expect("it was heard");
    assert!((reading.drift_ppm - 37.0).abs() < 5.0, "{reading:?}");
    assert!(reading.bound < Nanos::from_micros(30), "{reading:?}");
    assert!(reading.round_trip.0.abs_diff(42_000) <= 1, "{reading:?}");
    // A third of a second ahead, where a trial begins, it is hardly less certain.
    let start = Nanos(now + 300_000_000);
    let ahead = clock.reading(start).expect("it was heard");
    assert!(ahead.bound < reading.bound + Nanos::from_micros(5), "{ahead:?}");
    assert!(ahead.theirs(start).0.abs_diff(machine.shows(start.0).0) <= ahead.bound.0);
}

#[test]
fn a_clock_that_contradicts_itself_says_nothing() {
    let mut clock = RemoteClock::default();
    assert_eq!(clock.reading(Nanos::ZERO), None);
    let machine = SimulatedClock { offset: 7, ppm: 0.0, set: None };
    clock.add(machine.signal(1_000, [10, 10, 10])).expect("the first");
    // It claims to have taken a second to answer, but the answer came after 30 ns.
    let mut signal = machine.signal(2_000, [10, 10, 10]);
    signal.told.0 += 1_000_000_000;
    let jumped = clock.add(signal).expect_err("time does not do that");
    assert!(jumped.by > Nanos::from_millis(999), "{jumped:?}");
    assert_eq!(clock.reading(Nanos(2_100)), None);
}
