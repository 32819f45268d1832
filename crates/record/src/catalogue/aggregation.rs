//! How several values of a number merge into one.

use super::Weights;
use crate::watch::LimitUsage;

/// A number of an entity.
pub trait Number: Copy + Default + PartialOrd {
    /// Its value as a measure.
    fn value(self) -> f64;
    /// The sum.
    fn plus(self, other: Self) -> Self;
}

macro_rules! number {
    ($($type:ty: $value:expr;)*) => {
        $(impl Number for $type {
            fn value(self) -> f64 {
                ($value)(self)
            }

            fn plus(self, other: Self) -> Self {
                self + other
            }
        })*
    };
}

number! {
    u32: f64::from;
    u64: |n| n as f64;
    f64: |n| n;
    units::Nanos: |n: units::Nanos| n.0 as f64;
}

/// How a field is read, and how the next window's value is merged.
pub trait Aggregation<F> {
    /// None if it could not be observed.
    fn read(field: &F) -> Option<f64>;
    /// Merges what was seen next.
    fn merge(mine: &mut F, next: &F, weights: Weights);
    /// Its value over the whole time if it existed only for this share of it; if `gone`, no longer.
    fn dilute(_field: &mut F, _share: f64, _gone: bool) {}
}

macro_rules! kinds {
    ($($(#[$about:meta])* $kind:ident grows $grows:literal whole $whole:literal;)*) => {
        $($(#[$about])*
        #[derive(Debug)]
        pub struct $kind;

        impl $kind {
            /// Whether it is a counter, so that a window has its increase.
            pub(crate) const GROWS: bool = $grows;
            /// Whether a count of things is an integer.
            pub(crate) const WHOLE: bool = $whole;
        })*
    };
}

kinds! {
    /// Counter: its increase within the window.
    Sum grows true whole true;
    /// Gauge: its value at the end.
    Level grows false whole true;
    /// Time-weighted mean.
    Mean grows false whole false;
    /// Maximum.
    Most grows false whole true;
    /// Minimum.
    Least grows false whole true;
    /// What something is allowed; 0: unknown. The last known value.
    Limit grows false whole true;
    /// Usage of a [`LimitUsage`], at the moment that left least.
    Share grows false whole true;
}

impl<N: Number> Aggregation<N> for Sum {
    fn read(field: &N) -> Option<f64> {
        Some(field.value())
    }

    fn merge(mine: &mut N, next: &N, _: Weights) {
        *mine = mine.plus(*next);
    }
}

impl<N: Number> Aggregation<N> for Level {
    fn read(field: &N) -> Option<f64> {
        Some(field.value())
    }

    fn merge(mine: &mut N, next: &N, _: Weights) {
        *mine = *next;
    }

    fn dilute(field: &mut N, _: f64, gone: bool) {
        if gone {
            *field = N::default();
        }
    }
}

impl Aggregation<f64> for Mean {
    fn read(field: &f64) -> Option<f64> {
        Some(*field)
    }

    fn merge(mine: &mut f64, next: &f64, weights: Weights) {
        *mine = weights.mean(*mine, *next);
    }

    fn dilute(field: &mut f64, share: f64, _: bool) {
        *field *= share;
    }
}

impl<N: Number> Aggregation<N> for Most {
    fn read(field: &N) -> Option<f64> {
        Some(field.value())
    }

    fn merge(mine: &mut N, next: &N, _: Weights) {
        if next > mine {
            *mine = *next;
        }
    }
}

impl<N: Number> Aggregation<N> for Least {
    fn read(field: &N) -> Option<f64> {
        Some(field.value())
    }

    fn merge(mine: &mut N, next: &N, _: Weights) {
        if next < mine {
            *mine = *next;
        }
    }

    fn dilute(field: &mut N, _: f64, _: bool) {
        *field = N::default();
    }
}

impl<N: Number> Aggregation<N> for Limit {
    fn read(field: &N) -> Option<f64> {
        Some(field.value()).filter(|limit| *limit > 0.0)
    }

    fn merge(mine: &mut N, next: &N, _: Weights) {
        if *next != N::default() {
            *mine = *next;
        }
    }
}

impl Aggregation<LimitUsage> for Share {
    fn read(field: &LimitUsage) -> Option<f64> {
        Some(field.used.value())
    }

    fn merge(mine: &mut LimitUsage, next: &LimitUsage, _: Weights) {
        // A limit of 0 is unknown.
        if (next.share(), next.limit) > (mine.share(), mine.limit) {
            *mine = *next;
        }
    }
}

/// The other half of a usage, already merged by [`Share`].
impl Aggregation<LimitUsage> for Limit {
    fn read(field: &LimitUsage) -> Option<f64> {
        Some(field.limit.value())
    }

    fn merge(_: &mut LimitUsage, _: &LimitUsage, _: Weights) {}
}

/// If part of the time could not be observed, the value of the rest.
impl<K: Aggregation<F>, F: Clone> Aggregation<Option<F>> for K {
    fn read(field: &Option<F>) -> Option<f64> {
        field.as_ref().and_then(K::read)
    }

    fn merge(mine: &mut Option<F>, next: &Option<F>, weights: Weights) {
        match (mine.as_mut(), next) {
            (Some(mine), Some(next)) => K::merge(mine, next, weights),
            (None, Some(next)) => *mine = Some(next.clone()),
            (_, None) => {}
        }
    }

    fn dilute(field: &mut Option<F>, share: f64, gone: bool) {
        if let Some(field) = field {
            K::dilute(field, share, gone);
        }
    }
}
