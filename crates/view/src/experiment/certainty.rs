use super::DesignLookup;
use super::words::{answer_word, percent, ratio, without_log_tail};
use crate::document::TextTable;
use crate::wording::number_of;
use crate::wording::quoted;
use crate::{Text, Tone};
use record::{ArmStart, HypothesisResult, Noise};
use std::collections::BTreeMap;

/// How sure the answers are: noise, placebo, and void starts.
pub(crate) fn lines(lookup: &DesignLookup<'_>) -> Vec<Text> {
    let (noise, placebo) = (&lookup.state.noise, Vec::from_iter(lookup.placebos()));
    let mut lines = Vec::new();
    // One per measure, like the noise: they share a table.
    let together = placebo.len() == noise.len();
    if !noise.is_empty() {
        lines.extend(table(lookup, if together { &placebo } else { &[] }).lines());
    }
    if !together || noise.is_empty() {
        lines.extend(placebo.iter().map(|result| {
            let (text, tone) = placebo_answer(result);
            let name = result.name.trim_start_matches("placebo").trim_start_matches([':', ' ']);
            let name = if name.is_empty() { String::new() } else { format!("{name}: ") };
            Text::labelled("placebo", name).with_span(tone, text).indented()
        }));
    }
    lines
}

/// The spread between identical starts, and the smallest effect that would show.
pub(crate) fn noise_table(lookup: &DesignLookup<'_>) -> TextTable {
    table(lookup, &[])
}

fn table(lookup: &DesignLookup<'_>, placebo: &[&HypothesisResult]) -> TextTable {
    let heads = ["starts of the same arm", "differ by", "detectable", "placebo"];
    let mut table = match placebo {
        [] => TextTable::new(&heads[..3]),
        _ => TextTable::with_text_last(&heads),
    };
    for (index, noise) in lookup.state.noise.iter().enumerate() {
        let cells = [
            (lookup.comparison_label(noise.probe, noise.measure), Tone::Plain),
            (deviation_words(noise), Tone::Plain),
            (visible_effect_words(noise), Tone::Plain),
        ];
        table.push_row(cells.into_iter().chain(placebo.get(index).map(|result| placebo_answer(result))));
    }
    table
}

/// The placebo's answer: anything but no difference is a warning.
pub(crate) fn placebo_answer(result: &HypothesisResult) -> (String, Tone) {
    let (word, tone) = answer_word(result.answer);
    let text = result.ratio.as_ref().map_or_else(|| word.to_owned(), |r| format!("{word}, {}", ratio(r)));
    match tone {
        Tone::Good | Tone::Bad => {
            (format!("{word}, though nothing was changed: do not trust this measure"), Tone::Bad)
        }
        Tone::Strong => (text, Tone::Good),
        tone => (text, tone),
    }
}

/// Standard deviation between starts of one arm, as a share.
pub(super) fn deviation_words(noise: &Noise) -> String {
    percent(noise.deviation.exp_m1())
}

/// The smallest effect the planned blocks would show.
pub(super) fn visible_effect_words(noise: &Noise) -> String {
    percent(noise.visible - 1.0)
}

/// Noise in one line, for the log.
pub(super) fn noise_words(lookup: &DesignLookup<'_>, noise: &Noise) -> String {
    format!(
        "{}: starts of the same arm differ by {}; an effect of {} would be seen in {}",
        lookup.comparison_label(noise.probe, noise.measure),
        deviation_words(noise),
        visible_effect_words(noise),
        number_of(lookup.design.most as usize, "block"),
    )
}

/// The void starts, grouped by arm and reason.
pub(crate) fn void_starts(lookup: &DesignLookup<'_>) -> Vec<Text> {
    let mut found: BTreeMap<(usize, &str), Vec<&ArmStart>> = BTreeMap::new();
    for start in lookup.all_starts {
        if let Some(why) = &start.void {
            found.entry((start.arm, without_log_tail(why))).or_default().push(start);
        }
    }
    let line = |((arm, why), starts): ((usize, &str), Vec<&ArmStart>)| {
        let count = number_of(starts.len(), "start");
        let does = if starts.len() == 1 { "does" } else { "do" };
        Text::new(Tone::Warn, format!("void: {count} of {} {does} not count", quoted(lookup.arm(arm))))
            .with_plain(format!(": {why}"))
    };
    found.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::ArmMeasure;

    #[test]
    fn a_tenth_is_a_tenth() {
        let noise =
            Noise { probe: 0, measure: ArmMeasure::P99, deviation: 0.0953, freedom: 3, visible: 1.26 };
        assert_eq!(
            (deviation_words(&noise).as_str(), visible_effect_words(&noise).as_str()),
            ("10 %", "26 %")
        );
    }
}
