use super::*;

fn connections(from: f64, most: f64) -> ThresholdRange {
    ThresholdRange {
        unit: LimitUnit::Connections,
        from,
        factor: 2.0,
        least: 1.0,
        most,
        grain: 1.0,
        width: 0.02,
    }
}

/// Uniform random numbers, the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Runs the search against a truth; returns trials made, why it ended, and the limit.
fn search(range: ThresholdRange, mut truth: impl FnMut(f64) -> LevelResult) -> (u32, SearchEnd, Limit) {
    let mut threshold = ThresholdSearch::new(range);
    for trials in 0..200 {
        match threshold.next() {
            ThresholdStep::Try(level) => {
                assert_eq!(
                    threshold.next(),
                    ThresholdStep::Try(level),
                    "it does not change its mind by being asked"
                );
                threshold.add_result(truth(level));
            }
            ThresholdStep::Done(ended) => return (trials, ended, threshold.limit("strict")),
        }
    }
    panic!("it does not end: {:?}", threshold.limit("strict"));
}

fn good(is_good: bool) -> LevelResult {
    if is_good { LevelResult::Good { due: 100, bad: 0 } } else { LevelResult::Bad }
}

#[test]
fn a_sharp_threshold_is_found_wherever_it_is() {
    for truth in [1, 2, 7, 63, 64, 65, 254, 999, 39_999] {
        for from in [1.0, 16.0, 40_000.0] {
            let (trials, ended, limit) =
                search(connections(from, 1e6), |level| good(level <= f64::from(truth)));
            assert_eq!(ended, SearchEnd::Converged);
            let (lower, upper) = (limit.lower.expect("a bound"), limit.upper.expect("a bound"));
            assert!(lower <= f64::from(truth) && upper > f64::from(truth), "{lower} to {upper} for {truth}");
            assert!(upper - lower <= (0.02 * upper).max(1.0), "{lower} to {upper} for {truth}");
            assert!(limit.regular && limit.good_trials == 2 && limit.bad_trials == 2, "{limit:?}");
            assert_eq!((limit.lower_due, limit.lower_bad), (200, 0));
            assert!(trials <= 36, "{trials} trials for {truth} from {from}");
        }
    }
}

#[test]
fn ends_of_the_range_are_said() {
    let (trials, ended, limit) = search(connections(10.0, 1000.0), |_| good(true));
    assert_eq!((ended, limit.lower, limit.upper), (SearchEnd::MaxReached, Some(1000.0), None));
    assert_eq!(limit.good_trials, 2);
    assert!(trials <= 9 && !limit.regular);
    let (_, ended, limit) = search(connections(10.0, 1000.0), |_| LevelResult::Bad);
    assert_eq!(
        (ended, limit.lower, limit.upper, limit.bad_trials),
        (SearchEnd::BelowMin, None, Some(1.0), 2)
    );
    // A range of one level.
    let (_, ended, _) =
        search(ThresholdRange { least: 5.0, ..connections(5.0, 5.0) }, |level| good(level > 4.0));
    assert_eq!(ended, SearchEnd::MaxReached);
}

#[test]
fn what_is_not_ours_to_say_is_asked_again_three_times() {
    let mut asked = 0;
    let (trials, ended, limit) = search(connections(16.0, 1e6), |level| {
        if level > 100.0 {
            asked += 1;
            return LevelResult::Void;
        }
        good(true)
    });
    assert_eq!((asked, ended, limit.lower, limit.upper), (4, SearchEnd::GeneratorLimit, Some(64.0), None));
    assert_eq!(trials, 7);
    // An occasional one changes nothing.
    let mut dice = Dice(1);
    let (_, ended, limit) = search(connections(16.0, 1e6), |level| {
        if dice.roll() < 0.2 { LevelResult::Void } else { good(level <= 300.0) }
    });
    assert_eq!((ended, limit.regular), (SearchEnd::Converged, true));
}

#[test]
fn interrupted_it_tells_what_it_knows() {
    let mut threshold = ThresholdSearch::new(connections(8.0, 1e6));
    for _ in 0..3 {
        threshold.add_result(good(true));
    }
    threshold.interrupt(SearchEnd::Interrupted);
    assert_eq!(threshold.next(), ThresholdStep::Done(SearchEnd::Interrupted));
    threshold.add_result(LevelResult::Bad);
    let limit = threshold.limit("strict");
    assert_eq!((limit.lower, limit.upper, limit.regular), (Some(32.0), None, false));
}

/// Each trial gives the wrong result with this probability, wherever it is.
#[test]
fn a_wrong_word_now_and_then_is_outvoted() {
    let (mut close, seeds) = (0, 200);
    for seed in 1..=seeds {
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed));
        let (trials, ended, limit) =
            search(connections(16.0, 1e6), |level| good((level <= 1000.0) != (dice.roll() < 0.03)));
        assert!(trials < 120, "{trials} trials");
        let near = limit.lower.is_some_and(|lower| lower <= 1030.0)
            && limit.upper.is_some_and(|upper| (970.0..=1050.0).contains(&upper));
        close += u32::from(ended == SearchEnd::Converged && near);
    }
    // A search of twenty trials meets a wrong result every second time; a bound needs two of them to be wrong.
    assert!(close >= 150, "{close} of {seeds}");
}

/// The probability of good falls from 1 to 0 over a tenth of the level.
#[test]
fn a_soft_threshold_is_found_within_its_softness() {
    for seed in 1..=100 {
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed));
        let (_, ended, limit) = search(connections(16.0, 1e6), |level| {
            good(dice.roll() < ((1050.0 - level) / 100.0).clamp(0.0, 1.0))
        });
        let (lower, upper) = (limit.lower.expect("a bound"), limit.upper.expect("a bound"));
        assert_eq!(ended, SearchEnd::Converged);
        assert!(lower >= 930.0 && upper <= 1075.0, "{lower} to {upper}, seed {seed}");
    }
}

/// Around a prediction the climb has small steps, and the grain is a page.
#[test]
fn a_size_is_narrowed_around_a_guess() {
    let range = ThresholdRange {
        unit: LimitUnit::Bytes,
        from: 260e6,
        factor: 1.1,
        least: 1e6,
        most: 2e9,
        grain: 8192.0,
        width: 0.05,
    };
    for truth in [100e6, 258e6, 261e6, 300e6] {
        let (trials, ended, limit) = search(range.clone(), |level| good(level < truth));
        let (lower, upper) = (limit.lower.expect("a bound"), limit.upper.expect("a bound"));
        assert_eq!(ended, SearchEnd::Converged);
        assert!(lower < truth && truth <= upper && upper - lower <= 0.05 * upper, "{lower} to {upper}");
        assert!(trials <= 16, "{trials} trials for {truth}");
        assert!((lower / 8192.0).fract().abs() < 1e-9);
    }
}
