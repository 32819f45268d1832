//! Numbers as short as possible: five significant digits, times to the millisecond, integers without a decimal point.

use serde::{Serialize, Serializer};

/// Signature dictated by serde, which passes references.
pub(super) fn value<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    Number(significant(*value)).serialize(to)
}

pub(super) fn maybe<S: Serializer>(value: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    value.map(|value| Number(significant(value))).serialize(to)
}

pub(super) fn values<S: Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(values.iter().map(|value| Number(significant(*value))))
}

pub(super) fn maybes<S: Serializer>(values: &[Option<f64>], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(values.iter().map(|value| value.map(|value| Number(significant(value)))))
}

pub(super) fn time<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    Number(millis(*value)).serialize(to)
}

pub(super) fn times<S: Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(values.iter().map(|value| Number(millis(*value))))
}

struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if is_whole(self.0) { to.serialize_i64(self.0 as i64) } else { to.serialize_f64(self.0) }
    }
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
