//! An interval as a line of text: `┊  │  ┊ ├──●──┤`. No effect in the middle, the smallest effect of interest at the marks, better to the
//! right.

use crate::{Text, Tone};
use record::Interval;

/// Characters on each side of the middle.
const HALF_WIDTH: i32 = 14;
/// Total width.
pub(super) const BAR_WIDTH: usize = 2 * HALF_WIDTH as usize + 1;

/// Characters per smallest effect, so that most of these intervals fit.
pub(super) fn unit(widest: f64) -> i32 {
    ((f64::from(HALF_WIDTH) / widest.max(1.0)) as i32).clamp(2, 4)
}

/// A ratio's distance from no effect, in smallest effects; positive is better.
pub(super) fn distance_in_effects(ratio: f64, effect: f64, more_is_better: bool) -> f64 {
    let distance = ratio.ln() / effect.max(1e-4).ln_1p();
    if more_is_better { distance } else { -distance }
}

/// Draws the interval in its tone, the marks faint.
pub(super) fn draw(
    line: Text,
    interval: &Interval,
    effect: f64,
    more_is_better: bool,
    unit: i32,
    tone: Tone,
) -> Text {
    let place = |ratio| {
        let place = distance_in_effects(ratio, effect, more_is_better) * f64::from(unit);
        // A ratio of zero, or to zero, is beyond every edge.
        if place.is_nan() { 0 } else { place.clamp(-1e6, 1e6).round() as i32 }
    };
    let ends = [place(interval.low), place(interval.high)];
    let (left, right) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
    let (value, marks) = (place(interval.value), [-unit, 0, unit]);
    let letter = |at: i32| match at {
        _ if at == -HALF_WIDTH && left < at => Some('◀'),
        _ if at == HALF_WIDTH && right > at => Some('▶'),
        _ if at == value => Some('●'),
        _ if at == left => Some('├'),
        _ if at == right => Some('┤'),
        _ if at > left && at < right => Some(if marks.contains(&at) { '┼' } else { '─' }),
        _ => None,
    };
    (-HALF_WIDTH..=HALF_WIDTH).fold(line, |line, at| match letter(at) {
        Some(letter) => line.with_span(tone, letter.to_string()),
        None => line.with_span(Tone::Faint, mark(at, unit).to_string()),
    })
}

/// The scale alone, with labels for its sides.
pub(super) fn scale(line: Text, unit: i32) -> Text {
    let words = "worse".chars().zip(-HALF_WIDTH..).chain("better".chars().zip(HALF_WIDTH - 5..));
    let words: Vec<(char, i32)> = words.collect();
    (-HALF_WIDTH..=HALF_WIDTH).fold(line, |line, at| {
        let word = words.iter().find(|(_, place)| *place == at).map(|(letter, _)| *letter);
        line.with_span(Tone::Faint, word.unwrap_or_else(|| mark(at, unit)).to_string())
    })
}

fn mark(at: i32, unit: i32) -> char {
    match at {
        0 => '│',
        at if at.abs() == unit => '┊',
        _ => ' ',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(value: f64, low: f64, high: f64, more_is_better: bool) -> String {
        draw(Text::empty(), &Interval { value, low, high }, 0.1, more_is_better, 4, Tone::Good).to_string()
    }

    #[test]
    fn an_interval_stands_where_it_belongs() {
        for (text, expected) in [
            (drawn(1.0, 0.95, 1.05, true), "          ┊ ├─●─┤ ┊          "),
            (drawn(1.25, 1.15, 1.35, true), "          ┊   │   ┊ ├──●───┤ "),
            (drawn(0.8, 0.74, 0.87, false), "          ┊   │   ┊ ├──●───┤ "),
            (drawn(1.06, 0.95, 1.19, true), "          ┊ ├─┼─●─┼──┤       "),
            (drawn(2.4, 2.2, 2.6, true), "          ┊   │   ┊         ▶"),
            (drawn(0.5, 0.4, 1.0, true), "◀─────────┼───┤   ┊          "),
            (drawn(1.0, 0.0, f64::INFINITY, true), "◀─────────┼───●───┼─────────▶"),
            (drawn(f64::NAN, f64::NAN, f64::NAN, true), "          ┊   ●   ┊          "),
        ] {
            assert_eq!(text, expected);
            assert_eq!(text.chars().count(), BAR_WIDTH);
        }
        let scale = scale(Text::empty(), 2).to_string();
        assert_eq!(scale, "worse       ┊ │ ┊      better");
    }
}
