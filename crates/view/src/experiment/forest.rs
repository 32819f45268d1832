use super::bar::{self, BAR};
use super::words::{answer_in_full, answer_word, percent, ratio};
use super::{Names, WIDTH};
use crate::words::shortened;
use crate::{RunView, Text, Tone};
use plan::Hypothesis;
use record::{Caveat, Judged, Standing};

/// Room for the longest answer.
const ANSWER: usize = 13;
/// Room for a ratio with its interval.
const RATIO: usize = 19;
/// Room for what stands between the two.
const NAME: usize = WIDTH - 2 - ANSWER - 2 - 2 - RATIO - 2 - BAR;

/// Every hypothesis in one line, under a scale: what is known so far. Where there is no room for both, the
/// interval is drawn rather than written.
pub fn short(view: &RunView, width: usize) -> Vec<Text> {
    let Some((names, standing)) = Names::of(view).zip(view.standing.as_ref()) else { return Vec::new() };
    let rows = rows(&names, standing);
    let Some(unit) = unit(&rows) else { return Vec::new() };
    let room = if width < WIDTH { Room::narrow(width) } else { Room::WIDE };
    let each =
        rows.iter().map(|row| bar_of(answer(row.judged), (&row.judged.name, Tone::Strong), row, unit, room));
    std::iter::once(scale(&rows, unit, room)).chain(each).collect()
}

/// Every hypothesis with what there is to say of it.
pub(crate) fn sentences(names: &Names<'_>, standing: &Standing) -> Vec<Text> {
    let rows = rows(names, standing);
    let Some(unit) = unit(&rows) else { return Vec::new() };
    let one_effect = one_effect(&rows).is_some();
    let mut lines = vec![scale(&rows, unit, Room::WIDE)];
    for row in &rows {
        let judged = row.judged;
        let measured = names.measured(row.asked.probe, row.asked.measure);
        let mut about = Vec::new();
        if judged.name.chars().count() <= NAME {
            lines.push(bar_of(answer(judged), (&judged.name, Tone::Strong), row, unit, Room::WIDE));
            about.push(measured);
        } else {
            lines.push(answer(judged).and(Tone::Strong, &judged.name));
            lines.push(bar_of(under(Text::empty()), (&measured, Tone::Faint), row, unit, Room::WIDE));
        }
        about.extend(names.contrast(row.asked));
        if !one_effect {
            about.push(format!("worth having: {}", percent(row.asked.effect.0)));
        }
        if !about.is_empty() {
            lines.push(under(Text::of(Tone::Faint, about.join(" · "))));
        }
        if !judged.says.is_empty() {
            lines.push(under(Text::plain(&judged.says)));
        }
        lines.extend(expected(judged).map(under));
        let doubts = judged.caveats.iter().filter(|caveat| !is_of_several(standing, caveat));
        lines.extend(doubts.map(|c| under(Text::of(Tone::Warn, "caveat: ").then(c.to_string()))));
        lines.push(Text::empty());
    }
    lines
}

/// A doubt about more than one hypothesis is one about the whole.
pub(crate) fn is_of_several(standing: &Standing, caveat: &Caveat) -> bool {
    let of = |judged: &&Judged| judged.caveats.contains(caveat);
    standing.caveats.contains(caveat) || standing.judged.iter().filter(of).count() > 1
}

/// A hypothesis, and what became of it.
pub(crate) struct Row<'a> {
    pub judged: &'a Judged,
    pub asked: &'a Hypothesis,
}

/// Hypotheses only: the placebo says how sure all this is.
pub(crate) fn rows<'a>(names: &Names<'a>, standing: &'a Standing) -> Vec<Row<'a>> {
    let asked = |judged: &Judged| names.design.hypotheses.get(judged.hypothesis?);
    standing.judged.iter().filter_map(|judged| Some(Row { judged, asked: asked(judged)? })).collect()
}

/// None without a row.
fn unit(rows: &[Row<'_>]) -> Option<i32> {
    let away = |row: &Row<'_>| {
        let interval = row.judged.ratio?;
        let distance = |ratio| bar::effects(ratio, row.asked.effect.0, true).abs();
        Some(distance(interval.low).max(distance(interval.high)))
    };
    (!rows.is_empty()).then(|| {
        let finite = rows.iter().filter_map(away).filter(|away| away.is_finite());
        bar::unit(finite.fold(1.0, f64::max))
    })
}

fn answer(judged: &Judged) -> Text {
    let (word, tone) = answer_word(judged.answer);
    Text::plain("  ").and(tone, format!("{word:ANSWER$}")).then("  ")
}

/// Below a name.
fn under(text: Text) -> Text {
    let mut line = Text::plain(" ".repeat(2 + ANSWER + 2));
    line.pieces.extend(text.pieces);
    line
}

fn bar_of(line: Text, (name, tone): (&str, Tone), row: &Row<'_>, unit: i32, room: Room) -> Text {
    let width = room.name;
    let name = shortened(name, width);
    let Some(interval) = &row.judged.ratio else { return line.and(tone, name) };
    let written = if room.written { format!("  {:RATIO$}  ", ratio(interval)) } else { "  ".to_owned() };
    let line = line.and(tone, format!("{name:width$}")).then(written);
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

/// What there is room for beside the bar.
#[derive(Clone, Copy)]
struct Room {
    name: usize,
    /// Whether the ratio is written.
    written: bool,
}

impl Room {
    const WIDE: Self = Self { name: NAME, written: true };

    fn narrow(width: usize) -> Self {
        let rest = width.saturating_sub(2 + ANSWER + 2 + 2 + BAR + 1);
        Self { name: rest.clamp(8, NAME), written: false }
    }
}

fn one_effect(rows: &[Row<'_>]) -> Option<f64> {
    let first = rows.first()?.asked.effect.0;
    rows.iter().all(|row| row.asked.effect.0 == first).then_some(first)
}

fn scale(rows: &[Row<'_>], unit: i32, room: Room) -> Text {
    let effect = match one_effect(rows) {
        Some(effect) => format!("┊ the smallest effect worth having: {}", percent(effect)),
        None => "┊ the smallest effect worth having".to_owned(),
    };
    let before = ANSWER + 2 + room.name + 2 + if room.written { RATIO + 2 } else { 0 };
    let effect = shortened(&effect, before - 1);
    bar::scale(Text::of(Tone::Faint, format!("  {effect:before$}")), unit)
}

/// What the diagnosis of the baseline let expect, and whether it came so.
pub(crate) fn expected(judged: &Judged) -> Option<Text> {
    let expected = judged.expected.as_ref()?;
    let line = match (expected.answer, judged.held) {
        (None, _) => Text::of(Tone::Faint, "no prediction: "),
        (Some(_), Some(true)) => Text::of(Tone::Good, "as expected").then(": "),
        (Some(answer), Some(false)) => Text::of(Tone::Warn, "not as expected")
            .then(format!(" ({} was predicted): ", answer_in_full(answer))),
        (Some(answer), None) => Text::of(Tone::Faint, format!("predicted {}: ", answer_in_full(answer))),
    };
    Some(line.then(&expected.why))
}
