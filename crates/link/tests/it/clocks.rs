//! Clock offsets. Here both clocks are the same, so the true offset is known: zero.

use crate::{SOON, both};
use std::time::Duration;
use units::Nanos;

#[test]
fn the_truth_is_within_the_bound_however_long_the_way_is() {
    let (mut coordinator_link, _wire, relay) = both();
    // Before the first query, a second after it joined.
    relay.stalls();
    let ms = Duration::from_millis;
    for (to, from) in [(ms(0), ms(0)), (ms(5), ms(0)), (ms(0), ms(5)), (ms(3), ms(1))] {
        let (mut fresh, _wire, its) = both();
        its.delays(to, from);
        fresh.compare_clocks(SOON);
        let reading = fresh.clock_reading(7, Nanos(sys::monotonic_ns())).expect("it was asked");
        assert!(reading.offset_ns.unsigned_abs() <= reading.bound.0, "{reading:?}");
        assert!(reading.round_trip >= Nanos::from(to + from), "{reading:?}");
        // An asymmetric delay cannot be told from an offset.
        assert!(reading.bound.0 >= (to + from).as_nanos() as u64 / 2, "{reading:?}");
        assert!(fresh.clock_reading(8, Nanos::ZERO).is_none());
    }
    // A member that does not answer is not waited for.
    coordinator_link.compare_clocks(SOON);
    assert!(coordinator_link.clock_reading(7, Nanos(sys::monotonic_ns())).is_none(), "it never answered");
}
