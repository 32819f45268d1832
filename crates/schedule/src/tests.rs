use super::*;
use proptest::prelude::*;

fn stage(seconds: f64, from: f64, to: f64) -> Stage {
    Stage { duration: Nanos::from_secs_f64(seconds), from: Rate(from), to: Rate(to) }
}

fn even(stages: &[Stage]) -> Vec<Arrival> {
    Schedule::new(stages, Arrivals::Even, 0).arrivals(0, 1).collect()
}

#[test]
fn a_constant_rate_makes_exactly_rate_times_time_arrivals() {
    for (rate, seconds, count) in [
        (500.0, 20.0, 10_000),
        (1.0, 1.0, 1),
        (3.0, 0.5, 2),
        (0.3, 10.0, 3),
        (0.1, 30.0, 3),
        (0.1, 4.0, 0),
        (1e6, 1.0, 1_000_000),
        (33.333, 3.0, 100),
        (0.0, 10.0, 0),
        (10.0, 0.0, 0),
    ] {
        let schedule = Schedule::constant(Rate(rate), Nanos::from_secs_f64(seconds));
        let due: Vec<_> = schedule.arrivals(0, 1).collect();
        assert_eq!(due.len(), count, "{rate}/s for {seconds} s");
        assert!(due.iter().all(|a| a.due < schedule.duration()));
    }
}

#[test]
fn even_arrivals_stand_half_a_gap_from_the_start_and_a_gap_apart() {
    let due = even(&[stage(20.0, 500.0, 500.0)]);
    for (k, arrival) in due.iter().enumerate() {
        assert_eq!(*arrival, Arrival { number: k as u64, due: Nanos(1_000_000 + 2_000_000 * k as u64) });
    }
}

#[test]
fn a_stage_has_as_many_arrivals_as_its_integral() {
    // The article's stages at 2,000/s: 300 + 3,300 + 18,000 + 45,000 + 120,000.
    let stages = [
        stage(30.0, 0.0, 20.0),
        stage(30.0, 20.0, 200.0),
        stage(30.0, 200.0, 1000.0),
        stage(30.0, 1000.0, 2000.0),
        stage(60.0, 2000.0, 2000.0),
    ];
    let due = even(&stages);
    let mut start = 0;
    for (i, expected) in [300, 3_300, 18_000, 45_000, 120_000].into_iter().enumerate() {
        let end = start + stages[i].duration.0;
        assert_eq!(due.iter().filter(|a| (start..end).contains(&a.due.0)).count(), expected, "stage {i}");
        start = end;
    }
    let schedule = Schedule::new(&stages, Arrivals::Even, 0);
    assert_eq!(schedule.max_rate(), Rate(2000.0));
    assert_eq!(schedule.expected_arrivals(), 186_600.0);
    assert_eq!(schedule.duration(), Nanos::from_secs(180));
}

#[test]
fn an_up_ramp_and_its_mirror_are_symmetric() {
    let up = even(&[stage(10.0, 0.0, 400.0)]);
    let down = even(&[stage(10.0, 400.0, 0.0)]);
    assert_eq!((up.len(), down.len()), (2000, 2000));
    for (a, b) in up.iter().zip(down.iter().rev()) {
        assert!((10_000_000_000 - a.due.0).abs_diff(b.due.0) <= 1, "{a:?} {b:?}");
    }
    // N(t) = 20 t², so the first mark, 0.5, is at √0.025 s.
    assert_eq!(up[0].due, Nanos::from_secs_f64(0.025_f64.sqrt()));
}

#[test]
fn a_slope_of_almost_nothing_is_almost_a_constant_rate() {
    let flat = even(&[stage(60.0, 1000.0, 1000.0)]);
    for to in [1000.0 + 1e-9, 1000.0 - 1e-9, 1000.0 + 2e-13] {
        let tilted = even(&[stage(60.0, 1000.0, to)]);
        assert_eq!(flat.len(), tilted.len());
        for (a, b) in flat.iter().zip(&tilted) {
            assert!(a.due.0.abs_diff(b.due.0) <= 1, "{a:?} {b:?}");
        }
    }
}

#[test]
fn nothing_is_due_in_a_silence() {
    let stages = [stage(1.0, 10.0, 10.0), stage(5.0, 0.0, 0.0), stage(1.0, 10.0, 10.0), stage(2.0, 0.0, 0.0)];
    for arrivals in [Arrivals::Even, Arrivals::Poisson] {
        let schedule = Schedule::new(&stages, arrivals, 3);
        assert_eq!(schedule.duration(), Nanos::from_secs(9));
        let due: Vec<_> = schedule.arrivals(0, 1).map(|a| a.due.as_secs_f64()).collect();
        assert!(due.iter().all(|t| *t < 1.0 || (6.0..7.0).contains(t)), "{due:?}");
        assert!(due.len() > 8);
    }
}

#[test]
fn without_stages_nothing_is_due() {
    for arrivals in [Arrivals::Even, Arrivals::Poisson] {
        let schedule = Schedule::new(&[], arrivals, 1);
        assert_eq!((schedule.duration(), schedule.max_rate()), (Nanos::ZERO, Rate::ZERO));
        assert_eq!(schedule.arrivals(0, 1).count(), 0);
    }
}

/// A run repeated with its seed must offer the same load; if this test fails, raise the method version stored
/// with each result. The values were also computed by a second, independent implementation of ChaCha8 with a C
/// library's logarithm.
#[test]
fn a_seed_means_the_same_schedule_in_every_version() {
    let poisson = |seed| {
        let schedule = Schedule::new(&[stage(10.0, 0.0, 2000.0)], Arrivals::Poisson, seed);
        let due: Vec<_> = schedule.arrivals(0, 1).map(|a| a.due.0).collect();
        (due[..6].to_vec(), due.len(), *due.last().expect("it has arrivals"))
    };
    assert_eq!(
        poisson(1),
        (vec![25387842, 45750728, 56555790, 59668283, 59845804, 82529499], 10_152, 9_999_719_086)
    );
    assert_eq!(
        poisson(2),
        (vec![142437851, 160531347, 169580137, 184536107, 205232276, 211201083], 9_984, 9_999_931_446)
    );
}

#[test]
fn poisson_counts_have_the_variance_of_their_mean() {
    // 400 schedules of 100 arrivals on average; the index of dispersion is 1 ± √(2/399).
    let counts: Vec<f64> = (0..400)
        .map(|seed| Schedule::new(&[stage(1.0, 50.0, 150.0)], Arrivals::Poisson, seed).arrivals(0, 1).count())
        .map(|count| count as f64)
        .collect();
    let mean = counts.iter().sum::<f64>() / 400.0;
    let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / 399.0;
    assert!((mean - 100.0).abs() < 2.5, "mean {mean}");
    assert!((variance / mean - 1.0).abs() < 0.36, "dispersion {}", variance / mean);
}

fn stages() -> impl Strategy<Value = Vec<Stage>> {
    let rate = || prop_oneof![Just(0.0), 0.0..5.0, 0.0..2000.0];
    let time = prop_oneof![Just(0.0), 0.0..0.001, 0.0..3.0];
    prop::collection::vec((time, rate(), rate()).prop_map(|(t, from, to)| stage(t, from, to)), 0..6)
}

fn spacing() -> impl Strategy<Value = Arrivals> {
    prop_oneof![Just(Arrivals::Even), Just(Arrivals::Poisson)]
}

proptest! {
    #[test]
    fn workers_together_make_the_schedule_of_one(
        stages in stages(), arrivals in spacing(), seed: u64, workers in 1_u32..9,
    ) {
        let schedule = Schedule::new(&stages, arrivals, seed);
        let one: Vec<_> = schedule.arrivals(0, 1).collect();
        let mut many = Vec::new();
        for worker in 0..workers {
            let due = schedule.arrivals(worker, workers);
            let hint = due.size_hint();
            let due: Vec<_> = due.collect();
            prop_assert!(due.iter().all(|a| a.number % u64::from(workers) == u64::from(worker)));
            prop_assert!(hint.0 <= due.len() && hint.1.is_none_or(|most| most == due.len()));
            many.extend(due);
        }
        many.sort_by_key(|a| a.number);
        prop_assert_eq!(one, many);
    }

    #[test]
    fn due_times_never_decrease_and_end_before_the_end(
        stages in stages(), arrivals in spacing(), seed: u64,
    ) {
        let schedule = Schedule::new(&stages, arrivals, seed);
        let due: Vec<_> = schedule.arrivals(0, 1).collect();
        prop_assert!(due.iter().enumerate().all(|(k, a)| a.number == k as u64));
        prop_assert!(due.is_sorted_by_key(|a| a.due));
        prop_assert!(due.last().is_none_or(|a| a.due < schedule.duration()));
        if arrivals == Arrivals::Even {
            prop_assert_eq!(due.len(), schedule.expected_arrivals().round() as usize);
        }
    }

    #[test]
    fn each_even_arrival_is_due_where_the_integral_reaches_its_mark(
        seconds in 0.01..100.0_f64, from in 0.0..5000.0_f64, to in 0.0..5000.0_f64,
    ) {
        let stage = stage(seconds, from, to);
        let seconds = stage.duration.as_secs_f64();
        for arrival in Schedule::new(&[stage], Arrivals::Even, 0).arrivals(0, 1) {
            let t = arrival.due.as_secs_f64();
            let integral = from * t + (to - from) / seconds * t * t / 2.0;
            // A nanosecond at this rate, plus rounding.
            prop_assert!((integral - arrival.number as f64 - 0.5).abs() < 1e-5 + 1e-10 * integral);
        }
    }
}

#[test]
fn a_schedule_that_was_sent_has_the_same_arrivals() {
    let stage =
        |seconds, from, to| Stage { duration: Nanos::from_secs(seconds), from: Rate(from), to: Rate(to) };
    let stages = [stage(1, 100.0, 100.0), stage(0, 5.0, 5.0), stage(2, 0.0, 333.3), stage(1, 0.0, 0.0)];
    for arrivals in [Arrivals::Even, Arrivals::Poisson] {
        let schedule = Schedule::new(&stages, arrivals, 7);
        let sent = serde_json::to_string(&schedule).expect("it has a text");
        let received: Schedule = serde_json::from_str(&sent).expect("it was written");
        assert_eq!((received.duration(), received.max_rate()), (schedule.duration(), schedule.max_rate()));
        assert!(received.arrivals(1, 3).eq(schedule.arrivals(1, 3)), "{arrivals:?}");
    }
}
