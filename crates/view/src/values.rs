//! JSON values: numbers to meaningful digits, and caveats.

use record::Caveat;
use serde_json::{Value, json};
use units::Nanos;

/// An integer if possible.
pub(crate) fn count(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

/// Rounds to three decimals.
pub(crate) fn rate_value(value: f64) -> Value {
    count((value * 1e3).round() / 1e3)
}

pub(crate) fn seconds(time: Nanos) -> Value {
    rate_value(time.as_secs_f64())
}

/// Histograms are exact to three digits: above 100 µs decimals mean nothing, below one does.
pub(crate) fn micros(time: Nanos) -> Value {
    let us = time.as_micros_f64();
    count(if us >= 100.0 { us.round() } else { (us * 10.0).round() / 10.0 })
}

/// A caveat with its sentence, wherever it comes from.
pub(crate) fn caveat(caveat: &Caveat) -> Value {
    json!({ "code": caveat.doubt, "text": caveat.to_string() })
}
