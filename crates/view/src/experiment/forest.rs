use super::bar::{self, BAR};
use super::words::{answer_in_full, answer_word, percent, ratio};
use super::{DesignLookup, WIDTH};
use crate::wording::shortened;
use crate::{RunView, Text, Tone};
use plan::Hypothesis;
use record::{Caveat, ExperimentState, HypothesisResult};

/// Width of the longest answer.
const ANSWER: usize = 13;
/// Width of a ratio with its interval.
const RATIO: usize = 19;
/// Width left for the name.
const NAME: usize = WIDTH - 2 - ANSWER - 2 - 2 - RATIO - 2 - BAR;

/// One line per hypothesis under a scale: the results so far. Where there is no room for both, the interval is drawn rather than written.
pub fn hypothesis_lines(view: &RunView, width: usize) -> Vec<Text> {
    let Some((names, standing)) = DesignLookup::of(view).zip(view.standing.as_ref()) else {
        return Vec::new();
    };
    let rows = hypothesis_rows(&names, standing);
    let Some(unit) = unit(&rows) else { return Vec::new() };
    let room = if width < WIDTH { BarLayout::narrow(width) } else { BarLayout::WIDE };
    let each =
        rows.iter().map(|row| bar_of(answer(row.judged), (&row.judged.name, Tone::Strong), row, unit, room));
    std::iter::once(scale(&rows, unit, room)).chain(each).collect()
}

/// Every hypothesis with its remarks.
pub(crate) fn sentences(names: &DesignLookup<'_>, standing: &ExperimentState) -> Vec<Text> {
    let rows = hypothesis_rows(names, standing);
    let Some(unit) = unit(&rows) else { return Vec::new() };
    let one_effect = one_effect(&rows).is_some();
    let mut lines = vec![scale(&rows, unit, BarLayout::WIDE)];
    for row in &rows {
        let judged = row.judged;
        let measured = names.comparison_label(row.asked.probe, row.asked.measure);
        let mut about = Vec::new();
        if judged.name.chars().count() <= NAME {
            lines.push(bar_of(answer(judged), (&judged.name, Tone::Strong), row, unit, BarLayout::WIDE));
            about.push(measured);
        } else {
            lines.push(answer(judged).with_span(Tone::Strong, &judged.name));
            lines.push(bar_of(under(Text::empty()), (&measured, Tone::Faint), row, unit, BarLayout::WIDE));
        }
        about.extend(names.contrast(row.asked));
        if !one_effect {
            about.push(format!("worth having: {}", percent(row.asked.effect.0)));
        }
        if !about.is_empty() {
            lines.push(under(Text::new(Tone::Faint, about.join(" · "))));
        }
        if !judged.says.is_empty() {
            lines.push(under(Text::plain(&judged.says)));
        }
        lines.extend(prediction_line(judged).map(under));
        let doubts = judged.caveats.iter().filter(|caveat| !is_of_several(standing, caveat));
        lines.extend(doubts.map(|c| under(Text::new(Tone::Warn, "caveat: ").with_plain(c.to_string()))));
        lines.push(Text::empty());
    }
    lines
}

/// A caveat of several hypotheses concerns the whole experiment.
pub(crate) fn is_of_several(standing: &ExperimentState, caveat: &Caveat) -> bool {
    let of = |judged: &&HypothesisResult| judged.caveats.contains(caveat);
    standing.caveats.contains(caveat) || standing.judged.iter().filter(of).count() > 1
}

/// A hypothesis and its result.
pub(crate) struct HypothesisRow<'a> {
    pub judged: &'a HypothesisResult,
    pub asked: &'a Hypothesis,
}

/// Only hypotheses: the placebo is part of the certainty.
pub(crate) fn hypothesis_rows<'a>(
    names: &DesignLookup<'a>,
    standing: &'a ExperimentState,
) -> Vec<HypothesisRow<'a>> {
    let asked = |judged: &HypothesisResult| names.design.hypotheses.get(judged.hypothesis?);
    standing
        .judged
        .iter()
        .filter_map(|judged| Some(HypothesisRow { judged, asked: asked(judged)? }))
        .collect()
}

/// `None` without rows.
fn unit(rows: &[HypothesisRow<'_>]) -> Option<i32> {
    let away = |row: &HypothesisRow<'_>| {
        let interval = row.judged.ratio?;
        let distance = |ratio| bar::distance_in_effects(ratio, row.asked.effect.0, true).abs();
        Some(distance(interval.low).max(distance(interval.high)))
    };
    (!rows.is_empty()).then(|| {
        let finite = rows.iter().filter_map(away).filter(|away| away.is_finite());
        bar::unit(finite.fold(1.0, f64::max))
    })
}

fn answer(judged: &HypothesisResult) -> Text {
    let (word, tone) = answer_word(judged.answer);
    Text::plain("  ").with_span(tone, format!("{word:ANSWER$}")).with_plain("  ")
}

fn under(text: Text) -> Text {
    let mut line = Text::plain(" ".repeat(2 + ANSWER + 2));
    line.pieces.extend(text.pieces);
    line
}

fn bar_of(
    line: Text,
    (name, tone): (&str, Tone),
    row: &HypothesisRow<'_>,
    unit: i32,
    room: BarLayout,
) -> Text {
    let width = room.name;
    let name = shortened(name, width);
    let Some(interval) = &row.judged.ratio else { return line.with_span(tone, name) };
    let written = if room.written { format!("  {:RATIO$}  ", ratio(interval)) } else { "  ".to_owned() };
    let line = line.with_span(tone, format!("{name:width$}")).with_plain(written);
    let tone = match answer_word(row.judged.answer).1 {
        Tone::Strong => Tone::Plain,
        tone => tone,
    };
    let (effect, more_is_better) = (row.asked.effect.0, row.asked.measure.more_is_better());
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
    const WIDE: Self = Self { name: NAME, written: true };

    fn narrow(width: usize) -> Self {
        let rest = width.saturating_sub(2 + ANSWER + 2 + 2 + BAR + 1);
        Self { name: rest.clamp(8, NAME), written: false }
    }
}

fn one_effect(rows: &[HypothesisRow<'_>]) -> Option<f64> {
    let first = rows.first()?.asked.effect.0;
    rows.iter().all(|row| row.asked.effect.0 == first).then_some(first)
}

fn scale(rows: &[HypothesisRow<'_>], unit: i32, room: BarLayout) -> Text {
    let effect = match one_effect(rows) {
        Some(effect) => format!("┊ the smallest effect worth having: {}", percent(effect)),
        None => "┊ the smallest effect worth having".to_owned(),
    };
    let before = ANSWER + 2 + room.name + 2 + if room.written { RATIO + 2 } else { 0 };
    let effect = shortened(&effect, before - 1);
    bar::scale(Text::new(Tone::Faint, format!("  {effect:before$}")), unit)
}

/// What the baseline's diagnosis predicted, and whether it came true.
pub(crate) fn prediction_line(judged: &HypothesisResult) -> Option<Text> {
    let expected = judged.expected.as_ref()?;
    let line = match (expected.answer, judged.held) {
        (None, _) => Text::new(Tone::Faint, "no prediction: "),
        (Some(_), Some(true)) => Text::new(Tone::Good, "as expected").with_plain(": "),
        (Some(answer), Some(false)) => Text::new(Tone::Warn, "not as expected")
            .with_plain(format!(" ({} was predicted): ", answer_in_full(answer))),
        (Some(answer), None) => Text::new(Tone::Faint, format!("predicted {}: ", answer_in_full(answer))),
    };
    Some(line.with_plain(&expected.why))
}
