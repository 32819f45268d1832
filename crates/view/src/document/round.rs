//! Numbers as short as possible: five significant digits, times to the millisecond, integers without a decimal point.

use serde::Serializer;
use serde::ser::SerializeSeq;

/// Signature dictated by serde, which passes references.
pub(super) fn value<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    number(significant(*value), to)
}

pub(super) fn maybe<S: Serializer>(value: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(found) => number(significant(*found), to),
        None => to.serialize_none(),
    }
}

pub(super) fn values<S: Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
    sequence(values.iter().map(|value| Some(significant(*value))), to)
}

pub(super) fn maybes<S: Serializer>(values: &[Option<f64>], to: S) -> Result<S::Ok, S::Error> {
    sequence(values.iter().map(|value| value.map(significant)), to)
}

pub(super) fn time<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    number(millis(*value), to)
}

pub(super) fn times<S: Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
    sequence(values.iter().map(|value| Some(millis(*value))), to)
}

fn sequence<S: Serializer>(values: impl Iterator<Item = Option<f64>>, to: S) -> Result<S::Ok, S::Error> {
    let mut sequence = to.serialize_seq(None)?;
    for value in values {
        match value {
            Some(value) if is_whole(value) => sequence.serialize_element(&(value as i64))?,
            value => sequence.serialize_element(&value)?,
        }
    }
    sequence.end()
}

fn number<S: Serializer>(value: f64, to: S) -> Result<S::Ok, S::Error> {
    if is_whole(value) { to.serialize_i64(value as i64) } else { to.serialize_f64(value) }
}

/// An integer small enough for a float to represent its neighbours.
fn is_whole(value: f64) -> bool {
    value.fract() == 0.0 && value.abs() < 9e15
}

/// Five significant digits: a chart shows no more.
fn significant(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let places = 4 - value.abs().log10().floor() as i32;
    // Two factors: one would overflow for the smallest numbers. Division keeps decimal fractions short.
    match places {
        ..0 => {
            let scale = 10f64.powi(-places);
            (value / scale).round() * scale
        }
        0..=300 => {
            let scale = 10f64.powi(places);
            (value * scale).round() / scale
        }
        _ => 0.0,
    }
}

fn millis(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{ChartPoint, Timeline, TimelineColumn};

    #[test]
    fn five_digits_are_kept() {
        for (value, expected) in [
            (0.0, 0.0),
            (1234.5678, 1234.6),
            (0.000_123_456_7, 0.000_123_46),
            (123_456_789.0, 123_460_000.0),
            (-2.000_004, -2.0),
            (f64::MIN_POSITIVE, 0.0),
        ] {
            assert_eq!(significant(value), expected);
        }
        assert!(significant(f64::INFINITY).is_infinite());
    }

    #[test]
    fn json_is_short() {
        let timeline = Timeline {
            at: vec![0.0, 1.000_4, 86_401.123_4],
            columns: vec![TimelineColumn {
                id: "offered".to_owned(),
                values: vec![Some(1000.0), None, Some(1.0 / 3.0)],
                adds: false,
            }],
        };
        let json = serde_json::to_string(&timeline).expect("serialises");
        assert!(json.contains("\"at\":[0,1,86401.123]"), "{json}");
        assert!(json.contains("\"values\":[1000,null,0.33333]"), "{json}");
        let point = ChartPoint { x: 2.0, y: 0.123_456_7, ..ChartPoint::default() };
        let json = serde_json::to_string(&point).expect("serialises");
        assert!(json.contains("\"x\":2,\"y\":0.12346,\"low\":null"), "{json}");
    }
}
