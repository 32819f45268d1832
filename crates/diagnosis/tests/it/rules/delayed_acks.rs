//! Answers held back by Nagle's algorithm.

use crate::builders::*;
use record::watch::{ThreadWait, Window};
use record::{Cause, Caveat, CaveatDetails, CaveatKind, Diagnosis};
use units::{Nanos, Share};

/// Threads that mostly wait for the next request.
fn idle() -> Window {
    second(vec![workers(0.05, 0.0, &[(ThreadWait::Events, 0.95), (ThreadWait::Running, 0.05)])])
}

/// At 400/s, all of which miss the goal: so many are outstanding, and this share of the answers is held back for 44 ms.
fn judged(outstanding: f64, share: f64) -> Diagnosis {
    let details = CaveatDetails::HeldBack { share: Share(share), pause: Nanos::from_millis(44) };
    let bad = Load {
        good: false,
        caveats: vec![Caveat::with_details(CaveatKind::DelayedAcks, details)],
        ..load(400.0, 400.0, outstanding, (outstanding / 0.4) as u64, idle())
    };
    judge(watched(), vec![load(20.0, 20.0, 0.06, 3, idle()), bad])
}

/// It was said that requests wait inside the service, and that no thread shows for what.
#[test]
fn who_waits_for_an_acknowledgement_does_not_wait_inside() {
    let found = judged(18.0, 0.95);
    expect(&found, Cause::DelayedAcks);
    assert!(found.sentences[0].starts_with("17 of 18 outstanding requests wait for an ack"), "{found:#?}");
    assert!(found.next[0].contains("TCP_NODELAY"), "{found:#?}");
}

#[test]
fn where_most_wait_for_something_else_it_is_not_the_reason() {
    for (outstanding, share) in [(120.0, 0.95), (18.0, 0.4)] {
        let found = judged(outstanding, share);
        assert!(found.findings.iter().all(|one| one.cause != Cause::DelayedAcks), "{found:#?}");
    }
}
