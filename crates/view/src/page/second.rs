//! The columns of a second of load.

use super::rows::{Cells, Rows};
use record::{Outcome, Slice};
use stats::Histogram;
use units::{Nanos, Rate};

/// Columns that every load has.
pub(super) const COLUMNS: [&str; 14] = [
    "offered",
    "achieved",
    "goodput",
    "resent",
    "in_flight",
    "backlog",
    "connections",
    "response_p50",
    "response_p90",
    "response_p99",
    "response_max",
    "lateness_p99",
    "service_p99",
    "generator_cpu",
];

/// The column of an outcome.
pub(super) fn outcome(outcome: Outcome) -> String {
    format!("outcomes.{}", outcome.name())
}

/// Its values. A second that was cut off too early makes no rate, and the drain after a load offers nothing.
pub(super) fn cells(rows: &mut Rows, slice: &Slice) -> Cells {
    let mut cells = Cells::new();
    let mut put = |id: &str, adds: bool, value: Option<f64>| {
        let column = rows.column(id, adds, None);
        cells.extend(value.filter(|value| value.is_finite()).map(|value| (column, value as f32)));
    };
    let whole = crate::second::is_whole(slice.elapsed);
    let rate = |count: u64| whole.then(|| Rate::of(count, slice.elapsed).0);
    put("offered", false, rate(slice.due));
    put("achieved", false, rate(slice.sent));
    put("goodput", false, rate(slice.outcomes.ok));
    put("resent", false, rate(slice.resent));
    for each in Outcome::ALL {
        put(&outcome(each), true, rate(slice.outcomes.get(each)));
    }
    put("in_flight", false, Some(slice.in_flight as f64));
    put("backlog", false, Some(slice.backlog as f64));
    put("connections", false, Some(slice.connections as f64));
    let [p50, p90, p99, max] = quantiles(&slice.response, [0.5, 0.9, 0.99, 1.0]);
    put("response_p50", false, p50);
    put("response_p90", false, p90);
    put("response_p99", false, p99);
    put("response_max", false, max);
    let [lateness] = quantiles(&slice.lateness, [0.99]);
    // Nothing is late in a closed loop.
    put("lateness_p99", false, lateness.filter(|time| *time > 1e-9));
    let [service] = quantiles(&slice.service, [0.99]);
    put("service_p99", false, service);
    let busy = slice.cpu.as_secs_f64() / slice.elapsed.as_secs_f64();
    put("generator_cpu", false, whole.then_some(busy));
    cells
}

/// Several quantiles in seconds, in one pass; rising.
fn quantiles<const N: usize>(times: &Histogram, at: [f64; N]) -> [Option<f64>; N] {
    let mut found = [None; N];
    let all = times.count();
    let mut next = 0;
    let mut below = 0;
    for (time, count) in times.counts() {
        below += count;
        while next < N && below as f64 >= at[next] * all as f64 {
            let largest = times.max().unwrap_or(Nanos::MAX);
            found[next] = Some(time.min(largest).as_secs_f64());
            next += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pass_finds_what_asking_for_each_finds() {
        let mut times = Histogram::default();
        (1..=997u64).for_each(|i| times.record(Nanos::from_micros(i * i)));
        let found = quantiles(&times, [0.5, 0.9, 0.99, 1.0]);
        for (found, q) in found.into_iter().zip([0.5, 0.9, 0.99, 1.0]) {
            let asked = times.quantile(q).expect("not empty").as_secs_f64();
            assert!((found.expect("not empty") / asked - 1.0).abs() < 0.002, "{found:?} {asked}");
        }
        assert_eq!(quantiles(&Histogram::default(), [0.5]), [None]);
    }

    #[test]
    fn the_rest_of_a_second_makes_no_rate() {
        let mut rows = Rows::default();
        let mut slice = Slice { due: 5, elapsed: Nanos::from_millis(60), in_flight: 3, ..Slice::default() };
        let at = |rows: &mut Rows, cells: &Cells, id: &str| {
            let column = rows.column(id, false, None);
            cells.iter().find(|(place, _)| *place == column).map(|(_, value)| *value)
        };
        let short = cells(&mut rows, &slice);
        assert_eq!(at(&mut rows, &short, "offered"), None);
        assert_eq!(at(&mut rows, &short, "in_flight"), Some(3.0));
        slice.elapsed = Nanos::from_millis(800);
        let whole = cells(&mut rows, &slice);
        assert_eq!(at(&mut rows, &whole, "offered"), Some(6.25));
    }
}
