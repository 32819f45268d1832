use super::*;
use crate::judge::tests::calm;
use Observation::{AtLeast, Measured};
use plan::Objective;
use units::Nanos;

fn with(said: &[(f64, Observation)]) -> CapacityTrials {
    let mut trials = CapacityTrials::default();
    for (rate, said) in said {
        let mut result = calm();
        result.total.due = (rate * 10.0) as u64;
        // The deficit piles up from the first tenth of a second to the last.
        let lacks = rate - said.rate();
        result.total.outstanding = (0..100).map(|tenth| lacks * f64::from(tenth) / 10.0).collect();
        trials.push(FullTrial::new(*rate, *said, true, &result), 0.0);
    }
    trials
}

const WIDTH: Share = Share(0.02);
const RANGE: RateRange = RateRange { floor: 1.0, top: 1e6 };

fn goals() -> Vec<Goal> {
    Goal::default_goals(&Objective::default(), Nanos::from_secs(10), Nanos::from_secs(30), WIDTH).to_vec()
}

/// uvicorn "held 9,100" while eight overloads measured 12,100 to 13,400: only what was held once is published, and nothing in between had
/// been tried.
#[test]
fn what_is_known_to_be_held_is_tried_at_the_end() {
    let unheld = |said: &[_]| with(said).unheld(&goals(), WIDTH.0, RANGE);
    let measured =
        [11_000.0, 14_000.0, 12_000.0, 13_500.0, 11_500.0, 12_800.0].map(|did| (14_500.0, Measured(did)));
    let mut said = vec![(9_100.0, AtLeast(9_100.0))];
    said.extend(&measured[..5]);
    assert!(with(&said).is_moving);
    assert_eq!(unheld(&said), None, "five tell too little");
    said.push(measured[5]);
    let next = with(&said).next_trial(&goals(), WIDTH.0, RANGE).rate();
    assert!(next > Some(14_000.0), "each above all that it did tells more: {next:?}");
    let held = unheld(&said).expect("that was not held");
    assert!((9_300.0..12_000.0).contains(&held), "nine in ten hold that: {held}");
    said.push((held, AtLeast(held)));
    assert_eq!(unheld(&said), None, "it was held");
}
