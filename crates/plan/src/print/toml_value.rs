//! Quantities in plans: they parse back to the same value.

use crate::{Objective, Template};
use std::borrow::Cow;
use units::{Bytes, Nanos, Rate, Share};

/// A value in the syntax of TOML.
pub(super) trait ToToml {
    /// None if there is nothing to write.
    fn to_toml(&self) -> Option<String>;
}

macro_rules! to_toml {
    ($($kind:ty: $written:expr),+ $(,)?) => {$(
        impl ToToml for $kind {
            fn to_toml(&self) -> Option<String> {
                let written: fn(&Self) -> String = $written;
                Some(written(self))
            }
        }
    )+};
}

to_toml! {
    bool: ToString::to_string,
    u16: ToString::to_string,
    u32: ToString::to_string,
    u64: ToString::to_string,
    f64: ToString::to_string,
    Bytes: |bytes| bytes.0.to_string(),
    Rate: |rate| rate.0.to_string(),
    Share: |share| share.0.to_string(),
    Nanos: |time| quoted(&exact_time(*time)),
    str: quoted,
    String: |text| quoted(text),
    Cow<'_, str>: |text| quoted(text),
    Template: |template| quoted(&template.to_string()),
}

/// `name=value`.
impl<V: std::fmt::Display> ToToml for (String, V) {
    fn to_toml(&self) -> Option<String> {
        Some(quoted(&format!("{}={}", self.0, self.1)))
    }
}

impl<T: ToToml + ?Sized> ToToml for &T {
    fn to_toml(&self) -> Option<String> {
        (**self).to_toml()
    }
}

impl<T: ToToml> ToToml for Option<T> {
    fn to_toml(&self) -> Option<String> {
        self.as_ref()?.to_toml()
    }
}

impl<T: ToToml> ToToml for Vec<T> {
    fn to_toml(&self) -> Option<String> {
        let values: Vec<String> = self.iter().filter_map(ToToml::to_toml).collect();
        (!values.is_empty()).then(|| format!("[{}]", values.join(", ")))
    }
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// In the largest unit that represents it without a fraction.
pub(super) fn exact_time(time: Nanos) -> String {
    let units = [
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
    ];
    if time == Nanos::ZERO {
        return "0".to_owned();
    }
    // One minute reads better as 60s.
    let fits = |&&(_, size): &&(&str, u64)| {
        time.0 >= 2 * size && time.0.is_multiple_of(size) || size == 1_000_000_000 && time.0 == size
    };
    match units.iter().find(fits) {
        Some((unit, size)) => format!("{}{unit}", time.0 / size),
        None => format!("{}ns", time.0),
    }
}

pub(super) fn exact_goal(goal: &Objective) -> String {
    let shown = goal.to_string();
    if shown.parse().as_ref() == Ok(goal) {
        return shown;
    }
    match goal.deadline {
        None => format!("loss<{}", goal.loss.0),
        Some(deadline) => {
            let percentile = format!("{:.6}", 100.0 - goal.loss.0 * 100.0);
            let percentile = percentile.trim_end_matches('0').trim_end_matches('.');
            format!("p{percentile}<{}", exact_time(deadline))
        }
    }
}
