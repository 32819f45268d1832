//! Axis scales: positions of values, and ticks.

use crate::document::{Axis, AxisUnit};
use crate::experiment::factor;
use crate::figure_tables;
use crate::wording::format_rate;
use units::{Bytes, Nanos, Share, grouped, trim_zeros};

/// Margin beyond the outermost values, as a share of the range shown.
const MARGIN: f64 = 0.06;
/// Axes start at zero if the smallest value is below this share of the largest.
const NEAR_ZERO: f64 = 0.35;
/// Below this many seconds fractions of a nanosecond are shown.
const SUB_NANOSECOND: f64 = 99.95e-9;

/// Clock-like tick steps, in seconds.
const CLOCK_STEPS: [f64; 16] = [
    2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14_400.0, 43_200.0,
    DAY,
];
const DAY: f64 = 86_400.0;

/// An axis with its range.
pub(crate) struct Scale {
    unit: AxisUnit,
    log: bool,
    low: f64,
    high: f64,
}

impl Scale {
    /// From the smallest to the largest of these values.
    pub fn tight(axis: &Axis, values: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = values
            .filter(|value| value.is_finite() && (!axis.log || *value > 0.0))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        Self { unit: axis.unit, log: axis.log, low, high }
    }

    /// Covers all these values, with a margin.
    pub fn of(axis: &Axis, values: impl Iterator<Item = f64>) -> Self {
        let Self { unit, log, mut low, mut high } = Self::tight(axis, values);
        match (unit, log) {
            (AxisUnit::Share, _) => (low, high) = (-MARGIN, 1.0 + MARGIN),
            (_, true) => {
                // Ratios lie close together.
                let least = if unit == AxisUnit::Ratio { 1.02 } else { 1.2 };
                let air = (high / low).powf(MARGIN).max(least);
                (low, high) = (low / air, high * air);
            }
            _ => {
                let air = if high > low { (high - low) * MARGIN } else { high.abs().max(1.0) * MARGIN };
                low = if low >= 0.0 && low < NEAR_ZERO * high { 0.0 } else { low - air };
                high += air;
            }
        }
        Self { unit, log, low, high }
    }

    /// Its low and high ends.
    pub fn ends(&self) -> [f64; 2] {
        [self.low, self.high]
    }

    /// Rows of height one, counted downwards; the middle of the first is at zero.
    pub fn downwards(rows: f64) -> Self {
        Self { unit: AxisUnit::Count, log: false, low: rows - 0.5, high: -0.5 }
    }

    /// Position from 0 at the low end to 1 at the high one, clamped; 0.5 if both ends are equal.
    pub fn place(&self, value: f64) -> f64 {
        let share = if self.log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        if share.is_nan() { 0.5 } else { share.clamp(0.0, 1.0) }
    }

    /// At most `most` tick values.
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        if self.unit == AxisUnit::Bytes {
            return self.powers_of_two(most);
        }
        if self.log {
            let tens = (self.low.log10().floor() as i32)..=(self.high.log10().ceil() as i32);
            let of = |factors: &[f64]| -> Vec<f64> {
                let all =
                    tens.clone().flat_map(|ten| factors.iter().map(move |factor| factor * 10f64.powi(ten)));
                all.filter(|tick| (self.low..=self.high).contains(tick)).collect()
            };
            // A short range gets even steps, as if not logarithmic.
            match of(&[1.0, 2.0, 5.0]) {
                fine if fine.len() > most => return of(&[1.0]),
                fine if fine.len() > 1 => return fine,
                _ => {}
            }
        }
        if self.unit == AxisUnit::Share {
            return vec![0.0, 0.25, 0.5, 0.75, 1.0];
        }
        let least = (self.high - self.low) / most as f64;
        if self.unit == AxisUnit::Time && least > 1.0 {
            let step = CLOCK_STEPS.into_iter().find(|step| *step >= least);
            return self.multiples(step.unwrap_or(DAY * (least / DAY).ceil()));
        }
        let ten = 10f64.powf(least.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * ten).into_iter().find(|step| *step >= least);
        self.multiples(step.unwrap_or(10.0 * ten))
    }

    fn multiples(&self, step: f64) -> Vec<f64> {
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
        (first..=last).map(|tick| tick as f64 * step).collect()
    }

    /// Memory sizes use powers of two.
    fn powers_of_two(&self, most: usize) -> Vec<f64> {
        if self.log {
            let (first, last) = (self.low.log2().ceil() as i32, self.high.log2().floor() as i32);
            if last > first {
                let every = (last - first) as usize / most.max(1) + 1;
                return (first..=last).step_by(every).map(|power| 2f64.powi(power)).collect();
            }
        }
        let least = (self.high - self.low) / most.max(1) as f64;
        self.multiples(2f64.powf(least.max(1.0).log2().ceil()))
    }

    /// Formats a value.
    pub fn words(&self, value: f64) -> String {
        match self.unit {
            AxisUnit::PerSecond => format_rate(value),
            AxisUnit::Seconds if value > 0.0 && value < SUB_NANOSECOND => {
                format!("{} ns", trim_zeros(&format!("{:.1}", value * 1e9)))
            }
            AxisUnit::Time if value == 0.0 => "0 s".to_owned(),
            AxisUnit::Seconds | AxisUnit::Time => Nanos::from_secs_f64(value).to_string(),
            AxisUnit::Bytes => Bytes(value.max(0.0) as u64).to_string(),
            AxisUnit::BytesPerSecond => figure_tables::value(record::FigureUnit::BytesPerSecond, value),
            AxisUnit::Share => Share(value).to_string(),
            AxisUnit::Ratio => format!("×{}", trim_zeros(&factor(value))),
            _ if value.fract() == 0.0 && value >= 0.0 => grouped(value as u64),
            _ => format!("{value:.2}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(unit: AxisUnit, log: bool) -> Axis {
        Axis { name: String::new(), unit, log }
    }

    fn scale(unit: AxisUnit, log: bool, values: &[f64]) -> Scale {
        Scale::of(&axis(unit, log), values.iter().copied())
    }

    #[test]
    fn what_is_named_is_round_and_on_the_axis() {
        let rates = scale(AxisUnit::PerSecond, false, &[498.0, 2022.0]);
        let named =
            |scale: &Scale, most| scale.ticks(most).iter().map(|tick| scale.words(*tick)).collect::<Vec<_>>();
        assert_eq!(named(&rates, 6), ["0", "500", "1,000", "1,500", "2,000"]);
        assert_eq!(
            named(&scale(AxisUnit::PerSecond, false, &[1900.0, 2022.0]), 6),
            ["1,900", "1,950", "2,000"]
        );
        let times = scale(AxisUnit::Seconds, true, &[540e-6, 19e-3]);
        assert_eq!(named(&times, 8), ["500 µs", "1 ms", "2 ms", "5 ms", "10 ms", "20 ms"]);
        assert_eq!(named(&scale(AxisUnit::Seconds, true, &[1e-6, 10.0]), 8).len(), 8);
        let ratios = scale(AxisUnit::Ratio, true, &[0.81, 1.34]);
        assert_eq!(named(&ratios, 6), ["×0.8", "×0.9", "×1", "×1.1", "×1.2", "×1.3"]);
        assert_eq!(named(&scale(AxisUnit::Ratio, true, &[0.4, 2.4]), 6), ["×0.5", "×1", "×2"]);
        let mib = 1_048_576.0;
        let sizes = scale(AxisUnit::Bytes, true, &[32.0 * mib, 256.0 * mib]);
        assert_eq!(named(&sizes, 8), ["32 MiB", "64 MiB", "128 MiB", "256 MiB"]);
        assert_eq!(named(&scale(AxisUnit::Bytes, true, &[16e3, 512.0 * mib]), 6).len(), 6);
        assert_eq!(
            named(&scale(AxisUnit::Bytes, false, &[0.0, 3.0 * mib]), 4),
            ["0 B", "1 MiB", "2 MiB", "3 MiB"]
        );
        let shortest = scale(AxisUnit::Seconds, true, &[0.74e-9, 9.5e-9]);
        assert_eq!(named(&shortest, 6), ["1 ns", "2 ns", "5 ns", "10 ns"]);
        assert_eq!(shortest.words(9.515e-9), "9.5 ns");
        assert_eq!(scale(AxisUnit::BytesPerSecond, false, &[5.1e9]).words(37e6), "37 MB/s");
        assert_eq!(named(&scale(AxisUnit::Time, false, &[0.0, 50.0]), 5), ["0 s", "15 s", "30 s", "45 s"]);
        assert_eq!(named(&scale(AxisUnit::Time, false, &[0.0, 3.0]), 4), ["0 s", "1 s", "2 s", "3 s"]);
        let hours = named(&scale(AxisUnit::Time, false, &[0.0, 40_000.0]), 4);
        assert_eq!(hours, ["0 s", "4 h", "8 h"]);
    }

    #[test]
    fn every_value_has_a_place() {
        for (values, log) in
            [(&[5.0][..], false), (&[], true), (&[0.0, 0.0], false), (&[3.0, f64::NAN], true)]
        {
            let scale = scale(AxisUnit::Count, log, values);
            let places = [f64::MIN, -1.0, 0.0, 1.0, 7.0, f64::MAX].map(|value| scale.place(value));
            assert!(places.iter().all(|place| (0.0..=1.0).contains(place)), "{values:?}: {places:?}");
            assert!(scale.ticks(6).len() < 20, "{values:?}");
        }
        let rows = Scale::downwards(4.0);
        assert_eq!([-0.5, 1.5, 3.5].map(|row| rows.place(row)), [1.0, 0.5, 0.0], "the first at the top");
        let linear = scale(AxisUnit::PerSecond, false, &[0.0, 100.0]);
        assert!((linear.place(53.0) - 0.5).abs() < 1e-9, "six more on the right: {}", linear.place(53.0));
    }
}
