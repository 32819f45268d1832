use super::*;

const MIB: f64 = 1_048_576.0;
/// Fractions and multiples of the cache size.
const LADDER: [f64; 9] = [0.5, 0.71, 1.0, 1.41, 2.0, 2.83, 4.0, 5.66, 8.0];

fn points(truth: &CacheFit, noise: f64) -> Vec<CachePoint> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut roll = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    let size = |part: f64| part * 256.0 * MIB;
    LADDER
        .map(|part| {
            let rate = truth.rate(size(part)) * (1.0 + noise * roll());
            CachePoint { size: size(part), rate, missed: None }
        })
        .to_vec()
}

fn truth(hit: f64, miss: f64, mib: f64) -> CacheFit {
    CacheFit { hit, miss, size: mib * MIB, error: 0.0 }
}

#[track_caller]
fn near(found: f64, truth: f64, within: f64) {
    assert!((found / truth - 1.0).abs() < within, "{found} instead of {truth}");
}

#[test]
fn what_was_put_in_is_found() {
    for (hit, miss, mib) in [
        (2.46e-6, 96e-6, 243.0),
        (2e-6, 8e-3, 250.0),
        (100e-6, 250e-6, 200.0),
        (80e-9, 110e-9, 300.0),
        (1e-6, 5e-6, 900.0),
    ] {
        let truth = truth(hit, miss, mib);
        let fit = CacheFit::fit(&points(&truth, 0.0)).expect("a cliff");
        near(fit.hit, hit, 0.001);
        near(fit.miss, miss, 0.001);
        near(fit.size, mib * MIB, 0.001);
        assert!(fit.error < 1e-4, "{fit:?}");
    }
}

#[test]
fn noise_of_three_percent_moves_the_half_by_less() {
    let truth = truth(2.46e-6, 96e-6, 243.0);
    let fit = CacheFit::fit(&points(&truth, 0.03)).expect("a cliff");
    near(fit.half_rate_size().expect("it halves"), truth.half_rate_size().expect("it halves"), 0.03);
    assert!(fit.error > 0.001 && fit.error < 0.05);
}

/// Rates of this project's own C program in a control group of 256 MiB: the half was between 240 and 256 MiB.
#[test]
fn a_measured_cliff() {
    let measured = [
        (200.0, 405_643.0),
        (240.0, 400_258.0),
        (256.0, 136_684.0),
        (280.0, 68_201.0),
        (320.0, 39_210.0),
        (512.0, 19_299.0),
        (1024.0, 13_255.0),
        (2048.0, 12_389.0),
    ];
    let points = measured.map(|(mib, rate)| CachePoint { size: mib * MIB, rate, missed: None });
    let fit = CacheFit::fit(&points).expect("a cliff");
    let half = fit.half_rate_size().expect("it halves") / MIB;
    assert!((240.0..=262.0).contains(&half), "{half} MiB, {fit:?}");
    near(fit.hit, 2.46e-6, 0.1);
    near(fit.miss, 96e-6, 0.1);
}

/// A disk that takes three times as long in the middle of the ladder changes the times, not the size.
#[test]
fn counted_misses_say_what_fits() {
    let truth = truth(2.46e-6, 96e-6, 243.0);
    let mut points = points(&truth, 0.03);
    points.iter_mut().for_each(|p| p.missed = Some(truth.misses(p.size)));
    points[3].rate /= 3.0;
    points[4].rate /= 3.0;
    near(CacheFit::fit(&points).expect("a cliff").size, truth.size, 1e-6);
    near(size_from_misses(&points).expect("counted").median, truth.size, 1e-6);
    // As soon as one is not counted, only times are left.
    points[5].missed = None;
    assert_eq!(size_from_misses(&points), None);
    assert!(CacheFit::fit(&points).is_ok_and(|by_time| by_time.error > 0.2));
    points.iter_mut().for_each(|p| p.missed = Some(0.01));
    assert_eq!(size_from_misses(&points), None, "all fit");
}

#[test]
fn half_the_rate_is_where_the_model_has_it() {
    let fit = truth(1e-6, 1e-3, 100.0);
    let half = fit.half_rate_size().expect("it halves");
    near(fit.rate(half), 0.5e6, 1e-9);
    near(half, 100.1 * MIB, 0.001);
    near(fit.misses(half), 1.0 / 999.0, 1e-6);
    // Misses that take less than twice as long never halve it.
    assert_eq!(truth(1e-6, 1.9e-6, 100.0).half_rate_size(), None);
}

#[test]
fn what_does_not_follow_is_not_said() {
    let flat = points(&truth(2e-6, 96e-6, 1e6), 0.03);
    assert_eq!(CacheFit::fit(&flat), Err(CacheFitError::Flat), "everything fits");
    let missing = points(&truth(2e-6, 96e-6, 60.0), 0.0);
    assert_eq!(CacheFit::fit(&missing), Err(CacheFitError::AllMiss), "nothing fits");
    let mut rising = points(&truth(2e-6, 96e-6, 243.0), 0.0);
    let rates: Vec<f64> = rising.iter().rev().map(|p| p.rate).collect();
    rising.iter_mut().zip(rates).for_each(|(p, rate)| p.rate = rate);
    assert!(CacheFit::fit(&rising).is_err(), "it rises");
    assert_eq!(CacheFit::fit(&rising[..3]), Err(CacheFitError::TooFew));
    assert_eq!(CacheFit::fit(&[]), Err(CacheFitError::TooFew));
    rising[0].rate = 0.0;
    assert_eq!(CacheFit::fit(&rising), Err(CacheFitError::TooFew));
}

#[test]
fn two_heaps_have_a_valley() {
    let mut times = Histogram::default();
    for i in 0..1000 {
        times.record(Nanos(2300 + i));
        times.record_many(Nanos(70_000 + 60 * i), u64::from(i % 10 == 0));
    }
    let valley = hit_miss_threshold(&times).expect("two heaps");
    assert!(valley > Nanos(3300) && valley < Nanos(70_000), "{valley}");
    assert_eq!(times.count_above(valley), 100);
}

#[test]
fn one_heap_has_none() {
    let mut times = Histogram::default();
    assert_eq!(super::hit_miss_threshold(&times), None);
    times.record_many(Nanos(5), 1000);
    assert_eq!(super::hit_miss_threshold(&times), None);
    for i in 0..1000_u64 {
        // A long tail is no second mode.
        times.record(Nanos(2000 + i * i / 10));
    }
    times.record(Nanos(3_000_000));
    let found = super::hit_miss_threshold(&times);
    assert!(found.is_none_or(|found| found < Nanos(2000)), "{found:?}");
}
