use super::bar::{self, BAR_WIDTH};
use super::words::{answer_in_full, answer_word, percent, ratio};
use super::{DesignLookup, WIDTH};
use crate::wording::shortened;
use crate::{RunView, Text, Tone};
use plan::Hypothesis;
use record::{Caveat, ExperimentState, HypothesisResult};

/// Width of the longest answer.
const ANSWER_WIDTH: usize = 13;
/// Width of a ratio with its interval.
const RATIO_WIDTH: usize = 19;
/// Width left for the name.
const NAME_WIDTH: usize = WIDTH - 2 - ANSWER_WIDTH - 2 - 2 - RATIO_WIDTH - 2 - BAR_WIDTH;

/// One line per hypothesis under a scale: the results so far. Where there is no room for both, the interval is drawn rather than written.
pub fn hypothesis_lines(view: &RunView, width: usize) -> Vec<Text> {
    let Some(lookup) = DesignLookup::of(view) else { return Vec::new() };
    let rows = hypothesis_rows(&lookup);
    let Some(unit) = unit(&rows) else { return Vec::new() };
    let layout = if width < WIDTH { BarLayout::narrow(width) } else { BarLayout::WIDE };
    let each = rows
        .iter()
        .map(|row| bar_of(answer(row.result), (&row.result.name, Tone::Strong), row, unit, layout));
    std::iter::once(scale(&rows, unit, layout)).chain(each).collect()
}

/// Every hypothesis with its remarks.
pub(crate) fn sentences(lookup: &DesignLookup<'_>) -> Vec<Text> {
    let rows = hypothesis_rows(lookup);
    let Some(unit) = unit(&rows) else { return Vec::new() };
    let one_effect = one_effect(&rows).is_some();
    let mut lines = vec![scale(&rows, unit, BarLayout::WIDE)];
    for row in &rows {
        let result = row.result;
        let measured = lookup.comparison_label(row.hypothesis.probe, row.hypothesis.measure);
        let mut about = Vec::new();
        if result.name.chars().count() <= NAME_WIDTH {
            lines.push(bar_of(answer(result), (&result.name, Tone::Strong), row, unit, BarLayout::WIDE));
            about.push(measured);
        } else {
            lines.push(answer(result).with_span(Tone::Strong, &result.name));
            lines.push(bar_of(under(Text::empty()), (&measured, Tone::Faint), row, unit, BarLayout::WIDE));
        }
        about.extend(lookup.contrast(row.hypothesis));
        if !one_effect {
            about.push(format!("worth having: {}", percent(row.hypothesis.effect.0)));
        }
        if !about.is_empty() {
            lines.push(under(Text::new(Tone::Faint, about.join(" · "))));
        }
        if !result.says.is_empty() {
            lines.push(under(Text::plain(&result.says)));
        }
        lines.extend(prediction_line(result).map(under));
        let caveats = result.caveats.iter().filter(|caveat| !is_of_several(lookup.state, caveat));
        lines.extend(caveats.map(|c| under(Text::new(Tone::Warn, "caveat: ").with_plain(c.to_string()))));
        lines.push(Text::empty());
    }
    lines
}

/// A caveat of several hypotheses concerns the whole experiment.
pub(crate) fn is_of_several(state: &ExperimentState, caveat: &Caveat) -> bool {
    let of = |result: &&HypothesisResult| result.caveats.contains(caveat);
    state.caveats.contains(caveat) || state.judged.iter().filter(of).count() > 1
}

/// A hypothesis and its result.
pub(crate) struct HypothesisRow<'a> {
    pub result: &'a HypothesisResult,
    pub hypothesis: &'a Hypothesis,
}

/// Only hypotheses: the placebo is part of the certainty.
pub(crate) fn hypothesis_rows<'a>(lookup: &DesignLookup<'a>) -> Vec<HypothesisRow<'a>> {
    let row = |result: &'a HypothesisResult| {
        Some(HypothesisRow { result, hypothesis: lookup.design.hypotheses.get(result.hypothesis?)? })
    };
    lookup.state.judged.iter().filter_map(row).collect()
}

/// `None` without rows.
fn unit(rows: &[HypothesisRow<'_>]) -> Option<i32> {
    let away = |row: &HypothesisRow<'_>| {
        let interval = row.result.ratio?;
        let distance = |ratio| bar::distance_in_effects(ratio, row.hypothesis.effect.0, true).abs();
        Some(distance(interval.low).max(distance(interval.high)))
    };
    (!rows.is_empty()).then(|| {
        let finite = rows.iter().filter_map(away).filter(|away| away.is_finite());
        bar::unit(finite.fold(1.0, f64::max))
    })
}

fn answer(result: &HypothesisResult) -> Text {
    let (word, tone) = answer_word(result.answer);
    Text::plain("  ").with_span(tone, format!("{word:ANSWER_WIDTH$}")).with_plain("  ")
}

fn under(text: Text) -> Text {
    let mut line = Text::plain(" ".repeat(2 + ANSWER_WIDTH + 2));
    line.pieces.extend(text.pieces);
    line
}

fn bar_of(
    line: Text,
    (name, tone): (&str, Tone),
    row: &HypothesisRow<'_>,
    unit: i32,
    layout: BarLayout,
) -> Text {
    let width = layout.name;
    let name = shortened(name, width);
    let Some(interval) = &row.result.ratio else { return line.with_span(tone, name) };
    let written =
        if layout.written { format!("  {:RATIO_WIDTH$}  ", ratio(interval)) } else { "  ".to_owned() };
    let line = line.with_span(tone, format!("{name:width$}")).with_plain(written);
    let tone = match answer_word(row.result.answer).1 {
        Tone::Strong => Tone::Plain,
        tone => tone,
    };
    let (effect, more_is_better) = (row.hypothesis.effect.0, row.hypothesis.measure.more_is_better());
    let mut line = bar::draw(line, interval, effect, more_is_better, unit, tone);
    while line.pieces.last().is_some_and(|span| span.text == " ") {
        line.pieces.pop();
    }
    line
}

/// The room beside the bar.
#[derive(Clone, Copy)]
struct BarLayout {
    name: usize,
    /// Whether to write out the ratio.
    written: bool,
}

impl BarLayout {
    const WIDE: Self = Self { name: NAME_WIDTH, written: true };

    fn narrow(width: usize) -> Self {
        let rest = width.saturating_sub(2 + ANSWER_WIDTH + 2 + 2 + BAR_WIDTH + 1);
        Self { name: rest.clamp(8, NAME_WIDTH), written: false }
    }
}

fn one_effect(rows: &[HypothesisRow<'_>]) -> Option<f64> {
    let first = rows.first()?.hypothesis.effect.0;
    rows.iter().all(|row| row.hypothesis.effect.0 == first).then_some(first)
}

fn scale(rows: &[HypothesisRow<'_>], unit: i32, layout: BarLayout) -> Text {
    let effect = match one_effect(rows) {
        Some(effect) => format!("┊ the smallest effect worth having: {}", percent(effect)),
        None => "┊ the smallest effect worth having".to_owned(),
    };
    let before = ANSWER_WIDTH + 2 + layout.name + 2 + if layout.written { RATIO_WIDTH + 2 } else { 0 };
    let effect = shortened(&effect, before - 1);
    bar::scale(Text::new(Tone::Faint, format!("  {effect:before$}")), unit)
}

/// What the baseline's diagnosis predicted, and whether it came true.
pub(crate) fn prediction_line(result: &HypothesisResult) -> Option<Text> {
    let expected = result.expected.as_ref()?;
    let line = match (expected.answer, result.held) {
        (None, _) => Text::new(Tone::Faint, "no prediction: "),
        (Some(_), Some(true)) => Text::new(Tone::Good, "as expected").with_plain(": "),
        (Some(answer), Some(false)) => Text::new(Tone::Warn, "not as expected")
            .with_plain(format!(" ({} was predicted): ", answer_in_full(answer))),
        (Some(answer), None) => Text::new(Tone::Faint, format!("predicted {}: ", answer_in_full(answer))),
    };
    Some(line.with_plain(&expected.why))
}
