use crate::Tone;
use plan::ArmMeasure;
use record::{HypothesisAnswer, HypothesisResult, Interval};
use units::{Bytes, Nanos, Rate, grouped};

pub(crate) fn answer_word(answer: HypothesisAnswer) -> (&'static str, Tone) {
    match answer {
        HypothesisAnswer::Better => ("better", Tone::Good),
        HypothesisAnswer::Worse => ("worse", Tone::Bad),
        HypothesisAnswer::NoDifference => ("no difference", Tone::Strong),
        HypothesisAnswer::Undecided => ("undecided", Tone::Warn),
        HypothesisAnswer::NotMeasured => ("not measured", Tone::Warn),
    }
}

pub(crate) fn answer_in_full(answer: HypothesisAnswer) -> &'static str {
    match answer {
        HypothesisAnswer::NoDifference => "no difference that matters",
        answer => answer_word(answer).0,
    }
}

/// The number of hypotheses per answer: `2 better, 1 undecided`.
pub(crate) fn answer_counts<'a>(result: impl Iterator<Item = &'a HypothesisResult> + Clone) -> String {
    let all = [
        HypothesisAnswer::Better,
        HypothesisAnswer::Worse,
        HypothesisAnswer::NoDifference,
        HypothesisAnswer::Undecided,
        HypothesisAnswer::NotMeasured,
    ];
    let each = all.into_iter().map(|answer| (result.clone().filter(|j| j.answer == answer).count(), answer));
    let said = each
        .filter(|(count, _)| *count > 0)
        .map(|(count, answer)| format!("{count} {}", answer_in_full(answer)));
    said.collect::<Vec<_>>().join(", ")
}

/// A column heading.
pub(super) fn head(measure: ArmMeasure) -> &'static str {
    match measure {
        ArmMeasure::Cpu => "CPU each",
        measure => measure.name(),
    }
}

/// A measure's name in a sentence.
pub(super) fn measure_words(measure: ArmMeasure) -> &'static str {
    match measure {
        ArmMeasure::Cpu => "CPU per request",
        measure => measure.name(),
    }
}

/// A value with its unit.
pub(crate) fn value(measure: ArmMeasure, figure: f64) -> String {
    match measure {
        ArmMeasure::Capacity | ArmMeasure::Throughput => Rate(figure).to_string(),
        ArmMeasure::P50 | ArmMeasure::P99 | ArmMeasure::Max | ArmMeasure::Cpu => {
            Nanos::from_secs_f64(figure.max(0.0)).to_string()
        }
        ArmMeasure::Memory => Bytes(figure.max(0.0) as u64).to_string(),
        ArmMeasure::Threads => grouped(figure.max(0.0).round() as u64),
    }
}

/// A range: `205–220/s`, with the unit once if it is the same.
pub(super) fn range(measure: ArmMeasure, low: f64, high: f64) -> String {
    let (low, high) = (value(measure, low), value(measure, high));
    if low == high {
        return low;
    }
    let unit = high.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','));
    match low.strip_suffix(unit) {
        Some(number) if !number.contains(' ') => format!("{number}–{high}"),
        _ => format!("{low}–{high}"),
    }
}

/// A ratio to three digits.
pub(crate) fn factor(ratio: f64) -> String {
    let decimals = match ratio.abs() {
        r if r >= 99.5 => 0,
        r if r >= 9.95 => 1,
        r if r >= 0.0995 => 2,
        _ => 3,
    };
    format!("{ratio:.decimals$}")
}

/// `×1.24 (1.15–1.34)`.
pub(crate) fn ratio(interval: &Interval) -> String {
    format!("×{} ({}–{})", factor(interval.value), factor(interval.low), factor(interval.high))
}

/// Why a start is void, without its log tail: `torment show RUN --logs` has all of it.
pub(crate) fn without_log_tail(why: &str) -> &str {
    why.split("; its last lines:").next().unwrap_or(why).lines().next().unwrap_or_default()
}

/// A share in percent, to two digits.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let text = if percent.abs() < 9.95 { format!("{percent:.1}") } else { format!("{percent:.0}") };
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// The median; of an even number the mean of the middle two.
pub(crate) fn median(figures: &mut [f64]) -> Option<f64> {
    figures.sort_by(f64::total_cmp);
    let upper = *figures.get(figures.len() / 2)?;
    Some(if figures.len() % 2 == 1 { upper } else { (figures[figures.len() / 2 - 1] + upper) / 2.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_say_their_unit_once() {
        for (measure, low, high, expected) in [
            (ArmMeasure::Capacity, 205.0, 220.0, "205–220/s"),
            (ArmMeasure::P99, 0.0131, 0.0172, "13.1–17.2 ms"),
            (ArmMeasure::P99, 0.0009, 0.0172, "900 µs–17.2 ms"),
            (ArmMeasure::Max, 119.0, 150.0, "119 s–2 min 30 s"),
            (ArmMeasure::Memory, 4.2e8, 4.3e8, "400.5–410.1 MiB"),
            (ArmMeasure::Threads, 31.0, 31.0, "31"),
            (ArmMeasure::Threads, 31.0, 1231.0, "31–1,231"),
        ] {
            assert_eq!(range(measure, low, high), expected);
        }
    }

    #[test]
    fn middles() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0]), Some(2.5));
        assert_eq!(median(&mut []), None);
        assert_eq!([1.237, 0.05, 12.34, 250.4].map(factor), ["1.24", "0.050", "12.3", "250"]);
        assert_eq!([0.1, 0.0321, 0.257].map(percent), ["10 %", "3.2 %", "26 %"]);
    }
}
