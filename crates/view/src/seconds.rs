use crate::{Grid, LoadSecond, RunView};
use serde_json::{Value, json};

/// Every stored second of load, one row each: the data of the charts.
pub fn seconds_grid(view: &RunView) -> Grid {
    let mut grid = Grid::with_columns(
        "trial second seconds offered_per_second achieved_per_second goodput_per_second bad in_flight backlog \
         response_p50_us response_p99_us",
    );
    let three = |value: f64| crate::values::rate_value(value);
    let micros = |time: Option<units::Nanos>| time.map_or(Value::Null, |time| three(time.as_micros_f64()));
    for second in &view.seconds {
        let LoadSecond { trial, index, elapsed, offered, achieved, in_flight, backlog, outcomes, .. } =
            second;
        grid.push_row(vec![
            json!(trial),
            json!(index),
            three(elapsed.as_secs_f64()),
            three(offered.0),
            three(achieved.0),
            three(units::Rate::of(outcomes.ok, *elapsed).0),
            json!(outcomes.bad()),
            json!(in_flight),
            json!(backlog),
            micros(second.response_p50),
            micros(second.response_p99),
        ]);
    }
    grid
}
